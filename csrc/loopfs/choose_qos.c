#include "choose_state.h"

#define WEIGHT    (256 - 230) /* of 256: what free space leaves to the rest (qos_prio_free) */
#define THRESHOLD 43          /* of 256: 17 % (qos_threshold_rr) */
#define MAXAGE_S  5           /* qos_maxage */
#define AGE_S     8           /* ages count in steps of 8 s, and are compared with MAXAGE_S */

static uint64_t less(uint64_t a, uint64_t b) {
    return a > b ? a - b : 0;
}

static uint64_t aged(uint64_t penalty, uint64_t used_s, uint64_t now_s) {
    uint64_t age = less(now_s, used_s) / AGE_S;
    if (age > 32 * MAXAGE_S)
        return 0;
    return age > MAXAGE_S ? penalty >> age / MAXAGE_S : penalty;
}

static bool is_counted(const struct iez_mds_target *target) {
    return iez_mds_is_active(target) && target->space > 0;
}

/* Whether the listed OSTs are within 17 % of each other. */
static bool has_same_space(const struct iez_mds *mds) {
    uint64_t most = 0, least = UINT64_MAX;
    for (uint32_t i = 0; i < mds->list_count; i++) {
        if (!is_counted(mds->list[i]))
            continue;
        uint64_t space = mds->list[i]->space;
        most = space > most ? space : most;
        least = space < least ? space : least;
    }
    return most && most * (256 - THRESHOLD) / 256 < least;
}

static void charge_targets(struct iez_mds *mds, uint64_t parts, uint64_t times, uint64_t now_s) {
    for (uint32_t i = 0; i < mds->list_count; i++) {
        struct iez_mds_target *target = mds->list[i];
        if (!is_counted(target))
            continue;
        target->per_object = WEIGHT * target->space / 512 / parts * times;
        target->penalty = aged(target->penalty, target->used_s, now_s);
    }
}

static void charge_servers(struct iez_mds *mds, uint64_t now_s) {
    uint64_t others = mds->space_servers > 1 ? mds->space_servers - 1 : 1;
    for (uint32_t i = 0; i < mds->server_count; i++) {
        struct iez_mds_server *server = &mds->servers[i];
        server->per_object = WEIGHT * server->space / 256 / (server->osts * others) / 2;
        server->penalty = aged(server->penalty, server->used_s, now_s);
    }
}

static void sum_servers(struct iez_mds *mds) {
    for (uint32_t i = 0; i < mds->server_count; i++)
        mds->servers[i].space = 0;
    for (uint32_t i = 0; i < mds->count; i++)
        if (is_counted(&mds->targets[i]))
            mds->servers[mds->targets[i].server].space += mds->targets[i].space;
    mds->space_servers = 0;
    for (uint32_t i = 0; i < mds->server_count; i++)
        mds->space_servers += mds->servers[i].space > 0;
}

/* After a time of equal space penalties start from nothing. */
static void forget(struct iez_mds *mds) {
    for (uint32_t i = 0; i < mds->count; i++)
        if (is_counted(&mds->targets[i]))
            mds->targets[i].penalty = 0;
    for (uint32_t i = 0; i < mds->server_count; i++)
        mds->servers[i].penalty = 0;
}

/* Whether QOS applies to a file of no pool. */
static bool applies(struct iez_mds *mds, uint64_t now_s) {
    struct iez_mds_pool *all = &mds->pools[0];
    if (mds->active < 2)
        return false;
    if (mds->is_dirty) {
        if (mds->is_reset)
            forget(mds);
        sum_servers(mds);
        /* A single server cannot be penalised against another, so its OSTs are, twice. */
        charge_targets(mds, mds->active - 1, mds->space_servers < 2 ? 2 : 1, now_s);
        charge_servers(mds, now_s);
        all->has_same_space = mds->is_reset = has_same_space(mds);
        mds->is_dirty = false;
    }
    return !all->has_same_space;
}

/* The same for a pool, with less to it: its OSTs are charged by their number, servers as before.
 * OSTs have one penalty, whatever the pool. */
static bool applies_in(struct iez_mds *mds, struct iez_mds_pool *pool, uint64_t now_s) {
    if (mds->list_count < 2 || (pool->has_same_space && now_s < pool->same_until_s))
        return false;
    charge_targets(mds, mds->list_count - 1, 1, now_s);
    pool->has_same_space = has_same_space(mds);
    pool->same_until_s = now_s + MAXAGE_S;
    return !pool->has_same_space;
}

static uint64_t weight_of(const struct iez_mds *mds, const struct iez_mds_target *target) {
    return less(target->space, target->penalty + mds->servers[target->server].penalty);
}

/* There is a candidate, and the last one reaches every mark. */
static struct iez_mds_target *pick(struct iez_mds *mds) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < mds->list_count; i++)
        if (mds->list[i]->is_candidate)
            total += weight_of(mds, mds->list[i]);
    uint64_t mark = total ? mds->draw(mds->source, total) : 0;
    uint64_t reached = 0;
    for (uint32_t i = 0;; i++) {
        if (!mds->list[i]->is_candidate)
            continue;
        reached += weight_of(mds, mds->list[i]);
        if (reached >= mark)
            return mds->list[i];
    }
}

static void charge(struct iez_mds *mds, struct iez_mds_target *target, uint64_t now_s) {
    struct iez_mds_server *server = &mds->servers[target->server];
    target->penalty = target->penalty / 2 + target->per_object * mds->active;
    server->penalty = server->penalty / 2 + server->per_object * mds->space_servers;
    target->used_s = server->used_s = now_s;
    for (uint32_t i = 0; i < mds->count; i++)
        if (iez_mds_is_active(&mds->targets[i]))
            mds->targets[i].penalty = less(mds->targets[i].penalty, mds->targets[i].per_object);
    for (uint32_t i = 0; i < mds->server_count; i++)
        mds->servers[i].penalty = less(mds->servers[i].penalty, mds->servers[i].per_object);
}

void iez_mds_by_weight(struct iez_mds *mds, struct iez_mds_file *file, uint64_t now_s) {
    if (!(file->pool_id ? applies_in(mds, &mds->pools[file->pool_id], now_s) : applies(mds, now_s)))
        return;
    uint32_t candidates = 0;
    for (uint32_t i = 0; i < mds->list_count; i++) {
        struct iez_mds_target *target = mds->list[i];
        target->is_candidate = !iez_mds_answer(target) && !(target->states & IEZ_OST_DEGRADED);
        candidates += target->is_candidate;
    }
    if (candidates < file->least)
        return;
    for (; candidates && file->found < file->wanted; candidates--) {
        struct iez_mds_target *target = pick(mds);
        target->is_candidate = false;
        iez_mds_take(file, target);
        charge(mds, target, now_s);
    }
}
