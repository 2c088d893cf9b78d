#include "trace_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "plan.h"

#define ROWS_MAX     0xfffffff0ULL
#define SLOTS_FIRST  1024
#define INLINE_SIZES 4
#define PAGE         4096
#define HUGE_BYTES   (4 << 20)

struct iez_merge *iez_merge_new(void) {
    struct iez_merge *merge = calloc(1, sizeof *merge);
    if (merge)
        merge->span_count = merge->wide_count = 1; /* number 0 is none */
    return merge;
}

void iez_merge_free(struct iez_merge *merge) {
    if (!merge)
        return;
    free(merge->rows);
    free(merge->texts);
    free(merge->spans);
    free(merge->wide);
    free(merge->slots);
    free(merge->row_of);
    free(merge->early);
    free(merge);
}

/* Large arrays are filled once from end to end: their page faults would take half the time. The
 * advice covers the whole mapping, malloc's own words before the array too: of a mapping in two
 * parts, realloc would have to make a copy. */
static void want_huge_pages(void *array, uint64_t bytes) {
    uintptr_t start = (uintptr_t)array & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = ((uintptr_t)array + bytes + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    if (bytes >= HUGE_BYTES)
        madvise((void *)start, end - start, MADV_HUGEPAGE);
}

int iez_table_grow(struct iez_merge *merge, void *array, uint64_t *room, uint64_t wanted,
                   uint64_t size) {
    if (wanted <= *room)
        return 1;
    uint64_t more = iez_max(wanted, *room + *room / 2 + 64);
    void *old, *grown = NULL;
    memcpy(&old, array, sizeof old);
    if (more <= SIZE_MAX / 2 / size)
        grown = realloc(old, more * size);
    if (!grown) {
        merge->out_of_memory = 1;
        return 0;
    }
    want_huge_pages(grown, more * size);
    memcpy(array, &grown, sizeof grown);
    merge->memory_bytes += (more - *room) * size;
    *room = more;
    return 1;
}

uint64_t iez_table_text(struct iez_merge *merge, const void *text, uint64_t bytes) {
    uint64_t at = merge->text_bytes;
    if (!iez_table_grow(merge, &merge->texts, &merge->text_room, at + bytes + 1, 1))
        return 0;
    memcpy(merge->texts + at, text, bytes);
    merge->texts[at + bytes] = 0;
    merge->text_bytes = at + bytes + 1;
    return at;
}

static int same_path(const struct iez_merge *merge, uint32_t row, const char *path,
                     uint64_t bytes) {
    const struct iez_row *known = &merge->rows[row];
    return known->path_bytes == bytes && memcmp(merge->texts + known->path_at, path, bytes) == 0;
}

/* The slot that holds the path, or the empty one where it belongs. */
static struct iez_row_slot *slot_of(const struct iez_merge *merge, uint32_t tag, const char *path,
                                    uint64_t bytes) {
    uint64_t mask = merge->slot_count - 1;
    for (uint64_t at = tag & mask;; at = (at + 1) & mask) {
        struct iez_row_slot *slot = &merge->slots[at];
        if (slot->row == 0 || (slot->tag == tag && same_path(merge, slot->row - 1, path, bytes)))
            return slot;
    }
}

static int grow_slots(struct iez_merge *merge) {
    if (merge->slot_used * 2 < merge->slot_count)
        return 1;
    uint64_t count = merge->slot_count ? merge->slot_count * 4 : SLOTS_FIRST;
    struct iez_row_slot *slots = calloc(count, sizeof *slots);
    if (!slots) {
        merge->out_of_memory = 1;
        return 0;
    }
    want_huge_pages(slots, count * sizeof *slots);
    for (uint64_t i = 0; i < merge->slot_count; i++) {
        struct iez_row_slot slot = merge->slots[i];
        uint64_t at = slot.tag & (count - 1);
        while (slot.row && slots[at].row)
            at = (at + 1) & (count - 1);
        if (slot.row)
            slots[at] = slot;
    }
    free(merge->slots);
    merge->memory_bytes += (count - merge->slot_count) * sizeof *slots;
    merge->slots = slots;
    merge->slot_count = count;
    return 1;
}

static uint32_t new_row(struct iez_merge *merge, const char *path, uint64_t bytes) {
    uint64_t number = merge->row_count;
    if (number >= ROWS_MAX ||
        !iez_table_grow(merge, &merge->rows, &merge->row_room, number + 1, sizeof *merge->rows)) {
        merge->out_of_memory = 1;
        return IEZ_NO_ROW;
    }
    uint64_t at = iez_table_text(merge, path, bytes);
    if (merge->out_of_memory)
        return IEZ_NO_ROW;
    merge->rows[number] = (struct iez_row){
        .path_at = at,
        .path_bytes = (uint32_t)bytes,
        .size_bytes = IEZ_SIZE_UNKNOWN,
        .created_rank = -1,
        .last_writer = IEZ_NO_ROW,
    };
    merge->row_count = number + 1;
    return (uint32_t)number;
}

uint32_t iez_table_row(struct iez_merge *merge, const char *path, uint64_t bytes, int own) {
    if (own)
        return new_row(merge, path, bytes);
    if (!grow_slots(merge))
        return IEZ_NO_ROW;
    uint32_t tag =
        path == merge->this_path.path ? merge->this_path.tag : (uint32_t)iez_hash(path, bytes);
    struct iez_row_slot *slot = slot_of(merge, tag, path, bytes);
    if (slot->row)
        return slot->row - 1;
    uint32_t row = new_row(merge, path, bytes);
    if (row != IEZ_NO_ROW) {
        *slot = (struct iez_row_slot){tag, row + 1};
        merge->slot_used++;
    }
    return row;
}

void iez_table_ahead(struct iez_merge *merge, const char *path, uint64_t bytes) {
    if (merge->slot_count == 0)
        return;
    merge->next_path = (struct iez_ahead){path, (uint32_t)iez_hash(path, bytes)};
    __builtin_prefetch(&merge->slots[merge->next_path.tag & (merge->slot_count - 1)]);
}

/* Moves the buckets of a row, which are too many or too large, to a place of their own. */
static void widen(struct iez_merge *merge, struct iez_row *row) {
    if (merge->wide_count >= ROWS_MAX ||
        !iez_table_grow(merge, &merge->wide, &merge->wide_room, merge->wide_count + 1,
                        sizeof *merge->wide)) {
        merge->out_of_memory = 1;
        return;
    }
    struct iez_wide *wide = &merge->wide[merge->wide_count];
    *wide = (struct iez_wide){0};
    row->wide = (uint32_t)merge->wide_count++;
    for (int i = 0; i < INLINE_SIZES; i++) {
        wide->sizes[row->size_buckets[i]] += row->size_counts[i];
        row->size_counts[i] = 0;
    }
}

void iez_table_add_size(struct iez_merge *merge, struct iez_row *row, uint32_t bucket,
                        uint64_t count) {
    for (int i = 0; i < INLINE_SIZES && !row->wide; i++) {
        if (row->size_counts[i] == 0)
            row->size_buckets[i] = (uint8_t)bucket;
        if (row->size_buckets[i] != bucket)
            continue;
        if (count > UINT32_MAX - row->size_counts[i])
            break;
        row->size_counts[i] += (uint32_t)count;
        return;
    }
    if (!row->wide)
        widen(merge, row);
    if (row->wide)
        merge->wide[row->wide].sizes[bucket] += count;
}

uint32_t iez_merge_find(const struct iez_merge *merge, const char *path, uint64_t bytes) {
    if (merge->slot_count == 0)
        return IEZ_NO_ROW;
    return slot_of(merge, (uint32_t)iez_hash(path, bytes), path, bytes)->row - 1;
}

static uint32_t new_span(struct iez_merge *merge, uint32_t low, uint32_t high, uint32_t next) {
    uint32_t number = merge->free_span;
    if (number) {
        merge->free_span = merge->spans[number].next;
    } else {
        if (merge->span_count >= ROWS_MAX ||
            !iez_table_grow(merge, &merge->spans, &merge->span_room, merge->span_count + 1,
                            sizeof *merge->spans)) {
            merge->out_of_memory = 1;
            return 0;
        }
        number = (uint32_t)merge->span_count++;
    }
    merge->spans[number] = (struct iez_span){low, high, next};
    return number;
}

/* Takes the spans behind `at` into it, as far as they touch it. */
static void absorb(struct iez_merge *merge, struct iez_ranks *ranks, uint32_t at) {
    struct iez_span *span = &merge->spans[at];
    while (span->next && merge->spans[span->next].low <= (uint64_t)span->high + 1) {
        uint32_t gone = span->next;
        if (merge->spans[gone].high > span->high)
            span->high = merge->spans[gone].high;
        span->next = merge->spans[gone].next;
        merge->spans[gone].next = merge->free_span;
        merge->free_span = gone;
    }
    if (span->next == 0)
        ranks->last = at;
}

void iez_table_add_rank(struct iez_merge *merge, struct iez_ranks *ranks, uint32_t low,
                        uint32_t high) {
    /* Files come by rising rank: mostly the place is at the end. */
    uint32_t before = ranks->last;
    if (before && merge->spans[before].low > low) {
        before = 0;
        for (uint32_t at = ranks->first; at && merge->spans[at].low <= low;
             at = merge->spans[at].next)
            before = at;
    }
    if (before && low <= (uint64_t)merge->spans[before].high + 1) {
        if (high > merge->spans[before].high)
            merge->spans[before].high = high;
        absorb(merge, ranks, before);
        return;
    }
    uint32_t made = new_span(merge, low, high, before ? merge->spans[before].next : ranks->first);
    if (!made)
        return;
    if (before)
        merge->spans[before].next = made;
    else
        ranks->first = made;
    absorb(merge, ranks, made);
}

int iez_merge_below(const struct iez_merge *merge, const uint32_t *folders, uint64_t count,
                    uint8_t *below) {
    uint64_t size = 16;
    while (size < count * 2)
        size *= 2;
    uint32_t *set = calloc(size, sizeof *set); /* row plus one, by hash */
    if (!set)
        return -1;
    for (uint64_t i = 0; i < count; i++) {
        const struct iez_row *row = &merge->rows[folders[i]];
        uint64_t at = iez_hash(merge->texts + row->path_at, row->path_bytes) & (size - 1);
        while (set[at])
            at = (at + 1) & (size - 1);
        set[at] = folders[i] + 1;
    }
    for (uint64_t i = 0; i < merge->row_count; i++) {
        const char *path = merge->texts + merge->rows[i].path_at;
        for (uint64_t n = 1; n < merge->rows[i].path_bytes && !below[i]; n++) {
            if (path[n] != '/')
                continue;
            uint64_t at = iez_hash(path, n) & (size - 1);
            for (; set[at] && !below[i]; at = (at + 1) & (size - 1))
                below[i] = (uint8_t)same_path(merge, set[at] - 1, path, n);
        }
    }
    free(set);
    return 0;
}

static int ends_with(const char *path, uint64_t bytes, const char *end) {
    uint64_t n = strlen(end);
    return bytes > n && memcmp(path + bytes - n, end, n) == 0;
}

/* The length of the path without a last `.N`. */
static uint64_t without_number(const char *path, uint64_t bytes) {
    uint64_t n = bytes;
    while (n > 0 && path[n - 1] >= '0' && path[n - 1] <= '9')
        n--;
    return n < bytes && n > 0 && path[n - 1] == '.' ? n - 1 : bytes;
}

void iez_merge_helpers(const struct iez_merge *merge, uint8_t *marked) {
    for (uint64_t i = 0; i < merge->row_count; i++) {
        const char *path = merge->texts + merge->rows[i].path_at;
        uint64_t bytes = merge->rows[i].path_bytes, n = without_number(path, bytes);
        if (n == bytes)
            marked[i] = ends_with(path, n, ".lockedfile") || ends_with(path, n, ".sm");
        else
            marked[i] = ends_with(path, n, ".locktest") || ends_with(path, n, "data") ||
                        ends_with(path, n, ".shfp") ||
                        ends_with(path, without_number(path, n), ".shfp");
    }
}
