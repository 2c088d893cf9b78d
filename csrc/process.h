/* State that belongs to one process: all zero again in a child after fork, without a call. */
#ifndef IEZ_PROCESS_H
#define IEZ_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "layout.h"
#include "outcome_format.h"
#include "plan.h"

struct iez_process {
    struct iez_outcome_file own; /* counts before there is a file, or that are copied to it */
    _Atomic uint32_t own_counts; /* there are such */
    _Atomic(struct iez_outcome_file *) file; /* NULL until the first outcome */
    _Atomic bool file_is_careful;            /* a store to it might kill: see outcome.c */
    _Atomic uint32_t file_failures;          /* at making it */
    _Atomic uint32_t file_making;            /* a thread is at it */
    _Atomic int32_t rank_plus_one;
    _Atomic int32_t comm_size;
    _Atomic uint32_t collective;
    _Atomic uint32_t plan_looking; /* a thread looks for a newer plan */
    _Atomic uint64_t lookups_used; /* one bit a slot */
    _Atomic uint64_t requests_used;
    _Atomic uint64_t large_requests_used;
};

extern struct iez_process *const iez_process;

/* Before its first use: most processes create nothing, and need not pay for it. */
void iez_process_start(void);

/* Memory that is too large for a signal handler's stack; malloc may be what was interrupted. */
struct iez_lookup {
    char path[IEZ_PATH_MAX];
    char canonical[IEZ_PATH_MAX];
};

struct iez_request {
    unsigned char *wire; /* what is asked */
    unsigned char *back; /* what is answered */
    uint64_t room;       /* of each */
};

/* A free one, or NULL: then the create goes unplaced. A look-up makes no call that blocks. */
struct iez_lookup *iez_lookup_take(void);
void iez_lookup_give(struct iez_lookup *lookup);

/* For a layout of at most `bytes` bytes; false where none is free. Held across a request to the
 * MDS, so there are more of them than threads usually create at once. */
bool iez_request_take(uint64_t bytes, struct iez_request *request);
void iez_request_give(const struct iez_request *request);

#endif
