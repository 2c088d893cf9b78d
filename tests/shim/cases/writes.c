/* Calls that write and read by descriptor: results, errno, positions, errors. */
#include <aio.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "say.h"

/* Wrong on purpose. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"

static struct iovec parts[] = {{"01234", 5}, {"567", 3}};
static char room[64];
static struct iovec rooms[] = {{room, 3}, {room + 8, 4}};

#define AT(fd) say("at %ld\n", (long)lseek(fd, 0, SEEK_CUR))

CASE(every_write, "data from") {
    int fd = FD(open("data", O_CREAT | O_RDWR, 0644));
    int from = FD(open("from", O_CREAT | O_RDWR, 0644));
    off_t in = 2;
    off64_t in64 = 3, out64 = 40;
    INT(write(from, "abcdefghij", 10));
    INT(write(fd, "01234567", 8));
    AT(fd);
    INT(write(fd, "", 0));
    INT(pwrite(fd, "x", 1, 20));
    INT(pwrite64(fd, "y", 1, 21));
    INT(writev(fd, parts, 2));
    AT(fd);
    INT(pwritev(fd, parts, 2, 30));
    INT(pwritev64(fd, parts, 2, 31));
    INT(pwritev2(fd, parts, 2, 32, 0));
    INT(pwritev2(fd, parts, 2, -1, 0));
    AT(fd);
    INT(pwritev64v2(fd, parts, 2, -1, 0));
    AT(fd);
    INT(sendfile(fd, from, &in, 4));
    say("in %ld\n", (long)in);
    AT(fd);
    INT(lseek(from, 0, SEEK_SET));
    INT(sendfile64(fd, from, NULL, 4));
    AT(fd);
    AT(from);
    INT(copy_file_range(from, &in64, fd, &out64, 4, 0));
    say("in %ld out %ld\n", (long)in64, (long)out64);
    INT(copy_file_range(from, NULL, fd, NULL, 4, 0));
    AT(fd);
    AT(from);
    INT(ftruncate(fd, 100));
    INT(ftruncate64(fd, 90));
    INT(posix_fallocate(fd, 0, 120));
    INT(posix_fallocate64(fd, 0, 130));
    INT(fallocate(fd, 0, 0, 140));
    INT(fallocate64(fd, 1, 0, 8192));
    INT(lseek64(fd, -5, SEEK_END));
    INT(close(fd));
    INT(close(fd));
}

CASE(every_read, "data") {
    int fd = FD(open("data", O_CREAT | O_RDWR, 0644));
    off64_t from = 1;
    INT(write(fd, "0123456789", 10));
    INT(read(fd, room, 4));
    INT(lseek(fd, 0, SEEK_SET));
    INT(read(fd, room, 4));
    INT(pread(fd, room, 40, 4));
    INT(pread64(fd, room, 40, 5));
    AT(fd);
    INT(readv(fd, rooms, 2));
    AT(fd);
    INT(preadv(fd, rooms, 2, 4));
    INT(preadv64(fd, rooms, 2, 5));
    INT(preadv2(fd, rooms, 2, 6, 0));
    INT(lseek(fd, 1, SEEK_SET));
    INT(preadv2(fd, rooms, 2, -1, 0));
    INT(preadv64v2(fd, rooms, 2, 7, 0));
    AT(fd);
    say("%.3s %.4s\n", room, room + 8);
    INT(splice(fd, &from, fd, NULL, 3, 0));
}

/* Where something is wrong: the same error, and nothing moves. */
static void all_wrong(int fd) {
    off64_t offset = 0;
    struct iovec bad[] = {{(void *)8, 4}}, negative[] = {{room, (size_t)-1}};
    const void *nowhere = hidden((void *)8);
    INT(write(fd, nowhere, 8));
    INT(write(fd, NULL, 8));
    INT(pwrite(fd, nowhere, 8, 0));
    INT(pwrite(fd, "x", 1, -1));
    INT(pwrite64(fd, "x", 1, -5));
    INT(writev(fd, bad, 1));
    INT(writev(fd, (void *)hidden((void *)8), 1));
    INT(writev(fd, negative, 1));
    INT(writev(fd, parts, -1));
    INT(writev(fd, parts, 5000));
    INT(writev(fd, parts, 0));
    INT(pwritev(fd, bad, 1, 0));
    INT(pwritev(fd, parts, 2, -5));
    INT(pwritev64(fd, parts, -1, 0));
    INT(pwritev2(fd, parts, 2, 0, 1 << 30));
    INT(pwritev64v2(fd, parts, 2, -2, 0));
    INT(read(fd, (void *)8, 8));
    INT(pread(fd, room, 8, -1));
    INT(pread64(fd, (void *)8, 8, 0));
    INT(readv(fd, bad, 1));
    INT(preadv(fd, parts, -1, 0));
    INT(preadv64(fd, rooms, 2, -1));
    INT(preadv2(fd, rooms, 2, -2, 0));
    INT(preadv64v2(fd, rooms, 2, 0, 1 << 30));
    INT(sendfile(fd, -1, NULL, 8));
    INT(sendfile64(fd, fd, (off64_t *)8, 8));
    INT(copy_file_range(fd, &offset, fd, (off64_t *)8, 8, 0));
    INT(copy_file_range(fd, NULL, -1, NULL, 8, 0));
    INT(copy_file_range(fd, NULL, fd, NULL, 8, 99));
    INT(splice(fd, NULL, fd, NULL, 8, 0));
    INT(lseek(fd, -1, SEEK_SET));
    INT(lseek64(fd, 0, 99));
    INT(ftruncate(fd, -1));
    INT(ftruncate64(fd, -1));
    INT(fallocate(fd, 0, 0, 0));
    INT(fallocate64(fd, 0, -1, 5));
    INT(posix_fallocate(fd, 0, 0));
    INT(posix_fallocate64(fd, -1, 5));
    INT(lseek(fd, 0, SEEK_CUR));
}

