/* A library that stands in for dlsym, as some tracers do. RTLD_NEXT means "after the caller", and
 * the caller is now this library: in front of the one under test it answers with that one's own
 * functions. */
#include <dlfcn.h>

void *dlsym(void *handle, const char *name) {
    static void *(*real)(void *, const char *);
    if (!real)
        real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    void *found = real ? real(handle, name) : (void *)0;
    return found;
}
