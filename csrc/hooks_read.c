/* Calls that read by descriptor, or move its position. */
#include "export.h"
#include "real.h"
#include "trace.h"

IEZ_EXPORT ssize_t read(int fd, void *data, size_t bytes) {
    ssize_t done = IEZ_REAL(read)(fd, data, bytes);
    iez_call_read(fd, done, true);
    return done;
}

IEZ_EXPORT ssize_t pread(int fd, void *data, size_t bytes, off_t offset) {
    ssize_t done = IEZ_REAL(pread)(fd, data, bytes, offset);
    iez_call_read(fd, done, false);
    return done;
}

IEZ_EXPORT ssize_t pread64(int fd, void *data, size_t bytes, off64_t offset) {
    ssize_t done = IEZ_REAL(pread64)(fd, data, bytes, offset);
    iez_call_read(fd, done, false);
    return done;
}

IEZ_EXPORT ssize_t readv(int fd, const struct iovec *parts, int count) {
    ssize_t done = IEZ_REAL(readv)(fd, parts, count);
    iez_call_read(fd, done, true);
    return done;
}

IEZ_EXPORT ssize_t preadv(int fd, const struct iovec *parts, int count, off_t offset) {
    ssize_t done = IEZ_REAL(preadv)(fd, parts, count, offset);
    iez_call_read(fd, done, false);
    return done;
}

IEZ_EXPORT ssize_t preadv64(int fd, const struct iovec *parts, int count, off64_t offset) {
    ssize_t done = IEZ_REAL(preadv64)(fd, parts, count, offset);
    iez_call_read(fd, done, false);
    return done;
}

IEZ_EXPORT ssize_t preadv2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
    ssize_t done = IEZ_REAL(preadv2)(fd, parts, count, offset, flags);
    iez_call_read(fd, done, offset == -1);
    return done;
}

IEZ_EXPORT ssize_t preadv64v2(int fd, const struct iovec *parts, int count, off64_t offset,
                              int flags) {
    ssize_t done = IEZ_REAL(preadv64v2)(fd, parts, count, offset, flags);
    iez_call_read(fd, done, offset == -1);
    return done;
}

/* What a checked build calls: libc ends the program if the room is too small. */
IEZ_EXPORT ssize_t __read_chk(int fd, void *data, size_t bytes, size_t room) {
    ssize_t done = IEZ_LATE(__read_chk)(fd, data, bytes, room);
    iez_call_read(fd, done, true);
    return done;
}

IEZ_EXPORT ssize_t __pread_chk(int fd, void *data, size_t bytes, off_t offset, size_t room) {
    ssize_t done = IEZ_LATE(__pread_chk)(fd, data, bytes, offset, room);
    iez_call_read(fd, done, false);
    return done;
}

IEZ_EXPORT ssize_t __pread64_chk(int fd, void *data, size_t bytes, off64_t offset, size_t room) {
    ssize_t done = IEZ_LATE(__pread64_chk)(fd, data, bytes, offset, room);
    iez_call_read(fd, done, false);
    return done;
}

IEZ_EXPORT off_t lseek(int fd, off_t offset, int whence) {
    off_t position = IEZ_REAL(lseek)(fd, offset, whence);
    if (position >= 0)
        iez_note_position(fd, position);
    return position;
}

IEZ_EXPORT off64_t lseek64(int fd, off64_t offset, int whence) {
    off64_t position = IEZ_REAL(lseek64)(fd, offset, whence);
    if (position >= 0)
        iez_note_position(fd, position);
    return position;
}
