/* Numbers and byte layouts of Lustre's user interface, as docs/lustre-interface.md tells them. */
#ifndef IEZ_LUSTRE_H
#define IEZ_LUSTRE_H

#include <fcntl.h>
#include <stdint.h>

#define IEZ_LOV_SETSTRIPE                                                                          \
    0x4008669AUL /* LL_IOC_LOV_SETSTRIPE: takes a struct despite its size 8                        \
                  */

/* O_LOV_DELAY_CREATE as every release since 2.5.1 takes it: "create, but give no layout yet". */
#define IEZ_DELAY_CREATE (O_NOCTTY | O_ASYNC)
/* The bit that older releases used as well; a caller may still pass it. */
#define IEZ_DELAY_CREATE_OLD 0x01000000

/* cffi: begin */
#define IEZ_MAGIC_V1       0x0BD10BD0
#define IEZ_MAGIC_V3       0x0BD30BD0
#define IEZ_MAGIC_SPECIFIC 0x0BD50BD0
#define IEZ_MAGIC_COMP     0x0BD60BD0

#define IEZ_STRIPE_SIZE_UNIT       65536
#define IEZ_STRIPE_COUNT_MAX       2000
#define IEZ_STRIPE_COUNT_ALL       0xFFFF
#define IEZ_POOL_NAME_BYTES        16
#define IEZ_COMPONENT_INSTANTIATED 0x10

/* A plain layout (V1); V3 and SPECIFIC add a pool name; then one iez_lov_object a stripe. */
struct iez_lov_plain {
    uint32_t magic;
    uint32_t pattern;
    uint64_t object_id[2];
    uint32_t stripe_size;
    uint16_t stripe_count;
    uint16_t stripe_offset; /* when read: the layout generation */
};

struct iez_lov_object {
    uint64_t object_id[2];
    uint32_t generation;
    uint32_t ost_index;
};

struct iez_lov_composite {
    uint32_t magic;
    uint32_t size;
    uint32_t generation;
    uint16_t flags;
    uint16_t entry_count;
    uint16_t mirror_count; /* minus one */
    uint16_t reserved[7];
};

struct iez_lov_entry {
    uint32_t id;
    uint32_t flags;
    uint64_t extent_start;
    uint64_t extent_end;
    uint32_t offset; /* of the component's bytes from the start of the whole */
    uint32_t size;
    uint32_t reserved[4]; /* generation, a time stamp at an unaligned place, padding */
};
/* cffi: end */

#define IEZ_STRIPE_OFFSET_ANY 0xFFFF

_Static_assert(sizeof(struct iez_lov_plain) == 32, "plain header");
_Static_assert(sizeof(struct iez_lov_object) == 24, "object");
_Static_assert(sizeof(struct iez_lov_composite) == 32, "composite header");
_Static_assert(sizeof(struct iez_lov_entry) == 48, "composite entry");

#endif
