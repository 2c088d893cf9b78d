/* Lustre's own choice of OSTs for a new file: round robin, or by weighted chance (QOS) where free
 * space differs, as docs/lustre-interface.md tells it for release 2.17. Pure: space, time and
 * chance come in as arguments. iez_common/allocate/lustre_rr.py and lustre_qos.py say the same in
 * Python; a test holds the two together. */
#ifndef IEZ_LOOPFS_CHOOSE_H
#define IEZ_LOOPFS_CHOOSE_H

#include <stdbool.h>
#include <stdint.h>

/* A number in [0, below), below > 0. */
typedef uint64_t iez_draw(void *source, uint64_t below);

/* An OST as the MDS last saw it. Which OSTs there are, and whose, never changes. */
struct iez_mds_ost {
    uint32_t index;
    uint32_t server;
    uint64_t size_bytes;
    uint64_t available_bytes;
    uint32_t states; /* IEZ_OST_*; others do not hinder a create */
};

/* What a component asks for. */
struct iez_mds_wish {
    uint32_t pool_id;     /* round robin counts apart in each pool: 1, 2, …; 0: no pool */
    const uint16_t *pool; /* OST indices of that pool, each once */
    uint32_t pool_count;
    uint32_t stripe_count; /* cut to the active OSTs unless there is overstriping */
    bool is_all;           /* every OST, as far as possible */
    bool overstripe;
    int32_t start;          /* first OST of a run in index order; -1: none asked */
    const uint16_t *others; /* OSTs of the file's other components, which are left if possible */
    uint32_t other_count;
};

struct iez_mds;

/* Takes a copy of `osts` (sorted by index). NULL: no memory. `pool_count` pools may be named. */
struct iez_mds *iez_mds_new(const struct iez_mds_ost *osts, uint32_t count, uint32_t pool_count,
                            iez_draw *draw, void *source);
void iez_mds_free(struct iez_mds *mds);

/* A newer look at the same OSTs. */
void iez_mds_see(struct iez_mds *mds, const struct iez_mds_ost *osts);

/* Writes OST indices to `chosen`, up to `room` of them, and gives their number, which may be less
 * than was asked for. Else -ENOSPC, -EINVAL (a start or pool that is not there), or what a create
 * on the start alone is answered. The caller keeps calls apart. */
int iez_mds_choose(struct iez_mds *mds, const struct iez_mds_wish *wish, uint64_t now_s,
                   uint16_t *chosen, uint32_t room);

#endif
