/* Merges the trace files of a run into one table of files. Only in the cffi module, not in the
 * preloaded library: it allocates. What a trace file says is not trusted: every length and
 * reference is checked, and what makes no sense is passed over and counted.
 *
 * A file that its process renamed or removed is a row of its own; all others are one row a path,
 * whatever the number of processes. */
#ifndef IEZ_TRACE_MERGE_H
#define IEZ_TRACE_MERGE_H

#include "trace_format.h"

/* cffi: begin */
#define IEZ_NO_ROW          0xffffffff
#define IEZ_MERGE_BLOCK_MAX 262144 /* bytes of a block that must be whole in what is fed */

/* Ranks low to high, both included, and the next higher span; 0: none. */
struct iez_span {
    uint32_t low;
    uint32_t high;
    uint32_t next;
};

struct iez_ranks {
    uint32_t first; /* span with the lowest ranks; 0: no ranks */
    uint32_t last;
};

struct iez_row {
    uint64_t path_at; /* in the texts */
    uint64_t name_at; /* the name that a rename gave it */
    uint64_t layout_at;
    uint32_t path_bytes;
    uint32_t name_bytes;   /* 0: not renamed */
    uint32_t layout_bytes; /* 0: none */
    uint32_t flags;        /* IEZ_FILE_*, of all its records */
    uint64_t opened_ns;    /* first record */
    uint64_t reopened_ns;  /* newest record */
    uint64_t ended_ns;
    uint64_t size_bytes; /* IEZ_SIZE_UNKNOWN, or that of the newest record which has one */
    uint64_t size_ns;
    uint64_t set_bytes;
    uint64_t opens;
    uint64_t creates;
    uint64_t created_ns; /* newest record that created it, and its rank */
    int32_t created_rank;
    uint32_t comm_size;
    struct iez_ranks writers;
    struct iez_ranks mpi_openers; /* those that opened it by MPI_File_open */
    uint32_t lone_writers;        /* processes without a rank that wrote */
    uint32_t last_writer;         /* number of the last process without a rank that wrote */
    uint32_t records;             /* of the traces that went into it */
    uint16_t stripe_count;
    uint8_t apis;
    uint8_t outcome;
    uint64_t write_end;
    uint64_t first_write_ns;
    uint64_t last_write_ns;
    uint64_t layer_bytes[4];
    uint64_t read_bytes;
    uint64_t writes;
    uint64_t reads;
    /* Writes by size: up to four buckets in place, since most files have few; else its number in
     * `wide`, and none in place. */
    uint32_t size_counts[4];
    uint8_t size_buckets[4];
    uint32_t wide; /* 0: none */
};

struct iez_wide {
    uint64_t sizes[32];
};

/* What came of one trace file. */
struct iez_part {
    uint64_t files;         /* file blocks that were used */
    uint64_t events;        /* events in its blocks, packed ones included */
    uint64_t damaged_cells; /* that belong to no block */
    uint64_t lost_blocks;   /* whose file is not there */
    uint64_t truncated;     /* 1: the last block is cut off */
};

/* A path whose hash is known already. */
struct iez_ahead {
    const char *path;
    uint32_t tag;
};

struct iez_merge {
    struct iez_row *rows;
    uint64_t row_count;
    char *texts; /* paths and names, each with a NUL, and layouts */
    uint64_t text_bytes;
    struct iez_span *spans; /* from 1 */
    uint64_t span_count;
    struct iez_wide *wide; /* from 1 */
    uint64_t wide_count;
    uint64_t memory_bytes;
    struct iez_part part; /* of the file that is being fed, or was last */
    int out_of_memory;    /* set once, and for good */

    /* The rest is of use inside only. Elements that there is room for: */
    uint64_t row_room;
    uint64_t text_room;
    uint64_t span_room;
    uint64_t wide_room;
    uint32_t free_span;
    struct iez_row_slot *slots; /* hash table of the paths; slot_count is a power of two */
    uint64_t slot_count;
    uint64_t slot_used;
    /* Of the file that is being fed: */
    int32_t rank;
    uint32_t process;
    uint64_t position;
    uint64_t file_bytes;
    uint32_t *row_of; /* by the number of a file: its row plus one */
    uint64_t row_of_room;
    uint64_t row_of_used;
    struct iez_early *early; /* counts whose file has not been seen yet */
    uint64_t early_room;
    uint64_t early_count;
    struct iez_ahead this_path; /* of the block that is being merged */
    struct iez_ahead next_path; /* and of the one behind it */
};

struct iez_merge *iez_merge_new(void);
void iez_merge_free(struct iez_merge *merge);

/* The next trace file: of `file_bytes`, whose blocks begin at `position`. `rank` is -1 without MPI;
 * `process` tells processes without a rank apart. Files are best given by rising rank. */
void iez_merge_begin(struct iez_merge *merge, int32_t rank, uint32_t process, uint64_t position,
                     uint64_t file_bytes);

/* The bytes from where it stands; 8-byte aligned. Gives how far it is to go on, which may be
 * behind the given bytes; 0: more bytes are needed. Give IEZ_MERGE_BLOCK_MAX at least, or all that
 * there is. */
uint64_t iez_merge_feed(struct iez_merge *merge, const void *data, uint64_t bytes);

/* Ends the file. `whole` is 0 if it turned out shorter than its size. */
void iez_merge_end(struct iez_merge *merge, int whole);

/* The row of a path that is not ended, or IEZ_NO_ROW. */
uint32_t iez_merge_find(const struct iez_merge *merge, const char *path, uint64_t bytes);

/* Adds row `from` to row `into`. */
void iez_merge_join(struct iez_merge *merge, uint32_t into, uint32_t from);

/* Sets below[row] to 1 for each row whose path lies below the path of one of `count` rows. Gives 0,
 * or -1 if memory is short. */
int iez_merge_below(const struct iez_merge *merge, const uint32_t *folders, uint64_t count,
                    uint8_t *below);

/* Sets marked[row] to 1 for each row whose path ends as those of MPI libraries' helper files do;
 * iez_client/parse/mpi_files.py looks closer. */
void iez_merge_helpers(const struct iez_merge *merge, uint8_t *marked);

/* The offset of the next whole block of that kind in a trace file (0: of any), at `at` or behind
 * it; `bytes` if there is none. */
uint64_t iez_trace_next(const void *data, uint64_t bytes, uint64_t at, uint32_t kind);
/* cffi: end */

#endif
