/* The functions behind the hooks: the next definition after ours, be it libc's or that of another
 * preloaded library. */
#ifndef IEZ_REAL_H
#define IEZ_REAL_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What a checked build calls instead of open(); no header declares them. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);

#define LIBC_HOOK(name) __typeof__(name) *name;
#define LATE_HOOK(name) __typeof__(name) *name;
#define CALLER_HOOK(name)
struct iez_real {
#include "hooks.def"
};
#undef LIBC_HOOK
#undef LATE_HOOK
#undef CALLER_HOOK

/* Usable at any time: until iez_real_resolve ran, the open family goes straight to the kernel
 * (dlsym may allocate, and an allocator may be who is opening). The late ones resolve first. */
extern struct iez_real iez_real;

/* Resolves what must not wait for the first call, and the rest. */
void iez_real_resolve(void);
void iez_real_resolve_late(void);

#endif
