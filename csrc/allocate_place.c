#include "allocate.h"

#include <stdlib.h>
#include <string.h>

#define AHEAD 12

/* The OSTs by what room they have, in steps of 1/128 to 1/256 of the stripe at hand: a calendar
 * with one bucket a step, in which an OST is a bit at its position. OSTs that differ by less than a
 * step are levelled by the smaller stripes to come, and finer steps would cost time for nothing.
 *
 * Stripes come largest first, so an OST that is taken mostly goes back into a bucket not far below.
 * The calendar goes round: it holds the BUCKETS steps from its ceiling down. OSTs with less room
 * wait in a sorted list, and those with less space than the stripe stand aside. */
#define STEP_BITS 8
#define BUCKETS   512

struct calendar {
    int64_t osts;
    int64_t words;               /* of a bucket's bits */
    int group_shift;             /* words to a bit of `filled`, as a power of two */
    int shift;                   /* of room to its step */
    int64_t ceiling;             /* no OST has more room, in steps */
    int64_t inside;              /* OSTs in the calendar */
    uint64_t *bits;              /* BUCKETS x words */
    uint64_t *filled;            /* of each bucket, which groups of words have a bit */
    uint64_t used[BUCKETS / 64]; /* a bit for each bucket that has one */
    int64_t *room;               /* of each OST, what is left */
    int64_t *beyond;             /* and its free bytes besides */
    int32_t *list;               /* OSTs that wait, most room first */
    int64_t list_at, list_end;
    int32_t *aside; /* OSTs without space for the stripe */
    int64_t aside_count;
    int64_t aside_bytes; /* the most that one of them has free; -1: there is none */
};

static inline int64_t left_of(const struct calendar *calendar, int64_t ost) {
    return calendar->room[ost] + calendar->beyond[ost];
}

static inline int64_t step_of(const struct calendar *calendar, int64_t ost) {
    return calendar->room[ost] >> calendar->shift;
}

static inline void enter(struct calendar *calendar, int64_t ost, int64_t step) {
    int64_t bucket = step & (BUCKETS - 1);
    calendar->bits[bucket * calendar->words + ost / 64] |= 1ULL << ost % 64;
    calendar->filled[bucket] |= 1ULL << (ost / 64 >> calendar->group_shift);
    calendar->used[bucket / 64] |= 1ULL << bucket % 64;
    calendar->inside++;
}

