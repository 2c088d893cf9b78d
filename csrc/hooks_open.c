/* The open family: guard, then the real call or the placed create. */
#include "export.h"
#include "flags.h"
#include "place.h"
#include "real.h"
#include "trace.h"

typedef int open_function(const char *path, int flags, ...);
typedef int openat_function(int dirfd, const char *path, int flags, ...);

static inline int noted(int fd, const char *path, int flags) {
    if (fd >= 0 && iez_tracing())
        iez_note_plain_open(fd, path, flags);
    return fd;
}

static inline int forward_open(open_function *real, const char *path, int flags, mode_t mode) {
    if (!iez_may_place(flags))
        return noted(real(path, flags, mode), path, flags);
    return iez_open(&(struct iez_create){.open = real, .path = path, .flags = flags, .mode = mode});
}

static inline int forward_openat(openat_function *real, int dirfd, const char *path, int flags,
                                 mode_t mode) {
    if (!iez_may_place(flags))
        return noted(real(dirfd, path, flags, mode), path, flags);
    return iez_open(&(struct iez_create){
        .openat = real, .dirfd = dirfd, .path = path, .flags = flags, .mode = mode});
}

IEZ_EXPORT int open(const char *path, int flags, ...) {
    IEZ_MODE_ARGUMENT(mode, flags);
    return forward_open(IEZ_REAL(open), path, flags, mode);
}

IEZ_EXPORT int open64(const char *path, int flags, ...) {
    IEZ_MODE_ARGUMENT(mode, flags);
    return forward_open(IEZ_REAL(open64), path, flags, mode);
}

IEZ_EXPORT int openat(int dirfd, const char *path, int flags, ...) {
    IEZ_MODE_ARGUMENT(mode, flags);
    return forward_openat(IEZ_REAL(openat), dirfd, path, flags, mode);
}

IEZ_EXPORT int openat64(int dirfd, const char *path, int flags, ...) {
    IEZ_MODE_ARGUMENT(mode, flags);
    return forward_openat(IEZ_REAL(openat64), dirfd, path, flags, mode);
}

/* creat() is open() with these flags; asked for other ones, it can only be open(). */
#define CREAT_FLAGS (O_CREAT | O_WRONLY | O_TRUNC)

static int creat_as_open(const char *path, int flags, ...) {
    IEZ_MODE_ARGUMENT(mode, flags);
    if (flags == CREAT_FLAGS)
        return IEZ_REAL(creat)(path, mode);
    return IEZ_REAL(open)(path, flags, mode);
}

static int creat64_as_open(const char *path, int flags, ...) {
    IEZ_MODE_ARGUMENT(mode, flags);
    if (flags == CREAT_FLAGS)
        return IEZ_REAL(creat64)(path, mode);
    return IEZ_REAL(open64)(path, flags, mode);
}

IEZ_EXPORT int creat(const char *path, mode_t mode) {
    return forward_open(creat_as_open, path, CREAT_FLAGS, mode);
}

IEZ_EXPORT int creat64(const char *path, mode_t mode) {
    return forward_open(creat64_as_open, path, CREAT_FLAGS, mode);
}

/* The checked forms have no mode: they are open(), or libc ends the program. */
IEZ_EXPORT int __open_2(const char *path, int flags) {
    if (!iez_flags_have_mode(flags))
        return noted(IEZ_REAL(open)(path, flags), path, flags);
    return IEZ_LATE(__open_2)(path, flags);
}

IEZ_EXPORT int __open64_2(const char *path, int flags) {
    if (!iez_flags_have_mode(flags))
        return noted(IEZ_REAL(open64)(path, flags), path, flags);
    return IEZ_LATE(__open64_2)(path, flags);
}

IEZ_EXPORT int __openat_2(int dirfd, const char *path, int flags) {
    if (!iez_flags_have_mode(flags))
        return noted(IEZ_REAL(openat)(dirfd, path, flags), path, flags);
    return IEZ_LATE(__openat_2)(dirfd, path, flags);
}

IEZ_EXPORT int __openat64_2(int dirfd, const char *path, int flags) {
    if (!iez_flags_have_mode(flags))
        return noted(IEZ_REAL(openat64)(dirfd, path, flags), path, flags);
    return IEZ_LATE(__openat64_2)(dirfd, path, flags);
}
