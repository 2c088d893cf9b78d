/* POSIX record locks, which go when the process closes any descriptor of the file. */
#include "say.h"

/* Whether another process finds the first byte locked. */
static void say_lock(const char *when) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_len = 1};
        int fd = (int)syscall(2, "locked", O_RDWR, 0);
        fcntl(fd, F_GETLK, &lock);
        _exit(lock.l_type != F_UNLCK);
    }
    int status = -1;
    waitpid(child, &status, 0);
    say("%s: locked %d\n", when, WEXITSTATUS(status));
}

static int lock_it(void) {
    struct flock lock = {.l_type = F_WRLCK, .l_len = 1};
    int fd = FD(open("locked", O_CREAT | O_RDWR, 0644));
    INT(fcntl(fd, F_SETLK, &lock));
    say_lock("taken");
    return fd;
}

static void open_again(void) {
    FD(open("locked", O_RDWR));
    say_lock("open");
    FD(open("locked", O_CREAT | O_RDWR, 0644));
    say_lock("open to create");
    FD(openat(AT_FDCWD, "locked", O_CREAT | O_WRONLY, 0644));
    say_lock("openat to create");
    FD(open("locked", O_CREAT | O_EXCL | O_RDWR, 0644));
    say_lock("open exclusively");
    FILEP(fopen("locked", "a"));
    say_lock("fopen");
    FILEP(fopen("locked", "wx"));
    say_lock("fopen exclusively");
    FILEP(freopen("locked", "a", fopen("/dev/null", "r")));
    say_lock("freopen");
    FD(open("other", O_CREAT | O_RDWR, 0644));
    close(FD(open("other2", O_CREAT | O_RDWR, 0644)));
    say_lock("other files");
}

CASE(locks_on_a_file_with_data_stay, "locked other other2") {
    int fd = lock_it();
    INT(write(fd, "data", 4));
    open_again();
}

CASE(locks_on_an_empty_file_stay, "locked other other2") {
    lock_it();
    open_again();
}

CASE(locks_go_when_the_program_closes, "locked") {
    lock_it();
    close(FD(open("locked", O_CREAT | O_RDWR, 0644)));
    say_lock("closed");
}