/* Before the first of the list that has less room, or as much and a later position. */
static void wait_again(struct calendar *calendar, int32_t ost, int64_t step) {
    int32_t *list = calendar->list;
    int64_t low = calendar->list_at;
    for (int64_t high = calendar->list_end; low < high;) {
        int64_t middle = (low + high) / 2;
        int64_t other = step_of(calendar, list[middle]);
        if (other > step || (other == step && list[middle] < ost)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    int64_t at = --calendar->list_at;
    memmove(list + at, list + at + 1, (size_t)(low - at - 1) * sizeof *list);
    list[low - 1] = ost;
}

static inline void stand_aside(struct calendar *calendar, int64_t ost) {
    calendar->aside[calendar->aside_count++] = (int32_t)ost;
    if (left_of(calendar, ost) > calendar->aside_bytes) {
        calendar->aside_bytes = left_of(calendar, ost);
    }
}

struct waiting {
    int64_t step;
    int32_t ost;
};

static int by_step(const void *a, const void *b) {
    const struct waiting *left = a;
    const struct waiting *right = b;
    if (left->step != right->step) {
        return left->step > right->step ? -1 : 1;
    }
    return left->ost < right->ost ? -1 : 1;
}

/* Empties the calendar; every OST with space for such a stripe waits. */
static void begin_steps(struct calendar *calendar, int shift, int64_t stripe_bytes,
                        struct waiting *spare) {
    size_t bits = (size_t)(BUCKETS * calendar->words);
    memset(calendar->bits, 0, bits * sizeof *calendar->bits);
    memset(calendar->filled, 0, BUCKETS * sizeof *calendar->filled);
    memset(calendar->used, 0, sizeof calendar->used);
    calendar->inside = 0;
    calendar->shift = shift;
    calendar->aside_count = 0;
    calendar->aside_bytes = -1;
    int64_t count = 0;
    for (int64_t ost = 0; ost < calendar->osts; ost++) {
        if (left_of(calendar, ost) >= stripe_bytes) {
            spare[count++] = (struct waiting){step_of(calendar, ost), (int32_t)ost};
        } else {
            stand_aside(calendar, ost);
        }
    }
    qsort(spare, (size_t)count, sizeof *spare, by_step);
    /* At the end of the list's memory: others may come before them later. */
    calendar->list_end = calendar->osts;
    calendar->list_at = calendar->osts - count;
    for (int64_t i = 0; i < count; i++) {
        calendar->list[calendar->list_at + i] = spare[i].ost;
    }
    calendar->ceiling = count ? spare[0].step : 0;
}

/* Those that have space for a smaller stripe come back; 0 if one has too much room for that. */
static int come_back(struct calendar *calendar, int64_t stripe_bytes) {
    int64_t count = calendar->aside_count;
    calendar->aside_count = 0;
    calendar->aside_bytes = -1;
    for (int64_t i = 0; i < count; i++) {
        int32_t ost = calendar->aside[i];
        int64_t step = step_of(calendar, ost);
        if (left_of(calendar, ost) < stripe_bytes) {
            stand_aside(calendar, ost);
        } else if (step > calendar->ceiling) {
            return 0;
        } else if (step > calendar->ceiling - BUCKETS) {
            enter(calendar, ost, step);
        } else {
            wait_again(calendar, ost, step);
        }
    }
    return 1;
}

/* Those that wait for this step come in. */
static inline void let_in(struct calendar *calendar, int64_t step) {
    while (calendar->list_at < calendar->list_end) {
        int32_t ost = calendar->list[calendar->list_at];
        if (step_of(calendar, ost) < step) {
            return;
        }
        enter(calendar, ost, step);
        calendar->list_at++;
    }
}

/* Takes up to `most` OSTs out of a word of bits, the first positions first; how many. Those without
 * space leave it too, but are not counted. */
static inline int64_t take_of_word(struct calendar *calendar, uint64_t *bits, int64_t first,
                                   int64_t stripe_bytes, int64_t most, int32_t *picks) {
    const int64_t *room = calendar->room;
    const int64_t *beyond = calendar->beyond;
    uint64_t rest = *bits;
    int64_t taken = 0;
    while (rest && taken < most) {
        int64_t ost = first + __builtin_ctzll(rest);
        rest &= rest - 1;
        if (room[ost] + beyond[ost] >= stripe_bytes) {
            picks[taken++] = (int32_t)ost;
        } else {
            stand_aside(calendar, ost);
        }
    }
    calendar->inside -= __builtin_popcountll(*bits ^ rest);
    *bits = rest;
    return taken;
}

/* The same of a bucket. */
static inline int64_t take(struct calendar *calendar, int64_t step, int64_t stripe_bytes,
                           int64_t most, int32_t *picks) {
    int64_t bucket = step & (BUCKETS - 1);
    uint64_t *bits = calendar->bits + bucket * calendar->words;
    int64_t taken = 0;
    while (calendar->filled[bucket] && taken < most) {
        int64_t group = __builtin_ctzll(calendar->filled[bucket]);
        int64_t end = (group + 1) << calendar->group_shift;
        uint64_t left = 0;
        for (int64_t word = group << calendar->group_shift; word < end && word < calendar->words;
             word++) {
            taken += take_of_word(calendar, bits + word, word * 64, stripe_bytes, most - taken,
                                  picks + taken);
            left |= bits[word];
        }
        if (!left) {
            calendar->filled[bucket] &= calendar->filled[bucket] - 1;
        }
    }
    if (!calendar->filled[bucket]) {
        calendar->used[bucket / 64] &= ~(1ULL << bucket % 64);
    }
    return taken;
}

/* Lets those that are left in a bucket wait again, before all others. */
static void let_out(struct calendar *calendar, int64_t step) {
    int64_t bucket = step & (BUCKETS - 1);
    uint64_t *bits = calendar->bits + bucket * calendar->words;
    for (int64_t word = calendar->words - 1; word >= 0; word--) {
        while (bits[word]) {
            int bit = 63 - __builtin_clzll(bits[word]);
            bits[word] ^= 1ULL << bit;
            calendar->list[--calendar->list_at] = (int32_t)(word * 64 + bit);
            calendar->inside--;
        }
    }
    calendar->filled[bucket] = 0;
    calendar->used[bucket / 64] &= ~(1ULL << bucket % 64);
}

/* The highest step of an OST in the calendar, which has one; none is above `step`. */
static inline int64_t first_used(const struct calendar *calendar, int64_t step) {
    int64_t bucket = step & (BUCKETS - 1);
    int64_t word = bucket / 64;
    uint64_t bits = calendar->used[word] & ~0ULL >> (63 - bucket % 64);
    while (!bits) {
        word = (word - 1) & (BUCKETS / 64 - 1);
        bits = calendar->used[word];
    }
    int64_t found = word * 64 + 63 - __builtin_clzll(bits);
    return step - ((bucket - found) & (BUCKETS - 1));
}

/* Gives a request its OSTs; 0 where too few have space. */
static int serve(struct calendar *calendar, int64_t stripe_bytes, int64_t count, int32_t *picks) {
    int64_t taken = 0;
    int64_t step = calendar->ceiling;
    for (;;) {
        int is_waited_for = calendar->list_at < calendar->list_end;
        if (!calendar->inside && !is_waited_for) {
            return 0;
        }
        int64_t next = is_waited_for ? step_of(calendar, calendar->list[calendar->list_at]) : 0;
        step = calendar->inside ? first_used(calendar, step) : next;
        if (is_waited_for && next > step) {
            step = next;
        }
        let_in(calendar, step);
        taken += take(calendar, step, stripe_bytes, count - taken, picks + taken);
        if (taken == count) {
            break;
        }
    }
    /* All above `step` have been taken, and come back at most a step higher than the first does,
     * which had most room. */
    int64_t highest = ((calendar->room[picks[0]] - stripe_bytes) >> calendar->shift) + 1;
    int64_t ceiling = highest > step ? highest : step;
    calendar->ceiling = ceiling;
    if (step <= ceiling - BUCKETS) {
        let_out(calendar, step);
    }
    int64_t *room = calendar->room;
    int shift = calendar->shift;
    for (int64_t i = 0; i < count; i++) {
        int32_t ost = picks[i];
        room[ost] -= stripe_bytes;
        int64_t back = room[ost] >> shift;
        if (back > ceiling - BUCKETS) {
            enter(calendar, ost, back);
        } else {
            wait_again(calendar, ost, back);
        }
    }
    return 1;
}

static inline int shift_for(int64_t stripe_bytes) {
    int bits = stripe_bytes ? 64 - __builtin_clzll((uint64_t)stripe_bytes) : 0;
    return bits > STEP_BITS ? bits - STEP_BITS : 0;
}

/* Serves the requests in order; how many were. Their picks are written one behind the other, not
 * where the request stands among the others: with millions, half of the time would go into waiting
 * for memory. */
static int64_t serve_all(struct calendar *calendar, const struct iez_stripes *stripes,
                         const uint32_t *order, struct waiting *spare, int32_t *picks,
                         int64_t *starts) {
    int64_t written = 0;
    for (int64_t done = 0; done < stripes->count; done++) {
        uint32_t request = order[done];
        if (done + AHEAD < stripes->count) {
            uint32_t ahead = order[done + AHEAD];
            __builtin_prefetch(&stripes->stripe_bytes[ahead]);
            __builtin_prefetch(&stripes->counts[ahead]);
            __builtin_prefetch(&starts[ahead], 1);
        }
        int64_t stripe_bytes = stripes->stripe_bytes[request];
        int shift = shift_for(stripe_bytes);
        if (shift != calendar->shift ||
            (stripe_bytes <= calendar->aside_bytes && !come_back(calendar, stripe_bytes))) {
            begin_steps(calendar, shift, stripe_bytes, spare);
        }
        if (!serve(calendar, stripe_bytes, stripes->counts[request], picks + written)) {
            return done;
        }
        starts[request] = written;
        written += stripes->counts[request];
    }
    return stripes->count;
}

int64_t iez_allocate_place(int64_t osts, const struct iez_stripes *stripes, const uint32_t *order,
                           int64_t *room, int64_t *left, int32_t *picks, int64_t *starts) {
    int64_t words = (osts + 63) / 64;
    uint64_t *bits = malloc((size_t)(BUCKETS * (words + 1)) * sizeof *bits);
    int32_t *list = malloc((size_t)(2 * osts + 1) * sizeof *list);
    struct waiting *spare = malloc((size_t)(osts + 1) * sizeof *spare);
    int64_t done = -1;
    if (bits && list && spare) {
        struct calendar calendar = {
            .osts = osts,
            .words = words,
            .shift = -1,
            .bits = bits,
            .filled = bits + BUCKETS * words,
            .room = room,
            .beyond = left,
            .list = list,
            .aside = list + osts,
        };
        while (words > 64LL << calendar.group_shift) {
            calendar.group_shift++;
        }
        for (int64_t ost = 0; ost < osts; ost++) {
            left[ost] -= room[ost];
        }
        done = serve_all(&calendar, stripes, order, spare, picks, starts);
        for (int64_t ost = 0; ost < osts; ost++) {
            left[ost] += room[ost];
        }
    }
    free(bits);
    free(list);
    free(spare);
    return done;
}
