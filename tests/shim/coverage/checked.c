/* Ordinary calls in a program built with -O2 -D_FORTIFY_SOURCE=2: what the compiler and libc's
 * headers make of them. */
#include "call.h"

static char room[64];
static volatile size_t many = 20; /* not known to the compiler, which then leaves the check in */

CALL(read, "reads=1 read_bytes=10") {
    return read(with_text("data"), room, many);
}

CALL(pread, "reads=1 read_bytes=6") {
    return pread(with_text("data"), room, many, 4);
}

CALL(pread64, "reads=1 read_bytes=6") {
    return pread64(with_text("data"), room, many, 4);
}

CALL(fread, "reads=1 read_bytes=8") {
    return (long)fread(room, 2, 4, fdopen(with_text("data"), "r"));
}

CALL(open, "opens=1 creates=1 size=5") {
    return raw_write(open("data", O_CREAT | O_WRONLY, 0644), "12345");
}

CALL(printf, "writes=1 STDIO=7 end=7 sizes=2") {
    output();
    return printf("%s %d", "abc", 123);
}

CALL(fprintf, "writes=1 STDIO=7 end=7 sizes=2") {
    return fprintf(stream(), "%s %d", "abc", 123);
}

CALL(dprintf, "writes=1 STDIO=7 end=7 sizes=2") {
    return dprintf(empty(), "%s %d", "abc", 123);
}

static int formatted(int how, const char *format, ...) {
    va_list arguments;
    int done;
    va_start(arguments, format);
    if (how == 0)
        done = vfprintf(stream(), format, arguments);
    else if (how == 1)
        done = (output(), vprintf(format, arguments));
    else
        done = vdprintf(empty(), format, arguments);
    va_end(arguments);
    return done;
}

CALL(vfprintf, "writes=1 STDIO=7 end=7 sizes=2") {
    return formatted(0, "%s %d", "abc", 123);
}

CALL(vprintf, "writes=1 STDIO=7 end=7 sizes=2") {
    return formatted(1, "%s %d", "abc", 123);
}

CALL(vdprintf, "writes=1 STDIO=7 end=7 sizes=2") {
    return formatted(2, "%s %d", "abc", 123);
}

/* The compiler makes fwrite, fputc, puts and putchar of these. */
CALL(fputs, "writes=1 STDIO=5 end=5 sizes=2") {
    return fputs("01234", stream()) >= 0;
}

CALL(puts, "writes=1 STDIO=6 end=6 sizes=2") {
    output();
    return printf("01234\n") >= 0;
}

CALL(putc, "writes=1 STDIO=1 end=1 sizes=0") {
    return putc('a', stream());
}
