#include "choose_state.h"

#define RESEED_FILES  2000
#define RESEED_ROUNDS 30
#define LAST_PASS     (IEZ_MDS_PASSES - 1)

void iez_mds_rank(struct iez_mds *mds, uint32_t server) {
    uint32_t count = ++mds->servers[server].osts;
    uint32_t at = 0;
    while (at < mds->server_count - 1 && mds->ranked[at] != server)
        at++;
    for (; at > 0 && mds->servers[mds->ranked[at - 1]].osts < count; at--)
        mds->ranked[at] = mds->ranked[at - 1];
    mds->ranked[at] = server;
}

/* Spreads the OSTs of each server evenly over the slots. In a pool, too, a server counts with all
 * the OSTs that it has. */
static void put_in_order(struct iez_mds *mds) {
    uint64_t slots = mds->list_count;
    for (uint64_t i = 0; i < slots; i++)
        mds->order[i] = NULL;
    for (uint32_t rank = 0; rank < mds->server_count; rank++) {
        uint32_t server = mds->ranked[rank];
        uint64_t nth = 0;
        for (uint64_t i = 0; i < slots; i++) {
            if (mds->list[i]->server != server)
                continue;
            uint64_t slot = nth++ * slots / mds->servers[server].osts;
            while (mds->order[slot])
                slot = (slot + 1) % slots;
            mds->order[slot] = mds->list[i];
        }
    }
}

static void move_start(struct iez_mds *mds, struct iez_mds_pool *pool, uint32_t wanted) {
    uint32_t slots = mds->list_count;
    if (--pool->countdown <= 0) {
        pool->start = mds->draw(mds->source, slots);
        pool->countdown = (int64_t)(RESEED_FILES / slots + RESEED_ROUNDS) * slots;
    } else if (pool->start >= slots) {
        pool->start -= slots;
        /* Where N mod n is 1 the start precesses by itself. */
        if (wanted > 1 && slots % wanted != 1)
            pool->offset++;
    }
}

/* Passes grow laxer. Objects are made on demand here, so no OST waits for want of one. */
static bool takes(const struct iez_mds_target *target, const struct iez_mds_file *file, int pass) {
    if (iez_mds_answer(target) || (target->is_taken && !file->overstripe))
        return false;
    if (pass < LAST_PASS && (target->states & IEZ_OST_DEGRADED))
        return false;
    return pass > 0 || !target->is_other;
}

void iez_mds_by_turns(struct iez_mds *mds, struct iez_mds_file *file) {
    struct iez_mds_pool *pool = &mds->pools[file->pool_id];
    uint32_t slots = mds->list_count;
    if (!slots)
        return;
    put_in_order(mds);
    move_start(mds, pool, file->wanted);
    uint64_t tries = iez_mds_tries(mds, file);
    for (int pass = 0; pass < IEZ_MDS_PASSES; pass++) {
        uint64_t at = 0;
        for (uint64_t tried = 0; tried < tries && file->found < file->wanted; tried++) {
            /* Of the last pass others see the first step only. */
            at = pass == LAST_PASS && tried ? at + 1 : ++pool->start;
            struct iez_mds_target *target = mds->order[(at + pool->offset) % slots];
            if (takes(target, file, pass))
                iez_mds_take(file, target);
        }
        if (file->found >= file->least)
            return;
    }
}
