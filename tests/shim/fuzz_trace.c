/* Damages a trace file in many ways and merges what is left; built with -fsanitize=address,
 * undefined, it finds any access outside the file or the table. Each piece that is fed lies in a
 * block of its exact size.
 *
 * usage: fuzz_trace TRACE SEED COUNT
 * Prints how far the damaged files got, so that a test can see that the deep checks were reached.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "trace_merge.h"

static void damage(unsigned char *data, uint64_t bytes) {
    static const uint32_t odd[] = {0, 1, 7, 10, 0xffff, 0x7fffffff, 0xffffffff, IEZ_BLOCK_FILE};
    uint32_t value = chance(2) ? odd[chance(8)] : (uint32_t)chance(bytes);
    uint64_t cell = chance(bytes / IEZ_TRACE_CELL) * IEZ_TRACE_CELL;
    uint64_t size = chance(bytes < 512 ? bytes : 512);
    switch (chance(5)) {
    case 0: /* a bit */
        data[chance(bytes)] ^= (unsigned char)(1 << chance(8));
        break;
    case 1: /* a word */
        memcpy(data + chance(bytes / 4) * 4, &value, sizeof value);
        break;
    case 2: /* the kind or the length of a block */
        memcpy(data + cell + 4 * chance(2), &value, sizeof value);
        break;
    case 3: /* a half word, such as a length */
        memcpy(data + chance(bytes / 2) * 2, &value, 2);
        break;
    default: /* a piece of it elsewhere */
        memmove(data + chance(bytes - size), data + chance(bytes - size), size);
    }
}

/* Feeds the file in pieces, as iez_client/parse/merge.py does. */
static void feed(struct iez_merge *merge, const unsigned char *data, uint64_t bytes,
                 uint64_t piece) {
    uint64_t at = sizeof(struct iez_trace_header);
    iez_merge_begin(merge, (int32_t)chance(6) - 1, (uint32_t)chance(3), at, bytes);
    while (at < bytes) {
        uint64_t given = bytes - at < piece ? bytes - at : piece;
        void *copy = malloc(given);
        memcpy(copy, data + at, given);
        uint64_t step = iez_merge_feed(merge, copy, given);
        free(copy);
        if (step == 0)
            break;
        at += step;
    }
    iez_merge_end(merge, at + IEZ_TRACE_CELL > bytes);
}

static unsigned long find_all(const struct iez_merge *merge) {
    unsigned long found = 0;
    uint8_t *marks = calloc(merge->row_count + 1, 1);
    uint32_t folders[8];
    uint64_t count = merge->row_count < 8 ? merge->row_count : 8;
    for (uint64_t i = 0; i < count; i++)
        folders[i] = (uint32_t)chance(merge->row_count);
    iez_merge_below(merge, folders, count, marks);
    iez_merge_helpers(merge, marks);
    for (uint64_t i = 0; i < merge->row_count; i++) {
        const struct iez_row *row = &merge->rows[i];
        found += iez_merge_find(merge, merge->texts + row->path_at, row->path_bytes) != IEZ_NO_ROW;
        if (row->name_bytes && merge->texts[row->name_at + row->name_bytes] != 0)
            abort();
        if (row->layout_at + row->layout_bytes > merge->text_bytes)
            abort();
    }
    free(marks);
    return found;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    uint64_t bytes = begin(argv[1], argv[2], sizeof(struct iez_trace_header));
    unsigned long files = 0, damaged = 0, found = 0, events = 0;
    struct iez_merge *merge = iez_merge_new();
    for (unsigned long n = strtoul(argv[3], NULL, 10); n-- > 0;) {
        uint64_t kept = chance(8) ? bytes : sizeof(struct iez_trace_header) + chance(bytes);
        unsigned char *copy = malloc(kept = kept < bytes ? kept : bytes);
        memcpy(copy, original, kept);
        for (uint64_t times = 1 + chance(4); kept >= 64 && times-- > 0;)
            damage(copy, kept);
        feed(merge, copy, kept, chance(4) ? IEZ_MERGE_BLOCK_MAX : 64 + chance(2000));
        files += merge->part.files;
        damaged += merge->part.damaged_cells || merge->part.truncated || merge->part.lost_blocks;
        for (uint64_t at = sizeof(struct iez_trace_header); at < kept; at++, events++)
            if ((at = iez_trace_next(copy, kept, at, IEZ_BLOCK_EVENTS)) >= kept)
                break;
        free(copy);
        if (merge->row_count > 1 && chance(4) == 0) {
            uint32_t into = (uint32_t)chance(merge->row_count);
            uint32_t from = (uint32_t)chance(merge->row_count);
            if (into != from)
                iez_merge_join(merge, into, from);
        }
        if (chance(50) == 0) {
            found += find_all(merge);
            iez_merge_free(merge);
            merge = iez_merge_new();
        }
    }
    iez_merge_free(merge);
    printf("files %lu damaged %lu found %lu events %lu\n", files, damaged, found, events);
    return 0;
}
