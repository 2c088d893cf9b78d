/* Calls that change a file's name or take it away. */
#include "export.h"
#include "real.h"
#include "trace.h"

IEZ_EXPORT int rename(const char *from, const char *to) {
    int failed = IEZ_REAL(rename)(from, to);
    if (!failed && iez_tracing())
        iez_note_rename(AT_FDCWD, from, AT_FDCWD, to);
    return failed;
}

IEZ_EXPORT int renameat(int from_fd, const char *from, int to_fd, const char *to) {
    int failed = IEZ_REAL(renameat)(from_fd, from, to_fd, to);
    if (!failed && iez_tracing())
        iez_note_rename(from_fd, from, to_fd, to);
    return failed;
}

/* Flags other than RENAME_NOREPLACE exchange two files or leave something behind. */
IEZ_EXPORT int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags) {
    int failed = IEZ_REAL(renameat2)(from_fd, from, to_fd, to, flags);
    if (!failed && iez_tracing() && !(flags & ~1U))
        iez_note_rename(from_fd, from, to_fd, to);
    return failed;
}

IEZ_EXPORT int link(const char *from, const char *to) {
    int failed = IEZ_REAL(link)(from, to);
    if (!failed && iez_tracing())
        iez_note_link(AT_FDCWD, from, AT_FDCWD, to);
    return failed;
}

IEZ_EXPORT int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags) {
    int failed = IEZ_REAL(linkat)(from_fd, from, to_fd, to, flags);
    if (!failed && iez_tracing() && !flags)
        iez_note_link(from_fd, from, to_fd, to);
    return failed;
}

IEZ_EXPORT int unlink(const char *path) {
    int failed = IEZ_REAL(unlink)(path);
    if (!failed && iez_tracing())
        iez_note_unlink(AT_FDCWD, path);
    return failed;
}

IEZ_EXPORT int unlinkat(int dirfd, const char *path, int flags) {
    int failed = IEZ_REAL(unlinkat)(dirfd, path, flags);
    if (!failed && iez_tracing() && !flags)
        iez_note_unlink(dirfd, path);
    return failed;
}

IEZ_EXPORT int remove(const char *path) {
    int failed = IEZ_LATE(remove)(path);
    if (!failed && iez_tracing())
        iez_note_unlink(AT_FDCWD, path);
    return failed;
}
