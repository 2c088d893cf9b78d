#include "striping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../layout.h"

#define STORED_MAGIC        0x3146504f4f4c5a49 /* "IZLOOPF1" in memory */
#define STORED_INSTANTIATED 1
#define STORED_ALL          2
#define STORED_COMPOSITE    1

/* A file's metadata: this, and the layout as a record of plan_format.h, whose field `reserved`
 * holds STORED_* and, in its upper half, the first OST that was asked for. */
struct stored {
    uint64_t magic;
    uint64_t lazy_size;
    uint32_t generation;
    uint32_t flags;
    struct iez_layout layout;
};

struct loop_layout *loop_layout_new(uint32_t count) {
    struct loop_layout *layout = calloc(1, sizeof *layout + count * sizeof layout->parts[0]);
    if (layout) {
        layout->count = count;
        for (uint32_t i = 0; i < count; i++)
            layout->parts[i].start_ost = LOOP_START_ANY;
    }
    return layout;
}

void loop_layout_free(struct loop_layout *layout) {
    for (uint32_t i = 0; layout && i < layout->count; i++) {
        free(layout->parts[i].osts);
        free(layout->parts[i].objects);
    }
    free(layout);
}

bool loop_piece_at(const struct loop_layout *layout, uint64_t offset, uint64_t bytes,
                   struct loop_piece *piece) {
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct loop_component *part = &layout->parts[i];
        if (offset < part->start || offset >= part->end)
            continue;
        /* Looked at first: who makes the objects may settle for fewer stripes meanwhile. */
        piece->is_instantiated = part->is_instantiated;
        piece->component = i;
        piece->bytes = bytes < part->end - offset ? bytes : part->end - offset;
        if (!piece->is_instantiated)
            return true; /* where it will lie, nobody knows yet */
        uint64_t size = part->stripe_size, in_stripe = offset % size;
        uint64_t row = offset / size / loop_stripes(part);
        piece->stripe = (uint32_t)(offset / size % loop_stripes(part));
        /* Counted from the start of the file, as Lustre does: the objects of a later component
         * begin with a hole. */
        piece->offset = row * size + in_stripe;
        if (piece->bytes > size - in_stripe)
            piece->bytes = size - in_stripe;
        return true;
    }
    return false;
}

uint64_t loop_object_size(const struct loop_component *part, uint32_t stripe, uint64_t size) {
    if (size <= part->start)
        return 0;
    if (size > part->end)
        size = part->end;
    uint64_t width = (uint64_t)part->stripe_size * loop_stripes(part);
    uint64_t rest = size % width, before = (uint64_t)stripe * part->stripe_size;
    uint64_t own = rest > before ? rest - before : 0;
    return size / width * part->stripe_size + (own > part->stripe_size ? part->stripe_size : own);
}

uint64_t loop_file_size(const struct loop_component *part, uint32_t stripe, uint64_t object_size) {
    if (!object_size)
        return 0;
    uint64_t last = object_size - 1, size = part->stripe_size;
    uint64_t end = last / size * size * loop_stripes(part) + stripe * size + last % size + 1;
    return end > part->start ? end : 0;
}

/* Metadata */

static size_t listed(const struct loop_component *part) {
    return part->osts ? part->stripe_count : 0;
}

static size_t record_bytes(const struct loop_component *part) {
    return (sizeof(struct iez_component) + listed(part) * sizeof(uint16_t) + 7) & ~7UL;
}

static void record_component(const struct loop_component *part, bool is_made, unsigned char *to) {
    struct iez_component record = {
        .extent_end = part->end,
        .stripe_size_bytes = part->stripe_size,
        .pattern = part->pattern,
        .stripe_count = part->stripe_count,
        .ost_count = (uint16_t)listed(part),
        .reserved = (uint32_t)part->start_ost << 16 | (is_made ? STORED_INSTANTIATED : 0) |
                    (part->is_all ? STORED_ALL : 0),
    };
    memcpy(record.pool, part->pool, sizeof record.pool);
    memcpy(to, &record, sizeof record);
    if (listed(part))
        memcpy(to + sizeof record, part->osts, listed(part) * sizeof(uint16_t));
}

