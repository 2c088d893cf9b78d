#include "real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "flags.h"

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

static FILE *early_fopen(const char *restrict path, const char *restrict mode) {
    iez_real_resolve();
    return iez_real.fopen == early_fopen ? NULL : iez_real.fopen(path, mode);
}

static FILE *early_freopen(const char *restrict path, const char *restrict mode,
                           FILE *restrict stream) {
    iez_real_resolve();
    return iez_real.freopen == early_freopen ? NULL : iez_real.freopen(path, mode, stream);
}

static int early_mkstemp(char *name) {
    iez_real_resolve();
    return iez_real.mkstemp == early_mkstemp ? -1 : iez_real.mkstemp(name);
}

static int early_mkostemp(char *name, int flags) {
    iez_real_resolve();
    return iez_real.mkostemp == early_mkostemp ? -1 : iez_real.mkostemp(name, flags);
}

static int early_mkstemps(char *name, int suffix) {
    iez_real_resolve();
    return iez_real.mkstemps == early_mkstemps ? -1 : iez_real.mkstemps(name, suffix);
}

static int early_mkostemps(char *name, int suffix, int flags) {
    iez_real_resolve();
    return iez_real.mkostemps == early_mkostemps ? -1 : iez_real.mkostemps(name, suffix, flags);
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
    .fopen = early_fopen,
    .fopen64 = early_fopen,
    .freopen = early_freopen,
    .freopen64 = early_freopen,
    .mkstemp = early_mkstemp,
    .mkstemp64 = early_mkstemp,
    .mkostemp = early_mkostemp,
    .mkostemp64 = early_mkostemp,
    .mkstemps = early_mkstemps,
    .mkstemps64 = early_mkstemps,
    .mkostemps = early_mkostemps,
    .mkostemps64 = early_mkostemps,
};

/* A libc that lacks a name (musl has no __open_2) has no program that calls it: the early form
 * stays. */
static void resolve_one(void *slot, const char *name) {
    void *next = dlsym(RTLD_NEXT, name);
    if (next)
        *(void **)slot = next;
}

void iez_real_resolve(void) {
    int saved = errno;
#define LIBC_HOOK(name) resolve_one(&iez_real.name, #name);
#define CALLER_HOOK(name)
#include "hooks.def"
#undef LIBC_HOOK
#undef CALLER_HOOK
    errno = saved;
}
