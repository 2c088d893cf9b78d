/* Reading a plan: map the file, check its header, find what a path is to get. No locks, no
 * allocation; every reference is checked before it is followed. */
#ifndef IEZ_PLAN_H
#define IEZ_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "plan_format.h"

/* cffi: begin */
#define IEZ_PATH_MAX 4096

struct iez_plan {
    const unsigned char *base;
    uint64_t bytes;
    const struct iez_plan_header *header;
    uint64_t device, inode, changed_ns; /* of the file, to tell when another one takes its place */
};

struct iez_found {
    const struct iez_prefix *prefix; /* the file system, NULL: not watched */
    const struct iez_layout *layout; /* NULL: nothing planned */
    uint64_t layout_bytes;           /* room for the record, to check it against */
    uint32_t template_text;          /* the template that matched, or IEZ_PLAN_NONE */
    const char *path;                /* as the plan knows it, perhaps in the scratch memory */
    uint64_t path_bytes;
};

uint64_t iez_hash(const void *data, uint64_t bytes);

/* Hash of the header without its last field, which holds it. */
uint64_t iez_plan_header_hash(const struct iez_plan_header *header);

/* Takes `bytes` bytes at `base` as a plan. NULL, or what is wrong with it. */
const char *iez_plan_use(const void *base, uint64_t bytes, struct iez_plan *plan);

/* Maps the file at `path`. NULL, or what is wrong with it; then errno tells whether it was only a
 * shortage (EMFILE, ENFILE, ENOMEM, EINTR), and is 0 if not. */
const char *iez_plan_map(const char *path, struct iez_plan *plan);
void iez_plan_unmap(struct iez_plan *plan);

/* The file system that an absolute path lies on, and the path as the plan knows it: no "//", "/./"
 * or
 * "/../" in it, `scratch` has IEZ_PATH_MAX bytes (NULL: only prefixes that need none). NULL, or
 * what is wrong with the plan. */
const char *iez_plan_watched(const struct iez_plan *plan, const char *path, uint64_t bytes,
                             char *scratch, struct iez_found *found);

/* The same, and what is planned for the path. */
const char *iez_plan_find(const struct iez_plan *plan, const char *path, uint64_t bytes,
                          char *scratch, struct iez_found *found);

/* The text at a reference: its bytes, length in `bytes`; NULL for a bad reference. */
const char *iez_plan_text(const struct iez_plan *plan, uint32_t text, uint32_t *bytes);

/* OST `index` of a prefix's live set, or NULL. */
const struct iez_ost *iez_plan_ost(const struct iez_plan *plan, const struct iez_prefix *prefix,
                                   uint32_t index);

/* The first OST of `layout` that is not in the live set of `prefix`; -1 if all are; -2 if the
 * record is damaged. */
long iez_plan_unknown_ost(const struct iez_plan *plan, const struct iez_prefix *prefix,
                          const struct iez_layout *layout, uint64_t layout_bytes);
/* cffi: end */

static inline uint64_t iez_slot_of(uint64_t hash, uint64_t slot_count) {
    return (uint64_t)(((unsigned __int128)hash * slot_count) >> 64);
}

/* The bits of a hash in its word of the filter. */
static inline uint64_t iez_filter_bits(uint64_t hash) {
    return 1ULL << (hash & 63) | 1ULL << (hash >> 6 & 63) | 1ULL << (hash >> 12 & 63);
}

#endif
