/* Layouts as bytes: from a plan's record to what Lustre's ioctl takes, and reading such bytes. */
#ifndef IEZ_LAYOUT_H
#define IEZ_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "plan_format.h"

/* cffi: begin */
#define IEZ_WIRE_MAX 65536 /* largest layout that is sent or compared */

/* One component of a layout in Lustre's bytes; a plain layout is one that ends at EOF. */
struct iez_component_view {
    uint64_t extent_start;
    uint64_t extent_end;
    uint32_t flags;
    uint32_t magic;
    uint32_t pattern;
    uint32_t stripe_size;
    uint32_t stripe_count;
    uint32_t generation;
    uint32_t object_count; /* stripes whose OST is in the bytes */
    const unsigned char *objects;
    char pool[17];
};

/* Writes the request for `layout`, a record of at most `record_bytes` bytes. Gives its length, or
 * -EINVAL for a damaged record, -E2BIG where `room` is too small. */
long iez_layout_encode(const struct iez_layout *layout, uint64_t record_bytes, unsigned char *wire,
                       uint64_t room);

/* Number of components of a layout in Lustre's bytes; -EINVAL if it is none. */
int iez_wire_components(const unsigned char *wire, uint64_t bytes);

/* Component number `i`; 0, or -EINVAL. */
int iez_wire_component(const unsigned char *wire, uint64_t bytes, int i,
                       struct iez_component_view *view);

/* OST of object number `k` of a component. */
uint32_t iez_wire_ost(const struct iez_component_view *view, uint32_t k);

/* Whether the layout `got` of a file is what `asked` requested: 1 or 0. What the request left to
 * the MDS, and objects that are not there yet, agree with anything. */
int iez_wire_agrees(const unsigned char *asked, uint64_t asked_bytes, const unsigned char *got,
                    uint64_t got_bytes);
/* cffi: end */

/* Component number `i` of a plan's record, or NULL if the record is damaged. `i` counts up from 0:
 * pass the component before it, NULL for the first. */
const struct iez_component *iez_layout_next(const struct iez_layout *layout, uint64_t record_bytes,
                                            const struct iez_component *before);

/* The OST list that follows a component. */
static inline const uint16_t *iez_component_osts(const struct iez_component *component) {
    return (const uint16_t *)(component + 1);
}

#endif
