/* What the differential cases share: CASE() names one, the rest writes its transcript.
 *
 * A case runs in a fresh, empty directory, with the absolute path of it in `here`. Whatever it
 * writes must be the same with and without the preload library: no times, no inode numbers. The
 * second argument of CASE() lists the files (shell patterns, blank-separated) that must carry the
 * planned layout afterwards when the directory is planned. */
#ifndef SAY_H
#define SAY_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct case_entry {
    const char *name;
    void (*run)(void);
};

/* 16-byte entries: the linker puts them one after the other. */
#define CASE(name_, placed_)                                                                       \
    static void name_(void);                                                                       \
    static const struct case_entry entry_##name_                                                   \
        __attribute__((used, section("cases"), aligned(16))) = {#name_, name_};                    \
    static void name_(void)

extern const struct case_entry __start_cases[], __stop_cases[];

static char here[PATH_MAX];

__attribute__((unused, format(printf, 1, 2))) static void say(const char *format, ...) {
    char line[8192];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    (void)!write(1, line, n < (int)sizeof line ? (size_t)n : sizeof line - 1);
}

/* Result, errno, flags and stat of a call that gave a descriptor. */
__attribute__((unused)) static int say_fd(const char *call, int fd) {
    int error = errno;
    struct stat st;
    if (fd < 0)
        say("%s -> %d errno %d\n", call, fd, error);
    else if (fstat(fd, &st) == 0)
        say("%s -> %d errno %d flags %#o fdflags %d mode %#o size %ld links %ld at %ld\n", call, fd,
            error, fcntl(fd, F_GETFL), fcntl(fd, F_GETFD), st.st_mode, (long)st.st_size,
            (long)st.st_nlink, (long)lseek(fd, 0, SEEK_CUR));
    errno = error;
    return fd;
}

__attribute__((unused)) static FILE *say_file(const char *call, FILE *file) {
    int error = errno;
    if (file)
        say_fd(call, fileno(file));
    else
        say("%s -> NULL errno %d\n", call, error);
    errno = error;
    return file;
}

/* errno is 1234 before each call, to see that a success keeps it. */
#define FD(call)    (errno = 1234, say_fd(#call, (call)))
#define FILEP(call) (errno = 1234, say_file(#call, (call)))
#define INT(call)                                                                                  \
    do {                                                                                           \
        errno = 1234;                                                                              \
        long result_ = (long)(call);                                                               \
        say("%s -> %ld errno %d\n", #call, result_, errno);                                        \
    } while (0)

/* Opens, says, closes: for calls that only matter for themselves. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        errno = 1234;                                                                              \
        int fd_ = say_fd(#call, (call));                                                           \
        if (fd_ >= 0)                                                                              \
            close(fd_);                                                                            \
    } while (0)

#define TRY_FILE(call)                                                                             \
    do {                                                                                           \
        errno = 1234;                                                                              \
        FILE *file_ = say_file(#call, (call));                                                     \
        if (file_)                                                                                 \
            fclose(file_);                                                                         \
    } while (0)

/* Stops the compiler from seeing what a pointer is. */
__attribute__((unused)) static const char *hidden(const volatile void *pointer) {
    return (const char *)(uintptr_t)pointer;
}

/* The absolute form of a name in the case's directory; valid until the fourth next call. */
__attribute__((unused)) static char *in_here(const char *name) {
    static char paths[4][2 * PATH_MAX];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", here, name);
    return path;
}

/* Makes a file of `bytes` bytes without a call that the library wraps. */
__attribute__((unused)) static void make(const char *name, int mode, int bytes) {
    if (mknod(name, S_IFREG | 0600, 0) != 0 || truncate(name, bytes) != 0 || chmod(name, mode) != 0)
        say("make %s: errno %d\n", name, errno);
}

/* Runs the function in a child and says how it ended. */
__attribute__((unused)) static void in_child(void (*run)(void)) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        run();
        exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    say("child: exit %d signal %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
        WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

/* Gives root's rights up for good; a no-op for other users. */
__attribute__((unused)) static void become_nobody(void) {
    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        say("setuid: errno %d\n", errno);
}

#ifndef SAY_NO_MAIN
int main(int argc, char **argv) {
    if (argc < 2 || !getcwd(here, sizeof here))
        return 2;
    for (const struct case_entry *entry = __start_cases; entry < __stop_cases; entry++)
        if (strcmp(entry->name, argv[1]) == 0) {
            entry->run();
            return 0;
        }
    return 2;
}
#endif

#endif
