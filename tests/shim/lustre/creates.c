/* Creates files in the current directory in the ways that matter to a layout, writes to each, and
 * prints what it saw. Argument: "few" to use up all descriptors but one first, "one" for one file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void report(const char *name, int fd) {
    struct stat st = {0};
    int error = errno;
    int flags = fd < 0 ? 0 : fcntl(fd, F_GETFL);
    ssize_t wrote = fd < 0 ? -1 : write(fd, "data", 4);
    int write_error = wrote < 0 ? errno : 0;
    fstat(fd, &st);
    printf("%s fd=%d errno=%d flags=%x wrote=%zd/%d mode=%o size=%ld\n", name, fd,
           fd < 0 ? error : 0, flags, wrote, write_error, st.st_mode, (long)st.st_size);
}

static void create(const char *name, int flags, mode_t mode) {
    int fd = open(name, flags, mode);
    report(name, fd);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "few") == 0) {
        struct rlimit limit = {4, 4};
        setrlimit(RLIMIT_NOFILE, &limit);
        create("plain", O_CREAT | O_WRONLY, 0644);
        create("exclusive", O_CREAT | O_WRONLY | O_EXCL, 0644);
        return 0;
    }
    create("plain", O_CREAT | O_WRONLY, 0644);
    if (argc > 1 && strcmp(argv[1], "one") == 0)
        return 0;
    create("plain", O_CREAT | O_WRONLY | O_TRUNC, 0644);
    create("exclusive", O_CREAT | O_RDWR | O_EXCL, 0600);
    create("exclusive", O_CREAT | O_RDWR | O_EXCL, 0600);
    create("append", O_CREAT | O_WRONLY | O_APPEND, 0644);
    create("reading", O_CREAT | O_RDONLY, 0644);
    create("readonly", O_CREAT | O_WRONLY, 0444);
    umask(0277);
    create("masked", O_CREAT | O_WRONLY, 0666);
    umask(022);
    create("nocontrol", O_CREAT | O_WRONLY | O_NOCTTY, 0644);
    create("own_choice", O_CREAT | O_WRONLY | O_NOCTTY | O_ASYNC, 0644);
    symlink("target", "dangling");
    create("dangling", O_CREAT | O_WRONLY, 0644);
    mknod("empty", S_IFREG | 0644, 0);
    create("empty", O_CREAT | O_WRONLY, 0644);
    return 0;
}
