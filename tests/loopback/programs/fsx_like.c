/* Random operations on one file through two handles, against an image of it in memory.
 *
 *   fsx_like FILE SEED STEPS MAX_BYTES [map]
 *
 * Every read is compared, and so is the whole file now and then. The first difference ends the run
 * with 1, the step's number and the last operations. With `map`, mappings that are shared. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { HISTORY = 24, LINE = 120, HANDLES = 2, PAGE = 4096 };

static const char *path;
static uint64_t seed, step;
static size_t max_bytes;
static bool shared, can_punch = true;

static unsigned char *image, *buffer; /* what must be in the file; what is written or was read */
static size_t size;
static int fds[HANDLES];
static char history[HISTORY][LINE];
static unsigned noted;

/* xorshift64*: the same numbers everywhere. */
static uint64_t draw(uint64_t below) {
    static uint64_t state;
    if (!state)
        state = seed * 0x9E3779B97F4A7C15u + 1;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (state * 0x2545F4914F6CDD1Du >> 11) % below;
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *line = history[noted++ % HISTORY];
    int n = snprintf(line, LINE, "%8lu size %8zu  ", (unsigned long)step, size);
    vsnprintf(line + n, LINE - (size_t)n, format, arguments);
    va_end(arguments);
}

static _Noreturn void fail(const char *what, size_t at) {
    unsigned first = noted > HISTORY ? noted - HISTORY : 0;
    for (unsigned i = first; i < noted; i++)
        printf("%s\n", history[i % HISTORY]);
    printf("%s at %zu in step %lu of seed %lu: %s\n", what, at, (unsigned long)step,
           (unsigned long)seed, strerror(errno));
    exit(1);
}

/* Small ones, those around 64 KiB, and some that cross many stripes. */
static size_t draw_length(void) {
    switch (draw(8)) {
    case 0:
        return 1 + draw(16);
    case 1:
    case 2:
        return 1 + draw(PAGE);
    case 3:
        return 65536 - 8 + draw(17);
    case 7:
        return 1 + draw(max_bytes / 3);
    default:
        return 1 + draw(65536);
    }
}

/* Anywhere, but often beside a boundary of pages or stripes. */
static size_t draw_offset(void) {
    size_t at = draw(max_bytes);
    switch (draw(4)) {
    case 0:
        at = at / 65536 * 65536;
        return draw(2) && at ? at - 1 : at + draw(2);
    case 1:
        return at / PAGE * PAGE;
    default:
        return at;
    }
}

static void draw_extent(size_t *offset, size_t *length) {
    *offset = draw_offset();
    *length = draw_length();
    if (*offset + *length > max_bytes)
        *length = max_bytes - *offset;
}

static int a_handle(void) {
    return fds[draw(HANDLES)];
}

static void fill(unsigned char *at, size_t length) {
    uint64_t word = step * 0x9E3779B97F4A7C15u + 0x1234567;
    for (size_t i = 0; i < length; i++)
        at[i] = (unsigned char)(word >> (i % 7 * 8)) ^ (unsigned char)(i * 131 >> 3);
}

static void grow(size_t end) {
    if (end > size) {
        memset(image + size, 0, end - size);
        size = end;
    }
}

static void compare(const unsigned char *seen, size_t offset, size_t length, const char *what) {
    if (memcmp(seen, image + offset, length) == 0)
        return;
    size_t at = 0;
    while (seen[at] == image[offset + at])
        at++;
    note("is %02x, must be %02x", seen[at], image[offset + at]);
    errno = 0;
    fail(what, offset + at);
}

static void write_some(void) {
    size_t offset, length;
    draw_extent(&offset, &length);
    int fd = a_handle();
    unsigned way = (unsigned)draw(3);
    note("write %u %zu+%zu", way, offset, length);
    fill(buffer, length);
    size_t cut = draw(length + 1);
    struct iovec parts[] = {{buffer, cut}, {buffer + cut, length - cut}};
    ssize_t done;
    if (way == 0)
        done = pwrite(fd, buffer, length, (off_t)offset);
    else if (lseek(fd, (off_t)offset, SEEK_SET) != (off_t)offset)
        fail("lseek", offset);
    else
        done = way == 1 ? write(fd, buffer, length) : writev(fd, parts, 2);
    if (done != (ssize_t)length)
        fail("write", (size_t)done);
    grow(offset + length);
    memcpy(image + offset, buffer, length);
}

static void append_some(void) {
    size_t length = draw_length();
    if (size + length > max_bytes)
        length = max_bytes - size;
    note("append %zu+%zu", size, length);
    int fd = open(path, O_WRONLY | O_APPEND);
    fill(buffer, length);
    if (fd < 0 || write(fd, buffer, length) != (ssize_t)length || close(fd) != 0)
        fail("append", size);
    grow(size + length);
    memcpy(image + size - length, buffer, length);
}

static void read_some(void) {
    size_t offset, length;
    draw_extent(&offset, &length);
    note("read %zu+%zu", offset, length);
    ssize_t got = pread(a_handle(), buffer, length, (off_t)offset);
    size_t there = offset < size ? size - offset : 0;
    if (got != (ssize_t)(there < length ? there : length))
        fail("short read", offset);
    compare(buffer, offset, (size_t)got, "read");
}

