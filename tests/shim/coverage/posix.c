/* Calls by descriptor or by name. */
#include "call.h"

static struct iovec parts[] = {{"01234", 5}, {"567", 3}};
static char room[64];
static struct iovec rooms[] = {{room, 3}, {room + 8, 4}};

/* Opens and creates: the bytes are written raw. */
#define OPENS(name, expected, call)                                                                \
    CALL(name, expected) {                                                                         \
        return raw_write(call, "12345");                                                           \
    }

OPENS(open, "opens=1 creates=1 size=5", open("data", O_CREAT | O_WRONLY, 0644))
OPENS(open64, "opens=1 creates=1 size=5", open64("data", O_CREAT | O_WRONLY, 0644))
OPENS(openat, "opens=1 creates=1 size=5", openat(AT_FDCWD, "data", O_CREAT | O_RDWR, 0644))
OPENS(openat64, "opens=1 creates=1 size=5", openat64(AT_FDCWD, "data", O_CREAT | O_RDWR, 0644))
OPENS(creat, "opens=1 creates=1 size=5", creat("data", 0644))
OPENS(creat64, "opens=1 creates=1 size=5", creat64("data", 0644))

static char name[] = "dataXXXXXX", name2[] = "dataXXXXXX.h";
OPENS(mkstemp, "file=data?????? opens=1 creates=1 size=5", mkstemp(name))
OPENS(mkstemp64, "file=data?????? opens=1 creates=1 size=5", mkstemp64(name))
OPENS(mkostemp, "file=data?????? opens=1 creates=1 size=5", mkostemp(name, O_CLOEXEC))
OPENS(mkostemp64, "file=data?????? opens=1 creates=1 size=5", mkostemp64(name, O_CLOEXEC))
OPENS(mkstemps, "file=data??????.h opens=1 creates=1 size=5", mkstemps(name2, 2))
OPENS(mkstemps64, "file=data??????.h opens=1 creates=1 size=5", mkstemps64(name2, 2))
OPENS(mkostemps, "file=data??????.h opens=1 creates=1 size=5", mkostemps(name2, 2, 0))
OPENS(mkostemps64, "file=data??????.h opens=1 creates=1 size=5", mkostemps64(name2, 2, 0))

/* Checked forms; they only open what is there. Found at its first use if the name is relative. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);

static char *absolute(void) {
    static char path[4096];
    raw_close(with_text("data"));
    if (!getcwd(path, sizeof path - 8))
        return NULL;
    return strcat(path, "/data");
}

#define OPENS_THERE(name, call)                                                                    \
    CALL(name, "opens=1 flags=read,write") {                                                       \
        char *path = absolute();                                                                   \
        return raw_write(call, "12345");                                                           \
    }

OPENS_THERE(__open_2, __open_2(path, O_RDWR))
OPENS_THERE(__open64_2, __open64_2(path, O_RDWR))
OPENS_THERE(__openat_2, __openat_2(AT_FDCWD, path, O_RDWR))
OPENS_THERE(__openat64_2, __openat64_2(AT_FDCWD, path, O_RDWR))

/* Writes. */

CALL(write, "writes=1 POSIX=8 end=8 sizes=3") {
    return write(empty(), "01234567", 8);
}

CALL(pwrite, "writes=1 POSIX=8 end=108 sizes=3") {
    return pwrite(empty(), "01234567", 8, 100);
}

CALL(pwrite64, "writes=1 POSIX=8 end=108 sizes=3") {
    return pwrite64(empty(), "01234567", 8, 100);
}

CALL(writev, "writes=1 POSIX=8 end=8 sizes=3") {
    return writev(empty(), parts, 2);
}

CALL(pwritev, "writes=1 POSIX=8 end=108 sizes=3") {
    return pwritev(empty(), parts, 2, 100);
}

CALL(pwritev64, "writes=1 POSIX=8 end=108 sizes=3") {
    return pwritev64(empty(), parts, 2, 100);
}

