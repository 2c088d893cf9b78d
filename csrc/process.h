/* State that belongs to one process: all zero again in a child after fork, without a call. */
#ifndef IEZ_PROCESS_H
#define IEZ_PROCESS_H

#include <stdatomic.h>
#include <stdint.h>

#include "layout.h"
#include "outcome_format.h"
#include "plan.h"

struct iez_process {
    _Atomic(struct iez_outcome_file *) file; /* NULL until the first outcome */
    _Atomic uint32_t file_attempts;          /* at making it */
    _Atomic uint32_t file_making;            /* a thread is at it */
    _Atomic uint32_t pending_any;            /* counted before the file was there */
    _Atomic uint64_t pending[IEZ_OUTCOMES];
    _Atomic uint64_t pending_placed_by[IEZ_APIS];
    _Atomic int32_t rank_plus_one;
    _Atomic int32_t comm_size;
    _Atomic uint32_t collective;
    _Atomic uint32_t scratch_used; /* one bit a slot */
};

extern struct iez_process *iez_process;

void iez_process_start(void);

/* Memory for one look-up or one request: too large for a signal handler's stack, and malloc may be
 * what was interrupted. */
struct iez_scratch {
    char path[IEZ_PATH_MAX];
    char canonical[IEZ_PATH_MAX];
    _Alignas(8) unsigned char wire[IEZ_WIRE_MAX];
    _Alignas(8) unsigned char back[IEZ_WIRE_MAX];
};

/* A free slot, or NULL: then the create goes unplaced. Never held across a call that may block or
 * be cancelled. */
struct iez_scratch *iez_scratch_take(void);
void iez_scratch_give(struct iez_scratch *scratch);

#endif