CASE(writes_that_fail, "data") {
    all_wrong(FD(open("data", O_CREAT | O_RDWR, 0644)));
}

CASE(writes_to_a_file_that_is_read, "data") {
    close(FD(open("data", O_CREAT | O_RDWR, 0644)));
    all_wrong(FD(open("data", O_RDONLY)));
}

CASE(writes_to_no_descriptor, "data") {
    int fd = FD(open("data", O_CREAT | O_RDWR, 0644));
    INT(write(fd, "x", 1));
    close(fd);
    all_wrong(fd);
    all_wrong(-1);
    all_wrong(INT_MAX);
    all_wrong(40000);
}

CASE(writes_to_a_directory_or_by_o_path, "data") {
    close(FD(open("data", O_CREAT | O_RDWR, 0644)));
    all_wrong(FD(open(".", O_RDONLY | O_DIRECTORY)));
    all_wrong(FD(open("data", O_PATH)));
}

CASE(appends, "data") {
    int one = FD(open("data", O_CREAT | O_WRONLY | O_APPEND, 0644));
    int two = FD(open("data", O_WRONLY | O_APPEND));
    INT(write(one, "111", 3));
    INT(write(two, "22", 2));
    INT(pwrite(one, "33", 2, 0));
    AT(one);
    INT(lseek(two, 0, SEEK_SET));
    INT(writev(two, parts, 2));
    AT(two);
    INT(fcntl(two, F_SETFL, 0));
    INT(lseek(two, 1, SEEK_SET));
    INT(write(two, "4", 1));
    AT(two);
    INT(copy_file_range(two, NULL, one, NULL, 3, 0));
}

CASE(pipes_and_sockets, "") {
    int pipe_ends[2], ends[2];
    INT(pipe(pipe_ends));
    INT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    INT(write(pipe_ends[1], "01234567", 8));
    INT(read(pipe_ends[0], room, 4));
    INT(splice(pipe_ends[0], NULL, ends[0], NULL, 4, 0));
    INT(writev(ends[1], parts, 2));
    INT(readv(ends[0], rooms, 2));
    INT(pwrite(pipe_ends[1], "x", 1, 0));
    INT(pread(ends[0], room, 1, 0));
    INT(lseek(pipe_ends[1], 0, SEEK_CUR));
    INT(ftruncate(ends[0], 5));
    INT(dprintf(pipe_ends[1], "%d", 7));
    signal(SIGPIPE, SIG_IGN);
    close(pipe_ends[0]);
    INT(write(pipe_ends[1], "x", 1));
    INT(dprintf(pipe_ends[1], "%d", 7));
}

CASE(a_pipe_that_nobody_reads_kills, "data") {
    int ends[2];
    close(FD(open("data", O_CREAT | O_RDWR, 0644)));
    INT(pipe(ends));
    close(ends[0]);
    INT(write(ends[1], "x", 1));
    say("not reached\n");
}

CASE(large_vectors, "data") {
    static struct iovec many[IOV_MAX + 1];
    int fd = FD(open("data", O_CREAT | O_RDWR, 0644));
    for (int i = 0; i <= IOV_MAX; i++)
        many[i] = parts[i % 2];
    INT(writev(fd, many, IOV_MAX));
    INT(writev(fd, many, IOV_MAX + 1));
    INT(pwritev(fd, many, IOV_MAX, 1 << 20));
    AT(fd);
}

CASE(far_offsets, "data") {
    int fd = FD(open("data", O_CREAT | O_RDWR, 0644));
    INT(pwrite64(fd, "x", 1, 1LL << 40));
    INT(ftruncate64(fd, 10));
    INT(pwrite64(fd, "x", 1, INT64_MAX));
    INT(lseek64(fd, 1LL << 40, SEEK_SET));
    INT(write(fd, "x", 1));
    INT(ftruncate64(fd, 10));
    INT(ftruncate64(fd, INT64_MAX));
}

