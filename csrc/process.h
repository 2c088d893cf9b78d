/* State that belongs to one process: all zero again in a child after fork, without a call. */
#ifndef IEZ_PROCESS_H
#define IEZ_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "layout.h"
#include "plan.h"
#include "trace_format.h"

#if defined(__x86_64__)
#define IEZ_PAGE_BYTES 4096
#else
#define IEZ_PAGE_BYTES 65536 /* the largest that a kernel may have */
#endif

/* A part of the trace file. Blocks are made in `memory`, which is `mapped`, the file itself, unless
 * a store to that might kill: see trace_chunk.h. */
struct iez_chunk {
    _Atomic(unsigned char *) memory; /* NULL: not in use, or not yet */
    unsigned char *mapped;
    uint32_t bytes;
    _Atomic uint32_t used;
};

#define IEZ_CHUNKS 640

/* What is known of an open descriptor. */
struct iez_descriptor {
    _Atomic(struct iez_trace_file *) file; /* NULL: not looked at yet; or IEZ_NOT_WATCHED */
    _Atomic uint64_t position;             /* of the descriptor; IEZ_SIZE_UNKNOWN */
};

#define IEZ_DESCRIPTORS 32768
#define IEZ_BUCKETS     65536 /* of the hash table of the files */
#define IEZ_MPI_FILES   256

struct iez_mpi_file {
    _Atomic uintptr_t handle; /* 0 free; 1 given back */
    _Atomic(struct iez_trace_file *) file;
};

/* Pages of its own: the kernel wipes whole ones. */
struct iez_process {
    _Alignas(IEZ_PAGE_BYTES) struct iez_trace_header own; /* counts while there is no file */
    struct iez_trace_file unrecorded;                     /* stands for files that have no block */
    _Atomic(struct iez_trace_header *) header; /* of the trace file; NULL until it is made */
    _Atomic bool is_careful;                   /* chunks have memory of their own */
    _Atomic uint32_t file_failures;            /* at making it */
    _Atomic uint32_t growth_failures;
    _Atomic uint32_t growing;          /* a thread is at it */
    _Atomic(struct iez_chunk *) chunk; /* the one in use; NULL: the first */
    _Atomic uint32_t chunk_count;
    _Atomic uint64_t file_bytes;
    _Atomic uint32_t file_count; /* the files of the trace are numbered */
    _Atomic uint32_t thread_count;
    _Atomic int32_t highest; /* descriptor in use */
    _Atomic int32_t comm_rank_plus_one;
    _Atomic int32_t comm_size;
    _Atomic uint32_t collective;
    _Atomic uint32_t plan_looking; /* a thread looks for a newer plan */
    _Atomic uint64_t lookups_used; /* one bit a slot */
    _Atomic uint64_t requests_used;
    _Atomic uint64_t large_requests_used;
    struct iez_chunk chunks[IEZ_CHUNKS];
    struct iez_mpi_file mpi_files[IEZ_MPI_FILES];
    _Atomic(struct iez_trace_file *) buckets[IEZ_BUCKETS];
    struct iez_descriptor descriptors[IEZ_DESCRIPTORS];
};

extern struct iez_process iez_process_memory;
static struct iez_process *const iez_process = &iez_process_memory;

/* Before its first use: most processes touch nothing that is watched, and need not pay for it.
 * Keeps errno. */
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

/* A free one, or NULL: then the create goes unplaced. A look-up makes no call that blocks. What a
 * thread has left behind by a jump out of a signal handler is free again once there is need. */
struct iez_lookup *iez_lookup_take_at(uintptr_t frame);
#define iez_lookup_take() iez_lookup_take_at((uintptr_t)__builtin_frame_address(0))
void iez_lookup_give(struct iez_lookup *lookup);

/* For a layout of at most `bytes` bytes; false where none is free. Held across a request to the
 * MDS, so there are as many of them as threads may create at once. */
bool iez_request_take(uint64_t bytes, struct iez_request *request);
void iez_request_give(const struct iez_request *request);

#endif
