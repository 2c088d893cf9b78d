#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "context.h"
#include "current.h"
#include "path.h"
#include "shim.h"
#include "system.h"
#include "trace_counts.h"
#include "trace_events.h"
#include "trace_file.h"
#include "trace_files.h"

#define APPENDS (1ULL << 63) /* in a position: the descriptor writes at the end, seeks or not */
#define DELETED " (deleted)" /* what the kernel adds to the name of a file without one */

_Atomic bool iez_is_tracing;
bool iez_has_events;

void iez_trace_start(const struct iez_plan *plan) {
    iez_has_events = plan->header->trace_events;
    atomic_store(&iez_is_tracing, plan->header->prefixes.count > 0);
}

static uint64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

uint64_t iez_coarse_ns(void) {
    return clock_ns(CLOCK_REALTIME_COARSE);
}

uint64_t iez_ticks_ns(void) {
    return clock_ns(CLOCK_MONOTONIC);
}

/* Descriptors */

static struct iez_descriptor *descriptor(int fd) {
    return (unsigned)fd < IEZ_DESCRIPTORS ? &iez_process->descriptors[fd] : NULL;
}

static void attach(int fd, struct iez_trace_file *file, uint64_t position) {
    struct iez_descriptor *of = descriptor(fd);
    if (!of)
        return;
    iez_process_start();
    int32_t highest = atomic_load(&iez_process->highest);
    while (fd > highest &&
           !atomic_compare_exchange_weak(&iez_process->highest, &highest, (int32_t)fd))
        ;
    atomic_store_explicit(&of->position, position, memory_order_relaxed);
    atomic_store_explicit(&of->file, file, memory_order_release);
}

void iez_forget(int fd) {
    struct iez_descriptor *of = iez_tracing() ? descriptor(fd) : NULL;
    if (of)
        atomic_store_explicit(&of->file, NULL, memory_order_relaxed);
}

struct iez_trace_file *iez_known(int fd) {
    struct iez_descriptor *of = iez_tracing() ? descriptor(fd) : NULL;
    struct iez_trace_file *file = of ? atomic_load_explicit(&of->file, memory_order_acquire) : NULL;
    return file == IEZ_NOT_WATCHED || file == IEZ_UNRECORDED ? NULL : file;
}

static uint32_t flags_of_open(int flags) {
    static const uint32_t access[] = {[O_RDONLY] = IEZ_FILE_READ,
                                      [O_WRONLY] = IEZ_FILE_WRITE,
                                      [O_RDWR] = IEZ_FILE_READ | IEZ_FILE_WRITE,
                                      [O_ACCMODE] = 0};
    return access[flags & O_ACCMODE] | (flags & O_APPEND ? IEZ_FILE_APPEND : 0) |
           (flags & O_EXCL ? IEZ_FILE_EXCLUSIVE : 0) | (flags & O_DIRECT ? IEZ_FILE_DIRECT : 0) |
           (flags & O_TRUNC ? IEZ_FILE_TRUNCATED : 0);
}

/* The name that the kernel has for `fd`, in lookup->path; its length, or -1. */
static long name_of(int fd, struct iez_lookup *lookup, bool *is_deleted) {
    long bytes = iez_path_of_descriptor(fd, lookup->path);
    const long mark = sizeof DELETED - 1;
    *is_deleted = false;
    if (bytes <= 0 || bytes >= IEZ_PATH_MAX || lookup->path[0] != '/')
        return -1;
    if (bytes > mark && memcmp(lookup->path + bytes - mark, DELETED, (size_t)mark) == 0) {
        *is_deleted = true;
        bytes -= mark;
    }
    return bytes;
}

static struct iez_trace_file *identify(int fd, struct iez_lookup *lookup, uint64_t *position) {
    struct iez_found found = {0};
    bool is_deleted;
    long bytes = name_of(fd, lookup, &is_deleted);
    if (bytes < 0 || iez_plan_watched(iez_current_plan(), lookup->path, (uint64_t)bytes,
                                      lookup->canonical, &found))
        return IEZ_NOT_WATCHED;
    if (!found.prefix || found.prefix->kind == IEZ_KIND_NONE)
        return IEZ_NOT_WATCHED;
    long flags = syscall(SYS_fcntl, fd, F_GETFL);
    if (flags < 0 || (flags & O_PATH))
        return IEZ_NOT_WATCHED;
    struct iez_trace_file *file = iez_file_of(&found);
    if (!file) {
        iez_file_dropped();
        return IEZ_UNRECORDED;
    }
    iez_file_flag(file, flags_of_open((int)flags) | (file->opens ? 0 : IEZ_FILE_FOUND) |
                            (is_deleted ? IEZ_FILE_UNLINKED : 0));
    if (!(flags & O_APPEND))
        *position = (uint64_t)syscall(SYS_lseek, fd, 0L, SEEK_CUR);
    return file;
}

