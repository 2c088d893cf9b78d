/* The functions behind the hooks: the next definition after ours, be it libc's or that of another
 * preloaded library. */
#ifndef IEZ_REAL_H
#define IEZ_REAL_H

#include <aio.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

/* What a checked build calls; no header declares them. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);
ssize_t __read_chk(int fd, void *data, size_t bytes, size_t room);
ssize_t __pread_chk(int fd, void *data, size_t bytes, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *data, size_t bytes, off64_t offset, size_t room);
int __printf_chk(int flag, const char *format, ...);
int __fprintf_chk(FILE *stream, int flag, const char *format, ...);
int __vprintf_chk(int flag, const char *format, va_list arguments);
int __vfprintf_chk(FILE *stream, int flag, const char *format, va_list arguments);
int __dprintf_chk(int fd, int flag, const char *format, ...);
int __vdprintf_chk(int fd, int flag, const char *format, va_list arguments);
int _IO_putc(int character, FILE *stream);

/* Newer than some libc that the library is built with. */
int close_range(unsigned first, unsigned last, int flags);
void closefrom(int first);
int fcntl64(int fd, int command, ...);

#define LIBC_HOOK(name) __typeof__(name) *name;
#define LATE_HOOK(name) __typeof__(name) *name;
#define CALLER_HOOK(name)
#define MADE_HOOK(name)
struct iez_real {
#include "hooks.def"
};
#undef LIBC_HOOK
#undef LATE_HOOK
#undef CALLER_HOOK
#undef MADE_HOOK

/* What has been found so far, and what serves before the start and where the libc at hand lacks a
 * name: the LIBC ones, straight to the kernel. */
extern struct iez_real iez_real;
extern const struct iez_real iez_early;

void iez_real_start(void);

/* Finds one and keeps it in its slot. */
uintptr_t iez_real_find(void *slot, const char *name, uintptr_t early);

/* The function behind a hook; usable at any time. A LATE one has no early form. */
#define IEZ_FIND(name, early)                                                                      \
    (iez_real.name ? iez_real.name                                                                 \
                   : (__typeof__(iez_real.name))iez_real_find(&iez_real.name, #name, early))
#define IEZ_REAL(name) IEZ_FIND(name, (uintptr_t)iez_early.name)
#define IEZ_LATE(name) IEZ_FIND(name, 0)

#endif
