#include "allocate.h"

#include <stdlib.h>

struct fit {
    int64_t room;
    int32_t ost;
};

static inline int is_tighter(const struct fit *a, const struct fit *b) {
    return a->room < b->room || (a->room == b->room && a->ost < b->ost);
}

static int by_room(const void *a, const void *b) {
    return is_tighter(a, b) ? -1 : 1;
}

/* The first that has room for the stripe. */
static int64_t first_fit(const struct fit *sorted, int64_t count, int64_t stripe_bytes) {
    int64_t low = 0;
    for (int64_t high = count; low < high;) {
        int64_t middle = (low + high) / 2;
        if (sorted[middle].room < stripe_bytes) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Merges the `taken` ones that stand behind `end` others into them; all are tighter than the rest.
 */
static void merge(struct fit *sorted, int64_t end, int64_t taken, struct fit *spare) {
    for (int64_t i = 0; i < taken; i++) {
        spare[i] = sorted[end + i];
    }
    for (int64_t to = end + taken; taken > 0;) {
        int behind = end > 0 && is_tighter(&spare[taken - 1], &sorted[end - 1]);
        sorted[--to] = behind ? sorted[--end] : spare[--taken];
    }
}

int64_t iez_allocate_fit(int64_t osts, const struct iez_stripes *stripes, const uint32_t *order,
                         const int64_t *room, int32_t *picks, int64_t *starts) {
    struct fit *sorted = malloc(2 * (size_t)(osts + 1) * sizeof *sorted);
    if (!sorted) {
        return -1;
    }
    for (int64_t ost = 0; ost < osts; ost++) {
        sorted[ost] = (struct fit){room[ost], (int32_t)ost};
    }
    qsort(sorted, (size_t)osts, sizeof *sorted, by_room);
    int64_t written = 0;
    int64_t done = 0;
    for (; done < stripes->count; done++) {
        uint32_t request = order[done];
        int64_t count = stripes->counts[request];
        int64_t first = first_fit(sorted, osts, stripes->stripe_bytes[request]);
        if (osts - first < count) {
            break;
        }
        starts[request] = written;
        for (int64_t i = first; i < first + count; i++) {
            sorted[i].room -= stripes->stripe_bytes[request];
            picks[written++] = sorted[i].ost;
        }
        merge(sorted, first, count, sorted + osts);
    }
    free(sorted);
    return done;
}
