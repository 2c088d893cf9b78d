/* The counts of a file: one set for each thread that uses it, so that threads never wait for each
 * other. */
#ifndef IEZ_TRACE_COUNTS_H
#define IEZ_TRACE_COUNTS_H

#include "trace_format.h"

/* What one call adds to the counts. */
struct iez_addition {
    uint64_t now_ns;
    uint64_t bytes;
    uint64_t end; /* offset behind what was written; 0 not known */
    enum iez_api api;
};

void iez_count_write(struct iez_trace_file *file, const struct iez_addition *add);
/* A write that is in no set. */
void iez_count_dropped(uint64_t bytes);
void iez_count_read(struct iez_trace_file *file, uint64_t bytes);
void iez_count_layer(struct iez_trace_file *file, enum iez_api api, uint64_t bytes);

/* Brings all counts of the file to its trace, where they are not there by themselves. */
void iez_publish_counts(struct iez_trace_file *file);

/* Highest offset written, plus one, over all threads. */
uint64_t iez_write_end(struct iez_trace_file *file);

#endif
