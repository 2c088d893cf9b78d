#include "allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PRECISION 1e-12

/* What z leaves to an OST, in whole bytes. */
static int64_t room_under(const struct iez_targets *targets, int64_t ost, double z) {
    double room = floor(z * targets->speed[ost] - targets->offset[ost]);
    if (room <= 0) {
        return 0;
    }
    double most = (double)targets->free_bytes[ost];
    return room < most ? (int64_t)room : targets->free_bytes[ost];
}

static int ascending(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* What stripes and rooms are counted in. Any count is good for a lower bound in which a room counts
 * no less than all that fits into it together. */
struct yardstick {
    int64_t granule_bytes; /* whole ones of a stripe and of a room */
    /* Or else, where there are sums: stripes of at least the first sum, one each, and the most of
     * them that fit into a room, if they are the smallest and no two of one request. */
    const int64_t *sums;
    int64_t sum_count;
};

static inline int64_t units_of_stripe(const struct yardstick *yardstick, int64_t bytes) {
    return yardstick->sums ? bytes >= yardstick->sums[0] : bytes / yardstick->granule_bytes;
}

static inline int64_t units_of_room(const struct yardstick *yardstick, int64_t bytes) {
    if (!yardstick->sums) {
        return yardstick->granule_bytes == 1 ? bytes : bytes / yardstick->granule_bytes;
    }
    int64_t low = 0;
    for (int64_t high = yardstick->sum_count; low < high;) {
        int64_t middle = (low + high) / 2;
        if (yardstick->sums[middle] <= bytes) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* By how many units the tightest condition holds at z; below 0: it does not. `slope` is what all
 * OSTs together gain with z.
 *
 * Whole stripes on different OSTs can be placed only if, for every m, the count - m OSTs with least
 * room take what m OSTs alone cannot: need[m], the sum of what each request has beyond m stripes.
 */
static int64_t margin(const struct iez_targets *targets, const int64_t *need, double z,
                      const struct yardstick *yardstick, int64_t *rooms, double *slope) {
    int64_t count = targets->count;
    double speeds = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t room = room_under(targets, i, z);
        rooms[i] = units_of_room(yardstick, room);
        speeds += room < targets->free_bytes[i] ? targets->speed[i] : 0;
    }
    qsort(rooms, (size_t)count, sizeof *rooms, ascending);
    int64_t least = -need[count];
    int64_t sum = 0;
    for (int64_t taken = 1; taken <= count; taken++) {
        sum += rooms[taken - 1];
        int64_t here = sum - need[count - taken];
        least = here < least ? here : least;
    }
    *slope = yardstick->sums ? 0 : speeds / (double)yardstick->granule_bytes;
    return least;
}

/* need[m] for m = 0 … OSTs. */
static void sum_needs(const struct iez_stripes *stripes, const struct yardstick *yardstick,
                      int64_t osts, int64_t *need) {
    /* First the units of requests by their number of stripes, then two sums from the end. */
    memset(need, 0, (size_t)(osts + 1) * sizeof *need);
    for (int64_t i = 0; i < stripes->count; i++) {
        need[stripes->counts[i]] += units_of_stripe(yardstick, stripes->stripe_bytes[i]);
    }
    int64_t wider = 0; /* units of one stripe of each request with more than m stripes */
    int64_t sum = 0;
    for (int64_t m = osts; m >= 0; m--) {
        int64_t here = need[m];
        sum += wider;
        need[m] = sum;
        wider += here;
    }
}

/* Beyond this z no OST gains room. */
static double z_of_full(const struct iez_targets *targets) {
    double most = 0;
    for (int64_t i = 0; i < targets->count; i++) {
        double z = ((double)targets->free_bytes[i] + 1 + targets->offset[i]) / targets->speed[i];
        most = z > most ? z : most;
    }
    return most;
}

/* Narrows down the z at which the margin becomes 0: by Newton's steps, which find a straight piece
 * at once, and every other time by halving. */
static int search(const struct iez_targets *targets, const int64_t *need,
                  const struct yardstick *yardstick, double from, int64_t *rooms, double *bound,
                  double *above) {
    double slope;
    double z = from;
    int64_t here = margin(targets, need, z, yardstick, rooms, &slope);
    if (here >= 0) {
        *bound = *above = from;
        return 0;
    }
    double low = from;
    double high = z_of_full(targets);
    double unused;
    if (margin(targets, need, high, yardstick, rooms, &unused) < 0) {
        return 1;
    }
    for (int round = 0; high - low > high * PRECISION; round++) {
        double step = high * PRECISION;
        double next = slope > 0 ? z - (double)here / slope : low;
        if (here < 0 && next < low + step) {
            next = low + step;
        }
        if (here >= 0 && next > high - step) {
            next = high - step;
        }
        if (next <= low || next >= high || round % 3 == 2) {
            next = low + (high - low) / 2;
        }
        if (next <= low || next >= high) {
            break;
        }
        z = next;
        here = margin(targets, need, z, yardstick, rooms, &slope);
        if (here < 0) {
            low = z;
        } else {
            high = z;
        }
    }
    *bound = low;
    *above = high;
    return 0;
}

static int find_bound(const struct iez_targets *targets, const struct iez_stripes *stripes,
                      const struct yardstick *yardstick, double from, double *bound,
                      double *above) {
    size_t count = (size_t)targets->count;
    int64_t *memory = malloc((2 * count + 1) * sizeof *memory);
    if (!memory) {
        return -1;
    }
    int64_t *need = memory + count;
    sum_needs(stripes, yardstick, targets->count, need);
    int found = search(targets, need, yardstick, from, memory, bound, above);
    free(memory);
    return found;
}

int iez_allocate_bound(const struct iez_targets *targets, const struct iez_stripes *stripes,
                       int64_t granule_bytes, double from, double *bound, double *above) {
    struct yardstick yardstick = {granule_bytes, NULL, 0};
    return find_bound(targets, stripes, &yardstick, from, bound, above);
}

int iez_allocate_bound_by_count(const struct iez_targets *targets,
                                const struct iez_stripes *stripes, const int64_t *sums,
                                int64_t sum_count, double from, double *bound, double *above) {
    struct yardstick yardstick = {0, sums, sum_count};
    return find_bound(targets, stripes, &yardstick, from, bound, above);
}
