#include "real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>

#include "flags.h"
#include "objects.h"

/* The linker's own names for where this library begins and ends. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static int kernel_openat(int dirfd, const char *path, int flags, mode_t mode) {
    return (int)syscall(SYS_openat, dirfd, path, flags, mode);
}

static int early_open(const char *path, int flags, ...) {
    IEZ_MODE_ARGUMENT(mode, flags);
    return kernel_openat(AT_FDCWD, path, flags, mode);
}

static int early_openat(int dirfd, const char *path, int flags, ...) {
    IEZ_MODE_ARGUMENT(mode, flags);
    return kernel_openat(dirfd, path, flags, mode);
}

static int early_creat(const char *path, mode_t mode) {
    return kernel_openat(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

static int early_fcntl(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

static int early_dup2(int fd, int target) {
    if (fd == target) /* which dup3 refuses */
        return syscall(SYS_fcntl, fd, F_GETFD) < 0 ? -1 : fd;
    return (int)syscall(SYS_dup3, fd, target, 0);
}

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static void early_closefrom(int first) {
    syscall(SYS_close_range, first > 0 ? first : 0, ~0U, 0);
}

static __attribute__((noreturn)) void early_exit(int status) {
    for (;;)
        syscall(SYS_exit_group, status);
}

/* EARLY(name, result, parameters, system call and its arguments) */
#define EARLY(name, result, parameters, ...)                                                       \
    static result early_##name parameters {                                                        \
        return (result)syscall(__VA_ARGS__);                                                       \
    }

EARLY(write, ssize_t, (int fd, const void *data, size_t n), SYS_write, fd, data, n)
EARLY(pwrite, ssize_t, (int fd, const void *data, size_t n, off_t at), SYS_pwrite64, fd, data, n,
      at)
EARLY(writev, ssize_t, (int fd, const struct iovec *v, int n), SYS_writev, fd, v, n)
EARLY(pwritev, ssize_t, (int fd, const struct iovec *v, int n, off_t at), SYS_pwritev, fd, v, n, at,
      0L)
EARLY(pwritev2, ssize_t, (int fd, const struct iovec *v, int n, off_t at, int flags), SYS_pwritev2,
      fd, v, n, at, 0L, flags)
EARLY(sendfile, ssize_t, (int out, int in, off_t *at, size_t n), SYS_sendfile, out, in, at, n)
EARLY(copy_file_range, ssize_t,
      (int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags),
      SYS_copy_file_range, in, in_at, out, out_at, n, flags)
EARLY(splice, ssize_t, (int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags),
      SYS_splice, in, in_at, out, out_at, n, flags)
EARLY(ftruncate, int, (int fd, off_t bytes), SYS_ftruncate, fd, bytes)
EARLY(read, ssize_t, (int fd, void *data, size_t n), SYS_read, fd, data, n)
EARLY(pread, ssize_t, (int fd, void *data, size_t n, off_t at), SYS_pread64, fd, data, n, at)
EARLY(readv, ssize_t, (int fd, const struct iovec *v, int n), SYS_readv, fd, v, n)
EARLY(preadv, ssize_t, (int fd, const struct iovec *v, int n, off_t at), SYS_preadv, fd, v, n, at,
      0L)
EARLY(preadv2, ssize_t, (int fd, const struct iovec *v, int n, off_t at, int flags), SYS_preadv2,
      fd, v, n, at, 0L, flags)
EARLY(lseek, off_t, (int fd, off_t at, int whence), SYS_lseek, fd, at, whence)
EARLY(close, int, (int fd), SYS_close, fd)
EARLY(close_range, int, (unsigned first, unsigned last, int flags), SYS_close_range, first, last,
      flags)
EARLY(dup, int, (int fd), SYS_dup, fd)
EARLY(dup3, int, (int fd, int target, int flags), SYS_dup3, fd, target, flags)
EARLY(rename, int, (const char *from, const char *to), SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to,
      0)
EARLY(renameat, int, (int from_fd, const char *from, int to_fd, const char *to), SYS_renameat2,
      from_fd, from, to_fd, to, 0)
EARLY(renameat2, int, (int from_fd, const char *from, int to_fd, const char *to, unsigned flags),
      SYS_renameat2, from_fd, from, to_fd, to, flags)