CASE(asynchronous_writes, "data") {
    int fd = FD(open("data", O_CREAT | O_RDWR, 0644));
    struct aiocb request = {.aio_fildes = fd, .aio_buf = "01234567", .aio_nbytes = 8};
    struct aiocb64 wide = {.aio_fildes = fd, .aio_buf = "89", .aio_nbytes = 2, .aio_offset = 8};
    const struct aiocb *list[] = {&request};
    const struct aiocb64 *wide_list[] = {&wide};
    INT(aio_write(&request));
    aio_suspend(list, 1, NULL);
    say("%d %zd\n", aio_error(&request), aio_return(&request));
    INT(aio_write64(&wide));
    aio_suspend64(wide_list, 1, NULL);
    say("%d %zd\n", aio_error64(&wide), aio_return64(&wide));
    request.aio_fildes = 99;
    INT(aio_write(&request));
    aio_suspend(list, 1, NULL);
    say("%d %zd\n", aio_error(&request), aio_return(&request));
    request.aio_reqprio = -1;
    INT(aio_write(&request));
}

/* SIGXFSZ, caught and not. */
static volatile int caught;

static void count(int number) {
    caught++;
    (void)number;
}

static void write_beyond(void) {
    int fd = FD(open("data", O_CREAT | O_RDWR, 0644));
    INT(write(fd, "0123456789", 10));
    INT(write(fd, "0123456789", 10));
    INT(write(fd, "0123456789", 10));
    INT(pwrite(fd, "x", 1, 100));
    INT(ftruncate(fd, 100));
    INT(dprintf(fd, "%d", 12345));
    say("caught %d\n", caught);
}

CASE(a_limit_of_file_size_is_signalled, "data") {
    struct rlimit limit = {16, 16};
    setrlimit(RLIMIT_FSIZE, &limit);
    in_child(write_beyond);
    signal(SIGXFSZ, count);
    write_beyond();
}

static void *write_on(void *file) {
    int fd = *(int *)file;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    for (;;)
        if (write(fd, "x", 1) != 1 || pwrite(fd, "y", 1, 0) != 1)
            break;
    return NULL;
}

static void *write_to_a_full_pipe(void *file) {
    static char much[1 << 20];
    return (void *)(long)write(*(int *)file, much, sizeof much);
}

CASE(threads_are_cancelled_while_they_write, "data") {
    pthread_t thread;
    void *result;
    int ends[2];
    int fd = FD(open("data", O_CREAT | O_RDWR, 0644));
    for (int i = 0; i < 50; i++) {
        pthread_create(&thread, NULL, write_on, &fd);
        usleep(200);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        if (result != PTHREAD_CANCELED)
            say("not cancelled\n");
    }
    INT(ftruncate(fd, 0));
    INT(pipe(ends));
    pthread_create(&thread, NULL, write_to_a_full_pipe, &ends[1]);
    usleep(2000);
    pthread_cancel(thread);
    INT(pthread_join(thread, &result));
    say("cancelled: %d\n", result == PTHREAD_CANCELED);
    INT(pwrite(fd, "after", 5, 0));
}

static void *write_a_part(void *number) {
    static int fd = -1;
    long part = (long)number;
    if (part < 0) {
        fd = open("data", O_CREAT | O_RDWR, 0644);
        return NULL;
    }
    for (int i = 0; i < 200; i++) {
        char text[8];
        snprintf(text, sizeof text, "%02ld%03d\n", part, i);
        if (pwrite(fd, text, 6, 6 * (200 * part + i)) != 6)
            say("failed\n");
    }
    return NULL;
}

CASE(thirty_threads_write_to_one_file, "data") {
    pthread_t threads[30];
    write_a_part((void *)-1L);
    for (long i = 0; i < 30; i++)
        pthread_create(&threads[i], NULL, write_a_part, (void *)i);
    for (int i = 0; i < 30; i++)
        pthread_join(threads[i], NULL);
}

/* Every thread writes to every file, with no descriptor left for anything else. */
static int used_up[16];

static void *write_to_all(void *unused) {
    int changed = 0;
    for (int i = 0; i < 16 && used_up[i] > 0; i++) {
        errno = 1234;
        if (pwrite(used_up[i], "x", 1, 0) != 1 || errno != 1234)
            changed++;
    }
    return changed ? &used_up : unused;
}

CASE(threads_write_without_a_free_descriptor, "f*") {
    struct rlimit limit = {12, 12};
    int failed = 0;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int i = 0; i < 16; i++) {
        char name[8];
        snprintf(name, sizeof name, "f%d", i);
        used_up[i] = open(name, O_CREAT | O_WRONLY, 0644);
    }
    for (int i = 0; i < 10; i++) {
        pthread_t threads[4];
        void *result = NULL;
        for (int t = 0; t < 4; t++)
            pthread_create(&threads[t], NULL, write_to_all, NULL);
        for (int t = 0; t < 4; t++) {
            pthread_join(threads[t], &result);
            failed += result != NULL;
        }
    }
    say("failed: %d\n", failed);
}