CALL(pwritev2, "writes=2 POSIX=16 end=108 sizes=3,3") {
    int fd = empty();
    return pwritev2(fd, parts, 2, 100, 0) + pwritev2(fd, parts, 2, -1, 0);
}

CALL(pwritev64v2, "writes=2 POSIX=16 end=108 sizes=3,3") {
    int fd = empty();
    return pwritev64v2(fd, parts, 2, 100, 0) + pwritev64v2(fd, parts, 2, -1, 0);
}

CALL(sendfile, "writes=1 POSIX=7 end=7 sizes=2") {
    off_t from = 3;
    return sendfile(empty(), with_text("from"), &from, 20);
}

CALL(sendfile64, "writes=1 POSIX=7 end=7 sizes=2") {
    off64_t from = 3;
    return sendfile64(empty(), with_text("from"), &from, 20);
}

CALL(copy_file_range, "writes=1 POSIX=7 end=107 sizes=2") {
    off64_t from = 3, to = 100;
    return copy_file_range(with_text("from"), &from, empty(), &to, 20, 0);
}

CALL(splice, "writes=1 POSIX=5 end=105 sizes=2") {
    int ends[2];
    off64_t to = 100;
    if (syscall(SYS_pipe2, ends, 0) != 0)
        return -1;
    raw_write(ends[1], "01234");
    return splice(ends[0], NULL, empty(), &to, 5, 0);
}

CALL(aio_write, "writes=1 POSIX=8 end=108 sizes=3") {
    struct aiocb request = {
        .aio_fildes = empty(), .aio_buf = "01234567", .aio_nbytes = 8, .aio_offset = 100};
    const struct aiocb *list[] = {&request};
    long result = aio_write(&request);
    aio_suspend(list, 1, NULL);
    errno = 0;
    return result + aio_return(&request);
}

CALL(aio_write64, "writes=1 POSIX=8 end=108 sizes=3") {
    struct aiocb64 request = {
        .aio_fildes = empty(), .aio_buf = "01234567", .aio_nbytes = 8, .aio_offset = 100};
    const struct aiocb64 *list[] = {&request};
    long result = aio_write64(&request);
    aio_suspend64(list, 1, NULL);
    errno = 0;
    return result + aio_return64(&request);
}

/* Sizes. */
CALL(ftruncate, "set=4096") {
    return ftruncate(empty(), 4096);
}

CALL(ftruncate64, "set=4096") {
    return ftruncate64(empty(), 4096);
}

CALL(fallocate, "set=5120") {
    return fallocate(empty(), 0, 1024, 4096);
}

CALL(fallocate64, "set=5120") {
    return fallocate64(empty(), 0, 1024, 4096);
}

CALL(posix_fallocate, "set=5120") {
    return posix_fallocate(empty(), 1024, 4096);
}

CALL(posix_fallocate64, "set=5120") {
    return posix_fallocate64(empty(), 1024, 4096);
}

/* Reads. */
CALL(read, "reads=1 read_bytes=10") {
    return read(with_text("data"), room, 20);
}

CALL(pread, "reads=1 read_bytes=6") {
    return pread(with_text("data"), room, 20, 4);
}

CALL(pread64, "reads=1 read_bytes=6") {
    return pread64(with_text("data"), room, 20, 4);
}

CALL(readv, "reads=1 read_bytes=7") {
    return readv(with_text("data"), rooms, 2);
}

CALL(preadv, "reads=1 read_bytes=6") {
    return preadv(with_text("data"), rooms, 2, 4);
}

CALL(preadv64, "reads=1 read_bytes=6") {
    return preadv64(with_text("data"), rooms, 2, 4);
}

CALL(preadv2, "reads=2 read_bytes=13") {
    int fd = with_text("data");
    return preadv2(fd, rooms, 2, 4, 0) + preadv2(fd, rooms, 2, -1, 0);
}

CALL(preadv64v2, "reads=2 read_bytes=13") {
    int fd = with_text("data");
    return preadv64v2(fd, rooms, 2, 4, 0) + preadv64v2(fd, rooms, 2, -1, 0);
}