EARLY(link, int, (const char *from, const char *to), SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0)
EARLY(linkat, int, (int from_fd, const char *from, int to_fd, const char *to, int flags),
      SYS_linkat, from_fd, from, to_fd, to, flags)
EARLY(unlink, int, (const char *path), SYS_unlinkat, AT_FDCWD, path, 0)
EARLY(unlinkat, int, (int dirfd, const char *path, int flags), SYS_unlinkat, dirfd, path, flags)

struct iez_real iez_real;

const struct iez_real iez_early = {
    .open = early_open,
    .open64 = early_open,
    .openat = early_openat,
    .openat64 = early_openat,
    .creat = early_creat,
    .creat64 = early_creat,
    .write = early_write,
    .pwrite = early_pwrite,
    .pwrite64 = early_pwrite,
    .writev = early_writev,
    .pwritev = early_pwritev,
    .pwritev64 = early_pwritev,
    .pwritev2 = early_pwritev2,
    .pwritev64v2 = early_pwritev2,
    .sendfile = early_sendfile,
    .sendfile64 = early_sendfile,
    .copy_file_range = early_copy_file_range,
    .splice = early_splice,
    .ftruncate = early_ftruncate,
    .ftruncate64 = early_ftruncate,
    .read = early_read,
    .pread = early_pread,
    .pread64 = early_pread,
    .readv = early_readv,
    .preadv = early_preadv,
    .preadv64 = early_preadv,
    .preadv2 = early_preadv2,
    .preadv64v2 = early_preadv2,
    .lseek = early_lseek,
    .lseek64 = early_lseek,
    .close = early_close,
    .close_range = early_close_range,
    .closefrom = early_closefrom,
    .dup = early_dup,
    .dup2 = early_dup2,
    .dup3 = early_dup3,
    .fcntl = early_fcntl,
    .fcntl64 = early_fcntl,
    ._exit = early_exit,
    ._Exit = early_exit,
    .rename = early_rename,
    .renameat = early_renameat,
    .renameat2 = early_renameat2,
    .link = early_link,
    .linkat = early_linkat,
    .unlink = early_unlink,
    .unlinkat = early_unlinkat,
};

/* Where the linker's own tables do not tell (musl): dlsym. A libc that lacks a name (musl has no
 * __open_2) has no program that calls it: the first form stays. So it does where another library's
 * dlsym answers with our own function. */
static uintptr_t find_slowly(const char *name) {
    const char *next = dlsym(RTLD_NEXT, name);
    size_t bytes = strlen(name);
    char short_name[32];
    /* Newer musl has the names with 64 for the linker alone. */
    if (!next && bytes < sizeof short_name && strcmp(name + bytes - 2, "64") == 0) {
        memcpy(short_name, name, bytes - 2);
        short_name[bytes - 2] = '\0';
        next = dlsym(RTLD_NEXT, short_name);
    }
    if (!next)
        dlerror(); /* the program must not find our error */
    return next < __ehdr_start || next >= _end ? (uintptr_t)next : 0;
}

static _Atomic bool is_started;

/* By the linker's own tables, as dlsym would answer, in a tenth of its time and without its lock: a
 * child of a threaded program's fork could wait for that without end. Before the start the early
 * form serves: to look a function up may allocate, and an allocator may be who is calling. */
uintptr_t iez_real_find(void *slot, const char *name, uintptr_t early) {
    int saved = errno;
    uintptr_t found = 0;
    if (!early || atomic_load(&is_started)) {
        found = iez_objects_next(name);
        if (!found)
            found = find_slowly(name);
        if (!found)
            found = early;
        memcpy(slot, &found, sizeof found);
    }
    errno = saved;
    return found ? found : early;
}

/* A signal handler may be the first to call a function. Where the tables do not tell it cannot be
 * found there, so all that a handler may call are found now. */
static void find_all(void) {
#define LIBC_HOOK(name) iez_real_find(&iez_real.name, #name, (uintptr_t)iez_early.name);
#define LATE_HOOK(name)
#define CALLER_HOOK(name)
#define MADE_HOOK(name)
#include "hooks.def"
#undef LIBC_HOOK
#undef LATE_HOOK
#undef CALLER_HOOK
#undef MADE_HOOK
}

void iez_real_start(void) {
    iez_objects_take_down((uintptr_t)&iez_real);
    atomic_store(&is_started, true);
    if (!iez_objects_next("write") || !iez_objects_next("close"))
        find_all();
}
