#include "trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "current.h"
#include "launched.h"
#include "shim.h"
#include "system.h"
#include "text.h"
#include "trace.h"
#include "trace_chunk.h"

#define WAITS          1000  /* for another thread, each time letting others run */
#define FAILURES_MAX   8     /* descriptors or space may be short now and free later */
#define FIRST_BYTES    8192U /* of the file; each step doubles it */
#define STEP_BYTES_MAX (1U << 20)
#define COUNTS_BYTES   (64ULL << 20)  /* of a trace without events */
#define EVENTS_BYTES   (512ULL << 20) /* of a trace with them */

static struct iez_chunk *new_chunk(struct iez_process *process) {
    uint32_t number = atomic_fetch_add(&process->chunk_count, 1);
    return number < IEZ_CHUNKS ? &process->chunks[number] : NULL;
}

static uint64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void fill(struct iez_trace_header *header, const struct iez_plan *plan) {
    struct utsname name;
    const char *program = (const char *)getauxval(AT_EXECFN);
    if (syscall(SYS_uname, &name) == 0)
        iez_append(header->host, header->host + sizeof header->host, name.nodename, SIZE_MAX);
    if (program)
        iez_append(header->program, header->program + sizeof header->program,
                   iez_last_part(program), SIZE_MAX);
    header->version = IEZ_TRACE_VERSION;
    header->header_bytes = sizeof *header;
    header->run = plan->header->run;
    header->start_ns = clock_ns(CLOCK_REALTIME);
    header->start_ticks_ns = clock_ns(CLOCK_MONOTONIC);
    header->pid = (int32_t)syscall(SYS_getpid);
    header->world_rank = iez_launched.rank;
    header->world_size = iez_launched.size;
    header->comm_rank = -1;
    __atomic_store_n(&header->magic, IEZ_TRACE_MAGIC, __ATOMIC_RELEASE);
}

/* HOST.PID.N.trace, the name of the file in its directory. */
#define NAME_BYTES 128

static void write_name(char *name, int32_t pid, uint64_t n) {
    const char *end = name + NAME_BYTES;
    struct utsname own;
    char *at = iez_append(name, end, syscall(SYS_uname, &own) == 0 ? own.nodename : "node", 65);
    at = iez_append_number(iez_append(at, end, ".", 1), end, (uint64_t)pid);
    at = iez_append_number(iez_append(at, end, ".", 1), end, n);
    iez_append(at, end, ".trace", SIZE_MAX);
}

