/* Streams. Calls by their symbols: built with -fno-builtin and without the inline forms. */
#include "call.h"

#undef fwrite_unlocked
#undef fread_unlocked
#undef putc
#undef putc_unlocked
#undef fputc_unlocked
#undef putchar
#undef putchar_unlocked

int _IO_putc(int character, FILE *file);
int __printf_chk(int flag, const char *format, ...);
int __fprintf_chk(FILE *file, int flag, const char *format, ...);
int __vprintf_chk(int flag, const char *format, va_list arguments);
int __vfprintf_chk(FILE *file, int flag, const char *format, va_list arguments);
int __dprintf_chk(int fd, int flag, const char *format, ...);
int __vdprintf_chk(int fd, int flag, const char *format, va_list arguments);

/* Opens: the bytes are written raw. */
#define OPENS(name, call)                                                                          \
    CALL(name, "opens=1 creates=1 size=5 apis=STDIO") {                                            \
        return raw_write(fileno(call), "12345");                                                   \
    }

OPENS(fopen, fopen("data", "w"))
OPENS(fopen64, fopen64("data", "w"))
OPENS(freopen, freopen("data", "w", stdin))
OPENS(freopen64, freopen64("data", "w", stdin))

/* Writes. */
CALL(fwrite, "writes=1 STDIO=6 end=6 sizes=2") {
    return (long)fwrite("012345", 2, 3, stream());
}

CALL(fwrite_unlocked, "writes=1 STDIO=6 end=6 sizes=2") {
    return (long)fwrite_unlocked("012345", 2, 3, stream());
}

CALL(fputs, "writes=1 STDIO=5 end=5 sizes=2") {
    return fputs("01234", stream());
}

CALL(fputs_unlocked, "writes=1 STDIO=5 end=5 sizes=2") {
    return fputs_unlocked("01234", stream());
}

CALL(fputc, "writes=1 STDIO=1 end=1 sizes=0") {
    return fputc('a', stream());
}

CALL(fputc_unlocked, "writes=1 STDIO=1 end=1 sizes=0") {
    return fputc_unlocked('a', stream());
}

CALL(putc, "writes=1 STDIO=1 end=1 sizes=0") {
    return putc('a', stream());
}

CALL(putc_unlocked, "writes=1 STDIO=1 end=1 sizes=0") {
    return putc_unlocked('a', stream());
}

CALL(_IO_putc, "writes=1 STDIO=1 end=1 sizes=0") {
    return _IO_putc('a', stream());
}

CALL(putw, "writes=1 STDIO=4 end=4 sizes=2") {
    return putw(0x31323334, stream());
}

CALL(puts, "writes=1 STDIO=6 end=6 sizes=2") {
    output();
    return puts("01234");
}

CALL(putchar, "writes=1 STDIO=1 end=1 sizes=0") {
    output();
    return putchar('a');
}

CALL(putchar_unlocked, "writes=1 STDIO=1 end=1 sizes=0") {
    output();
    return putchar_unlocked('a');
}

CALL(fprintf, "writes=1 STDIO=7 end=7 sizes=2") {
    return fprintf(stream(), "%s %d", "abc", 123);
}

CALL(printf, "writes=1 STDIO=7 end=7 sizes=2") {
    output();
    return printf("%s %d", "abc", 123);
}

CALL(dprintf, "writes=1 STDIO=7 end=7 sizes=2") {
    return dprintf(empty(), "%s %d", "abc", 123);
}

CALL(__fprintf_chk, "writes=1 STDIO=7 end=7 sizes=2") {
    return __fprintf_chk(stream(), 1, "%s %d", "abc", 123);
}

CALL(__printf_chk, "writes=1 STDIO=7 end=7 sizes=2") {
    output();
    return __printf_chk(1, "%s %d", "abc", 123);
}

CALL(__dprintf_chk, "writes=1 STDIO=7 end=7 sizes=2") {
    return __dprintf_chk(empty(), 1, "%s %d", "abc", 123);
}

enum { TO_STREAM, TO_OUTPUT, TO_DESCRIPTOR, CHECKED = 4 };

