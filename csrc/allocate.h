/* Puts whole stripes on OSTs so that the largest z of
 *     new bytes of an OST <= min(free, z * speed - offset)
 * is small: the lower bound, placements and their polishing (docs/allocator.md). Only in the cffi
 * module, not in the preloaded library: it allocates memory. iez_common/allocate/plain.py says the
 * same in numpy, and a test compares the two; so no result depends on how sums are rounded. */
#ifndef IEZ_ALLOCATE_H
#define IEZ_ALLOCATE_H

#include <stdint.h>

/* cffi: begin */
/* OSTs by position, the order that decides between equal ones. */
struct iez_targets {
    int64_t count;
    const int64_t *free_bytes;
    const double *speed;
    const double *offset;
};

/* Requests; each has `counts` stripes of `stripe_bytes`, on different OSTs. */
struct iez_stripes {
    int64_t count;
    const int64_t *stripe_bytes;
    const int64_t *counts;
};

/* The order in which requests are placed: largest stripes first (of more than 100,000 requests by
 * their 16 leading bits), then most stripes, then as given. 0, or -1 without memory. */
int iez_allocate_order(const struct iez_stripes *stripes, uint32_t *order);

/* The least z from `from` on, within a relative 1e-10, for which the necessary conditions hold when
 * stripes and room are counted in whole granules; `above` is a z for which they hold. 0; 1 if no z
 * will do; -1 without memory. */
int iez_allocate_bound(const struct iez_targets *targets, const struct iez_stripes *stripes,
                       int64_t granule_bytes, double from, double *bound, double *above);

/* The same, counting stripes instead of bytes: those of at least sums[0] bytes, of which the n
 * smallest ones of different requests take sums[n - 1] bytes together. */
int iez_allocate_bound_by_count(const struct iez_targets *targets,
                                const struct iez_stripes *stripes, const int64_t *sums,
                                int64_t sum_count, double from, double *bound, double *above);

/* Each request takes the OSTs with most room, counted in steps of 1/128 to 1/256 of its stripe, and
 * of equals the first positions. `room` comes in as what z leaves to each OST and `left` as its
 * free bytes; both go out less what was placed. A request's OSTs are in `picks` from its `starts`
 * on. The number of requests, or that of the first in order which found no space; -1 without
 * memory. */
int64_t iez_allocate_place(int64_t osts, const struct iez_stripes *stripes, const uint32_t *order,
                           int64_t *room, int64_t *left, int32_t *picks, int64_t *starts);

/* Each request takes the OSTs with least room that is enough, and of equals the first positions.
 * The number of requests, or that of the first in order which did not fit; -1 without memory. */
int64_t iez_allocate_fit(int64_t osts, const struct iez_stripes *stripes, const uint32_t *order,
                         const int64_t *room, int32_t *picks, int64_t *starts);

/* Lowers the OST with the largest z, by giving a stripe away or for a smaller one of another OST,
 * as long as that helps, the largest z is above `goal` and not more than `steps_max` pairs of
 * stripes were looked at. 0, or -1 without memory. */
int iez_allocate_polish(const struct iez_targets *targets, const struct iez_stripes *stripes,
                        const int64_t *starts, double goal, int64_t steps_max, int32_t *picks);
/* cffi: end */

#endif