ssize_t __read_chk(int fd, void *data, size_t bytes, size_t room_bytes);
ssize_t __pread_chk(int fd, void *data, size_t bytes, off_t offset, size_t room_bytes);
ssize_t __pread64_chk(int fd, void *data, size_t bytes, off64_t offset, size_t room_bytes);

CALL(__read_chk, "reads=1 read_bytes=10") {
    return __read_chk(with_text("data"), room, 20, sizeof room);
}

CALL(__pread_chk, "reads=1 read_bytes=6") {
    return __pread_chk(with_text("data"), room, 20, 4, sizeof room);
}

CALL(__pread64_chk, "reads=1 read_bytes=6") {
    return __pread64_chk(with_text("data"), room, 20, 4, sizeof room);
}

/* The position that a write is at. */
CALL(lseek, "writes=2 POSIX=4 end=52 sizes=1,1") {
    int fd = empty();
    long done = write(fd, "ab", 2);
    return done + lseek(fd, 50, SEEK_SET) + write(fd, "cd", 2);
}

CALL(lseek64, "writes=2 POSIX=4 end=52 sizes=1,1") {
    int fd = empty();
    long done = write(fd, "ab", 2);
    return done + lseek64(fd, 50, SEEK_SET) + write(fd, "cd", 2);
}

/* Copies of a descriptor: one write by each of the two. */
#define COPIES(name, call)                                                                         \
    CALL(name, "writes=2 POSIX=8 end=8 sizes=2,2") {                                               \
        int fd = empty();                                                                          \
        long done = write(fd, "0123", 4);                                                          \
        return done + write(call, "4567", 4);                                                      \
    }

COPIES(dup, dup(fd))
COPIES(dup2, dup2(fd, 50))
COPIES(dup3, dup3(fd, 50, O_CLOEXEC))
COPIES(fcntl, fcntl(fd, F_DUPFD, 50))
COPIES(fcntl64, fcntl64(fd, F_DUPFD_CLOEXEC, 50))

/* What is measured when the last descriptor goes, and when the process ends. */
static int created(void) {
    int fd = open("data", O_CREAT | O_WRONLY, 0644);
    raw_write(fd, "12345");
    return fd;
}

/* No hook sees how the process ends then. */
static long end_unseen(long result) {
    syscall(SYS_exit_group, result);
    return 0;
}

CALL(close, "opens=1 creates=1 size=5") {
    return end_unseen(close(created()));
}

CALL(close_range, "opens=1 creates=1 size=5") {
    int fd = created();
    return end_unseen(close_range((unsigned)fd, (unsigned)fd, 0));
}

CALL(closefrom, "opens=1 creates=1 size=5") {
    closefrom(created());
    return end_unseen(0);
}

CALL(_exit, "opens=1 creates=1 size=5") {
    created();
    _exit(7);
}

CALL(_Exit, "opens=1 creates=1 size=5") {
    created();
    _Exit(7);
}

/* Names. */
CALL(rename, "flags=renamed names=new") {
    raw_close(with_text("data"));
    return rename("data", "new");
}

CALL(renameat, "flags=renamed names=new") {
    raw_close(with_text("data"));
    return renameat(AT_FDCWD, "data", AT_FDCWD, "new");
}

CALL(renameat2, "flags=renamed names=new") {
    raw_close(with_text("data"));
    return renameat2(AT_FDCWD, "data", AT_FDCWD, "new", 1);
}

CALL(link, "flags=linked,renamed names=new opens=1 creates=1 size=5") {
    created();
    return link("data", "new") || unlink("data");
}

CALL(linkat, "flags=linked names=new opens=1 creates=1 size=5") {
    created();
    return linkat(AT_FDCWD, "data", AT_FDCWD, "new", 0);
}

CALL(unlink, "flags=unlinked opens=1 creates=1 size=5") {
    created();
    return unlink("data");
}

CALL(unlinkat, "flags=unlinked opens=1 creates=1 size=5") {
    created();
    return unlinkat(AT_FDCWD, "data", 0);
}

CALL(remove, "flags=unlinked opens=1 creates=1 size=5") {
    created();
    return remove("data");
}
