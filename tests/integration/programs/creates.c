/* Creates files by every call of libc that can, and prints what each gave: descriptor, errno,
 * mode, size. Compiled for several machines and C libraries. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void show(const char *what, int fd) {
    int error = errno;
    struct stat st;
    if (fd < 0)
        printf("%s: %s\n", what, strerror(error));
    else if (fstat(fd, &st) == 0)
        printf("%s: fd %d mode %o size %ld flags %x\n", what, fd, (unsigned)st.st_mode,
               (long)st.st_size, (unsigned)fcntl(fd, F_GETFL) & 03777777);
    if (fd >= 0)
        close(fd);
    errno = 0;
}

static void show_stream(const char *what, FILE *stream) {
    int error = errno;
    if (!stream) {
        printf("%s: %s\n", what, strerror(error));
        return;
    }
    fprintf(stream, "%s\n", what);
    printf("%s: fd %d at %ld\n", what, fileno(stream), ftell(stream));
    fclose(stream);
}

static void *race(void *number) {
    (void)number;
    for (int i = 0; i < 200; i++) {
        char name[32];
        snprintf(name, sizeof name, "raced_%d", i);
        int fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);
        if (fd >= 0 && write(fd, "won\n", 4) != 4)
            perror("write");
        if (fd >= 0)
            close(fd);
    }
    return NULL;
}

static void temporary(const char *what, int (*make)(char *), const char *target) {
    char name[] = "tempXXXXXX";
    int fd = make(name);
    printf("%s %d ", target, (int)strlen(name));
    if (fd >= 0)
        rename(name, target);
    show(what, fd);
}

static int make_with_suffix(char *name) {
    char longer[64];
    snprintf(longer, sizeof longer, "%s.h5", name);
    int fd = mkostemps(longer, 3, O_CLOEXEC);
    rename(longer, name);
    return fd;
}

int main(void) {
    show("open", open("open", O_CREAT | O_WRONLY, 0640));
    show("open again", open("open", O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600));
    show("open excl", open("open", O_CREAT | O_EXCL | O_WRONLY, 0600));
    show("open append", open("append", O_CREAT | O_APPEND | O_WRONLY, 0600));
    show("open missing", open("missing/file", O_CREAT | O_WRONLY, 0600));
    show("open NULL", open((const char *)(size_t)8, O_CREAT | O_WRONLY, 0600));
    show("open read-only mode", open("read_only", O_CREAT | O_RDWR, 0444));
    int home = open("home", O_RDONLY | O_DIRECTORY);
    show("openat", openat(home, "openat", O_CREAT | O_WRONLY, 0600));
    show("openat cwd", openat(AT_FDCWD, "openat", O_CREAT | O_WRONLY, 0600));
    show("openat bad", openat(77, "x", O_CREAT | O_WRONLY, 0600));
    close(home);
    show("creat", creat("creat", 0604));
    show_stream("fopen w", fopen("fopen_w", "w"));
    show_stream("fopen a", fopen("fopen_w", "a"));
    show_stream("fopen w+b", fopen("fopen_wb", "w+b"));
    show_stream("fopen wx", fopen("fopen_w", "wx"));
    show_stream("fopen missing", fopen("missing/file", "w"));
    show_stream("freopen", freopen("freopen", "w", fopen("fopen_w", "r")));
    temporary("mkstemp", mkstemp, "mkstemp");
    temporary("mkostemps", make_with_suffix, "mkostemps");
    pid_t child = fork();
    if (child == 0) {
        show_stream("child", fopen("child", "w"));
        fflush(stdout);
        _exit(7);
    }
    int status;
    waitpid(child, &status, 0);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, race, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("child %x\n", (unsigned)status);
    return 3;
}
