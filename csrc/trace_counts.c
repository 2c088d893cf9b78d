#include "trace_counts.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "rare.h"
#include "trace_file.h"

#define SHARED  1 /* owner of the set that several may add to, atomically */
#define CACHED  8
#define TICK_NS 500000U /* times are kept no finer: the coarse clock's are not */
/* Where it takes a system call: this often at most, but for writes that take longer anyway. */
#define PUBLISH_NS    10000000U
#define PUBLISH_BYTES 65536U

/* first, last and the sums of a set are written by its owner alone. A signal handler that runs in
 * the middle of that adds to the shared set instead. */
static __thread struct {
    struct {
        const struct iez_trace_file *file;
        struct iez_trace_counts *counts;
    } cache[CACHED];
    bool is_busy;
} thread __attribute__((tls_model("initial-exec")));

/* A thread is known by the address of its own variables: a new thread that gets the memory of one
 * that ended goes on with its sets. */
static uint64_t self(void) {
    return (uint64_t)(uintptr_t)&thread;
}

static _Atomic(struct iez_trace_more *) *more_of(struct iez_trace_file *file) {
    return (_Atomic(struct iez_trace_more *) *)&file->private_words[1];
}

/* The further sets of a file are a list, of which the first word of each, unused by readers, is the
 * link. */
static struct iez_trace_more *next_of(struct iez_trace_more *more) {
    return (struct iez_trace_more *)(uintptr_t)more->next;
}

static bool is_usable(const struct iez_trace_counts *counts, uint64_t owner) {
    return __atomic_load_n(&counts->owner, __ATOMIC_RELAXED) == owner &&
           counts->writes < UINT32_MAX && counts->reads < UINT32_MAX;
}

static struct iez_trace_counts *new_set(struct iez_trace_file *file, uint64_t owner) {
    int saved = errno;
    struct iez_trace_more *more = iez_trace_block(sizeof *more);
    errno = saved;
    if (!more)
        return NULL;
    more->file = file->number;
    more->counts.owner = owner;
    struct iez_trace_more *first = atomic_load(more_of(file));
    do
        more->next = (uintptr_t)first;
    while (!atomic_compare_exchange_weak(more_of(file), &first, more));
    iez_trace_finish(more, IEZ_BLOCK_COUNTS);
    return &more->counts;
}