struct iez_trace_file *iez_trace_identify(int fd) {
    int saved = errno;
    struct iez_lookup *lookup = iez_lookup_take();
    struct iez_trace_file *file = NULL;
    if (lookup) {
        uint64_t position = IEZ_SIZE_UNKNOWN;
        file = identify(fd, lookup, &position);
        iez_lookup_give(lookup);
        attach(fd, file, position);
    }
    errno = saved;
    return file == IEZ_NOT_WATCHED ? NULL : file;
}

/* Opening and closing */

static void note_created(struct iez_trace_file *file, enum iez_created created) {
    uint32_t perhaps = created == IEZ_CREATED_PERHAPS ? IEZ_FILE_PERHAPS : 0;
    if (created == IEZ_CREATED_NO || (perhaps && (file->flags & IEZ_FILE_CREATED)))
        return;
    __atomic_fetch_add(&file->creates, 1, __ATOMIC_RELAXED);
    iez_file_flag(file, IEZ_FILE_CREATED | perhaps);
    if (!perhaps)
        __atomic_fetch_and(&file->flags, ~IEZ_FILE_PERHAPS, __ATOMIC_RELAXED);
}

void iez_note_open(int fd, const struct iez_opened *opened) {
    int saved = errno;
    struct iez_trace_file *file = opened->file;
    if (!file) {
        iez_file_dropped();
        attach(fd, IEZ_UNRECORDED, 0);
        errno = saved;
        return;
    }
    if (__atomic_fetch_add(&file->opens, 1, __ATOMIC_RELAXED) == 0 && opened->before_ns)
        file->opened_ns = opened->before_ns;
    iez_file_is_back(file);
    iez_file_flag(file, flags_of_open(opened->flags));
    note_created(file, opened->created);
    iez_file_api(file, iez_context_api);
    if (opened->layout)
        file->stripe_count = ((const struct iez_component *)(opened->layout + 1))->stripe_count;
    if (opened->outcome)
        file->outcome = (uint8_t)opened->outcome;
    bool starts_empty = opened->created == IEZ_CREATED_YES || (opened->flags & O_TRUNC);
    uint64_t position = 0;
    if (opened->flags & O_APPEND)
        position = starts_empty ? APPENDS : IEZ_SIZE_UNKNOWN;
    attach(fd, file, position);
    iez_trace_publish(file, sizeof *file);
    errno = saved;
}

void iez_note_plain_open(int fd, const char *path, int flags) {
    int saved = errno;
    struct iez_found found;
    if (flags & (O_PATH | O_DIRECTORY | (O_TMPFILE & ~O_DIRECTORY))) {
        attach(fd, IEZ_NOT_WATCHED, 0);
        errno = saved;
        return;
    }
    /* A name that would take a system call or scratch memory is found when the file is used. */
    iez_forget(fd);
    size_t bytes = path[0] == '/' ? strlen(path) : 0;
    if (bytes == 0 || !iez_path_is_clean(path, bytes))
        return;
    const char *trouble = iez_plan_watched(iez_current_plan(), path, bytes, NULL, &found);
    if (!trouble && found.path && found.prefix->kind != IEZ_KIND_NONE) {
        struct iez_opened opened = {.file = iez_file_of(&found), .flags = flags};
        iez_note_open(fd, &opened);
    } else if (!found.prefix) {
        attach(fd, IEZ_NOT_WATCHED, 0);
    }
    errno = saved;
}

/* What this node knows of the file, without asking a server. Who may have created it learns so
 * whether it did: a file that is older than its first open here was there before. */
static void measure(int fd, struct iez_trace_file *file) {
    struct iez_measure found;
    const uint32_t needed = IEZ_FILE_CREATED | IEZ_FILE_WRITE;
    if ((file->flags & needed) != needed || iez_sys_measure(fd, &found) != 0)
        return;
    if (!found.is_regular) /* the number was closed and given away where no hook saw it */
        return;
    file->device = found.device;
    file->inode = found.inode;
    file->size_bytes = found.size_bytes;
    if ((file->flags & IEZ_FILE_PERHAPS) && found.born_ns) {
        bool was_there = found.born_ns < file->opened_ns;
        uint32_t gone = IEZ_FILE_PERHAPS | (was_there ? IEZ_FILE_CREATED : 0);
        __atomic_fetch_and(&file->flags, ~gone, __ATOMIC_RELAXED);
        if (was_there)
            file->creates = 0;
    }
}

static void raise_size(struct iez_trace_file *file, uint64_t bytes) {
    if (file->size_bytes != IEZ_SIZE_UNKNOWN && file->size_bytes < bytes)
        file->size_bytes = bytes;
}

