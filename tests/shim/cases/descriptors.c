/* Closing and copying descriptors; odd uses of them. */
#include <sys/resource.h>

#include "say.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4U
#endif

static void open_and_write(const char *name) {
    int fd = FD(open(name, O_CREAT | O_RDWR, 0644));
    INT(write(fd, name, strlen(name)));
}

CASE(all_are_closed_by_close_range, "a b c") {
    open_and_write("a");
    open_and_write("b");
    INT(close_range(3, ~0U, CLOSE_RANGE_CLOEXEC));
    INT(write(3, "more", 4));
    INT(close_range(3, 3, 0));
    INT(write(3, "none", 4));
    INT(write(4, "more", 4));
    INT(close_range(3, ~0U, 0));
    INT(write(4, "none", 4));
    INT(close_range(5, 3, 0));
    INT(close_range(3, 9, 999));
    open_and_write("c");
}

CASE(all_are_closed_by_closefrom, "a b c") {
    open_and_write("a");
    open_and_write("b");
    closefrom(4);
    INT(write(3, "more", 4));
    INT(write(4, "none", 4));
    closefrom(-5);
    int fd = open("c", O_CREAT | O_RDWR, 0644);
    (void)!write(fd, fd == 0 ? "lowest" : "another", 6);
}

CASE(all_are_closed_by_a_loop, "a b c") {
    open_and_write("a");
    open_and_write("b");
    for (int fd = 3; fd < 70000; fd++)
        close(fd);
    INT(write(3, "none", 4));
    open_and_write("c");
    INT(close(-1));
    INT(close(INT_MAX));
}

CASE(copies, "data other") {
    int fd = FD(open("data", O_CREAT | O_RDWR, 0644));
    INT(write(fd, "0123", 4));
    FD(dup(fd));
    FD(dup2(fd, 50));
    FD(dup2(fd, fd));
    FD(dup2(fd, -1));
    FD(dup2(99, 50));
    FD(dup2(99, 99));
    FD(dup3(fd, 51, O_CLOEXEC));
    FD(dup3(fd, fd, 0));
    FD(dup3(fd, 52, 999));
    FD(dup(-1));
    FD(fcntl(fd, F_DUPFD, 60));
    FD(fcntl(fd, F_DUPFD_CLOEXEC, 60));
    FD(fcntl64(fd, F_DUPFD, 70));
    FD(fcntl(fd, F_DUPFD, -1));
    FD(fcntl(-1, F_DUPFD, 3));
    INT(write(50, "4", 1));
    INT(write(51, "5", 1));
    INT(write(60, "6", 1));
    INT(close(50));
    INT(write(60, "7", 1));
    FD(open("other", O_CREAT | O_RDWR, 0644));
    INT(dup2(fd, 4));
    INT(write(4, "8", 1));
    INT(lseek(fd, 0, SEEK_CUR));
}

CASE(commands_of_fcntl, "data") {
    struct flock lock = {.l_type = F_WRLCK, .l_len = 10};
    struct flock64 lock64 = {.l_type = F_RDLCK, .l_start = 20, .l_len = 10};
    struct f_owner_ex owner = {F_OWNER_PID, getpid()};
    uint64_t hint = 2;
    int fd = FD(open("data", O_CREAT | O_RDWR, 0644));
    INT(fcntl(fd, F_GETFL));
    INT(fcntl(fd, F_SETFL, O_APPEND));
    INT(fcntl64(fd, F_GETFL));
    INT(fcntl(fd, F_SETFD, FD_CLOEXEC));
    INT(fcntl(fd, F_GETFD));
    INT(fcntl(fd, F_SETLK, &lock));
    INT(fcntl(fd, F_GETLK, &lock));
    say("%d %ld\n", lock.l_type, (long)lock.l_len);
    INT(fcntl64(fd, F_SETLK64, &lock64));
    INT(fcntl(fd, F_OFD_SETLK, &(struct flock){.l_type = F_WRLCK, .l_start = 50, .l_len = 1}));
    INT(fcntl(fd, F_SETLK, (void *)8));
    INT(fcntl(fd, F_SETOWN_EX, &owner));
    INT(fcntl(fd, F_GETOWN) == getpid());
    INT(fcntl(fd, F_GET_RW_HINT, &hint));
    INT(fcntl(fd, F_SETPIPE_SZ, 4096));
    INT(fcntl(fd, 9999, 0));
    INT(fcntl(-1, F_GETFL));
}

CASE(standard_output_becomes_a_file, "out") {
    int saved = dup(1);
    int fd = open("out", O_CREAT | O_WRONLY, 0644);
    printf("before\n");
    fflush(stdout);
    INT(dup2(fd, 1));
    close(fd);
    printf("printed\n");
    puts("put");
    fflush(stdout);
    INT(write(1, "written\n", 8));
    INT(dup2(saved, 1));
    printf("after\n");
}

static void create_after(void) {
    int fd = FD(open("second", O_CREAT | O_RDWR, 0644));
    INT(write(fd, "0123", 4));
    INT(write(2, "mine", 4));
}

CASE(standard_error_is_given_up, "first second") {
    open_and_write("first");
    close(2);
    INT(write(2, "none", 4));
    create_after();
    in_child(create_after);
}

/* Both go on with a descriptor that they share. */
static void *do_nothing(void *unused) {
    for (int i = 0; i < 100; i++)
        usleep(100);
    return unused;
}

CASE(a_threaded_program_forks, "data") {
    pthread_t threads[4];
    int fd = FD(open("data", O_CREAT | O_RDWR, 0644));
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, do_nothing, NULL);
    for (int i = 0; i < 20; i++) {
        INT(write(fd, "parent", 6));
        pid_t child = fork();
        if (child == 0) {
            INT(write(fd, "child", 5));
            INT(lseek(fd, 0, SEEK_CUR));
            _exit(7);
        }
        int status = -1;
        waitpid(child, &status, 0);
        say("status %#x\n", status);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    INT(lseek(fd, 0, SEEK_CUR));
}

CASE(vfork_writes_and_execs, "data") {
    int fd = FD(open("data", O_CREAT | O_RDWR, 0644));
    pid_t child = vfork();
    if (child == 0) {
        if (write(fd, "child", 5) != 5 || dup2(fd, 1) != 1)
            _exit(98);
        execl("/bin/echo", "echo", "by echo", (char *)NULL);
        _exit(99);
    }
    int status = -1;
    waitpid(child, &status, 0);
    say("status %#x\n", status);
    INT(write(fd, "parent", 6));
    INT(lseek(fd, 0, SEEK_CUR));
}

static void end_at_once(void) {
    open_and_write("data");
    printf("lost");
    _exit(3);
}

static void end_at_once_too(void) {
    open_and_write("data");
    printf("lost");
    _Exit(4);
}

CASE(ends_without_flushing, "data") {
    in_child(end_at_once);
    in_child(end_at_once_too);
}
