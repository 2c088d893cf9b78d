#include "allocate.h"

#include <stdlib.h>
#include <string.h>

#define PRECISION   1e-10
#define FIRST_SHARE 1e-3

/* What z leaves to an OST, in whole bytes. */
static inline int64_t room_under(const struct iez_targets *targets, int64_t ost, double z) {
    double room = z * targets->speed[ost] - targets->offset[ost];
    if (room < 1) {
        return 0;
    }
    return room < (double)targets->free_bytes[ost] ? (int64_t)room : targets->free_bytes[ost];
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

/* An OST's room in units. The list of them stays sorted from one z to the next, so that most are in
 * their place already. */
struct room {
    int64_t units;
    int64_t ost;
};

static int by_units(const void *a, const void *b) {
    const struct room *left = a;
    const struct room *right = b;
    return (left->units > right->units) - (left->units < right->units);
}

static void sort_rooms(struct room *rooms, int64_t count) {
    int64_t moves = 0;
    for (int64_t i = 1; i < count; i++) {
        struct room room = rooms[i];
        int64_t at = i;
        for (; at > 0 && rooms[at - 1].units > room.units; at--) {
            rooms[at] = rooms[at - 1];
        }
        rooms[at] = room;
        moves += i - at;
        if (moves > 8 * count) {
            qsort(rooms, (size_t)count, sizeof *rooms, by_units);
            return;
        }
    }
}

/* By how many units the tightest condition holds at z; below 0: it does not. `slope` is what it
 * gains with z, where units are so small that it does so steadily; else 0.
 *
 * Whole stripes on different OSTs can be placed only if, for every m, the count - m OSTs with least
 * room take what m OSTs alone cannot: need[m], the sum of what each request has beyond m stripes.
 */
static int64_t margin(const struct iez_targets *targets, const int64_t *need, double z,
                      const struct yardstick *yardstick, struct room *rooms, double *slope) {
    int64_t count = targets->count;
    for (int64_t i = 0; i < count; i++) {
        rooms[i].units = units_of_room(yardstick, room_under(targets, rooms[i].ost, z));
    }
    sort_rooms(rooms, count);
    int64_t least = -need[count];
    int64_t limit = -1; /* units of the roomiest OST in the tightest condition */
    int64_t sum = 0;
    for (int64_t taken = 1; taken <= count; taken++) {
        sum += rooms[taken - 1].units;
        int64_t here = sum - need[count - taken];
        if (here < least) {
            least = here;
            limit = rooms[taken - 1].units;
        }
    }
    *slope = 0;
    for (int64_t ost = 0; yardstick->granule_bytes == 1 && ost < count; ost++) {
        int64_t room = room_under(targets, ost, z);
        if (room < targets->free_bytes[ost] && room <= limit) {
            *slope += targets->speed[ost];
        }
    }
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
    return most * (1 + 1e-15); /* as z * speed may come out a little lower */
}

/* The z above `low` at which the first OST gains a granule; below 0 if none does. */
static double next_granule(const struct iez_targets *targets, int64_t granule_bytes, double low) {
    double least = -1;
    for (int64_t ost = 0; ost < targets->count; ost++) {
        int64_t bytes = (room_under(targets, ost, low) / granule_bytes + 1) * granule_bytes;
        double z = ((double)bytes + targets->offset[ost]) / targets->speed[ost];
        if (bytes <= targets->free_bytes[ost] && (least < 0 || z < least)) {
            least = z;
        }
    }
    return least;
}

/* A z for which the margin is not negative: near `low` if there is one; below 0 if there is none.
 */
static double find_high(const struct iez_targets *targets, const int64_t *need,
                        const struct yardstick *yardstick, struct room *rooms, double *low) {
    double full = z_of_full(targets);
    double unused;
    if (yardstick->granule_bytes > 1) {
        /* Equal OSTs gain it all at once, and then nothing is left to search for. */
        double next = next_granule(targets, yardstick->granule_bytes, *low);
        double below = next * (1 - PRECISION / 4);
        double above = next * (1 + PRECISION / 4);
        if (below > *low && margin(targets, need, below, yardstick, rooms, &unused) < 0) {
            *low = below;
            if (above < full && margin(targets, need, above, yardstick, rooms, &unused) >= 0) {
                return above;
            }
        }
    }
    for (double share = FIRST_SHARE; *low > 0 && share < 1; share *= 8) {
        double z = *low * (1 + share);
        if (z < full) {
            if (margin(targets, need, z, yardstick, rooms, &unused) >= 0) {
                return z;
            }
            *low = z;
        }
    }
    return margin(targets, need, full, yardstick, rooms, &unused) >= 0 ? full : -1;
}

/* Narrows down the z at which the margin becomes 0: by Newton's steps, which find a straight piece
 * at once, and by halving where these get on too slowly. */
static int search(const struct iez_targets *targets, const int64_t *need,
                  const struct yardstick *yardstick, double from, struct room *rooms, double *bound,
                  double *above) {
    double slope;
    double z = from;
    int64_t here = margin(targets, need, z, yardstick, rooms, &slope);
    if (here >= 0) {
        *bound = *above = from;
        return 0;
    }
    double low = from;
    double high = find_high(targets, need, yardstick, rooms, &low);
    if (high < 0) {
        return 1;
    }
    for (int is_quick = 1; high - low > high * PRECISION;) {
        double width = high - low;
        double step = high * PRECISION;
        double next = slope > 0 ? z - (double)here / slope : low;
        if (here < 0 && next < low + step) {
            next = low + step;
        }
        if (here >= 0 && next > high - step) {
            next = high - step;
        }
        if (slope == 0 || next <= low || next >= high || !is_quick) {
            next = low + width / 2;
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
        is_quick = high - low <= width / 2;
    }
    *bound = low;
    *above = high;
    return 0;
}

static int find_bound(const struct iez_targets *targets, const struct iez_stripes *stripes,
                      const struct yardstick *yardstick, double from, double *bound,
                      double *above) {
    size_t count = (size_t)targets->count;
    int64_t *need = malloc((count + 1) * sizeof *need);
    struct room *rooms = malloc((count + 1) * sizeof *rooms);
    int found = -1;
    if (need && rooms) {
        for (int64_t ost = 0; ost < targets->count; ost++) {
            rooms[ost].ost = ost;
        }
        sum_needs(stripes, yardstick, targets->count, need);
        found = search(targets, need, yardstick, from, rooms, bound, above);
    }
    free(need);
    free(rooms);
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
