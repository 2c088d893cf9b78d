/* The writers of stdio. What libc writes for a stream passes no hook, so the calls are counted as
 * they are made. A stream is known by its descriptor. */
#include <errno.h>
#include <stdio_ext.h>
#include <string.h>

#include "context.h"
#include "export.h"
#include "real.h"
#include "streams.h"
#include "trace.h"

/* A stream without a descriptor has -1, and errno says so. */
static inline struct iez_call begin(FILE *stream) {
    if (!iez_tracing())
        return (struct iez_call){.file = NULL};
    int saved = errno;
    int fd = fileno(stream);
    errno = saved;
    return iez_call_begin(fd, IEZ_STDIO);
}

/* Macros in some libc. */
#undef fwrite_unlocked
#undef fread_unlocked
#undef putc
#undef putc_unlocked
#undef putchar
#undef putchar_unlocked
#undef fputc_unlocked

IEZ_EXPORT size_t fwrite(const void *data, size_t size, size_t count, FILE *stream) {
    if (size == 0 || count == 0) /* then the stream may even be NULL */
        return IEZ_LATE(fwrite)(data, size, count, stream);
    struct iez_call call = begin(stream);
    size_t done = IEZ_LATE(fwrite)(data, size, count, stream);
    iez_call_wrote(&call, (ssize_t)(done * size));
    return done;
}

IEZ_EXPORT size_t fwrite_unlocked(const void *data, size_t size, size_t count, FILE *stream) {
    if (size == 0 || count == 0)
        return IEZ_LATE(fwrite_unlocked)(data, size, count, stream);
    struct iez_call call = begin(stream);
    size_t done = IEZ_LATE(fwrite_unlocked)(data, size, count, stream);
    iez_call_wrote(&call, (ssize_t)(done * size));
    return done;
}

static inline void wrote_text(const struct iez_call *call, int result, const char *text,
                              size_t more) {
    if (call->file && result >= 0)
        iez_call_wrote(call, (ssize_t)(strlen(text) + more));
}

IEZ_EXPORT int fputs(const char *restrict text, FILE *restrict stream) {
    struct iez_call call = begin(stream);
    int result = IEZ_LATE(fputs)(text, stream);
    wrote_text(&call, result, text, 0);
    return result;
}

IEZ_EXPORT int fputs_unlocked(const char *restrict text, FILE *restrict stream) {
    struct iez_call call = begin(stream);
    int result = IEZ_LATE(fputs_unlocked)(text, stream);
    wrote_text(&call, result, text, 0);
    return result;
}

IEZ_EXPORT int puts(const char *text) {
    struct iez_call call = begin(stdout);
    int result = IEZ_LATE(puts)(text);
    wrote_text(&call, result, text, 1);
    return result;
}

/* PUTTER(name, parameters, stream, arguments, bytes): one character, or one int. */
#define PUTTER(name, parameters, stream, arguments, bytes)                                         \
    IEZ_EXPORT int name parameters {                                                               \
        struct iez_call call = begin(stream);                                                      \
        int result = IEZ_LATE(name) arguments;                                                     \
        iez_call_wrote(&call, result == EOF ? 0 : (ssize_t)(bytes));                               \
        return result;                                                                             \
    }

PUTTER(fputc, (int character, FILE *stream), stream, (character, stream), 1)
PUTTER(fputc_unlocked, (int character, FILE *stream), stream, (character, stream), 1)
PUTTER(putc, (int character, FILE *stream), stream, (character, stream), 1)
PUTTER(putc_unlocked, (int character, FILE *stream), stream, (character, stream), 1)
PUTTER(_IO_putc, (int character, FILE *stream), stream, (character, stream), 1)
PUTTER(putchar, (int character), stdout, (character), 1)
PUTTER(putchar_unlocked, (int character), stdout, (character), 1)

/* Its result may be any int, EOF too. */
IEZ_EXPORT int putw(int word, FILE *stream) {
    struct iez_call call = begin(stream);
    int result = IEZ_LATE(putw)(word, stream);
    iez_call_wrote(&call, result == 0 ? (ssize_t)sizeof word : 0);
    return result;
}

/* Our own functions, not the exported ones: those may be another library's. */
static int put_formatted(FILE *stream, const char *format, va_list arguments) {
    struct iez_call call = begin(stream);
    int done = IEZ_LATE(vfprintf)(stream, format, arguments);
    iez_call_wrote(&call, done);
    return done;
}

IEZ_EXPORT int vfprintf(FILE *restrict stream, const char *restrict format, va_list arguments) {
    return put_formatted(stream, format, arguments);
}

IEZ_EXPORT int vprintf(const char *restrict format, va_list arguments) {
    return put_formatted(stdout, format, arguments);
}

IEZ_EXPORT int fprintf(FILE *restrict stream, const char *restrict format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int done = put_formatted(stream, format, arguments);
    va_end(arguments);
    return done;
}

IEZ_EXPORT int printf(const char *restrict format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int done = put_formatted(stdout, format, arguments);
    va_end(arguments);
    return done;
}