static void truncate_some(void) {
    size_t to = draw(4) ? draw_offset() : draw(size + 1);
    note("truncate to %zu", to);
    if ((draw(2) ? ftruncate(a_handle(), (off_t)to) : truncate(path, (off_t)to)) != 0)
        fail("truncate", to);
    if (to > size)
        grow(to);
    size = to;
}

/* What lies behind the end in the last page of a mapping is zeros, and is not compared. */
static unsigned char *map(int fd, size_t offset, size_t length, int protection, size_t *before) {
    *before = offset % PAGE;
    unsigned char *mapped = mmap(NULL, length + *before, protection,
                                 shared ? MAP_SHARED : MAP_PRIVATE, fd, (off_t)(offset - *before));
    if (mapped == MAP_FAILED)
        fail("mmap", offset);
    return mapped;
}

static void read_mapped(void) {
    size_t offset, length, before;
    draw_extent(&offset, &length);
    if (offset >= size)
        return;
    if (offset + length > size)
        length = size - offset;
    note("read mapped %zu+%zu", offset, length);
    unsigned char *mapped = map(a_handle(), offset, length, PROT_READ, &before);
    compare(mapped + before, offset, length, "mapping");
    munmap(mapped, length + before);
}

static void write_mapped(void) {
    size_t offset, length, before;
    draw_extent(&offset, &length);
    if (!shared || offset >= size)
        return;
    if (offset + length > size)
        length = size - offset;
    note("write mapped %zu+%zu", offset, length);
    unsigned char *mapped = map(a_handle(), offset, length, PROT_READ | PROT_WRITE, &before);
    fill(mapped + before, length);
    memcpy(image + offset, mapped + before, length);
    if (draw(4) == 0 && msync(mapped, length + before, MS_SYNC) != 0)
        fail("msync", offset);
    munmap(mapped, length + before);
}

static void punch(void) {
    size_t offset, length;
    draw_extent(&offset, &length);
    if (!can_punch)
        return;
    bool allocate = draw(4) == 0;
    note("%s %zu+%zu", allocate ? "allocate" : "punch", offset, length);
    int mode = allocate ? 0 : FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    if (fallocate(a_handle(), mode, (off_t)offset, (off_t)length) != 0) {
        can_punch = errno != EOPNOTSUPP;
        if (can_punch)
            fail("fallocate", offset);
        return;
    }
    if (allocate)
        grow(offset + length);
    else if (offset < size)
        memset(image + offset, 0, offset + length < size ? length : size - offset);
}

static void open_again(void) {
    unsigned which = (unsigned)draw(HANDLES);
    bool empty = draw(24) == 0;
    note("open %u again%s", which, empty ? ", truncating" : "");
    if (draw(2) && close(fds[which]) == 0)
        fds[which] = -1;
    int fd = open(path, O_RDWR | (empty ? O_TRUNC : 0));
    if (fd < 0)
        fail("open", 0);
    if (fds[which] >= 0)
        close(fds[which]);
    fds[which] = fd;
    if (empty)
        size = 0;
}

static void sync_some(void) {
    note("sync");
    if ((draw(2) ? fsync(a_handle()) : fdatasync(a_handle())) != 0)
        fail("fsync", 0);
}

static void check_size(void) {
    struct stat st;
    if ((draw(2) ? fstat(a_handle(), &st) : stat(path, &st)) != 0 || (size_t)st.st_size != size)
        fail("size", (size_t)st.st_size);
}

static void check_all(void) {
    note("compare all");
    int fd = open(path, O_RDONLY);
    if (fd < 0 || pread(fd, buffer, max_bytes + 1, 0) != (ssize_t)size)
        fail("length", size);
    compare(buffer, 0, size, "content");
    close(fd);
}

/* In proportion to how often each comes up. */
static void (*const acts[])(void) = {
    write_some,  write_some,  write_some,   write_some,    read_some,  read_some,
    read_some,   append_some, append_some,  truncate_some, punch,      punch,
    read_mapped, read_mapped, write_mapped, write_mapped,  open_again, sync_some,
};

int main(int argc, char **argv) {
    if (argc < 5)
        return 2;
    path = argv[1];
    seed = strtoull(argv[2], NULL, 10);
    uint64_t steps = strtoull(argv[3], NULL, 10);
    max_bytes = strtoull(argv[4], NULL, 10);
    shared = argc > 5 && strcmp(argv[5], "map") == 0;
    image = calloc(1, max_bytes + 1);
    buffer = malloc(max_bytes + 1);
    for (int i = 0; i < HANDLES; i++)
        fds[i] = open(path, O_RDWR | O_CREAT, 0644);
    if (!image || !buffer || fds[0] < 0 || fds[1] < 0)
        fail("start", 0);
    for (step = 1; step <= steps; step++) {
        acts[draw(sizeof acts / sizeof *acts)]();
        if (step % 16 == 0)
            check_size();
        if (step % 1024 == 0)
            check_all();
    }
    for (int i = 0; i < HANDLES; i++)
        close(fds[i]);
    check_all();
    printf("%lu steps, %zu bytes in the end, %s\n", (unsigned long)steps, size,
           can_punch ? "with holes" : "no fallocate");
    return 0;
}