/* A descriptor of the directory of the traces: its whole path would need a large buffer. */
static int open_directory(const struct iez_plan *plan) {
    const struct iez_section *section = &plan->header->trace_dir;
    const char *directory = (const char *)plan->base + section->offset;
    if (section->count < 2 || directory[section->count - 1] != '\0')
        directory = iez_current_directory();
    return (int)syscall(SYS_openat, AT_FDCWD, directory, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
}

/* Opens a new file; its number in `n`. The number of the process may have been used before, many
 * times where programs start each other in its place. */
static int open_new(int directory, uint64_t *n, char *name) {
    int32_t pid = (int32_t)syscall(SYS_getpid);
    *n = 0;
    for (int tries = 0; tries < 100; tries++) {
        write_name(name, pid, *n);
        long fd = syscall(SYS_openat, directory, name,
                          O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
        if (fd >= 0 || errno != EEXIST)
            return (int)fd;
        *n = clock_ns(CLOCK_MONOTONIC) % 1000000000;
    }
    return -1;
}

static bool set_up(struct iez_process *process, int fd, struct iez_chunk *chunk) {
    struct stat st;
    if (iez_sys_fstat(fd, &st) == 0 && !(st.st_mode & S_IRUSR))
        syscall(SYS_fchmod, fd, 0600); /* the program's umask hid it from its own user */
    bool is_careful = !iez_chunk_is_safe(fd);
    uint32_t bytes = iez_whole_pages(FIRST_BYTES);
    if (!iez_chunk_allocate(fd, 0, bytes) || !iez_chunk_map(fd, 0, bytes, is_careful, chunk))
        return false;
    uint64_t none = 0;
    atomic_store(&chunk->used, (uint32_t)sizeof(struct iez_trace_header));
    atomic_store(&process->is_careful, is_careful);
    atomic_compare_exchange_strong(&process->file_bytes, &none, bytes);
    return true;
}

static void say_if_full(int error) {
    if (error == ENOSPC || error == EDQUOT)
        iez_say_trace("no space is left for the trace");
}

/* Takes the file that is ready in `chunk` as this process's, unless another thread was first. */
static bool adopt(struct iez_process *process, struct iez_chunk *chunk, uint64_t n,
                  const struct iez_plan *plan) {
    struct iez_trace_header *none = NULL, *header = (void *)atomic_load(&chunk->memory);
    fill(header, plan);
    header->private_words[0] = n;
    header->private_words[1] = (uint64_t)(chunk - process->chunks);
    header->private_words[2] = (uintptr_t)plan; /* a newer one may name another directory */
    bool is_first = atomic_compare_exchange_strong(&process->header, &none, header);
    if (is_first)
        iez_trace_publish(header, sizeof *header);
    else
        iez_chunk_unmap(chunk);
    return is_first;
}

/* Makes a file. Threads that do at the same moment each make one: the first to have it ready wins,
 * the files of the others go. */
static void make_file(struct iez_process *process) {
    char name[NAME_BYTES];
    uint64_t n;
    const struct iez_plan *plan = iez_current_plan();
    struct iez_chunk *chunk = new_chunk(process);
    int directory = chunk ? open_directory(plan) : -1;
    int fd = directory >= 0 ? open_new(directory, &n, name) : -1;
    bool is_ready = fd >= 0 && set_up(process, fd, chunk);
    if (!is_ready) {
        atomic_fetch_add(&process->file_failures, 1);
        say_if_full(errno);
    }
    bool is_kept = is_ready && adopt(process, chunk, n, plan);
    if (fd >= 0 && !is_kept)
        syscall(SYS_unlinkat, directory, name, 0);
    if (fd >= 0)
        syscall(SYS_close, fd);
    if (directory >= 0)
        syscall(SYS_close, directory);
}

struct iez_trace_header *iez_trace_header(void) {
    struct iez_process *process = iez_process;
    struct iez_trace_header *header = atomic_load(&process->header);
    if (header || atomic_load(&process->file_failures) >= FAILURES_MAX)
        return header;
    int saved = errno;
    uint64_t mask = iez_sys_hold_signals();
    iez_process_start();
    /* Another thread may be at it, which holds signals back too: it is waited for, not for ever. */
    for (int tries = 0; tries < WAITS && atomic_load(&process->growing); tries++)
        syscall(SYS_sched_yield);
    atomic_store(&process->growing, 1);
    if (!atomic_load(&process->header))
        make_file(process);
    atomic_store(&process->growing, 0);
    iez_sys_release_signals(mask);
    errno = saved;
    return atomic_load(&process->header);
}

static uint32_t step_bytes(uint64_t file_bytes, uint64_t at_least) {
    uint32_t bytes = file_bytes < STEP_BYTES_MAX ? (uint32_t)file_bytes : STEP_BYTES_MAX;
    return iez_whole_pages(bytes < at_least ? (uint32_t)at_least : bytes);
}

/* A descriptor of the file: none is held. */
static int open_again(struct iez_process *process) {
    char name[NAME_BYTES];
    const struct iez_trace_header *header = atomic_load(&process->header);
    int directory = open_directory((const struct iez_plan *)(uintptr_t)header->private_words[2]);
    if (directory < 0)
        return -1;
    write_name(name, header->pid, header->private_words[0]);
    long fd = syscall(SYS_openat, directory, name, O_RDWR | O_CLOEXEC | O_NOCTTY, 0);
    syscall(SYS_close, directory);
    return (int)fd;
}

static struct iez_chunk *add_chunk(struct iez_process *process, uint32_t bytes) {
    int fd = open_again(process);
    if (fd < 0)
        return NULL;
    uint64_t offset = atomic_fetch_add(&process->file_bytes, bytes);
    bool is_careful = atomic_load(&process->is_careful);
    struct iez_chunk *chunk = NULL;
    if (iez_chunk_allocate(fd, offset, bytes))
        chunk = new_chunk(process);
    else
        say_if_full(errno);
    if (chunk && !is_careful)
        iez_chunk_warm(fd, offset, bytes);
    if (chunk && !iez_chunk_map(fd, offset, bytes, is_careful, chunk))
        chunk = NULL;
    if (!chunk)
        atomic_fetch_add(&process->growth_failures, 1);
    syscall(SYS_close, fd);
    return chunk;
}

/* Adds a chunk to the file. NULL: no space, no descriptor, or the trace is as large as it may be.
 */
static struct iez_chunk *grow(struct iez_process *process, uint64_t at_least) {
    uint64_t limit = iez_has_events ? EVENTS_BYTES : COUNTS_BYTES;
    uint64_t before = atomic_load(&process->file_bytes);
    uint32_t bytes = step_bytes(before, at_least);
    if (before + bytes > limit || atomic_load(&process->growth_failures) >= FAILURES_MAX)
        return NULL;
    return add_chunk(process, bytes);
}

/* Lets a thread that is growing the file finish. It holds signals back meanwhile, so this is not a
 * handler that it waits for; and it is not waited for without end. */
static bool wait_for_growth(struct iez_process *process, const struct iez_chunk *full) {
    for (int tries = 0; tries < WAITS && atomic_load(&process->chunk) == full; tries++) {
        if (!atomic_load(&process->growing))
            return false;
        syscall(SYS_sched_yield);
    }
    return atomic_load(&process->chunk) != full;
}

static void *take(struct iez_chunk *chunk, uint32_t bytes) {
    uint32_t at = atomic_load_explicit(&chunk->used, memory_order_relaxed);
    do
        if (at + bytes > chunk->bytes)
            return NULL;
    while (!atomic_compare_exchange_weak(&chunk->used, &at, at + bytes));
    return atomic_load(&chunk->memory) + at;
}

/* The first chunk is where the header is. */
static struct iez_chunk *current_chunk(struct iez_process *process,
                                       const struct iez_trace_header *header) {
    struct iez_chunk *chunk = atomic_load(&process->chunk);
    return chunk ? chunk : &process->chunks[header->private_words[1]];
}

/* Room in a new chunk, be it another thread's. */
static void *take_after_growth(struct iez_process *process, struct iez_chunk *full,
                               uint32_t bytes) {
    struct iez_chunk *next = atomic_load(&process->chunk);
    if (next != full || wait_for_growth(process, full)) {
        next = atomic_load(&process->chunk);
        void *room = take(next, bytes);
        if (room)
            return room;
        full = next;
    }
    uint64_t mask = iez_sys_hold_signals();
    atomic_store(&process->growing, 1);
    struct iez_chunk *made = grow(process, bytes);
    void *room = made ? take(made, bytes) : NULL;
    if (made)
        atomic_compare_exchange_strong(&process->chunk, &full, made);
    atomic_store(&process->growing, 0);
    iez_sys_release_signals(mask);
    return room;
}

void *iez_trace_block(uint64_t bytes) {
    struct iez_process *process = iez_process;
    struct iez_trace_header *header = iez_trace_header();
    uint32_t cells = (uint32_t)((bytes + IEZ_TRACE_CELL - 1) / IEZ_TRACE_CELL);
    if (!header)
        return NULL;
    int saved = errno;
    struct iez_chunk *full = atomic_load(&process->chunk);
    struct iez_block *block = take(current_chunk(process, header), cells * IEZ_TRACE_CELL);
    if (!block)
        block = take_after_growth(process, full, cells * IEZ_TRACE_CELL);
    if (block)
        block->cells = cells;
    errno = saved;
    return block;
}

void iez_trace_finish(void *block, uint32_t kind) {
    struct iez_block *head = block;
    __atomic_store_n(&head->kind, kind, __ATOMIC_RELEASE);
    iez_trace_publish(block, (uint64_t)head->cells * IEZ_TRACE_CELL);
}

/* Lets the kernel do the store: it answers EFAULT where our own would kill. */
static void copy(const void *from, void *to, uint64_t bytes) {
    int saved = errno;
    struct iovec source = {(void *)from, bytes}, target = {to, bytes};
    syscall(SYS_process_vm_writev, syscall(SYS_getpid), &source, 1L, &target, 1L, 0L);
    errno = saved;
}

void iez_trace_publish_slowly(const void *from, uint64_t bytes) {
    int saved = errno;
    struct iez_process *process = iez_process;
    uint32_t count = atomic_load(&process->chunk_count);
    const unsigned char *at = from;
    for (uint32_t i = 0; i < count && i < IEZ_CHUNKS; i++) {
        struct iez_chunk *chunk = &process->chunks[i];
        const unsigned char *memory = atomic_load(&chunk->memory);
        if (memory && at >= memory && at < memory + chunk->bytes)
            copy(from, chunk->mapped + (at - memory), bytes);
    }
    errno = saved;
}

void iez_trace_publish_all(void) {
    struct iez_process *process = iez_process;
    uint32_t count = atomic_load(&process->chunk_count);
    if (!atomic_load(&process->is_careful))
        return;
    for (uint32_t i = 0; i < count && i < IEZ_CHUNKS; i++) {
        struct iez_chunk *chunk = &process->chunks[i];
        const unsigned char *memory = atomic_load(&chunk->memory);
        if (memory)
            copy(memory, chunk->mapped, atomic_load(&chunk->used));
    }
}
