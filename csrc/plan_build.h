/* The parts of making a plan that must agree with reading it, or be fast. Only in the cffi module,
 * not in the preloaded library. */
#ifndef IEZ_PLAN_BUILD_H
#define IEZ_PLAN_BUILD_H

#include "plan.h"

/* cffi: begin */
/* Enters `n` paths into an all-zero hash table of `slot_count` > n slots, whole buckets. Path i is
 * the text at text_refs[i] of `texts`, its layout layout_refs[i]. Gives n, or the number of the
 * first path whose hash is taken already. */
uint64_t iez_build_slots(struct iez_slot *slots, uint64_t slot_count, const unsigned char *texts,
                         const uint32_t *text_refs, const uint32_t *layout_refs, uint64_t n);

/* Enters all paths of the hash table into an all-zero filter; a byte a path serves well. */
void iez_build_filter(uint64_t *words, uint64_t word_count, const struct iez_slot *slots,
                      uint64_t slot_count);

/* Checks the layout of every exact path against the live OSTs of the file system it lies on. Gives
 * -1 if all is well, -2 for a damaged plan, else the unknown OST, with its path's text in `text`.
 */
long iez_build_unknown_ost(const struct iez_plan *plan, uint32_t *text);
/* cffi: end */

#endif
