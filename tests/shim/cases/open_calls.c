/* Each call of the open family, on new and existing files. */
#include "say.h"

int __open_2(const char *, int);
int __open64_2(const char *, int);
int __openat_2(int, const char *, int);
int __openat64_2(int, const char *, int);

CASE(open_creates_and_opens_again, "new") {
    TRY(open(in_here("new"), O_CREAT | O_RDWR, 0640));
    TRY(open(in_here("new"), O_CREAT | O_RDWR, 0600));
    TRY(open(in_here("new"), O_RDONLY));
    TRY(open(in_here("new"), O_CREAT | O_EXCL | O_RDWR, 0640));
    TRY(open(in_here("none"), O_RDWR));
}

CASE(open64_creates_and_opens_again, "new") {
    TRY(open64(in_here("new"), O_CREAT | O_WRONLY, 0640));
    TRY(open64(in_here("new"), O_CREAT | O_WRONLY | O_TRUNC, 0640));
    TRY(open64(in_here("new"), O_CREAT | O_EXCL, 0640));
}

CASE(openat_creates_and_opens_again, "new abs") {
    TRY(openat(AT_FDCWD, "new", O_CREAT | O_RDWR, 0640));
    TRY(openat(AT_FDCWD, "new", O_CREAT | O_EXCL | O_RDWR, 0640));
    TRY(openat(-1, in_here("abs"), O_CREAT | O_EXCL | O_RDWR, 0640));
    TRY(openat(AT_FDCWD, "none", O_RDWR));
}

CASE(openat64_creates_and_opens_again, "new") {
    TRY(openat64(AT_FDCWD, "new", O_CREAT | O_RDWR | O_EXCL, 0640));
    TRY(openat64(AT_FDCWD, "new", O_CREAT | O_RDWR | O_EXCL, 0640));
    TRY(openat64(AT_FDCWD, "new", O_CREAT | O_RDWR, 0640));
}

CASE(creat_creates_and_truncates, "a b") {
    make("full", 0644, 100);
    make("full64", 0644, 100);
    TRY(creat(in_here("a"), 0604));
    TRY(creat("a", 0600));
    TRY(creat64("b", 0604));
    TRY(creat("full", 0600));
    TRY(creat64("full64", 0600));
    TRY(creat("no/dir", 0600));
}

CASE(checked_forms_open, "") {
    make("there", 0644, 5);
    TRY(__open_2("there", O_RDWR));
    TRY(__open64_2("there", O_RDONLY | O_CLOEXEC));
    TRY(__openat_2(AT_FDCWD, "there", O_WRONLY | O_APPEND));
    TRY(__openat64_2(AT_FDCWD, "there", O_RDWR | O_TRUNC));
    TRY(__open_2("none", O_RDWR));
    TRY(__openat_2(AT_FDCWD, "none", O_RDWR));
    TRY(__open_2(hidden(NULL), O_RDWR));
}

static void checked_open(void) {
    __open_2("new", O_CREAT | O_RDWR);
}
static void checked_open64(void) {
    __open64_2("new", O_CREAT | O_RDWR);
}
static void checked_openat(void) {
    __openat_2(AT_FDCWD, "new", O_CREAT | O_RDWR);
}
static void checked_openat64(void) {
    __openat64_2(AT_FDCWD, "new", O_TMPFILE | O_RDWR);
}

CASE(checked_forms_abort_when_asked_to_create, "") {
    in_child(checked_open);
    in_child(checked_open64);
    in_child(checked_openat);
    in_child(checked_openat64);
}

CASE(data_is_written_and_read_back, "data") {
    char back[16] = "";
    int fd = FD(open(in_here("data"), O_CREAT | O_RDWR | O_EXCL, 0644));
    INT(write(fd, "0123456789", 10));
    INT(lseek(fd, 3, SEEK_SET));
    INT(read(fd, back, 4));
    INT(ftruncate(fd, 7));
    INT(pwrite(fd, "x", 1, 100));
    say("%s\n", back);
    close(fd);
    TRY(open("data", O_CREAT | O_RDWR | O_TRUNC, 0644));
}

CASE(existing_files_keep_what_they_are, "empty64 empty65") {
    make("empty64", 0604, 0);
    make("empty65", 0604, 0);
    make("full", 0604, 64);
    make("cut", 0604, 64);
    TRY(open("empty64", O_CREAT | O_WRONLY, 0777));
    TRY(open(in_here("empty65"), O_CREAT | O_WRONLY | O_TRUNC, 0777));
    TRY(open("full", O_CREAT | O_RDWR, 0777));
    TRY(open(in_here("cut"), O_CREAT | O_RDWR | O_TRUNC, 0777));
    TRY(open("full", O_CREAT | O_RDWR | O_EXCL, 0777));
    TRY(open("empty64", O_CREAT | O_RDWR | O_EXCL, 0777));
}

CASE(the_lowest_free_descriptor_is_taken, "a b c d e f g") {
    int a = FD(open("a", O_CREAT | O_RDWR, 0644));
    int b = FD(open(in_here("b"), O_CREAT | O_RDWR, 0644));
    FD(openat(AT_FDCWD, "c", O_CREAT | O_RDWR, 0644));
    close(a);
    FD(creat("d", 0644));
    close(b);
    FILEP(fopen("e", "w"));
    close(0);
    FD(open("f", O_CREAT | O_RDWR, 0644));
    FD(open("g", O_CREAT | O_RDWR, 0644));
}

CASE(a_hard_link_counts, "one two") {
    TRY(open("one", O_CREAT | O_RDWR, 0644));
    INT(link("one", "two"));
    TRY(open("two", O_CREAT | O_RDWR, 0644));
    TRY(open("two", O_CREAT | O_RDWR | O_EXCL, 0644));
}

CASE(many_files_in_a_row, "f*") {
    char name[16];
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "f%d", i);
        int fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);
        if (fd != 3)
            say("%s: %d errno %d\n", name, fd, errno);
        close(fd);
    }
}
