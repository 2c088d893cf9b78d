#include "layout.h"

#include <errno.h>
#include <string.h>

#include "lustre.h"

static uint64_t component_bytes(const struct iez_component *component) {
    return (sizeof *component + component->ost_count * sizeof(uint16_t) + 7) & ~7ULL;
}

const struct iez_component *iez_layout_next(const struct iez_layout *layout, uint64_t record_bytes,
                                            const struct iez_component *before) {
    const unsigned char *start = (const unsigned char *)layout;
    if (record_bytes < sizeof *layout || layout->bytes > record_bytes)
        return NULL;
    uint64_t at = sizeof *layout;
    if (before)
        at = (uint64_t)((const unsigned char *)before - start) + component_bytes(before);
    if (at + sizeof(struct iez_component) > layout->bytes)
        return NULL;
    const struct iez_component *component = (const struct iez_component *)(start + at);
    return at + component_bytes(component) > layout->bytes ? NULL : component;
}

/* One component as a plain layout: V1, with a pool V3, with a list SPECIFIC. */
static long encode_plain(const struct iez_component *component, unsigned char *wire,
                         uint64_t room) {
    struct iez_lov_plain plain = {
        .magic = IEZ_MAGIC_V1,
        .pattern = component->pattern,
        .stripe_size = component->stripe_size_bytes,
        .stripe_count = component->stripe_count,
        .stripe_offset = IEZ_STRIPE_OFFSET_ANY,
    };
    uint64_t bytes = sizeof plain;
    if (component->ost_count > IEZ_STRIPE_COUNT_MAX)
        return -EINVAL;
    if (component->ost_count) {
        plain.magic = IEZ_MAGIC_SPECIFIC;
        plain.stripe_count = component->ost_count;
    } else if (component->pool[0]) {
        plain.magic = IEZ_MAGIC_V3;
    }
    if (plain.magic != IEZ_MAGIC_V1)
        bytes += IEZ_POOL_NAME_BYTES;
    uint64_t total = bytes + component->ost_count * sizeof(struct iez_lov_object);
    if (total > room)
        return -E2BIG;
    memcpy(wire, &plain, sizeof plain);
    if (plain.magic != IEZ_MAGIC_V1)
        memcpy(wire + sizeof plain, component->pool, IEZ_POOL_NAME_BYTES);
    const uint16_t *osts = iez_component_osts(component);
    for (uint32_t k = 0; k < component->ost_count; k++) {
        struct iez_lov_object object = {.ost_index = osts[k]};
        memcpy(wire + bytes + k * sizeof object, &object, sizeof object);
    }
    return (long)total;
}

static long encode_composite(const struct iez_layout *layout, uint64_t record_bytes,
                             unsigned char *wire, uint64_t room) {
    struct iez_lov_composite composite = {
        .magic = IEZ_MAGIC_COMP,
        .entry_count = (uint16_t)layout->component_count,
    };
    uint64_t end = sizeof composite + layout->component_count * sizeof(struct iez_lov_entry);
    if (layout->component_count > UINT16_MAX || end > room)
        return -E2BIG;
    const struct iez_component *component = NULL;
    uint64_t extent = 0;
    for (uint32_t i = 0; i < layout->component_count; i++) {
        component = iez_layout_next(layout, record_bytes, component);
        if (!component)
            return -EINVAL;
        long bytes = encode_plain(component, wire + end, room - end);
        if (bytes < 0)
            return bytes;
        struct iez_lov_entry entry = {
            .extent_start = extent,
            .extent_end = component->extent_end,
            .offset = (uint32_t)end,
            .size = (uint32_t)bytes,
        };
        memcpy(wire + sizeof composite + i * sizeof entry, &entry, sizeof entry);
        extent = component->extent_end;
        end += (uint64_t)bytes;
    }
    composite.size = (uint32_t)end;
    memcpy(wire, &composite, sizeof composite);
    return (long)end;
}

long iez_layout_encode(const struct iez_layout *layout, uint64_t record_bytes, unsigned char *wire,
                       uint64_t room) {
    const struct iez_component *first = iez_layout_next(layout, record_bytes, NULL);
    if (!first || layout->component_count == 0)
        return -EINVAL;
    if (layout->component_count == 1)
        return encode_plain(first, wire, room);
    return encode_composite(layout, record_bytes, wire, room);
}

