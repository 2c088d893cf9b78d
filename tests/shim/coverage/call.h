/* What the coverage programs share. CALL() names a function, says what the trace must have of the
 * file it is given (tests/shim/coverage_calls.py reads it), and calls it. Everything else that a
 * case needs is done by raw system calls, which the library does not see.
 *
 * A case runs in a fresh, empty directory, on the file "data". */
#ifndef CALL_H
#define CALL_H

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

struct call_entry {
    const char *name;
    long (*run)(void);
};

/* 16-byte entries: the linker puts them one after the other. */
#define CALL(name_, trace_)                                                                        \
    static long case_##name_(void);                                                                \
    static const struct call_entry entry_##name_                                                   \
        __attribute__((used, section("calls"), aligned(16))) = {#name_, case_##name_};             \
    static long case_##name_(void)

extern const struct call_entry __start_calls[], __stop_calls[];

#define TEXT "0123456789"

/* A file with TEXT in it, or an empty one; its descriptor. */
__attribute__((unused)) static int with_text(const char *name) {
    int fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CREAT, 0644);
    syscall(SYS_pwrite64, fd, TEXT, 10L, 0L);
    return fd;
}

__attribute__((unused)) static int empty(void) {
    return (int)syscall(SYS_openat, AT_FDCWD, "data", O_RDWR | O_CREAT, 0644);
}

__attribute__((unused)) static FILE *stream(void) {
    return fdopen(empty(), "w+");
}

/* Standard output, which is the file. */
__attribute__((unused)) static FILE *output(void) {
    syscall(SYS_dup3, empty(), 1, 0);
    return stdout;
}

__attribute__((unused)) static long raw_write(int fd, const char *text) {
    return syscall(SYS_write, fd, text, strlen(text));
}

__attribute__((unused)) static int raw_close(int fd) {
    return (int)syscall(SYS_close, fd);
}

/* Says what came of it, past anything that the case did to descriptor 1. */
int main(int argc, char **argv) {
    char line[128];
    int said = (int)syscall(SYS_dup3, 1, 900, O_CLOEXEC);
    for (const struct call_entry *entry = __start_calls; entry < __stop_calls; entry++)
        if (argc == 2 && strcmp(entry->name, argv[1]) == 0) {
            errno = 1234;
            long result = entry->run();
            int n = snprintf(line, sizeof line, "%s: %ld errno %d\n", argv[1], result, errno);
            syscall(SYS_write, said, line, (long)n);
            return 0;
        }
    return 2;
}

#endif
