/* Names: long, odd, relative, in directories that moved away. */
#include "say.h"

static char *filled(size_t bytes, char with) {
    char *text = malloc(bytes + 1);
    memset(text, with, bytes);
    text[bytes] = '\0';
    return text;
}

static void open_length(const char *what, char *path) {
    say("%s\n", what);
    errno = 1234;
    int fd = say_fd("open", open(path, O_CREAT | O_RDWR, 0644));
    if (fd >= 0)
        close(fd);
    errno = 1234;
    FILE *file = say_file("fopen", fopen(path, "w"));
    if (file)
        fclose(file);
    errno = 1234;
    fd = say_fd("excl", open(path, O_CREAT | O_EXCL | O_RDWR, 0644));
    if (fd >= 0)
        close(fd);
}

CASE(long_names, "a* bb*") {
    open_length("254", filled(254, 'a'));
    open_length("255", filled(255, 'a'));
    open_length("256", filled(256, 'a'));
    open_length("4096", filled(4096, 'a'));
    open_length("100000", filled(100000, 'a'));
    open_length("absolute 255", in_here(filled(255, 'b')));
    open_length("absolute 256", in_here(filled(256, 'b')));
}

/* ./././…/x of exactly this length. */
static char *dotted(size_t bytes, const char *name) {
    char *path = filled(bytes, '/');
    for (size_t i = 0; i + 1 < bytes; i += 2)
        path[i] = '.';
    memcpy(path + bytes - strlen(name), name, strlen(name));
    path[bytes - strlen(name) - 1] = '/';
    return path;
}

CASE(long_paths, "x4094 x4095") {
    open_length("4094", dotted(4094, "x4094"));
    open_length("4095", dotted(4095, "x4095"));
    open_length("4096", dotted(4096, "x4096"));
    open_length("4097", dotted(4097, "x4097"));
}

/* Relative names are short where the whole path is longer than PATH_MAX. */
CASE(directories_deeper_than_a_path_can_say, "?") {
    char *name = filled(200, 'd');
    for (int i = 0; i < 25; i++)
        if (mkdir(name, 0755) != 0 || chdir(name) != 0)
            say("%d errno %d\n", i, errno);
    TRY(open("deep", O_CREAT | O_RDWR, 0644));
    TRY_FILE(fopen("deep2", "w"));
    int folder = open(".", O_RDONLY | O_DIRECTORY);
    TRY(openat(folder, "deep3", O_CREAT | O_EXCL | O_RDWR, 0644));
    for (int i = 0; i < 25; i++) {
        unlink("deep");
        unlink("deep2");
        unlink("deep3");
        INT(chdir(".."));
        INT(rmdir(name));
    }
}

CASE(bytes_that_are_no_text, "*") {
    char name[] = "x?y";
    for (int byte = 1; byte < 256; byte++) {
        name[1] = (char)byte;
        int fd = byte == '/' ? -1 : open(name, O_CREAT | O_EXCL | O_RDWR, 0644);
        if (fd < 0)
            say("%d: errno %d\n", byte, errno);
        close(fd);
    }
    TRY(open("\xff\xfe\x80", O_CREAT | O_EXCL | O_RDWR, 0644));
    TRY(open("\xc3\x28", O_CREAT | O_EXCL | O_RDWR, 0644));
    TRY(open("new\nline", O_CREAT | O_EXCL | O_RDWR, 0644));
    TRY(open("#*\\**", O_CREAT | O_EXCL | O_RDWR, 0644));
}

CASE(odd_forms, "a b c d e sub/f g h") {
    INT(mkdir("sub", 0755));
    TRY(open("", O_CREAT | O_RDWR, 0644));
    TRY(open("new/", O_CREAT | O_RDWR, 0644));
    TRY(open(in_here("new/"), O_CREAT | O_EXCL | O_RDWR, 0644));
    TRY(open("./a", O_CREAT | O_RDWR, 0644));
    TRY(open(".//b", O_CREAT | O_RDWR, 0644));
    TRY(open("sub/../c", O_CREAT | O_RDWR, 0644));
    TRY(open(in_here("/d"), O_CREAT | O_RDWR, 0644));
    TRY(open(in_here("./sub/.././e"), O_CREAT | O_RDWR, 0644));
    TRY(open(in_here("sub//f"), O_CREAT | O_RDWR, 0644));
    TRY(open(in_here("none/../nothing"), O_CREAT | O_RDWR, 0644));
    TRY(open(".", O_CREAT | O_RDWR, 0644));
    TRY(open("..", O_CREAT | O_RDWR, 0644));
    TRY(open("sub/.", O_CREAT | O_RDWR, 0644));
    TRY(open("a/.", O_CREAT | O_RDWR, 0644));
    TRY(open("a/", O_CREAT | O_RDWR, 0644));
    TRY(open("a/b", O_CREAT | O_RDWR, 0644));
    TRY(open("sub/..", O_CREAT | O_EXCL | O_RDWR, 0644));
    TRY(open("/", O_CREAT | O_RDWR, 0644));
    TRY(open("/..", O_CREAT | O_RDWR, 0644));
    TRY(open("//", O_CREAT | O_EXCL | O_RDWR, 0644));
    char outside[2 * PATH_MAX];
    snprintf(outside, sizeof outside, "/../..%s/g", here);
    TRY(open(strdup(outside), O_CREAT | O_RDWR, 0644));
    snprintf(outside, sizeof outside, "//%s///h", here);
    TRY(open(strdup(outside), O_CREAT | O_RDWR, 0644));
}

