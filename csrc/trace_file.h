/* The trace file of this process: made at the first event, grown in steps, its blocks. No locks:
 * threads that grow it at the same moment each add a step. Async-signal-safe. */
#ifndef IEZ_TRACE_FILE_H
#define IEZ_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process.h"
#include "trace_format.h"

/* Its header, made now if need be; NULL where it cannot be made. May change errno. */
struct iez_trace_header *iez_trace_header(void);

/* A new block of all zero bytes but for its number of cells; NULL where there is no room. Its kind
 * is to be written last, by iez_trace_finish. May change errno. */
void *iez_trace_block(uint64_t bytes);
void iez_trace_finish(void *block, uint32_t kind);

/* Brings bytes of a block or of the header to the file. Nothing to do, but where a store to the
 * file itself might kill. Keeps errno. */
void iez_trace_publish_slowly(const void *from, uint64_t bytes);

static inline void iez_trace_publish(const void *from, uint64_t bytes) {
    if (atomic_load_explicit(&iez_process->is_careful, memory_order_relaxed))
        iez_trace_publish_slowly(from, bytes);
}

/* All of it. */
void iez_trace_publish_all(void);

#endif
