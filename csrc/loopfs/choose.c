#include "choose_state.h"

#include <errno.h>
#include <stdlib.h>

#define MIB        (1ULL << 20)
#define UNIT_BYTES 256

int iez_mds_answer(const struct iez_mds_target *target) {
    if (target->states & IEZ_OST_INACTIVE)
        return -EREMOTEIO;
    if (target->is_full || (target->states & IEZ_OST_FULL))
        return -ENOSPC;
    if (target->states & IEZ_OST_READONLY)
        return -EROFS;
    return target->states & IEZ_OST_NOCREATE ? -ENOBUFS : 0;
}

static struct iez_mds_target *find(const struct iez_mds *mds, uint32_t index) {
    uint32_t low = 0, high = mds->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (mds->targets[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < mds->count && mds->targets[low].index == index ? &mds->targets[low] : NULL;
}

/* An OST is full below about a thousandth of its size, and stays so up to twice as much and 1 MiB.
 */
static void see_space(struct iez_mds_target *target, const struct iez_mds_ost *ost) {
    uint64_t low_mib = ost->size_bytes / 1024 / MIB;
    low_mib = low_mib ? low_mib : 1;
    uint64_t available_mib = ost->available_bytes / MIB;
    if (available_mib < low_mib)
        target->is_full = true;
    else if (available_mib > 2 * low_mib + 1)
        target->is_full = false;
    target->space = ost->available_bytes / UNIT_BYTES;
}

void iez_mds_see(struct iez_mds *mds, const struct iez_mds_ost *osts) {
    mds->active = 0;
    for (uint32_t i = 0; i < mds->count; i++) {
        struct iez_mds_target *target = &mds->targets[i];
        uint64_t space = target->space;
        bool was_active = iez_mds_is_active(target);
        target->states = osts[i].states;
        see_space(target, &osts[i]);
        mds->active += iez_mds_is_active(target);
        if (target->space != space || iez_mds_is_active(target) != was_active)
            mds->is_dirty = true;
    }
}

static uint32_t server_of(struct iez_mds *mds, uint32_t name) {
    uint32_t server = 0;
    while (server < mds->server_count && mds->servers[server].name != name)
        server++;
    if (server == mds->server_count)
        mds->servers[mds->server_count++].name = name;
    return server;
}

struct iez_mds *iez_mds_new(const struct iez_mds_ost *osts, uint32_t count, uint32_t pool_count,
                            iez_draw *draw, void *source) {
    struct iez_mds *mds = calloc(1, sizeof *mds);
    if (!mds)
        return NULL;
    size_t room = (size_t)count + 1; /* so that nothing is not taken for no memory */
    mds->targets = calloc(room, sizeof *mds->targets);
    mds->servers = calloc(room, sizeof *mds->servers);
    mds->ranked = calloc(room, sizeof *mds->ranked);
    mds->list = calloc(room, sizeof *mds->list);
    mds->order = calloc(room, sizeof *mds->order);
    mds->pools = calloc((size_t)pool_count + 1, sizeof *mds->pools);
    if (!mds->targets || !mds->servers || !mds->ranked || !mds->list || !mds->order ||
        !mds->pools) {
        iez_mds_free(mds);
        return NULL;
    }
    mds->draw = draw;
    mds->source = source;
    mds->count = count;
    mds->pool_count = pool_count;
    mds->is_dirty = true;
    for (uint32_t i = 0; i < count; i++) {
        mds->targets[i].index = osts[i].index;
        mds->targets[i].server = server_of(mds, osts[i].server);
        iez_mds_rank(mds, mds->targets[i].server);
    }
    iez_mds_see(mds, osts);
    return mds;
}

void iez_mds_free(struct iez_mds *mds) {
    if (!mds)
        return;
    free(mds->targets);
    free(mds->servers);
    free(mds->ranked);
    free(mds->list);
    free(mds->order);
    free(mds->pools);
    free(mds);
}

/* Lists the OSTs that a wish is about. */
static int list_targets(struct iez_mds *mds, const struct iez_mds_wish *wish) {
    mds->list_count = 0;
    for (uint32_t i = 0; i < mds->count; i++) {
        struct iez_mds_target *target = &mds->targets[i];
        target->is_listed = target->is_other = target->is_taken = false;
        if (!wish->pool_id)
            mds->list[mds->list_count++] = target;
    }
    for (uint32_t i = 0; i < wish->other_count; i++) {
        struct iez_mds_target *target = find(mds, wish->others[i]);
        if (target)
            target->is_other = true;
    }
    if (!wish->pool_id)
        return 0;
    if (wish->pool_id > mds->pool_count)
        return -EINVAL;
    for (uint32_t i = 0; i < wish->pool_count; i++) {
        struct iez_mds_target *target = find(mds, wish->pool[i]);
        if (!target || target->is_listed)
            return -EINVAL;
        target->is_listed = true;
        mds->list[mds->list_count++] = target;
    }
    return 0;
}

/* What asks for more than there is, is content with three quarters of that. */
static void count_stripes(const struct iez_mds *mds, const struct iez_mds_wish *wish, uint32_t room,
                          struct iez_mds_file *file) {
    uint32_t wanted = wish->stripe_count ? wish->stripe_count : 1;
    if (wish->is_all)
        wanted = mds->active;
    bool is_cut = !wish->overstripe && (wish->is_all || wanted > mds->active);
    if (is_cut)
        wanted = mds->active;
    file->wanted = wanted < room ? wanted : room;
    file->least = file->wanted - (is_cut ? file->wanted / 4 : 0);
}

/* A run in the order of the list. It has the start itself in any case, degraded ones too, and those
 * of other components where there are not enough. */
static int run_from(struct iez_mds *mds, uint32_t start, struct iez_mds_file *file) {
    uint32_t first = 0;
    while (first < mds->list_count && mds->list[first]->index != start)
        first++;
    if (first == mds->list_count)
        return -EINVAL;
    int answer = iez_mds_answer(mds->list[first]);
    if (answer)
        return answer;
    uint64_t tries = iez_mds_tries(mds, file);
    for (int pass = 0; pass < IEZ_MDS_PASSES; pass++) {
        for (uint64_t tried = 0; tried < tries && file->found < file->wanted; tried++) {
            struct iez_mds_target *target = mds->list[(first + tried) % mds->list_count];
            if (iez_mds_answer(target) || (target->is_taken && !file->overstripe) ||
                (pass == 0 && tried > 0 && target->is_other))
                continue;
            iez_mds_take(file, target);
        }
    }
    return 0;
}

int iez_mds_choose(struct iez_mds *mds, const struct iez_mds_wish *wish, uint64_t now_s,
                   uint16_t *chosen, uint32_t room) {
    int answer = list_targets(mds, wish);
    if (answer)
        return answer;
    struct iez_mds_file file = {
        .pool_id = wish->pool_id,
        .overstripe = wish->overstripe,
        .chosen = chosen,
    };
    count_stripes(mds, wish, room, &file);
    if (wish->start >= 0) {
        answer = run_from(mds, (uint32_t)wish->start, &file);
        if (answer)
            return answer;
    } else {
        iez_mds_by_weight(mds, &file, now_s);
        if (!file.found)
            iez_mds_by_turns(mds, &file);
    }
    return file.found ? (int)file.found : -ENOSPC;
}
