/* What is there already: symbolic links, FIFOs, devices, directories, sockets. */
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "say.h"

static void try_all(const char *path) {
    say("%s\n", path);
    TRY(open(path, O_CREAT | O_RDWR | O_NONBLOCK, 0644));
    TRY(open(path, O_CREAT | O_WRONLY | O_NONBLOCK | O_TRUNC, 0644));
    TRY(open(path, O_CREAT | O_RDONLY | O_NONBLOCK, 0644));
    TRY(open(path, O_CREAT | O_EXCL | O_RDWR, 0644));
    TRY(open(path, O_CREAT | O_NOFOLLOW | O_RDWR | O_NONBLOCK, 0644));
    TRY(open(path, O_RDONLY | O_NONBLOCK));
    TRY(openat(AT_FDCWD, path, O_CREAT | O_RDWR | O_NONBLOCK | O_CLOEXEC, 0644));
}

/* O_TRUNC makes it empty, and the next create finds an empty file without a layout. */
CASE(links_to_files, "target") {
    make("target", 0640, 10);
    INT(symlink("target", "link"));
    INT(symlink(in_here("target"), "absolute"));
    try_all("link");
    try_all("absolute");
    TRY_FILE(fopen("link", "a"));
    TRY_FILE(fopen("link", "wx"));
}

CASE(links_to_empty_files, "target target2") {
    make("target", 0640, 0);
    make("target2", 0640, 0);
    INT(symlink("target", "link"));
    INT(symlink(in_here("target2"), "absolute"));
    try_all("link");
    TRY_FILE(fopen(in_here("absolute"), "w"));
}

/* Creates through a dangling link are made plainly. */
CASE(dangling_links, "") {
    INT(mkdir("sub", 0755));
    INT(symlink("sub/target", "link"));
    INT(symlink(in_here("target2"), "absolute"));
    INT(symlink("none/target", "nowhere"));
    TRY(open("link", O_CREAT | O_EXCL | O_RDWR, 0644));
    TRY(open("link", O_CREAT | O_NOFOLLOW | O_RDWR, 0644));
    TRY(open("link", O_CREAT | O_RDWR, 0604));
    TRY_FILE(fopen("absolute", "wx"));
    TRY_FILE(fopen("absolute", "w"));
    try_all("nowhere");
    TRY_FILE(freopen("nowhere", "w", fopen("/dev/null", "r")));
}

CASE(dangling_links_and_freopen, "") {
    INT(symlink("target", "link"));
    TRY_FILE(freopen("link", "w", fopen("/dev/null", "r")));
}

CASE(links_in_a_loop, "") {
    INT(symlink("b", "a"));
    INT(symlink("a", "b"));
    INT(symlink("self", "self"));
    try_all("a");
    try_all("self");
    try_all("a/file");
    TRY_FILE(fopen("self", "w"));
}

CASE(links_to_directories, "sub/a sub/b c") {
    INT(mkdir("sub", 0755));
    INT(symlink("sub", "link"));
    INT(symlink(in_here("sub"), "absolute"));
    try_all("link");
    TRY(open("link/a", O_CREAT | O_RDWR, 0644));
    TRY(open(in_here("absolute/b"), O_CREAT | O_EXCL | O_RDWR, 0644));
    /* As text this is ./c; the kernel goes by the link, to its parent, which is the same here. */
    TRY(open("absolute/../c", O_CREAT | O_RDWR, 0644));
    TRY(open("link/", O_CREAT | O_RDWR, 0644));
}

/* As text here/link/../new is here/new; the kernel makes it in the parent of the link's target. */
CASE(parents_of_links, "one/new") {
    INT(mkdir("one", 0755));
    INT(mkdir("one/two", 0755));
    INT(symlink("one/two", "link"));
    TRY(open("link/../new", O_CREAT | O_EXCL | O_RDWR, 0644));
}

CASE(fifos, "") {
    INT(mkfifo("fifo", 0644));
    TRY(open("fifo", O_CREAT | O_RDWR, 0644));
    TRY(open("fifo", O_CREAT | O_WRONLY | O_NONBLOCK, 0644));
    TRY(open("fifo", O_CREAT | O_RDONLY | O_NONBLOCK, 0644));
    TRY(open("fifo", O_CREAT | O_EXCL | O_RDWR, 0644));
    TRY(open("fifo", O_CREAT | O_TRUNC | O_RDWR, 0644));
    int reader = FD(open("fifo", O_RDONLY | O_NONBLOCK));
    FILE *file = FILEP(fopen("fifo", "w"));
    INT(fputs("through", file));
    INT(fclose(file));
    char back[16] = "";
    INT(read(reader, back, 15));
    say("%s\n", back);
}

static void *write_fifo(void *path) {
    usleep(50000);
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    (void)!write(fd, "hello", 5);
    close(fd);
    return NULL;
}

CASE(a_fifo_waits_for_its_other_end, "") {
    pthread_t thread;
    char back[16] = "";
    INT(mkfifo("fifo", 0644));
    pthread_create(&thread, NULL, write_fifo, in_here("fifo"));
    int fd = FD(open("fifo", O_RDONLY | O_CREAT, 0644));
    INT(read(fd, back, 15));
    say("%s\n", back);
    pthread_join(thread, NULL);
}

CASE(devices, "") {
    INT(symlink("/dev/null", "null"));
    INT(symlink("/dev/zero", "zero"));
    try_all("null");
    try_all("zero");
    TRY_FILE(fopen("null", "w"));
    TRY_FILE(fopen("null", "a+"));
    if (geteuid() == 0) {
        INT(mknod("node", S_IFCHR | 0666, makedev(1, 3)));
        try_all("node");
        INT(mknod("missing", S_IFCHR | 0666, makedev(120, 77)));
        try_all("missing");
    }
}

CASE(directories, "") {
    INT(mkdir("folder", 0755));
    try_all("folder");
    TRY_FILE(fopen("folder", "w"));
    TRY_FILE(fopen("folder", "a"));
    TRY_FILE(fopen("folder", "r"));
    TRY_FILE(freopen("folder", "w", fopen("/dev/null", "r")));
    TRY(creat("folder", 0644));
}

CASE(sockets, "") {
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    INT(bind(fd, (struct sockaddr *)&address, sizeof address));
    close(fd);
    try_all("socket");
    TRY_FILE(fopen("socket", "w"));
}

CASE(a_file_that_is_being_run, "") {
    char program[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = '\0';
    errno = 1234;
    say_fd("open", open(program, O_CREAT | O_WRONLY, 0644));
    INT(symlink(program, "link"));
    TRY(open("link", O_CREAT | O_RDWR, 0644));
    TRY(open("link", O_CREAT | O_RDONLY, 0644));
}

CASE(descriptors_by_name, "") {
    make("there", 0640, 7);
    int fd = FD(open("there", O_RDWR));
    char name[32];
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    INT(symlink(name, "link"));
    TRY(open("link", O_CREAT | O_RDWR, 0644));
    TRY(open("/dev/stdout", O_CREAT | O_WRONLY, 0644));
    INT(unlink("there"));
    TRY(open("link", O_CREAT | O_RDWR, 0644));
}
