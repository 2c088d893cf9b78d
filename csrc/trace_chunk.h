/* The steps in which the trace file grows: parts of it that have their blocks on the disk, mapped.
 * Async-signal-safe. */
#ifndef IEZ_TRACE_CHUNK_H
#define IEZ_TRACE_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "process.h"

/* Whether blocks that were written once stay the file's own. Elsewhere (copy on write, network
 * file systems) a store to a mapped page may need new space, and kills where there is none. */
bool iez_chunk_is_safe(int fd);

/* Blocks of the disk for a part of the file, so that no store ever needs one. False, and errno. */
bool iez_chunk_allocate(int fd, uint64_t offset, uint64_t bytes);

/* Brings a new part of the file into memory at once. The first store to each of its pages would
 * take the kernel's way through the file system: 5 microseconds on ext4, 40 nanoseconds an event.
 * What cannot be written here still has its blocks. */
void iez_chunk_warm(int fd, uint64_t offset, uint64_t bytes);

/* Maps a part of the file; where it `is_careful`, with memory of its own beside it. */
bool iez_chunk_map(int fd, uint64_t offset, uint32_t bytes, bool is_careful,
                   struct iez_chunk *chunk);
void iez_chunk_unmap(struct iez_chunk *chunk);

/* The next whole number of the kernel's pages. */
uint32_t iez_whole_pages(uint32_t bytes);

#endif
