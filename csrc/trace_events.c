#include "trace_events.h"

#include <errno.h>
#include <stdatomic.h>

#include "rare.h"
#include "trace_file.h"

#define BLOCK_BYTES 65536 /* of the blocks of one thread; the first ones are smaller */
#define FIRST_BYTES 1024
#define LENGTH_MAX  (1ULL << 31)

static __thread struct {
    struct iez_trace_header *header; /* whose trace the block is in: not a parent's after fork */
    struct iez_trace_events *block;
    uint32_t room; /* events that fit */
    uint32_t block_bytes;
    uint16_t number; /* of this thread */
    bool is_busy;
} thread __attribute__((tls_model("initial-exec")));

static struct iez_trace_events *take(uint32_t bytes, uint32_t *room) {
    struct iez_trace_events *block = iez_trace_block(bytes);
    if (!block)
        return NULL;
    *room = (uint32_t)((bytes - sizeof *block) / sizeof(struct iez_trace_event));
    iez_trace_finish(block, IEZ_BLOCK_EVENTS);
    return block;
}

IEZ_RARE static bool next_block(struct iez_trace_header *header) {
    iez_events_publish();
    if (thread.header != header) {
        thread.number = (uint16_t)atomic_fetch_add(&iez_process->thread_count, 1);
        thread.block_bytes = FIRST_BYTES;
        thread.header = header;
    }
    thread.block = take(thread.block_bytes, &thread.room);
    if (thread.block_bytes < BLOCK_BYTES)
        thread.block_bytes *= 4;
    return thread.block != NULL;
}

static void fill(struct iez_trace_event *event, const struct iez_trace_header *header,
                 const struct iez_call *call, uint64_t end_ns, uint32_t length, uint64_t offset) {
    uint64_t duration_ns = end_ns - call->start_ns;
    *event = (struct iez_trace_event){
        .start_ns = call->start_ns - header->start_ticks_ns,
        .offset = offset,
        .duration_ns = duration_ns < UINT32_MAX ? (uint32_t)duration_ns : UINT32_MAX,
        .length = length,
        .file = call->file->number,
        .thread = thread.number,
        .api = (uint16_t)call->api,
    };
}

IEZ_RARE static void drop(struct iez_trace_header *header) {
    __atomic_fetch_add(&header->dropped_events, 1, __ATOMIC_RELAXED);
    iez_trace_publish(header, sizeof *header);
}

/* A signal handler that runs while this thread is recording has a block for its one event. */
IEZ_RARE static void record_nested(struct iez_trace_header *header, const struct iez_call *call,
                                   uint64_t end_ns, uint32_t length, uint64_t offset) {
    uint32_t room;
    struct iez_trace_events *block = take(2 * sizeof(struct iez_trace_event), &room);
    if (!block) {
        drop(header);
        return;
    }
    fill((struct iez_trace_event *)(block + 1), header, call, end_ns, length, offset);
    __atomic_store_n(&block->used, 1, __ATOMIC_RELEASE);
    iez_trace_publish(block, sizeof *block + sizeof(struct iez_trace_event));
}

static void record(struct iez_trace_header *header, const struct iez_call *call, uint64_t end_ns,
                   uint32_t length, uint64_t offset) {
    if (thread.header != header || !thread.block || thread.block->used == thread.room)
        if (!next_block(header)) {
            drop(header);
            return;
        }
    struct iez_trace_event *events = (struct iez_trace_event *)(thread.block + 1);
    fill(&events[thread.block->used], header, call, end_ns, length, offset);
    __atomic_store_n(&thread.block->used, thread.block->used + 1, __ATOMIC_RELEASE);
}

void iez_event(const struct iez_call *call, uint64_t end_ns, uint64_t bytes, uint64_t offset) {
    int saved = errno;
    struct iez_trace_header *header = atomic_load(&iez_process->header);
    for (uint64_t done = 0; header && done < bytes; done += LENGTH_MAX) {
        uint32_t length = (uint32_t)(bytes - done < LENGTH_MAX ? bytes - done : LENGTH_MAX);
        uint64_t at = offset == IEZ_SIZE_UNKNOWN ? offset : offset + done;
        if (thread.is_busy) {
            record_nested(header, call, end_ns, length, at);
            continue;
        }
        thread.is_busy = true;
        atomic_signal_fence(memory_order_seq_cst);
        record(header, call, end_ns, length, at);
        atomic_signal_fence(memory_order_seq_cst);
        thread.is_busy = false;
    }
    errno = saved;
}

void iez_events_publish(void) {
    struct iez_trace_events *block = thread.block;
    if (block && thread.header == atomic_load(&iez_process->header))
        iez_trace_publish(block,
                          sizeof *block + (uint64_t)block->used * sizeof(struct iez_trace_event));
}
