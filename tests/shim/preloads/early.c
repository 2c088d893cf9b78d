/* A preloaded library that opens in its constructor and destructor, and wraps open() itself. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static int calls;

static void create(const char *name) {
    int fd = open(name, O_CREAT | O_RDWR, 0644);
    dprintf(1, "%s: %d\n", name, fd);
    close(fd);
    FILE *file = fopen("early-stream", "a");
    dprintf(1, "stream: %d\n", file ? fileno(file) : -1);
    if (file)
        fclose(file);
}

__attribute__((constructor)) static void early(void) {
    create("early-constructor");
}

__attribute__((destructor)) static void late(void) {
    create("early-destructor");
    dprintf(1, "more than one call: %d\n", calls > 1);
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & O_CREAT) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    calls++;
    int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    return next(path, flags, mode);
}

/* As some tools do: goes back to the first open() there is. */
int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & O_CREAT) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return open(path, flags, mode);
}
