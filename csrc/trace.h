/* What is counted: for each watched file, what this process does to it (docs/tracing.md).
 *
 * A wrapper asks for the file of its descriptor, makes the real call, and notes the result. None of
 * this takes a lock, allocates, or changes errno. A descriptor that is not watched costs one
 * comparison; one that is seen for the first time (inherited, copied, or opened where no hook sees
 * it) one readlink of /proc/self/fd. */
#ifndef IEZ_TRACE_H
#define IEZ_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "plan.h"
#include "process.h"
#include "trace_format.h"

#define IEZ_NOT_WATCHED ((struct iez_trace_file *)1)
#define IEZ_UNRECORDED  (&iez_process->unrecorded)

/* True while there is something to watch. */
extern _Atomic bool iez_is_tracing;
/* Each write is to be recorded as an event. */
extern bool iez_has_events;

static inline bool iez_tracing(void) {
    return atomic_load_explicit(&iez_is_tracing, memory_order_relaxed);
}

void iez_trace_start(const struct iez_plan *plan);

/* The process ends: what is open is measured. Where libc still `flushes` its streams, what they
 * hold counts as written. */
void iez_trace_end(bool flushes);

/* Finds out what a descriptor is that no hook has seen being opened; NULL: not watched. */
struct iez_trace_file *iez_trace_identify(int fd);

/* The watched file of a descriptor, or NULL. */
static inline struct iez_trace_file *iez_traced(int fd) {
    if (!iez_tracing() || (unsigned)fd >= IEZ_DESCRIPTORS)
        return NULL;
    struct iez_trace_file *file =
        atomic_load_explicit(&iez_process->descriptors[fd].file, memory_order_relaxed);
    if (file == IEZ_NOT_WATCHED)
        return NULL;
    return file ? file : iez_trace_identify(fd);
}

/* A call that may write to `fd`: taken down before, noted after it. */
struct iez_call {
    struct iez_trace_file *file; /* NULL: nothing to note */
    uint64_t start_ns;           /* where events are recorded */
    int fd;
    enum iez_api api; /* IEZ_POSIX or IEZ_STDIO */
};

uint64_t iez_ticks_ns(void);

static inline struct iez_call iez_call_begin(int fd, enum iez_api api) {
    struct iez_call call = {.file = iez_traced(fd), .fd = fd, .api = api};
    if (call.file && iez_has_events)
        call.start_ns = iez_ticks_ns();
    return call;
}

/* It wrote `bytes` (nothing is noted for 0 and errors) at `offset`. */
void iez_note_write(const struct iez_call *call, uint64_t bytes, uint64_t offset);
/* The same at the descriptor's position, which moves on. */
void iez_note_write_here(const struct iez_call *call, uint64_t bytes);

static inline void iez_call_wrote_at(const struct iez_call *call, ssize_t bytes, int64_t offset) {
    if (call->file && bytes > 0)
        iez_note_write(call, (uint64_t)bytes, (uint64_t)offset);
}

static inline void iez_call_wrote(const struct iez_call *call, ssize_t bytes) {
    if (call->file && bytes > 0)
        iez_note_write_here(call, (uint64_t)bytes);
}

/* Bytes read; `moves` the descriptor's position. */
void iez_note_read(int fd, uint64_t bytes, bool moves);

/* The watched file that is open as `fd`, without finding out; NULL: none. */
struct iez_trace_file *iez_known(int fd);

/* A position that is found out now has moved already. */
static inline void iez_call_read(int fd, ssize_t bytes, bool moves) {
    if (bytes <= 0 || !iez_tracing())
        return;
    bool was_known = iez_known(fd);
    if (iez_traced(fd))
        iez_note_read(fd, (uint64_t)bytes, moves && was_known);
}

/* The descriptor's position, after lseek. */
void iez_note_position(int fd, int64_t position);

/* Bytes passed to a level above POSIX, in a file of this process. */
void iez_note_layer(struct iez_trace_file *file, enum iez_api api, uint64_t bytes);

/* The file was made `bytes` long, or space for that was asked for. */
void iez_note_set_size(struct iez_trace_file *file, uint64_t bytes);

/* A successful open of a watched file. */
enum iez_created { IEZ_CREATED_NO, IEZ_CREATED_PERHAPS, IEZ_CREATED_YES };

struct iez_opened {
    struct iez_trace_file *file;     /* NULL: there is no room for it */
    const struct iez_layout *layout; /* that was set; NULL none */
    int flags;
    enum iez_created created;
    uint64_t before_ns; /* the clock before it */
    unsigned outcome;   /* of its placement, plus one; 0 none */
};

void iez_note_open(int fd, const struct iez_opened *opened);

/* `fd` was opened by a call that creates nothing; `path` is as the caller gave it. */
void iez_note_plain_open(int fd, const char *path, int flags);

/* `fd` is about to be closed, with `pending_bytes` still in a stream's buffer; IEZ_SIZE_UNKNOWN. */
void iez_note_close(int fd, uint64_t pending_bytes);
void iez_note_close_range(unsigned first, unsigned last);

/* What was written to `fd` has reached the kernel: the trace has it too. */
void iez_note_flush(int fd);

/* `fd` may be anything now. */
void iez_forget(int fd);

/* The path of a file system was renamed or removed. */
void iez_note_rename(int from_fd, const char *from, int to_fd, const char *to);
void iez_note_link(int from_fd, const char *from, int to_fd, const char *to);
void iez_note_unlink(int dirfd, const char *path);

/* The watched file with this name as the caller gave it; NULL: none. With `make` one that this
 * process has not opened is made known. May change errno. */
struct iez_trace_file *iez_trace_named(const char *name, size_t bytes, bool make);

/* The clock, to a few milliseconds. */
uint64_t iez_coarse_ns(void);

#endif