/* What a stream still holds counts as written: at the end, or where the descriptor is. */
static void measure_pending(int fd, struct iez_trace_file *file, uint64_t pending_bytes,
                            bool appends) {
    if (pending_bytes == IEZ_SIZE_UNKNOWN) {
        file->size_bytes = IEZ_SIZE_UNKNOWN;
        return;
    }
    long at = appends ? -1 : syscall(SYS_lseek, fd, 0L, SEEK_CUR);
    raise_size(file, (at < 0 ? file->size_bytes : (uint64_t)at) + pending_bytes);
}

void iez_note_close(int fd, uint64_t pending_bytes) {
    struct iez_trace_file *file = iez_known(fd);
    bool appends = file && (atomic_load(&descriptor(fd)->position) & APPENDS);
    iez_forget(fd); /* before the close: another thread may get the number at once */
    if (!file)
        return;
    int saved = errno;
    measure(fd, file);
    if (pending_bytes)
        measure_pending(fd, file, pending_bytes, appends);
    iez_events_publish();
    iez_publish_counts(file);
    iez_trace_publish(file, sizeof *file);
    errno = saved;
}

void iez_note_flush(int fd) {
    struct iez_trace_file *file = iez_known(fd);
    if (file) {
        iez_events_publish();
        iez_publish_counts(file);
    }
}

void iez_note_close_range(unsigned first, unsigned last) {
    int32_t highest = iez_tracing() ? atomic_load(&iez_process->highest) : -1;
    for (unsigned fd = first; fd <= last && (int32_t)fd <= highest && fd < IEZ_DESCRIPTORS; fd++)
        iez_note_close((int)fd, 0);
}

void iez_trace_end(bool flushes) {
    int saved = errno;
    if (iez_tracing() && atomic_load(&iez_process->header)) {
        int32_t highest = atomic_load(&iez_process->highest);
        for (int fd = 0; fd <= highest; fd++) {
            struct iez_trace_file *file = iez_known(fd);
            if (!file)
                continue;
            measure(fd, file);
            if (flushes && (file->apis & 1U << IEZ_STDIO))
                raise_size(file, iez_write_end(file)); /* streams are flushed after this */
        }
        iez_trace_publish_all();
    }
    errno = saved;
}

/* Calls */

/* The clock at a moment of the monotonic one, as far as it went evenly since the trace began: an
 * event has read that already. */
static uint64_t clock_at(uint64_t ticks_ns) {
    const struct iez_trace_header *header = atomic_load(&iez_process->header);
    return header ? header->start_ns + (ticks_ns - header->start_ticks_ns) : iez_coarse_ns();
}

void iez_note_write(const struct iez_call *call, uint64_t bytes, uint64_t offset) {
    if (call->file == IEZ_UNRECORDED) {
        iez_count_dropped(bytes);
        return;
    }
    bool is_known = offset != IEZ_SIZE_UNKNOWN;
    uint64_t end_ns = iez_has_events ? iez_ticks_ns() : 0;
    struct iez_addition add = {.now_ns = iez_has_events ? clock_at(end_ns) : iez_coarse_ns(),
                               .bytes = bytes,
                               .end = is_known ? offset + bytes : 0,
                               .api = call->api};
    iez_file_api(call->file, call->api);
    if (iez_context_api > call->api)
        iez_file_api(call->file, iez_context_api);
    iez_count_write(call->file, &add);
    if (iez_has_events)
        iez_event(call, end_ns, bytes, offset);
}

static uint64_t advance(int fd, uint64_t bytes) {
    struct iez_descriptor *of = descriptor(fd);
    if (!of || atomic_load_explicit(&of->position, memory_order_relaxed) == IEZ_SIZE_UNKNOWN)
        return IEZ_SIZE_UNKNOWN;
    return atomic_fetch_add_explicit(&of->position, bytes, memory_order_relaxed) & ~APPENDS;
}

void iez_note_write_here(const struct iez_call *call, uint64_t bytes) {
    iez_note_write(call, bytes, advance(call->fd, bytes));
}

void iez_note_read(int fd, uint64_t bytes, bool moves) {
    struct iez_trace_file *file = iez_known(fd);
    if (moves)
        advance(fd, bytes);
    if (file) {
        iez_file_api(file, iez_context_api);
        iez_count_read(file, bytes);
    }
}

void iez_note_position(int fd, int64_t position) {
    if (!iez_known(fd))
        return;
    _Atomic uint64_t *now = &iez_process->descriptors[fd].position;
    if (!(atomic_load_explicit(now, memory_order_relaxed) & APPENDS))
        atomic_store_explicit(now, (uint64_t)position, memory_order_relaxed);
}

void iez_note_layer(struct iez_trace_file *file, enum iez_api api, uint64_t bytes) {
    int saved = errno;
    iez_file_api(file, api);
    iez_count_layer(file, api, bytes);
    errno = saved;
}

void iez_note_set_size(struct iez_trace_file *file, uint64_t bytes) {
    uint64_t now = __atomic_load_n(&file->set_bytes, __ATOMIC_RELAXED);
    while (now < bytes && !__atomic_compare_exchange_n(&file->set_bytes, &now, bytes, true,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}
