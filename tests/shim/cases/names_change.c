/* Renaming and removing. */
#include <stdatomic.h>

#include "say.h"

static int made(const char *name) {
    int fd = open(name, O_CREAT | O_RDWR, 0644);
    (void)!write(fd, name, strlen(name));
    return fd;
}

CASE(renames, "b c d e moved") {
    int fd = made("a");
    INT(rename("a", "b"));
    INT(write(fd, "more", 4));
    made("a");
    INT(renameat(AT_FDCWD, "a", AT_FDCWD, in_here("c")));
    made("a");
    INT(renameat2(AT_FDCWD, "a", AT_FDCWD, "d", 1));
    made("a");
    INT(renameat2(AT_FDCWD, "a", AT_FDCWD, "d", 1));
    INT(renameat2(AT_FDCWD, "a", AT_FDCWD, "d", 2));
    INT(renameat2(AT_FDCWD, "a", AT_FDCWD, "d", 99));
    INT(rename("a", "b"));
    INT(rename("./b", ".//e"));
    INT(rename("none", "b"));
    INT(rename("e", "none/b"));
    INT(mkdir("folder", 0755));
    INT(rename("e", "folder/e"));
    INT(rename("folder", "moved-folder"));
    INT(rename("moved-folder/e", "moved"));
    made("b");
    made("e");
}

CASE(links, "b c d e") {
    int fd = made("a");
    INT(link("a", "b"));
    INT(write(fd, "more", 4));
    INT(link("a", "b"));
    INT(unlink("a"));
    made("a");
    INT(linkat(AT_FDCWD, "a", AT_FDCWD, in_here("c"), 0));
    INT(unlink("a"));
    INT(symlink("c", "to-c"));
    INT(linkat(AT_FDCWD, "to-c", AT_FDCWD, "d", AT_SYMLINK_FOLLOW));
    INT(link("to-c", "to-c-too"));
    INT(linkat(AT_FDCWD, "c", AT_FDCWD, "none/c", 0));
    INT(linkat(AT_FDCWD, "c", AT_FDCWD, "f", 1 << 30));
    INT(link("none", "f"));
    made("e");
}

CASE(removals, "b") {
    int fd = made("a");
    INT(unlink("a"));
    INT(write(fd, "more", 4));
    made("a");
    INT(unlinkat(AT_FDCWD, "a", 0));
    made("a");
    INT(remove("a"));
    INT(unlink("a"));
    INT(mkdir("folder", 0755));
    INT(unlink("folder"));
    INT(unlinkat(AT_FDCWD, "folder", AT_REMOVEDIR));
    INT(mkdir("folder", 0755));
    INT(remove("folder"));
    INT(unlinkat(AT_FDCWD, "none", 99));
    made("b");
}

CASE(odd_names, "a") {
    char *nowhere = (char *)hidden((void *)8), *nothing = (char *)hidden(NULL);
    char *name = malloc(100000);
    memset(name, 'x', 99999);
    name[99999] = '\0';
    made("a");
    INT(rename(nothing, "b"));
    INT(rename("a", nothing));
    INT(rename("a", nowhere));
    INT(renameat(AT_FDCWD, nowhere, AT_FDCWD, "b"));
    INT(renameat(-1, "a", AT_FDCWD, "b"));
    INT(renameat2(AT_FDCWD, "a", -1, "b", 0));
    INT(rename("", "b"));
    INT(rename("a", ""));
    INT(rename("a", name));
    INT(rename("a", "a"));
    INT(unlink(nothing));
    INT(unlink(nowhere));
    INT(unlink(""));
    INT(unlink(name));
    INT(unlinkat(-1, "a", 0));
    INT(unlinkat(AT_FDCWD, nowhere, 0));
    INT(remove(nothing));
    INT(remove(name));
}

/* Names in a directory that is itself gone. */
CASE(a_directory_that_is_gone, "") {
    INT(mkdir("folder", 0755));
    int folder = open("folder", O_RDONLY | O_DIRECTORY);
    INT(chdir("folder"));
    int fd = made("a");
    INT(unlink("a"));
    INT(rmdir("../folder"));
    INT(rename("a", "b"));
    INT(renameat(folder, "a", folder, "b"));
    INT(unlink("a"));
    INT(write(fd, "more", 4));
    INT(close(fd));
}

/* Another thread changes what the name stands for, at any moment of a create. */
static atomic_bool is_done;
static atomic_int removed;

static void *replace(void *unused) {
    while (!is_done) {
        int fd = open("full", O_CREAT | O_WRONLY | O_TRUNC, 0644);
        (void)!write(fd, "text", 4);
        close(fd);
        rename("full", "name");
    }
    unlink("name");
    return unused;
}

CASE(a_file_is_replaced_while_it_is_created, "") {
    pthread_t thread;
    int created = 0, wrong = 0;
    pthread_create(&thread, NULL, replace, NULL);
    while (created < 150) {
        int fd = open("name", O_CREAT | O_EXCL | O_WRONLY, 0644);
        struct stat st;
        if (fd >= 0) {
            created++;
            wrong += fstat(fd, &st) != 0 || st.st_size != 0 || pwrite(fd, "x", 1, 100) != 1;
            close(fd);
        }
        unlink("name");
    }
    is_done = true;
    pthread_join(thread, NULL);
    say("wrong: %d\n", wrong);
}

static void *remove_it(void *unused) {
    while (!is_done || access("name", F_OK) == 0)
        removed += unlink("name") == 0;
    return unused;
}

CASE(a_file_is_removed_while_it_is_created, "") {
    pthread_t thread;
    int created = 0, wrong = 0;
    pthread_create(&thread, NULL, remove_it, NULL);
    while (created < 100) {
        int fd = open("name", O_CREAT | O_EXCL | O_WRONLY, 0644);
        if (fd < 0)
            continue;
        created++;
        wrong += write(fd, "x", 1) != 1;
        close(fd);
    }
    is_done = true;
    pthread_join(thread, NULL);
    say("wrong: %d, came back: %d\n", wrong, removed - created);
}
