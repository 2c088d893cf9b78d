/* Striping: the layout of a file, where each byte of it lies, and how it is kept and told. */
#ifndef IEZ_LOOPFS_STRIPING_H
#define IEZ_LOOPFS_STRIPING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../lustre.h"
#include "../plan_format.h"

#define LOOP_COMPONENT_MAX 64
#define LOOP_START_ANY     0xFFFF

/* `is_instantiated` is set last, once and for all: who sees it sees the rest. Until then `osts` is
 * the list that was asked for, or NULL. */
struct loop_component {
    uint64_t start, end;
    uint32_t stripe_size;
    uint32_t pattern;
    uint16_t stripe_count;
    uint16_t start_ost; /* asked for; LOOP_START_ANY */
    bool is_all;        /* as many stripes as there are OSTs */
    bool is_on_mdt;
    _Atomic bool is_instantiated;
    char pool[IEZ_POOL_NAME_BYTES + 1];
    uint16_t *osts;
    _Atomic int *objects; /* descriptors, -1: not open */
};

struct loop_layout {
    uint32_t generation;
    uint32_t count;
    bool is_composite;
    struct loop_component parts[];
};

/* A run of bytes that lies on one object. */
struct loop_piece {
    uint32_t component, stripe;
    uint64_t offset; /* in the object */
    uint64_t bytes;
    bool is_instantiated; /* else all this may change yet */
};

/* For `count` components, all zero. NULL: no memory. */
struct loop_layout *loop_layout_new(uint32_t count);
void loop_layout_free(struct loop_layout *layout);

static inline uint32_t loop_stripes(const struct loop_component *part) {
    return part->is_on_mdt ? 1 : part->stripe_count;
}

/* The first piece of `bytes` bytes at `offset`. False: no component covers it. */
bool loop_piece_at(const struct loop_layout *layout, uint64_t offset, uint64_t bytes,
                   struct loop_piece *piece);

/* How long an object is if the file is `size` long and without holes. */
uint64_t loop_object_size(const struct loop_component *part, uint32_t stripe, uint64_t size);

/* How long the file is at least if the object is `object_size` long. */
uint64_t loop_file_size(const struct loop_component *part, uint32_t stripe, uint64_t object_size);

#define LOOP_NOTHING_MADE UINT32_MAX

/* Keeps the layout in the file's own metadata; component number `made` counts as instantiated.
 * `lazy_size` is the size of a file that has no layout (NULL) yet. 0, or an errno. */
int loop_layout_store(int meta, const struct loop_layout *layout, uint32_t made,
                      uint64_t lazy_size);

/* 0, or an errno; *layout is NULL where there is none. */
int loop_layout_load(int meta, struct loop_layout **layout, uint64_t *lazy_size);

/* Lustre's bytes, as a file's layout is read. Their length; -ERANGE where `room` is too small. */
long loop_layout_wire(const struct loop_layout *layout, uint64_t inode, unsigned char *wire,
                      size_t room);

/* The same of one component alone, as a V1 or V3 layout. */
long loop_component_wire(const struct loop_layout *layout, uint32_t number, uint64_t inode,
                         unsigned char *wire, size_t room);

#endif
