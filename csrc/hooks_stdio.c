/* fopen and freopen. libc opens inside of itself, where no hook sees it, so a planned file is
 * created here and the stream made over its descriptor. */
#include <errno.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/syscall.h>
#include <wchar.h>

#include "context.h"
#include "export.h"
#include "place.h"
#include "real.h"
#include "streams.h"
#include "trace.h"

/* freopen and fclose close the descriptor inside of libc. A stream without one has fileno -1. */
/* In a wide stream characters are counted, whose bytes nobody knows yet. */
static uint64_t pending_bytes(FILE *stream) {
    size_t pending = __fpending(stream);
    return pending && fwide(stream, 0) > 0 ? IEZ_SIZE_UNKNOWN : pending;
}

void iez_note_stream_close(FILE *stream) {
    int saved = errno;
    int fd = stream ? fileno(stream) : -1;
    if (fd >= 0)
        iez_note_close(fd, pending_bytes(stream));
    errno = saved;
}

typedef FILE *fopen_function(const char *restrict, const char *restrict);
typedef FILE *freopen_function(const char *restrict, const char *restrict, FILE *restrict);

/* The flags that fopen would use for a creating mode; 0 for any other mode. */
static int creating_flags(const char *mode) {
    int flags = O_CREAT;
    if (*mode == 'w')
        flags |= O_TRUNC;
    else if (*mode == 'a')
        flags |= O_APPEND;
    else
        return 0;
    int access = O_WRONLY;
    for (int i = 1; i < 7 && mode[i]; i++) { /* libc, too, reads no more than that */
        if (mode[i] == '+')
            access = O_RDWR;
        else if (mode[i] == 'x')
            flags |= O_EXCL;
        else if (mode[i] == 'e')
            flags |= O_CLOEXEC;
    }
    return flags | access;
}

/* Modes that only fopen itself understands: a character set, and glibc's 'c' and 'm'. */
static bool has_private_mode(const char *mode) {
    return strpbrk(mode, ",cm") != NULL;
}

/* The flags as the shortest mode: fdopen reads fewer letters of a mode than fopen does. */
static const char *shortest_mode(int flags) {
    bool both = (flags & O_ACCMODE) == O_RDWR;
    if (flags & O_APPEND)
        return both ? "a+" : "a";
    return both ? "w+" : "w";
}

/* Makes the stream of a file that iez_place opened. fopen allocates before it creates: where no
 * stream can be had, a file that was not there must not stay. */
static FILE *stream_over(int fd, const struct iez_create *create, bool created) {
    FILE *stream = fdopen(fd, shortest_mode(create->flags));
    if (!stream) {
        int error = errno;
        syscall(SYS_close, fd);
        if (created)
            syscall(SYS_unlinkat, AT_FDCWD, create->path, 0);
        errno = error;
    } else if ((create->flags & (O_APPEND | O_ACCMODE)) == (O_APPEND | O_WRONLY)) {
        int saved = errno;
        lseek(fd, 0, SEEK_END); /* where fopen leaves it, should another rank have written */
        errno = saved;
    }
    return stream;
}

static FILE *create_stream(fopen_function *real, const char *path, const char *mode, int flags) {
    struct iez_order order;
    struct iez_create create = {.open = IEZ_REAL(open), .path = path, .flags = flags, .mode = 0666};
    enum iez_decision decision = iez_decide(AT_FDCWD, path, &order);
    bool created = false;
    int fd = IEZ_PLAIN;
    FILE *stream = NULL;
    if (decision == IEZ_PLACE && has_private_mode(mode))
        iez_note_unplaced(&order, IEZ_UNSUPPORTED);
    else if (decision == IEZ_PLACE)
        fd = iez_place(&create, &order, &created);
    bool was_placed = fd != IEZ_PLAIN;
    if (fd >= 0)
        stream = stream_over(fd, &create, created);
    else if (fd == IEZ_PLAIN)
        stream = real(path, mode);
    if (stream && decision == IEZ_MISS)
        iez_note_unplaced(&order, IEZ_MISSED);
    if (stream && decision != IEZ_PASS)
        iez_note_created(fileno(stream), &order, flags, was_placed, created);
    else if (stream && order.is_outermost && iez_tracing())
        iez_note_plain_open(fileno(stream), path, flags);
    iez_done(&order);
    return stream;
}

