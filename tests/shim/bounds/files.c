/* files COUNT [END [LIMIT BYTES]]: creates COUNT files, writes 8 bytes to each, closes them, and
 * says how many failed and how much memory it has. END: exit, or kill (itself, after the last
 * close), or open (nothing is closed). LIMIT: nofile, as or fsize. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void limit(const char *name, rlim_t bytes) {
    struct rlimit to = {bytes, bytes};
    int which = name[0] == 'n' ? RLIMIT_NOFILE : name[0] == 'a' ? RLIMIT_AS : RLIMIT_FSIZE;
    if (setrlimit(which, &to) != 0)
        exit(3);
}

/* The line of /proc/self/status. */
static void say_memory(const char *name) {
    static char text[8192];
    int fd = open("/proc/self/status", O_RDONLY);
    ssize_t bytes = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    text[bytes > 0 ? bytes : 0] = '\0';
    close(fd);
    const char *line = strstr(text, name);
    printf("%s %d\n", name, line ? atoi(line + strlen(name) + 1) : 0);
}

int main(int argc, char **argv) {
    const char *end = argc > 2 ? argv[2] : "exit";
    int failed = 0, first_error = 0;
    if (argc > 4)
        limit(argv[3], (rlim_t)atol(argv[4]));
    for (int i = 0; i < atoi(argv[1]); i++) {
        char name[32];
        snprintf(name, sizeof name, "file%05d", i);
        int fd = open(name, O_CREAT | O_WRONLY, 0644);
        if (fd < 0 || write(fd, "01234567", 8) != 8) {
            first_error = failed++ ? first_error : errno;
        }
        if (strcmp(end, "open") != 0)
            close(fd);
    }
    printf("failed %d errno %d\n", failed, first_error);
    say_memory("RssAnon");
    say_memory("RssFile");
    say_memory("RssShmem");
    fflush(stdout);
    if (strcmp(end, "kill") == 0)
        raise(SIGKILL);
    return 0;
}