CASE(relative_to_a_directory, "sub/a sub/b c sub/e") {
    INT(mkdir("sub", 0755));
    int folder = FD(open("sub", O_RDONLY | O_DIRECTORY));
    int path = FD(open("sub", O_PATH));
    make("file", 0644, 0);
    int file = FD(open("file", O_RDONLY));
    TRY(openat(folder, "a", O_CREAT | O_RDWR, 0644));
    TRY(openat64(path, "b", O_CREAT | O_EXCL | O_RDWR, 0644));
    TRY(openat(folder, "../c", O_CREAT | O_RDWR, 0644));
    TRY(openat(file, "d", O_CREAT | O_RDWR, 0644));
    TRY(openat(-1, "d", O_CREAT | O_RDWR, 0644));
    TRY(openat(-7, "d", O_CREAT | O_RDWR, 0644));
    TRY(openat(999, "d", O_CREAT | O_RDWR, 0644));
    TRY(openat(INT_MAX, "d", O_CREAT | O_RDWR, 0644));
    TRY(openat(INT_MIN, "d", O_CREAT | O_RDWR, 0644));
    TRY(openat(folder, "", O_CREAT | O_RDWR, 0644));
    TRY(openat(folder, in_here("sub/e"), O_CREAT | O_RDWR, 0644));
    TRY(openat(folder, hidden(NULL), O_CREAT | O_RDWR, 0644));
}

CASE(a_directory_that_moved, "after/new") {
    INT(mkdir("before", 0755));
    int folder = FD(open("before", O_RDONLY | O_DIRECTORY));
    INT(rename("before", "after"));
    TRY(openat(folder, "new", O_CREAT | O_RDWR, 0644));
}

CASE(a_deleted_directory, "") {
    INT(mkdir("sub", 0755));
    int folder = FD(open("sub", O_RDONLY | O_DIRECTORY));
    INT(chdir("sub"));
    INT(rmdir("../sub"));
    TRY(openat(folder, "a", O_CREAT | O_RDWR, 0644));
    TRY(open("a", O_CREAT | O_RDWR, 0644));
    TRY(open("./a", O_CREAT | O_EXCL | O_RDWR, 0644));
    TRY(open("../a", O_CREAT | O_RDWR, 0644));
    TRY_FILE(fopen("a", "w"));
    char name[] = "XXXXXX";
    TRY(mkstemp(name));
}

static void jailed(void) {
    int outside = open(".", O_RDONLY | O_DIRECTORY);
    INT(chroot("jail"));
    TRY(open("beside", O_CREAT | O_RDWR, 0644)); /* the current directory is outside */
    INT(chdir("/"));
    TRY(open("/inside", O_CREAT | O_RDWR, 0644));
    TRY(open("relative", O_CREAT | O_RDWR, 0644));
    TRY(open(in_here("same"), O_CREAT | O_RDWR, 0644));
    TRY(openat(outside, "through", O_CREAT | O_EXCL | O_RDWR, 0644));
    TRY_FILE(fopen("/stream", "w"));
    char name[] = "/tempXXXXXX";
    TRY(mkstemp(name));
    INT(unlink(name));
}

/* Whether a file gets a layout there is not the point: it must be the right file. */
CASE(behind_chroot, "?") {
    char inner[3 * PATH_MAX];
    INT(mkdir("jail", 0755));
    snprintf(inner, sizeof inner, "jail%s", here);
    for (char *slash = strchr(inner + 5, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(inner, 0755);
        *slash = '/';
    }
    mkdir(inner, 0755);
    if (geteuid() == 0)
        in_child(jailed);
}
