/* Flags of open(): each is seen by the kernel, and F_GETFL shows what it showed before. */
#include "say.h"

CASE(flags_of_new_files, "f*") {
    static const int flags[] = {
        O_WRONLY,
        O_RDWR,
        O_RDONLY,
        O_RDWR | O_CLOEXEC,
        O_WRONLY | O_APPEND,
        O_RDWR | O_TRUNC,
        O_RDONLY | O_TRUNC,
        O_WRONLY | O_SYNC,
        O_WRONLY | O_DSYNC,
        O_RDWR | O_NOFOLLOW,
        O_RDWR | O_NONBLOCK,
        O_RDWR | O_NOCTTY,
        O_RDWR | O_NOATIME,
        O_RDWR | O_LARGEFILE | 0100000,
        O_RDWR | O_EXCL | O_CLOEXEC | O_APPEND | O_NOFOLLOW,
        O_WRONLY | O_RDWR,
        O_RDWR | 0x40000000,
    };
    char name[16], again[32];
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        snprintf(name, sizeof name, "f%zu", i);
        snprintf(again, sizeof again, "again %zu", i);
        errno = 1234;
        int fd = say_fd(name, open(name, O_CREAT | flags[i], 0644));
        if (fd >= 0)
            close(fd);
        errno = 1234;
        fd = say_fd(again, open(name, O_CREAT | flags[i], 0644));
        if (fd >= 0)
            close(fd);
    }
}

/* A direct open may not be had on every file system: the answer must be the same. */
CASE(direct_io, "d") {
    TRY(open("d", O_CREAT | O_RDWR | O_DIRECT, 0644));
}

CASE(own_layout_choices_are_left_alone, "near") {
    TRY(open("delay", O_CREAT | O_RDWR | 0x2100, 0644));
    TRY(open("async", O_CREAT | O_RDWR | O_ASYNC, 0644));
    TRY(open("old", O_CREAT | O_RDWR | 0x01000000, 0644));
    TRY(open("both", O_CREAT | O_RDWR | 0x01002100, 0644));
    TRY(open("near", O_CREAT | O_RDWR | 0x100, 0644));
}

CASE(temporary_files_without_a_name, "") {
    TRY(open(".", O_TMPFILE | O_RDWR, 0640));
    TRY(open(here, O_TMPFILE | O_WRONLY | O_EXCL, 0604));
    TRY(openat(AT_FDCWD, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0444));
    TRY(open64(".", O_TMPFILE | O_RDWR, 0777));
    TRY(open(".", O_TMPFILE | O_RDONLY, 0640));
    TRY(open("none", O_TMPFILE | O_RDWR, 0640));
    TRY(open(".", O_TMPFILE | O_CREAT | O_RDWR, 0640));
}

CASE(a_temporary_file_gets_a_name, "") {
    char link_name[64];
    int fd = FD(open(here, O_TMPFILE | O_RDWR, 0640));
    snprintf(link_name, sizeof link_name, "/proc/self/fd/%d", fd);
    INT(linkat(AT_FDCWD, link_name, AT_FDCWD, "linked", AT_SYMLINK_FOLLOW));
}

CASE(path_descriptors, "") {
    make("there", 0644, 3);
    TRY(open("there", O_PATH));
    TRY(open("there", O_PATH | O_CLOEXEC));
    TRY(open("none", O_PATH | O_CREAT, 0644));
    TRY(open("there", O_PATH | O_CREAT | O_EXCL, 0644));
    TRY(open(".", O_PATH | O_DIRECTORY));
}

CASE(directories_only, "") {
    make("there", 0644, 3);
    TRY(open(".", O_DIRECTORY | O_RDONLY));
    TRY(open("there", O_DIRECTORY | O_RDONLY));
    TRY(open("new", O_DIRECTORY | O_CREAT | O_RDWR, 0644));
    TRY(open("there", O_DIRECTORY | O_CREAT | O_RDWR, 0644));
    TRY(open(".", O_DIRECTORY | O_CREAT | O_RDONLY, 0644));
    TRY(open(in_here("new2"), O_DIRECTORY | O_CREAT | O_EXCL, 0644));
}

CASE(append_goes_to_the_end, "log") {
    int fd = FD(open("log", O_CREAT | O_WRONLY | O_APPEND, 0644));
    INT(write(fd, "abc", 3));
    INT(lseek(fd, 0, SEEK_SET));
    INT(write(fd, "def", 3));
    say_fd("after", fd);
}

CASE(close_on_exec_is_only_set_where_asked, "a b c d e") {
    FD(open("a", O_CREAT | O_RDWR, 0644));
    FD(open("b", O_CREAT | O_RDWR | O_CLOEXEC, 0644));
    FILEP(fopen("c", "we"));
    FILEP(fopen("d", "w"));
    FD(openat(AT_FDCWD, "e", O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644));
}
