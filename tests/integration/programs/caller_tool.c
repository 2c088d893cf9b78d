/* A stand-in for another preloaded tool: wraps H5Fcreate alone and passes it on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

typedef int64_t (*create_function)(const char *, unsigned, int64_t, int64_t);

int64_t H5Fcreate(const char *name, unsigned flags, int64_t create_list, int64_t access_list) {
    create_function next = (create_function)dlsym(RTLD_NEXT, "H5Fcreate");
    return next ? 1000 + next(name, flags, create_list, access_list) : -1;
}
