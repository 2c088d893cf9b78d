/* Modes and umasks, as root and as an ordinary user. */
#include "say.h"

static const int modes[] = {0644, 0600, 0777, 0444, 0400, 0200, 0000, 0666, 04755, 02755, 01644};
static const int masks[] = {0, 022, 077, 0277, 0222, 0377, 0777, 0400};

static void create_all(void) {
    char name[64];
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        umask(masks[i]);
        for (size_t k = 0; k < sizeof modes / sizeof *modes; k++) {
            snprintf(name, sizeof name, "m%o-%o", masks[i], modes[k]);
            errno = 1234;
            int fd = say_fd(name, open(name, O_CREAT | O_RDWR, modes[k]));
            say("write %ld\n", (long)write(fd, "x", 1));
            close(fd);
            errno = 1234;
            fd = say_fd("again", open(name, O_CREAT | O_WRONLY, modes[k]));
            if (fd >= 0)
                close(fd);
        }
        say("umask %#o\n", umask(0));
    }
}

/* The MDS refuses a layout to files that their owner may not write, so those are not asked for. */
CASE(every_mode_and_umask, "m*-644 m*-600 m*-777 m*-666 m*-4755 m*-2755 m*-1644") {
    create_all();
}

static void create_all_as_nobody(void) {
    become_nobody();
    create_all();
}

/* A user's file without owner write or read: the request or its read-back may be refused. */
CASE(every_mode_and_umask_as_a_user, "?") {
    INT(chmod(".", 0777));
    in_child(create_all_as_nobody);
}

static void create_as_nobody(void) {
    become_nobody();
    for (int i = 0; i < 3; i++) {
        umask(masks[i]);
        TRY(open(i == 0 ? "a" : i == 1 ? "b" : "c", O_CREAT | O_RDWR, 0666));
    }
    umask(0222);
    TRY(open("d", O_CREAT | O_RDWR, 0666));
}

CASE(a_user_creates, "a b c") {
    INT(chmod(".", 0777));
    in_child(create_as_nobody);
}

static void streams_as_nobody(void) {
    become_nobody();
    char name[64];
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        umask(masks[i]);
        snprintf(name, sizeof name, "fopen%o", masks[i]);
        FILE *file = FILEP(fopen(name, "w+"));
        INT(fputs("text", file));
        snprintf(name, sizeof name, "freopen%o", masks[i]);
        file = FILEP(freopen(name, "w", file));
        INT(file ? fputs("text", file) : -1);
        snprintf(name, sizeof name, "freopen-plus%o", masks[i]);
        file = file ? FILEP(freopen(name, "a+", file)) : NULL;
        INT(file ? fputs("text", file) : -1);
        INT(file ? fclose(file) : -1);
        snprintf(name, sizeof name, "temp%o-XXXXXX", masks[i]);
        int fd = mkstemp(name);
        say_fd("mkstemp", fd);
        close(fd);
        unlink(name);
        say("umask %#o\n", umask(0));
    }
}

CASE(streams_with_every_umask_as_a_user, "fopen0 fopen22 fopen77 fopen400 freopen0 freopen22 "
                                         "freopen77 freopen400 freopen-plus0 freopen-plus22 "
                                         "freopen-plus77") {
    INT(chmod(".", 0777));
    in_child(streams_as_nobody);
}

static void denied(void) {
    become_nobody();
    TRY(open("locked/new", O_CREAT | O_RDWR, 0644));
    TRY(open(in_here("locked/new"), O_CREAT | O_RDWR | O_EXCL, 0644));
    TRY(open("locked/there", O_CREAT | O_RDWR, 0644));
    TRY(open("locked/there", O_CREAT | O_RDWR | O_EXCL, 0644));
    TRY(open("locked/private", O_CREAT | O_RDWR, 0644));
    TRY(open("locked/private", O_CREAT | O_RDONLY, 0644));
    TRY(open("blind/new", O_CREAT | O_RDWR, 0644));
    TRY(open("readonly", O_CREAT | O_WRONLY, 0644));
    TRY(open("readonly", O_CREAT | O_RDONLY, 0644));
    TRY(open("readonly", O_CREAT | O_WRONLY | O_TRUNC, 0644));
    TRY_FILE(fopen("locked/new", "w"));
    TRY_FILE(fopen("readonly", "a"));
    char name[] = "locked/XXXXXX";
    TRY(mkstemp(name));
    unlink(name); /* there if the rights were not missing */
}

CASE(missing_rights_are_reported_as_before, "locked/there") {
    INT(mkdir("locked", 0755));
    INT(mkdir("blind", 0700));
    make("locked/there", 0666, 0);
    make("locked/private", 0600, 0);
    make("readonly", 0444, 0);
    in_child(denied);
}

static void sticky(void) {
    become_nobody();
    TRY(open("tmp/theirs", O_CREAT | O_RDWR, 0644));
    TRY(open("tmp/theirs", O_CREAT | O_RDWR | O_EXCL, 0644));
    TRY(open("tmp/own", O_CREAT | O_RDWR, 0644));
    TRY(open("tmp/own", O_CREAT | O_RDWR, 0644));
}

CASE(a_sticky_directory, "tmp/own") {
    INT(mkdir("tmp", 0));
    INT(chmod("tmp", 01777));
    make("tmp/theirs", 0666, 10);
    in_child(sticky);
}

CASE(a_set_group_directory, "sgid/new") {
    struct stat st;
    INT(mkdir("sgid", 0755));
    INT(chown("sgid", -1, 65534));
    INT(chmod("sgid", 02755));
    TRY(open("sgid/new", O_CREAT | O_RDWR, 02755));
    INT(stat("sgid/new", &st));
    say("group %d\n", (int)st.st_gid);
}
