/* What the library cannot see, or does not look at. */
#include <linux/io_uring.h>
#include <locale.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <wchar.h>

#include "call.h"

/* A store to memory that is the file. */
CALL(mmap, "opens=1 creates=1 size=4096 set=4096") {
    int fd = open("data", O_CREAT | O_RDWR, 0644);
    if (ftruncate(fd, 4096) != 0)
        return -1;
    char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    memcpy(memory, "01234567", 8);
    return munmap(memory, 4096);
}

/* The system call itself, as Go programs do; here on a file that was opened by the hook. */
CALL(syscall, "opens=1 creates=1 size=8") {
    return syscall(SYS_write, open("data", O_CREAT | O_WRONLY, 0644), "01234567", 8L);
}

/* The number may be another file's when the process ends: that is not measured instead. */
CALL(SYS_close, "opens=1 creates=1") {
    int ends[2], fd = open("data", O_CREAT | O_WRONLY, 0644);
    syscall(SYS_write, fd, "01234567", 8L);
    syscall(SYS_close, fd);
    return syscall(SYS_pipe2, ends, 0) == 0 && ends[0] == fd;
}

/* One write by an io_uring. Where the kernel offers none, the file is written raw. */
CALL(io_uring, "opens=1 creates=1 size=8") {
    struct io_uring_params about = {0};
    int fd = open("data", O_CREAT | O_WRONLY, 0644);
    int ring = (int)syscall(SYS_io_uring_setup, 2, &about);
    if (ring < 0) {
        errno = 1234;
        return syscall(SYS_write, fd, "01234567", 8L);
    }
    size_t bytes = about.sq_off.array + about.sq_entries * sizeof(unsigned);
    char *queue = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
                       IORING_OFF_SQ_RING);
    struct io_uring_sqe *entries =
        mmap(NULL, about.sq_entries * sizeof *entries, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
    entries[0] = (struct io_uring_sqe){
        .opcode = IORING_OP_WRITE, .fd = fd, .addr = (unsigned long)"01234567", .len = 8};
    ((unsigned *)(queue + about.sq_off.array))[0] = 0;
    __atomic_store_n((unsigned *)(queue + about.sq_off.tail), 1, __ATOMIC_RELEASE);
    return 7 + syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0L);
}

CALL(lio_listio, "opens=1 creates=1 size=8") {
    struct aiocb request = {.aio_fildes = open("data", O_CREAT | O_WRONLY, 0644),
                            .aio_buf = "01234567",
                            .aio_nbytes = 8,
                            .aio_lio_opcode = LIO_WRITE};
    struct aiocb *list[] = {&request};
    long result = lio_listio(LIO_WAIT, list, 1, NULL);
    errno = 0;
    return result + aio_return(&request);
}

/* By its name, without a descriptor. */
CALL(truncate, "none") {
    raw_close(with_text("data"));
    return truncate("data", 4096);
}

CALL(mknod, "none") {
    return mknod("data", S_IFREG | 0644, 0);
}

/* Wide characters: how many bytes are still to be written is not known at the close. */
#define WIDE(name, call)                                                                           \
    CALL(name, "opens=1 creates=1") {                                                              \
        setlocale(LC_ALL, "C.UTF-8");                                                              \
        FILE *file = fopen("data", "w");                                                           \
        long result = (call);                                                                      \
        return fclose(file) ? -1 : result;                                                         \
    }

WIDE(fputwc, fputwc(L'a', file) + fputwc(L'b', file) + fputwc(L'c', file))
WIDE(fputws, fputws(L"\u20ac\u20ac", file) >= 0)
WIDE(fwprintf, fwprintf(file, L"%d", 123))

/* Readers of stdio other than fread; a file with a relative name is found when it is used. */
CALL(fgets, "none") {
    char line[64];
    raw_close(with_text("data"));
    return fgets(line, sizeof line, fopen("data", "r")) != NULL;
}

CALL(getc, "none") {
    raw_close(with_text("data"));
    return getc(fopen("data", "r"));
}

CALL(getline, "none") {
    char *line = NULL;
    size_t room = 0;
    raw_close(with_text("data"));
    return getline(&line, &room, fopen("data", "r"));
}

CALL(fscanf, "none") {
    int number = 0;
    raw_close(with_text("data"));
    return fscanf(fopen("data", "r"), "%d", &number) + number;
}

CALL(aio_read, "none") {
    char room[64];
    struct aiocb request = {.aio_fildes = with_text("data"), .aio_buf = room, .aio_nbytes = 8};
    const struct aiocb *list[] = {&request};
    long result = aio_read(&request);
    aio_suspend(list, 1, NULL);
    errno = 0;
    return result + aio_return(&request);
}