static struct iez_trace_counts *find_set(struct iez_trace_file *file, uint64_t owner) {
    uint64_t nobody = 0;
    if (is_usable(&file->counts, owner))
        return &file->counts;
    if (owner != SHARED && __atomic_compare_exchange_n(&file->counts.owner, &nobody, owner, false,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return &file->counts;
    for (struct iez_trace_more *more = atomic_load(more_of(file)); more; more = next_of(more))
        if (is_usable(&more->counts, owner))
            return &more->counts;
    return new_set(file, owner);
}

static inline size_t place_of(const struct iez_trace_file *file) {
    return (uintptr_t)file / IEZ_TRACE_CELL % CACHED;
}

IEZ_RARE static struct iez_trace_counts *find_own_set(struct iez_trace_file *file) {
    struct iez_trace_counts *counts = find_set(file, self());
    if (counts) {
        thread.cache[place_of(file)].file = file;
        thread.cache[place_of(file)].counts = counts;
    }
    return counts;
}

uint64_t iez_write_end(struct iez_trace_file *file) {
    uint64_t end = file->counts.write_end;
    for (struct iez_trace_more *more = atomic_load(more_of(file)); more; more = next_of(more))
        if (more->counts.write_end > end)
            end = more->counts.write_end;
    return end;
}

/* This thread's set; NULL where there is no room for one. */
static inline struct iez_trace_counts *own_set(struct iez_trace_file *file) {
    size_t at = place_of(file);
    struct iez_trace_counts *counts = thread.cache[at].counts;
    if (thread.cache[at].file == file && counts->writes < UINT32_MAX && counts->reads < UINT32_MAX)
        return counts;
    return find_own_set(file);
}

static inline unsigned bucket_of(uint64_t bytes) {
    unsigned bucket = 63U - (unsigned)__builtin_clzll(bytes);
    return bucket < IEZ_SIZE_BUCKETS ? bucket : IEZ_SIZE_BUCKETS - 1;
}

static void add(uint64_t *sum, uint64_t n) {
    __atomic_fetch_add(sum, n, __ATOMIC_RELAXED);
}

static void add_32(uint32_t *sum) {
    __atomic_fetch_add(sum, 1, __ATOMIC_RELAXED);
}

static void raise_to(uint64_t *highest, uint64_t value) {
    uint64_t now = __atomic_load_n(highest, __ATOMIC_RELAXED);
    while (now < value && !__atomic_compare_exchange_n(highest, &now, value, true, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED))
        ;
}

IEZ_RARE void iez_count_dropped(uint64_t bytes) {
    struct iez_trace_header *header = atomic_load(&iez_process->header);
    if (!header)
        return;
    add(&header->dropped_writes, 1);
    add(&header->dropped_bytes, bytes);
    iez_trace_publish(header, sizeof *header);
}

IEZ_RARE static void count_shared(struct iez_trace_file *file, const struct iez_addition *by) {
    struct iez_trace_counts *counts = find_set(file, SHARED);
    uint64_t never = 0;
    if (!counts) {
        iez_count_dropped(by->bytes);
        return;
    }
    add(&counts->layer_bytes[by->api], by->bytes);
    add_32(&counts->writes);
    add_32(&counts->sizes[bucket_of(by->bytes)]);
    raise_to(&counts->write_end, by->end);
    raise_to(&counts->last_write_ns, by->now_ns);
    __atomic_compare_exchange_n(&counts->first_write_ns, &never, by->now_ns, false,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    iez_trace_publish(counts, sizeof *counts);
}

static inline bool enter(void) {
    if (thread.is_busy)
        return false;
    thread.is_busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    return true;
}

static inline void leave(void) {
    atomic_signal_fence(memory_order_seq_cst);
    thread.is_busy = false;
}

/* The clock has ticked since the last write. */
IEZ_RARE static void count_time(struct iez_trace_counts *counts, uint64_t now_ns) {
    uint64_t last_ns = counts->last_write_ns;
    counts->last_write_ns = now_ns;
    if (!last_ns)
        counts->first_write_ns = now_ns;
    if (last_ns / PUBLISH_NS != now_ns / PUBLISH_NS)
        iez_trace_publish(counts, sizeof *counts);
}

static inline void count_own(struct iez_trace_counts *counts, const struct iez_addition *by) {
    counts->layer_bytes[by->api] += by->bytes;
    counts->writes++;
    counts->sizes[bucket_of(by->bytes)]++;
    if (by->end > counts->write_end)
        counts->write_end = by->end;
    if (by->now_ns - counts->last_write_ns >= TICK_NS)
        count_time(counts, by->now_ns);
    if (by->bytes >= PUBLISH_BYTES)
        iez_trace_publish(counts, sizeof *counts);
}

void iez_count_write(struct iez_trace_file *file, const struct iez_addition *by) {
    if (!enter()) {
        count_shared(file, by);
        return;
    }
    struct iez_trace_counts *counts = own_set(file);
    if (counts)
        count_own(counts, by);
    else
        iez_count_dropped(by->bytes);
    leave();
}

void iez_count_read(struct iez_trace_file *file, uint64_t bytes) {
    if (!enter()) {
        struct iez_trace_counts *counts = find_set(file, SHARED);
        if (counts) {
            add(&counts->read_bytes, bytes);
            add_32(&counts->reads);
        }
        return;
    }
    struct iez_trace_counts *counts = own_set(file);
    if (counts) {
        counts->read_bytes += bytes;
        counts->reads++;
    }
    leave();
}

void iez_count_layer(struct iez_trace_file *file, enum iez_api api, uint64_t bytes) {
    bool is_own = enter();
    struct iez_trace_counts *counts = is_own ? own_set(file) : find_set(file, SHARED);
    if (counts) {
        add(&counts->layer_bytes[api], bytes);
        iez_trace_publish(counts, sizeof *counts);
    }
    if (is_own)
        leave();
}

void iez_publish_counts(struct iez_trace_file *file) {
    if (!atomic_load_explicit(&iez_process->is_careful, memory_order_relaxed))
        return;
    iez_trace_publish_slowly(&file->counts, sizeof file->counts);
    for (struct iez_trace_more *more = atomic_load(more_of(file)); more; more = next_of(more))
        iez_trace_publish_slowly(&more->counts, sizeof more->counts);
}
