/* Gives the allocator's kernel instances by chance; built with -fsanitize=address,undefined, it
 * finds any access outside of what belongs to it: every array lies in a block of its exact size.
 *
 * usage: fuzz_allocate SEED COUNT
 * Prints how often each function came to an answer. Ends with 1 if one is wrong.
 */
#include <string.h>

#include "allocate.h"
#include "fuzz.h"

static int64_t bounds, placed, fitted;

static void *block(int64_t count, size_t size) {
    return malloc((size_t)count * size);
}

static int64_t size_by_chance(int kind) {
    switch (kind) {
    case 0:
        return 1 << 20;
    case 1:
        return (int64_t)chance(4);
    case 2:
        return (int64_t)(1ULL << chance(45)) - (int64_t)chance(2);
    default:
        return (int64_t)chance(1ULL << (1 + chance(45)));
    }
}

/* Whether each request is on different OSTs that there are. */
static int is_whole(int64_t osts, const struct iez_stripes *stripes, const int32_t *picks,
                    const int64_t *starts) {
    unsigned char *on = block(osts, 1);
    int whole = 1;
    for (int64_t i = 0; i < stripes->count; i++) {
        memset(on, 0, (size_t)osts);
        for (int64_t at = starts[i]; at < starts[i] + stripes->counts[i]; at++) {
            whole = whole && picks[at] >= 0 && picks[at] < osts && !on[picks[at]]++;
        }
    }
    free(on);
    return whole;
}

static void try_bounds(const struct iez_targets *targets, const struct iez_stripes *stripes) {
    double low, high;
    bounds += iez_allocate_bound(targets, stripes, 1, 0, &low, &high) == 0;
    int64_t granule = 1 + size_by_chance(3);
    bounds += iez_allocate_bound(targets, stripes, granule, 0, &low, &high) == 0;
    int64_t *sums = block(stripes->count, sizeof *sums);
    for (int64_t i = 0; i < stripes->count; i++) {
        sums[i] = (i ? sums[i - 1] : 0) + 1 + (int64_t)chance(1 << 20);
    }
    bounds +=
        iez_allocate_bound_by_count(targets, stripes, sums, stripes->count, 0, &low, &high) == 0;
    free(sums);
}

static int try_places(const struct iez_targets *targets, const struct iez_stripes *stripes,
                      int64_t stripe_count) {
    int64_t osts = targets->count;
    uint32_t *order = block(stripes->count, sizeof *order);
    int64_t *room = block(osts, sizeof *room);
    int64_t *left = block(osts, sizeof *left);
    int32_t *picks = block(stripe_count, sizeof *picks);
    int64_t *starts = block(stripes->count, sizeof *starts);
    int right = iez_allocate_order(stripes, order) == 0;
    int64_t apart = 1LL << chance(50);
    for (int64_t i = 0; i < osts; i++) {
        left[i] = targets->free_bytes[i];
        room[i] = (int64_t)chance((uint64_t)apart) - (chance(4) ? 0 : apart);
    }
    if (iez_allocate_fit(osts, stripes, order, room, picks, starts) == stripes->count) {
        right = right && is_whole(osts, stripes, picks, starts);
        fitted++;
    }
    if (iez_allocate_place(osts, stripes, order, room, left, picks, starts) == stripes->count) {
        right = right && is_whole(osts, stripes, picks, starts);
        right = right && iez_allocate_polish(targets, stripes, starts, 0, 20000, picks) == 0;
        right = right && is_whole(osts, stripes, picks, starts);
        placed++;
    }
    free(order);
    free(room);
    free(left);
    free(picks);
    free(starts);
    return right;
}

static int try_one(void) {
    int64_t osts = 1 + (int64_t)chance(chance(8) ? 140 : 4400);
    int64_t count = 1 + (int64_t)chance(12);
    int64_t *free_bytes = block(osts, sizeof *free_bytes);
    double *speed = block(osts, sizeof *speed);
    double *offset = block(osts, sizeof *offset);
    int64_t *bytes = block(count, sizeof *bytes);
    int64_t *counts = block(count, sizeof *counts);
    int space = 20 + (int)chance(28); /* all OSTs together stay below 2^61 */
    for (int64_t i = 0; i < osts; i++) {
        free_bytes[i] = (int64_t)chance(1ULL << space);
        speed[i] = 0.1 + (double)chance(100);
        offset[i] = (double)chance(1ULL << space);
    }
    int kind = (int)chance(4);
    int64_t widest = osts < 2000 ? osts : 2000;
    int64_t stripe_count = 0;
    for (int64_t i = 0; i < count; i++) {
        bytes[i] = size_by_chance(kind);
        counts[i] = chance(4) ? 1 + (int64_t)chance((uint64_t)widest) : widest;
        stripe_count += counts[i];
    }
    struct iez_targets targets = {osts, free_bytes, speed, offset};
    struct iez_stripes stripes = {count, bytes, counts};
    try_bounds(&targets, &stripes);
    int right = try_places(&targets, &stripes, stripe_count);
    free(free_bytes);
    free(speed);
    free(offset);
    free(bytes);
    free(counts);
    return right;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    state = strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15ULL + 1;
    for (int64_t i = strtoll(argv[2], NULL, 10); i > 0; i--) {
        if (!try_one()) {
            fprintf(stderr, "a request has an OST twice, or one that is not there\n");
            return 1;
        }
    }
    printf("bounds %lld placed %lld fitted %lld\n", (long long)bounds, (long long)placed,
           (long long)fitted);
    return 0;
}
