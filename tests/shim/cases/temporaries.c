/* mkstemp and its family. */
#include "say.h"

/* The made part of the name differs from run to run: only its form is told. */
static void say_temporary(const char *call, int fd, const char *name, int suffix) {
    int error = errno;
    size_t n = strlen(name);
    size_t made = n - 6 - (size_t)suffix;
    say("%s: %.*s+%zu%s\n", call, (int)made, name, strspn(name + made, "X") == 6 ? (size_t)0 : n,
        name + n - suffix);
    for (size_t i = made; fd >= 0 && i < made + 6; i++)
        if (!((name[i] >= '0' && name[i] <= '9') || (name[i] >= 'a' && name[i] <= 'z') ||
              (name[i] >= 'A' && name[i] <= 'Z')))
            say("odd character %d\n", name[i]);
    errno = error;
    say_fd(call, fd);
    if (fd >= 0) {
        say("there: %d\n", access(name, F_OK));
        close(fd);
        unlink(name);
    }
}

#define TEMP(call, template, suffix)                                                               \
    do {                                                                                           \
        char name[8192] = template;                                                                \
        errno = 1234;                                                                              \
        int fd_ = (call);                                                                          \
        say_temporary(#call, fd_, name, suffix);                                                   \
    } while (0)

CASE(every_call_of_the_family, "") {
    TEMP(mkstemp(name), "aXXXXXX", 0);
    TEMP(mkstemp64(name), "XXXXXX", 0);
    TEMP(mkostemp(name, O_CLOEXEC), "./bXXXXXX", 0);
    TEMP(mkostemp64(name, O_APPEND), "cXXXXXX", 0);
    TEMP(mkostemp(name, O_SYNC | O_RDONLY), "dXXXXXX", 0);
    TEMP(mkostemp(name, O_EXCL | O_CREAT | O_WRONLY), "eXXXXXX", 0);
    TEMP(mkstemps(name, 4), "fXXXXXX.txt", 4);
    TEMP(mkstemps64(name, 0), "gXXXXXX", 0);
    TEMP(mkostemps(name, 2, O_CLOEXEC | O_APPEND), "hXXXXXX.c", 2);
    TEMP(mkostemps64(name, 1, 0), "XXXXXXXXXXX", 1);
    TEMP(mkostemp(name, O_ASYNC), "iXXXXXX", 0);
    TEMP(mkostemp(name, O_DIRECTORY), "jXXXXXX", 0);
    TEMP(mkostemp(name, O_TRUNC | O_NOFOLLOW | O_NONBLOCK), "kXXXXXX", 0);
}

CASE(bad_templates, "") {
    TEMP(mkstemp(name), "XXXXXX", 0);
    errno = 1234;
    char five[] = "aXXXXX", none[] = "abcdefgh", empty[] = "", lower[] = "axxxxxx",
         tail[] = "aXXXXXXb";
    INT(mkstemp(five));
    INT(mkstemp(none));
    INT(mkstemp(empty));
    INT(mkstemp(lower));
    INT(mkstemp(tail));
    say("%s %s %s %s %s\n", five, none, empty, lower, tail);
    char suffixed[] = "aXXXXXX.txt";
    INT(mkstemps(suffixed, 3));
    INT(mkstemps(suffixed, 5));
    INT(mkstemps(suffixed, -1));
    INT(mkstemps(suffixed, 100));
    INT(mkstemps(suffixed, INT_MAX));
    INT(mkstemps(suffixed, INT_MAX - 5));
    INT(mkstemps(suffixed, INT_MIN));
    INT(mkostemps(suffixed, 6, O_APPEND));
    say("%s\n", suffixed);
}

CASE(templates_that_cannot_be_created, "") {
    TEMP(mkstemp(name), "none/aXXXXXX", 0);
    TEMP(mkstemp(name), "/proc/aXXXXXX", 0);
    TEMP(mkstemps(name, 3), "none/aXXXXXX.gz", 3);
    char slash[] = "aXXXXXX/";
    INT(mkstemps(slash, 1));
    say("%c\n", slash[strlen(slash) - 1]);
    char long_name[300];
    memset(long_name, 'X', sizeof long_name);
    long_name[299] = '\0';
    INT(mkstemp(long_name));
}

CASE(temporaries_keep_their_layout, "dir*/t*") {
    char name[] = "dirXXXXXX", file[64];
    say("%d\n", mkdtemp(name) == name);
    INT(rename(name, "dir0"));
    strcpy(file, "dir0/tXXXXXX");
    int fd = FD(mkstemp(file));
    INT(write(fd, "abc", 3));
    INT(rename(file, "dir0/t"));
    strcpy(file, "dir0/uXXXXXX.h5");
    close(FD(mkstemps(file, 3)));
    INT(rename(file, "dir0/t2"));
}

/* Each place takes each of the 62 characters about as often as any other. */
CASE(names_are_evenly_spread, "") {
    enum { NAMES = 1500 };
    unsigned counts[6][256] = {{0}};
    for (int i = 0; i < NAMES; i++) {
        char name[] = "XXXXXX";
        int fd = mkstemp(name);
        for (int k = 0; k < 6; k++)
            counts[k][(unsigned char)name[k]]++;
        close(fd);
        unlink(name);
    }
    for (int k = 0; k < 6; k++) {
        double square = 0, expected = NAMES / 62.0;
        int different = 0;
        for (int c = 0; c < 256; c++)
            if (counts[k][c]) {
                different++;
                square += (counts[k][c] - expected) * (counts[k][c] - expected) / expected;
            }
        /* 61 degrees of freedom: above 150 once in 10^9 runs. */
        say("place %d: %d characters, even: %d\n", k, different, square < 150);
    }
}

static void *make_many(void *unused) {
    for (int i = 0; i < 100; i++) {
        char name[] = "racing-XXXXXX";
        int fd = mkstemp(name);
        if (fd < 0)
            say("errno %d\n", errno);
        close(fd);
    }
    return unused;
}

CASE(threads_make_different_names, "racing-one") {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, make_many, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    (void)!system("ls | wc -l; rm -f racing-*; : > racing-one");
}