/* Reads a plain layout of at most `bytes` bytes into `view`. */
static int view_plain(const unsigned char *wire, uint64_t bytes, struct iez_component_view *view) {
    struct iez_lov_plain plain;
    if (bytes < sizeof plain)
        return -EINVAL;
    memcpy(&plain, wire, sizeof plain);
    uint64_t header = sizeof plain;
    memset(view->pool, 0, sizeof view->pool);
    if (plain.magic == IEZ_MAGIC_V3 || plain.magic == IEZ_MAGIC_SPECIFIC) {
        header += IEZ_POOL_NAME_BYTES;
        if (bytes < header)
            return -EINVAL;
        memcpy(view->pool, wire + sizeof plain, IEZ_POOL_NAME_BYTES);
    } else if (plain.magic != IEZ_MAGIC_V1) {
        return -EINVAL;
    }
    uint64_t objects = (bytes - header) / sizeof(struct iez_lov_object);
    view->magic = plain.magic;
    view->pattern = plain.pattern;
    view->stripe_size = plain.stripe_size;
    view->stripe_count = plain.stripe_count;
    view->generation = plain.stripe_offset;
    view->object_count = objects < plain.stripe_count ? (uint32_t)objects : plain.stripe_count;
    view->objects = wire + header;
    return 0;
}

static uint32_t wire_magic(const unsigned char *wire, uint64_t bytes) {
    uint32_t magic = 0;
    if (bytes >= sizeof magic)
        memcpy(&magic, wire, sizeof magic);
    return magic;
}

int iez_wire_components(const unsigned char *wire, uint64_t bytes) {
    struct iez_component_view view;
    if (wire_magic(wire, bytes) != IEZ_MAGIC_COMP)
        return view_plain(wire, bytes, &view) == 0 ? 1 : -EINVAL;
    struct iez_lov_composite composite;
    if (bytes < sizeof composite)
        return -EINVAL;
    memcpy(&composite, wire, sizeof composite);
    uint64_t entries = composite.entry_count * sizeof(struct iez_lov_entry);
    return sizeof composite + entries <= bytes ? composite.entry_count : -EINVAL;
}

int iez_wire_component(const unsigned char *wire, uint64_t bytes, int i,
                       struct iez_component_view *view) {
    if (i < 0 || i >= iez_wire_components(wire, bytes))
        return -EINVAL;
    if (wire_magic(wire, bytes) != IEZ_MAGIC_COMP) {
        view->extent_start = 0;
        view->extent_end = IEZ_EXTENT_EOF;
        view->flags = IEZ_COMPONENT_INSTANTIATED;
        return view_plain(wire, bytes, view);
    }
    struct iez_lov_entry entry;
    uint64_t at = sizeof(struct iez_lov_composite) + (uint64_t)i * sizeof entry;
    memcpy(&entry, wire + at, sizeof entry);
    if (entry.offset > bytes || entry.size > bytes - entry.offset)
        return -EINVAL;
    view->extent_start = entry.extent_start;
    view->extent_end = entry.extent_end;
    view->flags = entry.flags;
    return view_plain(wire + entry.offset, entry.size, view);
}

uint32_t iez_wire_ost(const struct iez_component_view *view, uint32_t k) {
    struct iez_lov_object object;
    memcpy(&object, view->objects + k * sizeof object, sizeof object);
    return object.ost_index;
}

static int component_agrees(const struct iez_component_view *asked,
                            const struct iez_component_view *got) {
    if (asked->extent_start != got->extent_start || asked->extent_end != got->extent_end)
        return 0;
    if (asked->stripe_size && asked->stripe_size != got->stripe_size)
        return 0;
    /* From 0xFFE0 on a count means "all OSTs", once or several times over. */
    if (asked->stripe_count && asked->stripe_count < 0xFFE0 &&
        asked->stripe_count != got->stripe_count)
        return 0;
    /* "ignore" asks for no pool. */
    if (asked->pool[0] && strcmp(asked->pool, "ignore") != 0 && strcmp(asked->pool, got->pool) != 0)
        return 0;
    for (uint32_t k = 0; k < asked->object_count && k < got->object_count; k++)
        if (iez_wire_ost(asked, k) != iez_wire_ost(got, k))
            return 0;
    return 1;
}

int iez_wire_agrees(const unsigned char *asked, uint64_t asked_bytes, const unsigned char *got,
                    uint64_t got_bytes) {
    int count = iez_wire_components(asked, asked_bytes);
    if (count < 1 || count != iez_wire_components(got, got_bytes))
        return 0;
    for (int i = 0; i < count; i++) {
        struct iez_component_view want, have;
        if (iez_wire_component(asked, asked_bytes, i, &want) != 0 ||
            iez_wire_component(got, got_bytes, i, &have) != 0 || !component_agrees(&want, &have))
            return 0;
    }
    return 1;
}