static int formatted(int how, const char *format, ...) {
    va_list arguments;
    int done = -1;
    va_start(arguments, format);
    if (how == TO_STREAM)
        done = vfprintf(stream(), format, arguments);
    if (how == TO_OUTPUT)
        done = (output(), vprintf(format, arguments));
    if (how == TO_DESCRIPTOR)
        done = vdprintf(empty(), format, arguments);
    if (how == TO_STREAM + CHECKED)
        done = __vfprintf_chk(stream(), 1, format, arguments);
    if (how == TO_OUTPUT + CHECKED)
        done = (output(), __vprintf_chk(1, format, arguments));
    if (how == TO_DESCRIPTOR + CHECKED)
        done = __vdprintf_chk(empty(), 1, format, arguments);
    va_end(arguments);
    return done;
}

CALL(vfprintf, "writes=1 STDIO=7 end=7 sizes=2") {
    return formatted(TO_STREAM, "%s %d", "abc", 123);
}

CALL(vprintf, "writes=1 STDIO=7 end=7 sizes=2") {
    return formatted(TO_OUTPUT, "%s %d", "abc", 123);
}

CALL(vdprintf, "writes=1 STDIO=7 end=7 sizes=2") {
    return formatted(TO_DESCRIPTOR, "%s %d", "abc", 123);
}

CALL(__vfprintf_chk, "writes=1 STDIO=7 end=7 sizes=2") {
    return formatted(TO_STREAM + CHECKED, "%s %d", "abc", 123);
}

CALL(__vprintf_chk, "writes=1 STDIO=7 end=7 sizes=2") {
    return formatted(TO_OUTPUT + CHECKED, "%s %d", "abc", 123);
}

CALL(__vdprintf_chk, "writes=1 STDIO=7 end=7 sizes=2") {
    return formatted(TO_DESCRIPTOR + CHECKED, "%s %d", "abc", 123);
}

/* Where the next write is. */
#define MOVES(name, call)                                                                          \
    CALL(name, "writes=2 STDIO=8 end=22 sizes=2,2") {                                              \
        fpos_t start;                                                                              \
        fpos64_t start64;                                                                          \
        FILE *file = stream();                                                                     \
        syscall(SYS_lseek, fileno(file), 18L, SEEK_SET);                                           \
        if (fgetpos(file, &start) != 0 || fgetpos64(file, &start64) != 0)                          \
            return -1;                                                                             \
        fputs("0123", file);                                                                       \
        long result = (call);                                                                      \
        fputs("4567", file);                                                                       \
        return result + fclose(file);                                                              \
    }

MOVES(fseek, fseek(file, -4, SEEK_CUR))
MOVES(fseeko, fseeko(file, 10, SEEK_SET))
MOVES(fseeko64, fseeko64(file, -4, SEEK_END))
MOVES(fsetpos, fsetpos(file, &start))
MOVES(fsetpos64, fsetpos64(file, &start64))
MOVES(rewind, (rewind(file), 0))

/* Reads. */
static char room[64];

CALL(fread, "reads=1 read_bytes=8") {
    return (long)fread(room, 2, 4, fdopen(with_text("data"), "r"));
}

CALL(fread_unlocked, "reads=1 read_bytes=8") {
    return (long)fread_unlocked(room, 2, 4, fdopen(with_text("data"), "r"));
}

/* What is measured. */
CALL(fflush, "opens=1 creates=1 writes=1 STDIO=4 end=4 sizes=2 size=4") {
    FILE *file = fopen("data", "w");
    fputs("0123", file);
    return fflush(file);
}

CALL(fflush_unlocked, "opens=1 creates=1 writes=1 STDIO=4 end=4 sizes=2 size=4") {
    FILE *file = fopen("data", "w");
    fputs("0123", file);
    return fflush_unlocked(file);
}

/* What is still in the buffer is written by fclose, and counts for the size. */
CALL(fclose, "opens=1 creates=1 writes=1 STDIO=4 end=4 sizes=2 size=4") {
    FILE *file = fopen("data", "w");
    fputs("0123", file);
    syscall(SYS_exit_group, fclose(file));
    return 0;
}

/* libc writes what is in the buffers after the last destructor. */
CALL(exit, "opens=1 creates=1 writes=1 STDIO=4 end=4 sizes=2 size=4") {
    fputs("0123", fopen("data", "w"));
    exit(7);
}
