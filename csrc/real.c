#include "real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

#include "flags.h"

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

static int early_open_2(const char *path, int flags) {
    return kernel_openat(AT_FDCWD, path, flags, 0);
}

static int early_openat_2(int dirfd, const char *path, int flags) {
    return kernel_openat(dirfd, path, flags, 0);
}

static FILE *late_fopen(const char *restrict path, const char *restrict mode) {
    iez_real_resolve_late();
    return iez_real.fopen == late_fopen ? NULL : iez_real.fopen(path, mode);
}

static FILE *late_freopen(const char *restrict path, const char *restrict mode,
                          FILE *restrict stream) {
    iez_real_resolve_late();
    return iez_real.freopen == late_freopen ? NULL : iez_real.freopen(path, mode, stream);
}

static int late_mkstemp(char *name) {
    iez_real_resolve_late();
    return iez_real.mkstemp == late_mkstemp ? -1 : iez_real.mkstemp(name);
}

static int late_mkostemp(char *name, int flags) {
    iez_real_resolve_late();
    return iez_real.mkostemp == late_mkostemp ? -1 : iez_real.mkostemp(name, flags);
}

static int late_mkstemps(char *name, int suffix) {
    iez_real_resolve_late();
    return iez_real.mkstemps == late_mkstemps ? -1 : iez_real.mkstemps(name, suffix);
}

static int late_mkostemps(char *name, int suffix, int flags) {
    iez_real_resolve_late();
    return iez_real.mkostemps == late_mkostemps ? -1 : iez_real.mkostemps(name, suffix, flags);
}

struct iez_real iez_real = {
    .open = early_open,
    .open64 = early_open,
    .openat = early_openat,
    .openat64 = early_openat,
    .creat = early_creat,
    .creat64 = early_creat,
    .__open_2 = early_open_2,
    .__open64_2 = early_open_2,
    .__openat_2 = early_openat_2,
    .__openat64_2 = early_openat_2,
    .fopen = late_fopen,
    .fopen64 = late_fopen,
    .freopen = late_freopen,
    .freopen64 = late_freopen,
    .mkstemp = late_mkstemp,
    .mkstemp64 = late_mkstemp,
    .mkostemp = late_mkostemp,
    .mkostemp64 = late_mkostemp,
    .mkstemps = late_mkstemps,
    .mkstemps64 = late_mkstemps,
    .mkostemps = late_mkostemps,
    .mkostemps64 = late_mkostemps,
};

/* A libc that lacks a name (musl has no __open_2) has no program that calls it: the first form
 * stays. So it does where another library's dlsym answers with our own function. */
static void resolve_one(void *slot, const char *name) {
    const char *next = dlsym(RTLD_NEXT, name);
    if (!next)
        dlerror(); /* the program must not find our error */
    else if (next < __ehdr_start || next >= _end)
        memcpy(slot, &next, sizeof next);
}

void iez_real_resolve_late(void) {
    int saved = errno;
#define LIBC_HOOK(name)
#define LATE_HOOK(name) resolve_one(&iez_real.name, #name);
#define CALLER_HOOK(name)
#include "hooks.def"
#undef LIBC_HOOK
#undef LATE_HOOK
    errno = saved;
}

void iez_real_resolve(void) {
    int saved = errno;
#define LIBC_HOOK(name) resolve_one(&iez_real.name, #name);
#define LATE_HOOK(name)
#include "hooks.def"
#undef LIBC_HOOK
#undef LATE_HOOK
#undef CALLER_HOOK
    errno = saved;
}
