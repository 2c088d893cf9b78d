/* System calls made directly, for the library's own needs: they pass by the hooks (ours and those
 * of other preloaded libraries), are no cancellation points, and need no symbol that some libc
 * lacks (fstat is new in glibc 2.33). They set errno. */
#ifndef IEZ_SYSTEM_H
#define IEZ_SYSTEM_H

#include <fcntl.h>
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

#endif
