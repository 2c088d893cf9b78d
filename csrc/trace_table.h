/* The table that trace files are merged into: rows, their texts and their ranks. */
#ifndef IEZ_TRACE_TABLE_H
#define IEZ_TRACE_TABLE_H

#include "trace_merge.h"

struct iez_row_slot {
    uint32_t tag; /* of the path's hash */
    uint32_t row; /* plus one; 0: empty */
};

/* Counts whose file has not been seen yet. */
struct iez_early {
    uint32_t file;
    struct iez_trace_counts counts;
};

uint32_t iez_table_row(struct iez_merge *merge, const char *path, uint64_t bytes, int own);

/* Calls the path's slot into the cache: it is the next one that is looked for. */
void iez_table_ahead(struct iez_merge *merge, const char *path, uint64_t bytes);
void iez_table_add_size(struct iez_merge *merge, struct iez_row *row, uint32_t bucket,
                        uint64_t count);
uint64_t iez_table_text(struct iez_merge *merge, const void *text, uint64_t bytes);
void iez_table_add_rank(struct iez_merge *merge, struct iez_ranks *ranks, uint32_t low,
                        uint32_t high);

/* Makes room for `wanted` elements of `size` bytes; gives 0 and sets out_of_memory if it cannot. */
int iez_table_grow(struct iez_merge *merge, void *array, uint64_t *room, uint64_t wanted,
                   uint64_t size);

static inline uint64_t iez_max(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* The smaller one, where 0 means none. */
static inline uint64_t iez_first(uint64_t a, uint64_t b) {
    return a == 0 || (b != 0 && b < a) ? b : a;
}

#endif
