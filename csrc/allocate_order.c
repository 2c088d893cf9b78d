#include "allocate.h"

#include <stdlib.h>

#define DIGIT_BITS 11
#define DIGITS     (1 << DIGIT_BITS)

struct keyed {
    uint64_t key;
    uint32_t request;
};

/* Sorts by one digit of the key; those with equal digits keep their order. */
static void sort_digit(const struct keyed *from, struct keyed *to, int64_t count, int shift) {
    uint32_t at[DIGITS] = {0};
    for (int64_t i = 0; i < count; i++) {
        at[from[i].key >> shift & (DIGITS - 1)]++;
    }
    uint32_t sum = 0;
    for (int digit = 0; digit < DIGITS; digit++) {
        uint32_t here = at[digit];
        at[digit] = sum;
        sum += here;
    }
    for (int64_t i = 0; i < count; i++) {
        to[at[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
    }
}

/* Sorts `items` by their keys, which are at most `largest`. */
static void sort_keys(struct keyed **items, struct keyed **spare, int64_t count, uint64_t largest) {
    for (int shift = 0; shift < 64 && largest >> shift != 0; shift += DIGIT_BITS) {
        sort_digit(*items, *spare, count, shift);
        struct keyed *sorted = *spare;
        *spare = *items;
        *items = sorted;
    }
}

static int64_t largest_of(const int64_t *values, int64_t count) {
    int64_t largest = 0;
    for (int64_t i = 0; i < count; i++) {
        largest = values[i] > largest ? values[i] : largest;
    }
    return largest;
}

int iez_allocate_order(const struct iez_stripes *stripes, uint32_t *order) {
    int64_t count = stripes->count;
    struct keyed *items = malloc(2 * (size_t)(count + 1) * sizeof *items);
    if (!items) {
        return -1;
    }
    struct keyed *memory = items;
    struct keyed *spare = items + count;
    int64_t most = largest_of(stripes->counts, count);
    int64_t largest = largest_of(stripes->stripe_bytes, count);
    for (int64_t i = 0; i < count; i++) {
        items[i] = (struct keyed){(uint64_t)(most - stripes->counts[i]), (uint32_t)i};
    }
    sort_keys(&items, &spare, count, (uint64_t)most);
    for (int64_t i = 0; i < count; i++) {
        items[i].key = (uint64_t)(largest - stripes->stripe_bytes[items[i].request]);
    }
    sort_keys(&items, &spare, count, (uint64_t)largest);
    for (int64_t i = 0; i < count; i++) {
        order[i] = items[i].request;
    }
    free(memory);
    return 0;
}
