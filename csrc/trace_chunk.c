#include "trace_chunk.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

bool iez_chunk_is_safe(int fd) {
    struct statfs fs;
    if (syscall(SYS_fstatfs, fd, &fs) != 0)
        return false;
    return fs.f_type == 0xEF53 /* ext */ || fs.f_type == 0x58465342 /* xfs */ ||
           fs.f_type == 0x01021994 /* tmpfs */;
}

/* A write beyond the process's own limit would be answered with SIGXFSZ. */
static bool may_write(uint64_t bytes) {
    struct rlimit limit;
    return syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) == 0 && limit.rlim_cur >= bytes;
}

bool iez_chunk_allocate(int fd, uint64_t offset, uint64_t bytes) {
    static const char zeros[4096];
    if (!may_write(offset + bytes)) {
        errno = EFBIG;
        return false;
    }
    if (syscall(SYS_fallocate, fd, 0, offset, bytes) == 0)
        return true;
    if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)
        return false;
    for (uint64_t at = 0; at < bytes; at += sizeof zeros)
        if (syscall(SYS_pwrite64, fd, zeros, sizeof zeros, offset + at) != (long)sizeof zeros)
            return false;
    return true;
}

void iez_chunk_warm(int fd, uint64_t offset, uint64_t bytes) {
    enum { PART_BYTES = 16384, PARTS = 16 }; /* the stack may be a signal handler's */
    static _Alignas(IEZ_PAGE_BYTES) char zeros[PART_BYTES];
    struct iovec parts[PARTS];
    for (int i = 0; i < PARTS; i++)
        parts[i] = (struct iovec){zeros, PART_BYTES};
    for (uint64_t left = bytes; left >= PART_BYTES;) {
        uint64_t count = left / PART_BYTES < PARTS ? left / PART_BYTES : PARTS;
        long done = syscall(SYS_pwritev, fd, parts, count, offset + bytes - left, 0L);
        if (done != (long)(count * PART_BYTES))
            return;
        left -= (uint64_t)done;
    }
}

bool iez_chunk_map(int fd, uint64_t offset, uint32_t bytes, bool is_careful,
                   struct iez_chunk *chunk) {
    const int rights = PROT_READ | PROT_WRITE;
    void *mapped = mmap(NULL, bytes, rights, MAP_SHARED, fd, (off_t)offset);
    if (mapped == MAP_FAILED)
        return false;
    void *memory = mapped;
    if (is_careful) {
        memory = mmap(NULL, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            munmap(mapped, bytes);
            return false;
        }
    }
    chunk->mapped = mapped;
    chunk->bytes = bytes;
    atomic_store(&chunk->memory, memory);
    return true;
}

void iez_chunk_unmap(struct iez_chunk *chunk) {
    unsigned char *memory = atomic_exchange(&chunk->memory, NULL);
    munmap(chunk->mapped, chunk->bytes);
    if (memory != chunk->mapped)
        munmap(memory, chunk->bytes);
}

static uint32_t page_bytes(void) {
    unsigned long bytes = getauxval(AT_PAGESZ);
    return bytes ? (uint32_t)bytes : 4096;
}

uint32_t iez_whole_pages(uint32_t bytes) {
    uint32_t page = page_bytes();
    return (bytes + page - 1) / page * page;
}