/* A stream over a file that must be there. */
static FILE *noted(FILE *stream, const char *path, const char *mode) {
    if (!stream || !path || !iez_tracing())
        return stream;
    enum iez_api before = iez_context_enter(IEZ_STDIO);
    iez_note_plain_open(fileno(stream), path, strchr(mode, '+') ? O_RDWR : O_RDONLY);
    iez_context_leave(before);
    return stream;
}

static inline FILE *forward_fopen(fopen_function *real, const char *path, const char *mode) {
    int flags = iez_on() ? creating_flags(mode) : 0;
    if (!flags)
        return noted(real(path, mode), path, mode);
    enum iez_api before = iez_context_enter(IEZ_STDIO);
    FILE *stream = create_stream(real, path, mode, flags);
    iez_context_leave(before);
    return stream;
}

IEZ_EXPORT FILE *fopen(const char *restrict path, const char *restrict mode) {
    return forward_fopen(IEZ_LATE(fopen), path, mode);
}

IEZ_EXPORT FILE *fopen64(const char *restrict path, const char *restrict mode) {
    return forward_fopen(IEZ_LATE(fopen64), path, mode);
}

/* freopen opens the file a second time. A umask may have made a mode that forbids it. */
static bool can_open_again(const char *path, int flags) {
    int plain = (flags & O_ACCMODE) | O_CLOEXEC | O_NOCTTY;
    long fd = syscall(SYS_openat, AT_FDCWD, path, plain, 0);
    if (fd >= 0)
        syscall(SYS_close, fd);
    return fd >= 0;
}

/* freopen cannot take a descriptor: the file is created with its layout and closed, then freopen
 * finds it there. Not for "x", which would find it there too. */
static bool create_before(const char *path, int flags, struct iez_order *order) {
    struct iez_create create = {.open = IEZ_REAL(open),
                                .path = path,
                                .flags = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC,
                                .mode = 0666};
    bool created = false;
    if (flags & O_EXCL) {
        iez_note_unplaced(order, IEZ_UNSUPPORTED);
        return false;
    }
    int saved = errno;
    int fd = iez_place(&create, order, &created);
    if (fd >= 0)
        syscall(SYS_close, fd);
    else if (fd == -1 && errno == EEXIST)
        iez_note_unplaced(order, IEZ_EXISTED);
    if (created && !can_open_again(path, flags)) {
        syscall(SYS_unlinkat, AT_FDCWD, path, 0);
        created = false;
    }
    errno = saved;
    return created;
}

static FILE *recreate_stream(freopen_function *real, const char *path, const char *mode, int flags,
                             FILE *stream) {
    struct iez_order order;
    enum iez_decision decision = iez_decide(AT_FDCWD, path, &order);
    bool created = decision == IEZ_PLACE && create_before(path, flags, &order);
    iez_note_stream_close(stream);
    FILE *result = real(path, mode, stream);
    if (!result && created) {
        int error = errno;
        syscall(SYS_unlinkat, AT_FDCWD, path, 0);
        errno = error;
    }
    if (result && decision == IEZ_MISS)
        iez_note_unplaced(&order, IEZ_MISSED);
    if (result && decision != IEZ_PASS)
        iez_note_created(fileno(result), &order, flags, created, created);
    else if (result && order.is_outermost && iez_tracing())
        iez_note_plain_open(fileno(result), path, flags);
    iez_done(&order);
    return result;
}

static inline FILE *forward_freopen(freopen_function *real, const char *path, const char *mode,
                                    FILE *stream) {
    int flags = path && iez_on() ? creating_flags(mode) : 0;
    if (!flags) {
        if (iez_tracing())
            iez_note_stream_close(stream);
        return noted(real(path, mode, stream), path, mode);
    }
    enum iez_api before = iez_context_enter(IEZ_STDIO);
    FILE *result = recreate_stream(real, path, mode, flags, stream);
    iez_context_leave(before);
    return result;
}

IEZ_EXPORT FILE *freopen(const char *restrict path, const char *restrict mode,
                         FILE *restrict stream) {
    return forward_freopen(IEZ_LATE(freopen), path, mode, stream);
}

IEZ_EXPORT FILE *freopen64(const char *restrict path, const char *restrict mode,
                           FILE *restrict stream) {
    return forward_freopen(IEZ_LATE(freopen64), path, mode, stream);
}