/* What is new at the end comes first: where there is no room for it, the old record stays. */
static int replace_record(int meta, const unsigned char *image, size_t bytes) {
    struct stat st;
    if (fstat(meta, &st) != 0)
        return errno;
    size_t old = (size_t)st.st_size < bytes ? (size_t)st.st_size : bytes;
    if (old < bytes) {
        ssize_t more = pwrite(meta, image + old, bytes - old, (off_t)old);
        int answer = more < 0 ? errno : ENOSPC;
        if (more != (ssize_t)(bytes - old))
            return ftruncate(meta, (off_t)old) == 0 ? answer : EIO;
    }
    ssize_t rest = pwrite(meta, image, old, 0);
    if (rest == (ssize_t)old)
        return 0;
    return rest < 0 ? errno : EIO;
}

int loop_layout_store(int meta, const struct loop_layout *layout, uint32_t made,
                      uint64_t lazy_size) {
    size_t bytes = sizeof(struct stored);
    for (uint32_t i = 0; layout && i < layout->count; i++)
        bytes += record_bytes(&layout->parts[i]);
    unsigned char *image = calloc(1, bytes);
    if (!image)
        return ENOMEM;
    struct stored head = {.magic = STORED_MAGIC, .lazy_size = lazy_size};
    if (layout) {
        head.generation = layout->generation;
        head.flags = layout->is_composite ? STORED_COMPOSITE : 0;
        head.layout.component_count = layout->count;
    }
    head.layout.bytes = (uint32_t)(bytes - offsetof(struct stored, layout));
    memcpy(image, &head, sizeof head);
    unsigned char *at = image + sizeof head;
    for (uint32_t i = 0; layout && i < layout->count; at += record_bytes(&layout->parts[i++]))
        record_component(&layout->parts[i], i == made || layout->parts[i].is_instantiated, at);
    int answer = replace_record(meta, image, bytes);
    free(image);
    return answer;
}

static bool load_component(const struct iez_component *record, struct loop_component *part) {
    part->end = record->extent_end;
    part->stripe_size = record->stripe_size_bytes;
    part->pattern = record->pattern;
    part->stripe_count = record->stripe_count;
    part->is_all = record->reserved & STORED_ALL;
    part->start_ost = (uint16_t)(record->reserved >> 16);
    part->is_on_mdt = record->pattern & IEZ_PATTERN_MDT;
    part->is_instantiated = record->reserved & STORED_INSTANTIATED;
    memcpy(part->pool, record->pool, sizeof record->pool);
    if (!part->stripe_size || (record->ost_count && record->ost_count != record->stripe_count))
        return false;
    if (!record->ost_count)
        return !part->is_instantiated || part->is_on_mdt;
    part->osts = malloc(record->ost_count * sizeof(uint16_t));
    if (part->osts)
        memcpy(part->osts, iez_component_osts(record), record->ost_count * sizeof(uint16_t));
    return part->osts;
}

static struct loop_layout *load_record(const struct stored *head) {
    uint32_t count = head->layout.component_count;
    struct loop_layout *layout = count <= LOOP_COMPONENT_MAX ? loop_layout_new(count) : NULL;
    const struct iez_component *record = NULL;
    uint64_t start = 0;
    for (uint32_t i = 0; layout && i < count; i++) {
        record = iez_layout_next(&head->layout, head->layout.bytes, record);
        if (!record || !load_component(record, &layout->parts[i])) {
            loop_layout_free(layout);
            return NULL;
        }
        layout->parts[i].start = start;
        start = record->extent_end;
    }
    if (layout) {
        layout->generation = head->generation;
        layout->is_composite = head->flags & STORED_COMPOSITE;
    }
    return layout;
}

