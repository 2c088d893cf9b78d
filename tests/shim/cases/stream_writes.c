/* Writers and readers of stdio. */
#include <locale.h>
#include <stdio_ext.h>
#include <wchar.h>

#include "say.h"

#undef putc
#undef putc_unlocked
#undef putchar
#undef fputc_unlocked
#undef fwrite_unlocked
#undef fread_unlocked

int _IO_putc(int character, FILE *file);

static int formatted(FILE *file, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int done = vfprintf(file, format, arguments);
    va_end(arguments);
    return done;
}

static int formatted_to(int fd, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int done = vdprintf(fd, format, arguments);
    va_end(arguments);
    return done;
}

static void write_all(FILE *file) {
    char room[16] = "";
    INT(fwrite("012345", 2, 3, file));
    INT(fwrite("012345", 0, 3, file));
    INT(fwrite_unlocked("6789", 1, 4, file));
    INT(fputs("text ", file));
    INT(fputs_unlocked("more ", file));
    INT(fputs("", file));
    INT(fputc('a', file));
    INT(fputc_unlocked(0x1ff, file));
    INT(putc('c', file));
    INT(putc_unlocked('d', file));
    INT(_IO_putc('e', file));
    INT(putw(0x31323334, file));
    INT(putw(-1, file));
    INT(fprintf(file, "%s %d %5.2f %c|%-5s|%*d\n", "abc", 123, 1.5, 'x', "l", 4, 7));
    INT(fprintf(file, "%1$s %3$d %2$ld", "positional", 2L, 3));
    INT(fprintf(file, "%s", ""));
    INT(formatted(file, "%lld %zu %Lf %p\n", 1LL << 40, (size_t)3, 1.25L, (void *)8));
    INT(fprintf(file, "%ls", L"wide"));
    errno = 99;
    fprintf(file, "%m\n");
    INT(fflush(file));
    INT(fflush_unlocked(file));
    INT(ftell(file));
    INT(fseek(file, 2, SEEK_SET));
    INT(fread(room, 2, 4, file));
    INT(fread_unlocked(room, 1, 3, file));
    INT(fread(room, 0, 3, file));
    INT(ftello(file));
    INT(fseeko(file, -2, SEEK_END));
    INT(fread(room, 5, 1, file));
    INT(fseek(file, -9999, SEEK_SET));
    INT(fseek(file, 0, 99));
    INT(fseeko64(file, 10, SEEK_SET));
    INT(fputs("inside", file));
    rewind(file);
    INT(ftell(file));
    fpos_t here_now;
    INT(fgetpos(file, &here_now));
    INT(fsetpos(file, &here_now));
    INT(ferror(file));
}

CASE(every_writer, "data") {
    FILE *file = FILEP(fopen("data", "w+"));
    write_all(file);
    INT(fclose(file));
}

CASE(every_writer_without_a_buffer, "data") {
    FILE *file = FILEP(fopen("data", "w+"));
    setvbuf(file, NULL, _IONBF, 0);
    write_all(file);
    INT(fclose(file));
}

CASE(every_writer_of_appends, "data") {
    FILE *file = FILEP(fopen("data", "a+"));
    write_all(file);
    INT(fclose(file));
}

CASE(standard_output, "data") {
    FILEP(freopen("data", "w", stdout));
    puts("put");
    putchar('a');
    putchar_unlocked('b');
    printf("%s %d\n", "abc", 1);
    fflush(NULL);
    printf("at exit");
}

CASE(descriptors, "data") {
    int fd = FD(open("data", O_CREAT | O_RDWR, 0644));
    INT(dprintf(fd, "%s %d\n", "abc", 123));
    INT(formatted_to(fd, "%s\n", "def"));
    INT(dprintf(fd, "%s", ""));
    INT(dprintf(-1, "%s", "none"));
    INT(lseek(fd, 0, SEEK_CUR));
}

/* Streams that have no descriptor. */
static ssize_t take(void *cookie, const char *data, size_t bytes) {
    say("cookie %p takes %zu %.*s\n", cookie, bytes, (int)bytes, data);
    return (ssize_t)bytes;
}

CASE(streams_without_a_descriptor, "data") {
    char memory[256] = "", *text = NULL;
    size_t bytes = 0;
    close(open("data", O_CREAT | O_RDWR, 0644));
    FILE *file = fmemopen(memory, sizeof memory, "w+");
    write_all(file);
    INT(fileno(file));
    INT(fclose(file));
    file = open_memstream(&text, &bytes);
    INT(fprintf(file, "%d", 123));
    INT(fputs("text", file));
    INT(fclose(file));
    say("%s %zu\n", text, bytes);
    file = fopencookie(NULL, "w", (cookie_io_functions_t){.write = take});
    INT(fputs("text", file));
    INT(fprintf(file, "%d", 123));
    INT(fflush(file));
    INT(putc('x', file));
    INT(fclose(file));
}

CASE(a_descriptor_is_closed_below_its_stream, "data other") {
    FILE *file = FILEP(fopen("data", "w"));
    INT(fputs("lost", file));
    close(fileno(file));
    INT(fclose(file));
    file = FILEP(fopen("data", "w"));
    INT(fputs("lost", file));
    close(fileno(file));
    FD(open("other", O_CREAT | O_RDWR, 0644));
    INT(fflush(file));
    INT(fputs("kept", file));
    INT(fclose(file));
    INT(close(3));
}

CASE(streams_that_cannot_be_written, "data") {
    close(open("data", O_CREAT | O_RDWR, 0644));
    FILE *file = FILEP(fopen("data", "r"));
    INT(fputs("x", file));
    INT(fprintf(file, "%d", 1));
    INT(fputc('x', file));
    INT(putw(1, file));
    INT(fwrite("x", 1, 1, file));
    INT(fflush(file));
    INT(fclose(file));
    file = FILEP(fopen("/dev/full", "w"));
    INT(fputs("x", file));
    INT(fflush(file));
    INT(fprintf(file, "%d", 1));
    INT(fclose(file));
}

CASE(wide_streams, "data") {
    wchar_t room[8];
    setlocale(LC_ALL, "C.UTF-8");
    FILE *file = FILEP(fopen("data", "w+"));
    INT(fputwc(L'\u00e4', file));
    INT(fputws(L"w\u20ac", file));
    INT(fwprintf(file, L"%d %ls", 12, L"x"));
    INT(fputs("narrow", file));
    INT(fprintf(file, "narrow"));
    INT(fwrite("xyz", 1, 3, file));
    INT(fflush(file));
    rewind(file);
    INT(fgetws(room, 4, file) != NULL);
    INT(ftell(file));
    INT(fseek(file, 0, SEEK_END));
    INT(fputwc(L'z', file));
    INT(fclose(file));
}

CASE(streams_are_locked_by_their_thread, "data") {
    FILE *file = FILEP(fopen("data", "w"));
    flockfile(file);
    INT(fputs("locked", file));
    INT(fprintf(file, "%d", 1));
    funlockfile(file);
    __fsetlocking(file, FSETLOCKING_BYCALLER);
    INT(fputs("by the caller", file));
    INT(fclose(file));
}

CASE(a_child_has_a_copy_of_the_buffer, "data") {
    FILE *file = FILEP(fopen("data", "w"));
    INT(fputs("once or twice ", file));
    pid_t child = fork();
    if (child == 0) {
        fputs("child ", file);
        exit(0);
    }
    waitpid(child, NULL, 0);
    INT(fputs("parent", file));
}
