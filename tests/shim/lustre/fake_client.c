/* A stand-in for Lustre's client module, preloaded behind the library under test: it sees the calls
 * that would reach the kernel and answers as docs/lustre-interface.md says a client does. The
 * layout of a file is kept in an xattr of the real file.
 *
 * FAKE_LUSTRE in the environment: an errno's number that every SETSTRIPE is answered with, or
 * "silent" (answers 0 and does nothing), or "slow" (waits between create and layout).
 * FAKE_LUSTRE_DEFAULT: the errno with which the MDS refuses the default layout; EINTR only once.
 * Each call of interest is written to the file FAKE_LUSTRE_LOG names. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DELAY     0x2100
#define SETSTRIPE 0x4008669AUL
#define STORED    "user.fake.lov"

static long kernel(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static long with_errno(long result) {
    if (result >= 0 || result < -4095)
        return result;
    errno = (int)-result;
    return -1;
}

static void log_call(const char *name, unsigned long value) {
    const char *path = getenv("FAKE_LUSTRE_LOG");
    char line[64];
    int n = snprintf(line, sizeof line, "%s %lx\n", name, value);
    if (!path)
        return;
    long fd = kernel(SYS_openat, AT_FDCWD, (long)path, O_WRONLY | O_APPEND | O_CREAT, 0600, 0, 0);
    kernel(SYS_write, fd, (long)line, n, 0, 0, 0);
    kernel(SYS_close, fd, 0, 0, 0, 0, 0);
}

static long stored(int fd, void *buffer, long room) {
    return kernel(SYS_fgetxattr, fd, (long)STORED, (long)buffer, room, 0, 0);
}

static mode_t mode_of(int fd) {
    struct stat st;
    return kernel(SYS_fstat, fd, (long)&st, 0, 0, 0, 0) == 0 ? st.st_mode : 0;
}

static int is_regular(int fd) {
    return S_ISREG(mode_of(fd));
}

/* A plain open for writing gives a file without a layout the default one. */
static long fake_open(int dirfd, const char *path, int flags, mode_t mode) {
    int delayed = (flags & DELAY) == DELAY;
    long fd = kernel(SYS_openat, dirfd, (long)path, delayed ? flags & ~DELAY : flags, mode, 0, 0);
    if (fd < 0 || (flags & O_PATH) || !is_regular((int)fd))
        return fd;
    if (delayed)
        log_call("delayed", (unsigned long)flags);
    static const uint32_t plain[8] = {0x0BD10BD0, 1, 0, 0, 0, 0, 1 << 20, 1};
    if (delayed || (flags & O_ACCMODE) == O_RDONLY || stored((int)fd, NULL, 0) > 0)
        return fd;
    static int refusals;
    const char *refused = getenv("FAKE_LUSTRE_DEFAULT");
    if (refused && (atol(refused) != EINTR || refusals++ == 0)) {
        kernel(SYS_close, fd, 0, 0, 0, 0, 0);
        return -atol(refused);
    }
    kernel(SYS_fsetxattr, fd, (long)STORED, (long)plain, sizeof plain, 1, 0);
    return fd;
}

static long request_bytes(const unsigned char *wire) {
    uint32_t magic, size;
    uint16_t count;
    memcpy(&magic, wire, 4);
    memcpy(&size, wire + 4, 4);
    memcpy(&count, wire + 28, 2);
    switch (magic) {
    case 0x0BD10BD0:
        return 32;
    case 0x0BD30BD0:
        return 48;
    case 0x0BD50BD0:
        return 48 + 24L * count;
    case 0x0BD60BD0:
        return size;
    default:
        return -EINVAL;
    }
}

/* What is read back has magic V1 or V3, never SPECIFIC, and a generation for the offset. */
static long as_read(const unsigned char *wire, long bytes, unsigned char *out) {
    uint32_t magic;
    memcpy(&magic, wire, 4);
    memcpy(out, wire, (size_t)bytes);
    if (magic != 0x0BD50BD0)
        return bytes;
    uint32_t plain = wire[32] ? 0x0BD30BD0 : 0x0BD10BD0;
    memcpy(out, &plain, 4);
    memset(out + 30, 0, 2);
    if (wire[32])
        return bytes;
    memcpy(out + 32, wire + 48, (size_t)bytes - 48);
    return bytes - 16;
}

static long set_stripe(int fd, unsigned char *wire) {
    static __thread unsigned char answer[65536];
    const char *forced = getenv("FAKE_LUSTRE");
    long bytes = request_bytes(wire);
    log_call("setstripe", (unsigned long)bytes);
    if (forced && strcmp(forced, "silent") == 0)
        return 0;
    if (forced && strcmp(forced, "slow") == 0)
        kernel(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
    else if (forced)
        return -atol(forced);
    if (bytes < 0)
        return bytes;
    if (!(mode_of(fd) & S_IWUSR) && kernel(SYS_geteuid, 0, 0, 0, 0, 0, 0) != 0)
        return -EACCES;
    long length = as_read(wire, bytes, answer);
    long set = kernel(SYS_fsetxattr, fd, (long)STORED, (long)answer, length, 1, 0);
    if (set == 0)
        memcpy(wire, answer, (size_t)(length < bytes ? length : bytes));
    return set;
}

long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    if (number == SYS_openat)
        return with_errno(fake_open((int)a, (const char *)b, (int)c, (mode_t)d));
    if (number == SYS_ioctl && (unsigned long)b == SETSTRIPE)
        return with_errno(set_stripe((int)a, (unsigned char *)c));
    if (number == SYS_fgetxattr && strcmp((const char *)b, "lustre.lov") == 0)
        return with_errno(stored((int)a, (void *)c, d));
    return with_errno(kernel(number, a, b, c, d, e, f));
}

int openat(int dirfd, const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
    va_end(list);
    return (int)with_errno(fake_open(dirfd, path, flags, mode));
}

int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
    va_end(list);
    return (int)with_errno(fake_open(AT_FDCWD, path, flags, mode));
}

/* A file without a layout takes no data, unless its mode kept its owner from giving it one. */
ssize_t write(int fd, const void *data, size_t bytes) {
    mode_t mode = mode_of(fd);
    if (S_ISREG(mode) && (mode & S_IWUSR) && getenv("FAKE_LUSTRE_LOG") &&
        stored(fd, NULL, 0) == -ENODATA) {
        errno = EBADF;
        return -1;
    }
    return with_errno(kernel(SYS_write, fd, (long)data, (long)bytes, 0, 0, 0));
}