int loop_layout_load(int meta, struct loop_layout **layout, uint64_t *lazy_size) {
    struct stat st;
    *layout = NULL;
    *lazy_size = 0;
    if (fstat(meta, &st) != 0)
        return errno;
    size_t room = sizeof(struct stored) + (size_t)st.st_size;
    struct stored *head = malloc(room);
    if (!head)
        return ENOMEM;
    ssize_t bytes = pread(meta, head, room, 0);
    int answer = bytes < 0 ? errno : 0;
    bool is_whole = bytes >= (ssize_t)sizeof *head && head->magic == STORED_MAGIC &&
                    head->layout.bytes <= bytes - (ssize_t)offsetof(struct stored, layout);
    if (is_whole) {
        *lazy_size = head->lazy_size;
        if (head->layout.component_count) {
            *layout = load_record(head);
            answer = *layout ? 0 : EIO;
        }
    } else if (bytes > 0) {
        answer = EIO; /* damaged: it is not one without a layout */
    }
    free(head);
    return answer;
}

/* What Lustre tells */

long loop_component_wire(const struct loop_layout *layout, uint32_t number, uint64_t inode,
                         unsigned char *wire, size_t room) {
    const struct loop_component *part = &layout->parts[number];
    bool has_pool = part->pool[0];
    size_t objects = part->is_instantiated && !part->is_on_mdt ? part->stripe_count : 0;
    size_t head_bytes = sizeof(struct iez_lov_plain) + (has_pool ? IEZ_POOL_NAME_BYTES : 0);
    size_t bytes = head_bytes + objects * sizeof(struct iez_lov_object);
    if (bytes > room)
        return -ERANGE;
    struct iez_lov_plain plain = {
        .magic = has_pool ? IEZ_MAGIC_V3 : IEZ_MAGIC_V1,
        .pattern = part->pattern,
        .object_id = {inode, number},
        .stripe_size = part->stripe_size,
        .stripe_count = part->is_on_mdt ? 0 : part->stripe_count,
        .stripe_offset = (uint16_t)layout->generation,
    };
    if (!part->is_instantiated)
        plain.stripe_offset = part->start_ost;
    memcpy(wire, &plain, sizeof plain);
    if (has_pool)
        memcpy(wire + sizeof plain, part->pool, IEZ_POOL_NAME_BYTES);
    for (uint32_t k = 0; k < objects; k++) {
        struct iez_lov_object object = {.object_id = {inode, (uint64_t)number << 32 | k},
                                        .ost_index = part->osts[k]};
        memcpy(wire + head_bytes + k * sizeof object, &object, sizeof object);
    }
    return (long)bytes;
}

long loop_layout_wire(const struct loop_layout *layout, uint64_t inode, unsigned char *wire,
                      size_t room) {
    if (!layout->is_composite)
        return loop_component_wire(layout, 0, inode, wire, room);
    size_t end = sizeof(struct iez_lov_composite) + layout->count * sizeof(struct iez_lov_entry);
    if (end > room)
        return -ERANGE;
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct loop_component *part = &layout->parts[i];
        long bytes = loop_component_wire(layout, i, inode, wire + end, room - end);
        if (bytes < 0)
            return bytes;
        struct iez_lov_entry entry = {
            .id = i + 1,
            .flags = part->is_instantiated ? IEZ_COMPONENT_INSTANTIATED : 0,
            .extent_start = part->start,
            .extent_end = part->end,
            .offset = (uint32_t)end,
            .size = (uint32_t)bytes,
        };
        memcpy(wire + sizeof(struct iez_lov_composite) + i * sizeof entry, &entry, sizeof entry);
        end += (size_t)bytes;
    }
    struct iez_lov_composite composite = {
        .magic = IEZ_MAGIC_COMP,
        .size = (uint32_t)end,
        .generation = layout->generation,
        .entry_count = (uint16_t)layout->count,
    };
    memcpy(wire, &composite, sizeof composite);
    return (long)end;
}