static int put_formatted_to(int fd, const char *format, va_list arguments) {
    struct iez_call call = iez_call_begin(fd, IEZ_STDIO);
    int done = IEZ_LATE(vdprintf)(fd, format, arguments);
    iez_call_wrote(&call, done);
    return done;
}

IEZ_EXPORT int vdprintf(int fd, const char *restrict format, va_list arguments) {
    return put_formatted_to(fd, format, arguments);
}

IEZ_EXPORT int dprintf(int fd, const char *restrict format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int done = put_formatted_to(fd, format, arguments);
    va_end(arguments);
    return done;
}

/* The same for checked builds. */
static int put_checked(FILE *stream, int flag, const char *format, va_list arguments) {
    struct iez_call call = begin(stream);
    int done = IEZ_LATE(__vfprintf_chk)(stream, flag, format, arguments);
    iez_call_wrote(&call, done);
    return done;
}

IEZ_EXPORT int __vfprintf_chk(FILE *stream, int flag, const char *format, va_list arguments) {
    return put_checked(stream, flag, format, arguments);
}

IEZ_EXPORT int __vprintf_chk(int flag, const char *format, va_list arguments) {
    return put_checked(stdout, flag, format, arguments);
}

IEZ_EXPORT int __fprintf_chk(FILE *stream, int flag, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int done = put_checked(stream, flag, format, arguments);
    va_end(arguments);
    return done;
}

IEZ_EXPORT int __printf_chk(int flag, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int done = put_checked(stdout, flag, format, arguments);
    va_end(arguments);
    return done;
}

static int put_checked_to(int fd, int flag, const char *format, va_list arguments) {
    struct iez_call call = iez_call_begin(fd, IEZ_STDIO);
    int done = IEZ_LATE(__vdprintf_chk)(fd, flag, format, arguments);
    iez_call_wrote(&call, done);
    return done;
}

IEZ_EXPORT int __vdprintf_chk(int fd, int flag, const char *format, va_list arguments) {
    return put_checked_to(fd, flag, format, arguments);
}

IEZ_EXPORT int __dprintf_chk(int fd, int flag, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int done = put_checked_to(fd, flag, format, arguments);
    va_end(arguments);
    return done;
}

static inline void read_by(FILE *stream, size_t bytes) {
    if (bytes == 0 || !iez_tracing())
        return;
    int saved = errno;
    enum iez_api before = iez_context_enter(IEZ_STDIO);
    iez_call_read(fileno(stream), (ssize_t)bytes, true);
    iez_context_leave(before);
    errno = saved;
}

IEZ_EXPORT size_t fread(void *data, size_t size, size_t count, FILE *stream) {
    size_t done = IEZ_LATE(fread)(data, size, count, stream);
    read_by(stream, done * size);
    return done;
}

IEZ_EXPORT size_t fread_unlocked(void *data, size_t size, size_t count, FILE *stream) {
    size_t done = IEZ_LATE(fread_unlocked)(data, size, count, stream);
    read_by(stream, done * size);
    return done;
}

/* Where the stream is now, which libc knows after it has moved. */
static inline void moved(FILE *stream) {
    if (!iez_tracing())
        return;
    int saved = errno;
    int fd = fileno(stream);
    if (iez_known(fd))
        iez_note_position(fd, ftello(stream));
    errno = saved;
}

IEZ_EXPORT int fseek(FILE *stream, long offset, int whence) {
    int failed = IEZ_LATE(fseek)(stream, offset, whence);
    moved(stream);
    return failed;
}

IEZ_EXPORT int fseeko(FILE *stream, off_t offset, int whence) {
    int failed = IEZ_LATE(fseeko)(stream, offset, whence);
    moved(stream);
    return failed;
}

IEZ_EXPORT int fseeko64(FILE *stream, off64_t offset, int whence) {
    int failed = IEZ_LATE(fseeko64)(stream, offset, whence);
    moved(stream);
    return failed;
}

IEZ_EXPORT int fsetpos(FILE *stream, const fpos_t *position) {
    int failed = IEZ_LATE(fsetpos)(stream, position);
    moved(stream);
    return failed;
}

IEZ_EXPORT int fsetpos64(FILE *stream, const fpos64_t *position) {
    int failed = IEZ_LATE(fsetpos64)(stream, position);
    moved(stream);
    return failed;
}

IEZ_EXPORT void rewind(FILE *stream) {
    IEZ_LATE(rewind)(stream);
    moved(stream);
}

static inline void flushed(FILE *stream, int failed) {
    if (failed || !stream || !iez_tracing())
        return;
    int saved = errno;
    iez_note_flush(fileno(stream));
    errno = saved;
}

IEZ_EXPORT int fflush(FILE *stream) {
    int failed = IEZ_LATE(fflush)(stream);
    flushed(stream, failed);
    return failed;
}

IEZ_EXPORT int fflush_unlocked(FILE *stream) {
    int failed = IEZ_LATE(fflush_unlocked)(stream);
    flushed(stream, failed);
    return failed;
}

IEZ_EXPORT int fclose(FILE *stream) {
    if (iez_tracing())
        iez_note_stream_close(stream);
    return IEZ_LATE(fclose)(stream);
}
