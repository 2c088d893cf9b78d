/* Calls that write by descriptor, or change a file's size: the real call, then what it did. */
#include <errno.h>

#include "export.h"
#include "real.h"
#include "trace.h"

IEZ_EXPORT ssize_t write(int fd, const void *data, size_t bytes) {
    struct iez_call call = iez_call_begin(fd, IEZ_POSIX);
    ssize_t done = IEZ_REAL(write)(fd, data, bytes);
    iez_call_wrote(&call, done);
    return done;
}

IEZ_EXPORT ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset) {
    struct iez_call call = iez_call_begin(fd, IEZ_POSIX);
    ssize_t done = IEZ_REAL(pwrite)(fd, data, bytes, offset);
    iez_call_wrote_at(&call, done, offset);
    return done;
}

IEZ_EXPORT ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t offset) {
    struct iez_call call = iez_call_begin(fd, IEZ_POSIX);
    ssize_t done = IEZ_REAL(pwrite64)(fd, data, bytes, offset);
    iez_call_wrote_at(&call, done, offset);
    return done;
}

IEZ_EXPORT ssize_t writev(int fd, const struct iovec *parts, int count) {
    struct iez_call call = iez_call_begin(fd, IEZ_POSIX);
    ssize_t done = IEZ_REAL(writev)(fd, parts, count);
    iez_call_wrote(&call, done);
    return done;
}

IEZ_EXPORT ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    struct iez_call call = iez_call_begin(fd, IEZ_POSIX);
    ssize_t done = IEZ_REAL(pwritev)(fd, parts, count, offset);
    iez_call_wrote_at(&call, done, offset);
    return done;
}

IEZ_EXPORT ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
    struct iez_call call = iez_call_begin(fd, IEZ_POSIX);
    ssize_t done = IEZ_REAL(pwritev64)(fd, parts, count, offset);
    iez_call_wrote_at(&call, done, offset);
    return done;
}

/* The offset -1 stands for the descriptor's position. */
static inline void wrote_there_or_here(const struct iez_call *call, ssize_t done, int64_t offset) {
    if (offset == -1)
        iez_call_wrote(call, done);
    else
        iez_call_wrote_at(call, done, offset);
}

IEZ_EXPORT ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
    struct iez_call call = iez_call_begin(fd, IEZ_POSIX);
    ssize_t done = IEZ_REAL(pwritev2)(fd, parts, count, offset, flags);
    wrote_there_or_here(&call, done, offset);
    return done;
}

IEZ_EXPORT ssize_t pwritev64v2(int fd, const struct iovec *parts, int count, off64_t offset,
                               int flags) {
    struct iez_call call = iez_call_begin(fd, IEZ_POSIX);
    ssize_t done = IEZ_REAL(pwritev64v2)(fd, parts, count, offset, flags);
    wrote_there_or_here(&call, done, offset);
    return done;
}

IEZ_EXPORT ssize_t sendfile(int out, int in, off_t *offset, size_t bytes) {
    struct iez_call call = iez_call_begin(out, IEZ_POSIX);
    ssize_t done = IEZ_REAL(sendfile)(out, in, offset, bytes);
    iez_call_wrote(&call, done);
    iez_call_read(in, done, !offset);
    return done;
}

IEZ_EXPORT ssize_t sendfile64(int out, int in, off64_t *offset, size_t bytes) {
    struct iez_call call = iez_call_begin(out, IEZ_POSIX);
    ssize_t done = IEZ_REAL(sendfile64)(out, in, offset, bytes);
    iez_call_wrote(&call, done);
    iez_call_read(in, done, !offset);
    return done;
}

/* Where an offset is given, the call has moved it on. */
static inline void moved(const struct iez_call *call, ssize_t done, int in,
                         const off64_t *in_offset, const off64_t *out_offset) {
    if (out_offset && done > 0)
        iez_call_wrote_at(call, done, *out_offset - done);
    else
        iez_call_wrote(call, done);
    iez_call_read(in, done, !in_offset);
}

IEZ_EXPORT ssize_t copy_file_range(int in, off64_t *in_offset, int out, off64_t *out_offset,
                                   size_t bytes, unsigned flags) {
    struct iez_call call = iez_call_begin(out, IEZ_POSIX);
    ssize_t done = IEZ_REAL(copy_file_range)(in, in_offset, out, out_offset, bytes, flags);
    moved(&call, done, in, in_offset, out_offset);
    return done;
}

IEZ_EXPORT ssize_t splice(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t bytes,
                          unsigned flags) {
    struct iez_call call = iez_call_begin(out, IEZ_POSIX);
    ssize_t done = IEZ_REAL(splice)(in, in_offset, out, out_offset, bytes, flags);
    moved(&call, done, in, in_offset, out_offset);
    return done;
}

static inline void sized(int fd, int failed, int64_t bytes) {
    struct iez_trace_file *file = failed ? NULL : iez_traced(fd);
    if (file && bytes > 0)
        iez_note_set_size(file, (uint64_t)bytes);
}

IEZ_EXPORT int ftruncate(int fd, off_t bytes) {
    int failed = IEZ_REAL(ftruncate)(fd, bytes);
    sized(fd, failed, bytes);
    return failed;
}

IEZ_EXPORT int ftruncate64(int fd, off64_t bytes) {
    int failed = IEZ_REAL(ftruncate64)(fd, bytes);
    sized(fd, failed, bytes);
    return failed;
}

IEZ_EXPORT int fallocate(int fd, int mode, off_t offset, off_t bytes) {
    int failed = IEZ_LATE(fallocate)(fd, mode, offset, bytes);
    sized(fd, failed || mode, offset + bytes);
    return failed;
}

IEZ_EXPORT int fallocate64(int fd, int mode, off64_t offset, off64_t bytes) {
    int failed = IEZ_LATE(fallocate64)(fd, mode, offset, bytes);
    sized(fd, failed || mode, offset + bytes);
    return failed;
}

IEZ_EXPORT int posix_fallocate(int fd, off_t offset, off_t bytes) {
    int failed = IEZ_LATE(posix_fallocate)(fd, offset, bytes);
    sized(fd, failed, offset + bytes);
    return failed;
}

IEZ_EXPORT int posix_fallocate64(int fd, off64_t offset, off64_t bytes) {
    int failed = IEZ_LATE(posix_fallocate64)(fd, offset, bytes);
    sized(fd, failed, offset + bytes);
    return failed;
}

/* What was accepted counts: libc writes it in a thread of its own. The request is read before it is
 * handed over. */
IEZ_EXPORT int aio_write(struct aiocb *request) {
    int64_t bytes = (int64_t)request->aio_nbytes, offset = request->aio_offset;
    struct iez_call call = iez_call_begin(request->aio_fildes, IEZ_POSIX);
    int failed = IEZ_LATE(aio_write)(request);
    iez_call_wrote_at(&call, failed ? 0 : bytes, offset);
    return failed;
}

IEZ_EXPORT int aio_write64(struct aiocb64 *request) {
    int64_t bytes = (int64_t)request->aio_nbytes, offset = request->aio_offset;
    struct iez_call call = iez_call_begin(request->aio_fildes, IEZ_POSIX);
    int failed = IEZ_LATE(aio_write64)(request);
    iez_call_wrote_at(&call, failed ? 0 : bytes, offset);
    return failed;
}
