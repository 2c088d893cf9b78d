/* System calls made directly, for the library's own needs: they pass by the hooks (ours and those
 * of other preloaded libraries), are no cancellation points, and need no symbol that some libc
 * lacks (fstat is new in glibc 2.33). They set errno. */
#ifndef IEZ_SYSTEM_H
#define IEZ_SYSTEM_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

static inline int iez_sys_fstatat(int dirfd, const char *path, struct stat *st, int flags) {
    return (int)syscall(SYS_newfstatat, dirfd, path, st, flags);
}

static inline uint64_t iez_sys_changed_ns(const struct stat *st) {
    return (uint64_t)st->st_mtim.tv_sec * 1000000000U + (uint64_t)st->st_mtim.tv_nsec;
}

static inline int iez_sys_fstat(int fd, struct stat *st) {
    return (int)syscall(SYS_fstat, fd, st);
}

/* What is at the path, and how large as far as this node knows. 0, or -1 and errno. */
static inline int iez_sys_type_and_size(int dirfd, const char *path, mode_t *type, uint64_t *size) {
    struct statx stx;
    if (syscall(SYS_statx, dirfd, path, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_SIZE, &stx) == 0) {
        *type = stx.stx_mode;
        *size = stx.stx_size;
        return 0;
    }
    struct stat st;
    if ((errno != ENOSYS && errno != EPERM) || iez_sys_fstatat(dirfd, path, &st, 0) != 0)
        return -1;
    *type = st.st_mode;
    *size = (uint64_t)st.st_size;
    return 0;
}

/* What is known of an open file without asking a server for it. */
struct iez_measure {
    uint64_t size_bytes;
    uint64_t device;
    uint64_t inode;
    uint64_t born_ns; /* 0: the file system does not tell */
    bool is_regular;
};

static inline int iez_sys_measure(int fd, struct iez_measure *found) {
    struct statx stx;
    struct stat st;
    if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
                STATX_TYPE | STATX_SIZE | STATX_INO | STATX_BTIME, &stx) == 0) {
        bool is_born = stx.stx_mask & STATX_BTIME;
        *found = (struct iez_measure){
            .size_bytes = stx.stx_size,
            .device = (uint64_t)stx.stx_dev_major << 32 | stx.stx_dev_minor,
            .inode = stx.stx_ino,
            .is_regular = S_ISREG(stx.stx_mode),
            .born_ns =
                is_born ? (uint64_t)stx.stx_btime.tv_sec * 1000000000U + stx.stx_btime.tv_nsec : 0,
        };
        return 0;
    }
    if ((errno != ENOSYS && errno != EPERM) || iez_sys_fstat(fd, &st) != 0)
        return -1;
    *found = (struct iez_measure){
        .size_bytes = (uint64_t)st.st_size, .inode = st.st_ino, .is_regular = S_ISREG(st.st_mode)};
    return 0;
}

/* No signal handler runs in this thread meanwhile: one that jumps away would leave things half
 * done. The mask has as many bits as the kernel has signals. */
static inline uint64_t iez_sys_hold_signals(void) {
    uint64_t all = ~0ULL, before = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof before);
    return before;
}

static inline void iez_sys_release_signals(uint64_t before) {
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
}

#endif
