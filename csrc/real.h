/* The functions behind the hooks: the next definition after ours, be it libc's or that of another
 * preloaded library. */
#ifndef IEZ_REAL_H
#define IEZ_REAL_H

#include <aio.h>
#include <fcntl.h>
#include <stdarg.h>
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

/* Usable at any time: until iez_real_resolve ran, the LIBC ones go straight to the kernel (to look
 * a function up may allocate, and an allocator may be who is calling), and so do those that the
 * libc at hand lacks. */
extern struct iez_real iez_real;

/* Resolves the LIBC ones. */
void iez_real_resolve(void);

/* Resolves one. */
void iez_real_find(void *slot, const char *name);

/* A LATE one: resolved when it is first called. */
#define IEZ_LATE(name)                                                                             \
    (iez_real.name ? iez_real.name : (iez_real_find(&iez_real.name, #name), iez_real.name))

#endif
