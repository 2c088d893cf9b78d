/* fopen and freopen: every mode, and how the stream behaves afterwards. */
#include <fcntl.h>
#include <locale.h>
#include <wchar.h>

#include "say.h"

static const char *const modes[] = {
    "w",
    "w+",
    "wb",
    "w+b",
    "wb+",
    "we",
    "wx",
    "wbx",
    "wx+",
    "wxe",
    "a",
    "a+",
    "ab",
    "a+b",
    "ab+",
    "ae",
    "ax",
    "a+xe",
    "r",
    "r+",
    "rb",
    "rb+",
    "re",
    "r+x",
    "wm",
    "wc",
    "wce",
    "w+cmxe",
    "wbbbb+",
    "wbxbe+",
    "abb+",
    "wzz+q",
    "w\xff",
    "wt",
    "wbbbbbb+",
    "abbbb+",
    "abbbbb+",
    "x",
    "+w",
    "",
    "q",
    "W",
    "ww",
    "ra",
    "wr+",
    "w,ccs=UTF-8",
    "a,ccs=UTF-8",
    "w+,ccs=UTF-8",
    "r,ccs=UTF-8",
    "w,ccs=none-such",
    "wx,ccs=UTF-8",
    "wbe,ccs=UTF-8",
};
#define MODES (sizeof modes / sizeof *modes)

/* Writes, goes about, reads back: what a stream can and cannot do. */
static void use(FILE *file) {
    char text[32] = "";
    INT(fputs("12345", file));
    INT(ftell(file));
    INT(fflush(file));
    INT(ftell(file));
    INT(fseek(file, 1, SEEK_SET));
    INT(fgetc(file));
    INT(ungetc('x', file));
    INT(ftell(file));
    INT(fgets(text, sizeof text, file) != NULL);
    INT(feof(file));
    INT(ferror(file));
    clearerr(file);
    INT(fseek(file, 0, SEEK_END));
    INT(fputs("67", file));
    rewind(file);
    INT(ftell(file));
    INT(fwide(file, 0));
    INT(fclose(file));
    say("%s\n", text);
}

static void with_mode(FILE *(*opener)(const char *, const char *), const char *mode, int number) {
    static const char *const kinds[] = {"new", "empty", "full"};
    char name[32];
    for (int kind = 0; kind < 3; kind++) {
        snprintf(name, sizeof name, "%s%d", kinds[kind], number);
        if (kind)
            make(name, 0640, kind == 1 ? 0 : 10);
        say("%s \"%s\"\n", kinds[kind], mode);
        errno = 1234;
        FILE *file = say_file("fopen", opener(name, mode));
        if (file)
            use(file);
    }
}

/* Not: ccs= and glibc's c and m, which only libc's own fopen understands. */
CASE(every_mode_of_fopen, "?") {
    setlocale(LC_ALL, "C.UTF-8");
    for (size_t i = 0; i < MODES; i++)
        with_mode(fopen, modes[i], (int)i);
}

CASE(every_mode_of_fopen64, "?") {
    for (size_t i = 0; i < MODES; i++)
        with_mode(fopen64, modes[i], (int)i);
}

static FILE *open_again(const char *path, const char *mode) {
    return freopen(path, mode, fopen("/dev/null", "r"));
}

static FILE *open_again64(const char *path, const char *mode) {
    return freopen64(path, mode, fopen("/dev/null", "w"));
}

/* Not ccs=: with it glibc's freopen frees a buffer twice, library or not. */
CASE(every_mode_of_freopen, "?") {
    setlocale(LC_ALL, "C.UTF-8");
    for (size_t i = 0; i < MODES; i++)
        if (!strchr(modes[i], ','))
            with_mode(open_again, modes[i], (int)i);
}

CASE(every_mode_of_freopen64, "?") {
    for (size_t i = 0; i < MODES; i++)
        if (!strchr(modes[i], ','))
            with_mode(open_again64, modes[i], (int)i);
}

CASE(streams_are_placed, "w wb w+ a a+ wx we again again2 again3 empty") {
    make("empty", 0644, 0);
    TRY_FILE(fopen("w", "w"));
    TRY_FILE(fopen("wb", "wb"));
    TRY_FILE(fopen("w+", "w+"));
    TRY_FILE(fopen64("a", "a"));
    TRY_FILE(fopen64("a+", "a+"));
    TRY_FILE(fopen("wx", "wx"));
    TRY_FILE(fopen("we", "we"));
    TRY_FILE(fopen("empty", "w"));
    TRY_FILE(freopen("again", "w", fopen("/dev/null", "r")));
    TRY_FILE(freopen64("again2", "a+", fopen("/dev/null", "r")));
    TRY_FILE(freopen(in_here("again3"), "w+e", fopen("again", "r")));
    TRY_FILE(freopen("exclusive", "wx", fopen("again", "r")));
    TRY_FILE(fopen("ccs", "w,ccs=UTF-8"));
    TRY_FILE(fopen("none/new", "w"));
    TRY_FILE(freopen("none/new", "w", fopen("again", "r")));
}

CASE(standard_output_is_sent_to_a_file, "out err") {
    INT(puts("before"));
    FILEP(freopen("out", "w", stdout));
    printf("into the file\n");
    fflush(stdout);
    freopen(in_here("err"), "a", stderr);
    fprintf(stderr, "error text\n");
}

CASE(freopen_of_odd_streams, "b c") {
    FILE *file = fopen("/dev/null", "r");
    close(fileno(file));
    TRY_FILE(freopen("b", "w", file));
    file = fopen("c", "w");
    INT(fputs("unflushed", file));
    FILEP(freopen("c", "r+", file));
    INT(fgetc(file));
    FILEP(freopen("c", "w", file));
    INT(fputs("new", file));
    FILEP(freopen(NULL, "a", file));
    INT(fputs("more", file));
    INT(fclose(file));
}

CASE(buffers, "none line full big") {
    static char buffer[1 << 16];
    FILE *file = FILEP(fopen("none", "w"));
    INT(setvbuf(file, NULL, _IONBF, 0));
    INT(fputs("x", file));
    say_fd("none", fileno(file));
    file = FILEP(fopen("line", "w"));
    INT(setvbuf(file, NULL, _IOLBF, 0));
    INT(fputs("x\ny", file));
    say_fd("line", fileno(file));
    file = FILEP(fopen("full", "w+"));
    INT(setvbuf(file, buffer, _IOFBF, sizeof buffer));
    for (int i = 0; i < 1000; i++)
        fputs("0123456789", file);
    say_fd("full", fileno(file));
    file = FILEP(fopen("big", "w"));
    INT(fwrite(buffer, 1, sizeof buffer, file));
    say_fd("big", fileno(file));
    INT(fclose(file));
}

/* Both open the same new file for appending: each line must end up behind the others. */
CASE(two_streams_append, "log") {
    FILE *one = FILEP(fopen("log", "a"));
    FILE *two = FILEP(fopen("log", "a"));
    INT(fputs("one\n", one));
    INT(fflush(one));
    INT(fputs("two\n", two));
    INT(ftell(two));
    INT(fflush(two));
    INT(ftell(two));
    INT(fputs("three\n", one));
    INT(fclose(one));
    INT(ftell(two));
    INT(fseek(two, 0, SEEK_SET));
    INT(fputs("four\n", two));
    INT(fclose(two));
}

CASE(a_stream_without_room_for_its_memory, "fits") {
    TRY_FILE(fopen("fits", "w"));
}
