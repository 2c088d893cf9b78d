#include "request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../layout.h"

size_t loop_request_bytes(const unsigned char *start) {
    struct iez_lov_plain plain;
    struct iez_lov_composite composite;
    memcpy(&plain, start, sizeof plain);
    memcpy(&composite, start, sizeof composite);
    switch (plain.magic) {
    case IEZ_MAGIC_V1:
        return sizeof plain;
    case IEZ_MAGIC_V3:
        return sizeof plain + IEZ_POOL_NAME_BYTES;
    case IEZ_MAGIC_SPECIFIC:
        return sizeof plain + IEZ_POOL_NAME_BYTES +
               plain.stripe_count * sizeof(struct iez_lov_object);
    case IEZ_MAGIC_COMP:
        return composite.size;
    default:
        return 0;
    }
}

/* What the state of a listed OST makes the MDS say. */
static int ost_answer(struct loop_target *target) {
    if (!target)
        return EINVAL;
    uint32_t states = target->states;
    if (states & IEZ_OST_INACTIVE)
        return EREMOTEIO;
    if (states & IEZ_OST_READONLY)
        return EROFS;
    if (states & IEZ_OST_NOCREATE)
        return ENOBUFS;
    struct loop_space space;
    if (loop_target_space(target, &space) != 0)
        return EIO;
    /* Below a thousandth of its size, at least 1 MiB, an OST is full. */
    uint64_t low_mib = space.size_bytes >> 30;
    if (!low_mib)
        low_mib = 1;
    return states & IEZ_OST_FULL || space.available_bytes >> 20 < low_mib ? ENOSPC : 0;
}

/* The list of a SPECIFIC request makes sense. */
static int check_list(struct loop_fs *fs, const struct loop_component *part) {
    for (uint32_t k = 0; k < part->stripe_count; k++) {
        if (!loop_fs_target(fs, part->osts[k]))
            return EINVAL;
        for (uint32_t other = 0; !(part->pattern & IEZ_PATTERN_OVERSTRIPING) && other < k; other++)
            if (part->osts[other] == part->osts[k])
                return EINVAL;
    }
    return 0;
}

/* All or nothing: the MDS puts no other OST in place of a listed one. It asks when a component gets
 * its objects, which for later ones is when they are written. */
static int check_states(struct loop_fs *fs, const struct loop_component *part) {
    int answer = 0;
    for (uint32_t k = 0; !answer && k < part->stripe_count; k++)
        answer = ost_answer(loop_fs_target(fs, part->osts[k]));
    return answer;
}

/* A start that is asked for lies in the pool that is. */
static bool pool_has(const struct loop_fs *fs, const struct loop_component *part, uint32_t start) {
    const struct loop_pool *pool = loop_fs_pool(fs, part->pool);
    for (uint32_t k = 0; pool && k < pool->count; k++)
        if (pool->osts[k] == start)
            return true;
    return !pool;
}

/* Takes the list over, turned so that the OST that is asked for as the first one is. */
static int take_list(struct loop_fs *fs, const struct iez_component_view *view,
                     struct loop_component *part) {
    uint32_t count = view->object_count, active = loop_fs_active(fs), first = 0;
    /* What is more than there are OSTs is cut off without a word, whatever it names. */
    if (!(part->pattern & IEZ_PATTERN_OVERSTRIPING) && count > active)
        count = active;
    if (!count)
        return EREMOTEIO;
    if (view->generation != IEZ_STRIPE_OFFSET_ANY) {
        while (first < count && iez_wire_ost(view, first) != view->generation)
            first++;
        if (first == count || !pool_has(fs, part, view->generation))
            return EINVAL;
    }
    part->osts = malloc(count * sizeof *part->osts);
    if (!part->osts)
        return ENOMEM;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t index = iez_wire_ost(view, (first + k) % count);
        if (index > 65534)
            return EINVAL;
        part->osts[k] = (uint16_t)index;
    }
    part->stripe_count = (uint16_t)count;
    part->start_ost = LOOP_START_ANY;
    return check_list(fs, part);
}

/* How many stripes a request without a list means. */
static void take_count(const struct loop_fs *fs, uint32_t count, struct loop_component *part) {
    uint32_t osts = fs->target_count;
    const struct loop_pool *pool = loop_fs_pool(fs, part->pool);
    if (pool)
        osts = pool->count;
    bool is_over = part->pattern & IEZ_PATTERN_OVERSTRIPING;
    if (!count)
        count = fs->settings.stripe_count;
    part->is_all = count >= 0xFFE0;
    if (part->is_all) /* with overstriping, 0xFFFF is one stripe an OST, 0xFFFE two, … */
        count = is_over ? (0x10000 - count) * osts : osts;
    if (!is_over && count > osts) {
        count = osts;
        part->is_all = true;
    }
    part->stripe_count = (uint16_t)(count > LOOP_OST_MAX ? LOOP_OST_MAX : count);
}

static void take_pool(const struct loop_fs *fs, const char *asked, const char *inherited,
                      struct loop_component *part) {
    const char *name = *asked ? asked : inherited;
    const struct loop_pool *pool = loop_fs_pool(fs, name); /* there is none called "ignore" */
    if (pool)
        memcpy(part->pool, pool->name, sizeof part->pool);
}

static int take_striping(struct loop_fs *fs, const struct iez_component_view *view,
                         const char *pool, struct loop_component *part) {
    part->stripe_size = view->stripe_size ? view->stripe_size : fs->settings.stripe_size;
    take_pool(fs, view->pool, pool, part);
    if (view->magic == IEZ_MAGIC_SPECIFIC && view->object_count)
        return take_list(fs, view, part);
    take_count(fs, view->magic == IEZ_MAGIC_SPECIFIC ? 0 : view->stripe_count, part);
    part->start_ost = (uint16_t)view->generation;
    if (view->magic == IEZ_MAGIC_SPECIFIC || view->generation == IEZ_STRIPE_OFFSET_ANY) {
        part->start_ost = LOOP_START_ANY;
        return 0;
    }
    return pool_has(fs, part, part->start_ost) && loop_fs_target(fs, part->start_ost) ? 0 : EINVAL;
}

static int take_component(struct loop_fs *fs, const struct iez_component_view *view,
                          const char *pool, struct loop_component *part) {
    uint32_t pattern = view->pattern ? view->pattern : IEZ_PATTERN_RAID0;
    if (view->stripe_size % IEZ_STRIPE_SIZE_UNIT)
        return EINVAL;
    part->pattern = pattern;
    part->end = view->extent_end;
    if (view->magic == IEZ_MAGIC_SPECIFIC &&
        (view->stripe_count > IEZ_STRIPE_COUNT_MAX || view->object_count < view->stripe_count))
        return EINVAL;
    if (pattern == IEZ_PATTERN_MDT) {
        part->is_on_mdt = true;
        part->stripe_size = (uint32_t)view->extent_end;
        return 0;
    }
    if (pattern & ~(uint32_t)(IEZ_PATTERN_RAID0 | IEZ_PATTERN_OVERSTRIPING))
        return EINVAL;
    return take_striping(fs, view, pool, part);
}

/* Extents follow each other from 0 to the end; components need not be longer than their stripes. */
static int check_extents(struct loop_layout *layout) {
    uint64_t start = 0;
    for (uint32_t i = 0; i < layout->count; i++) {
        struct loop_component *part = &layout->parts[i];
        bool is_last = i + 1 == layout->count;
        part->start = start;
        start = part->end;
        if ((part->end == IEZ_EXTENT_EOF) != is_last || part->end <= part->start)
            return EINVAL;
        if (part->is_on_mdt && (i > 0 || is_last || part->end > UINT32_MAX))
            return EINVAL;
        if (is_last)
            continue;
        if (part->end % IEZ_STRIPE_SIZE_UNIT || part->end % part->stripe_size)
            return EINVAL;
        uint64_t room = (part->end - part->start + part->stripe_size - 1) / part->stripe_size;
        if (!part->is_on_mdt && part->stripe_count > room) {
            part->stripe_count = (uint16_t)room;
            part->is_all = false;
        }
    }
    return 0;
}

/* Whether it can be told again. */
static bool is_tellable(const struct loop_layout *layout) {
    size_t bytes = sizeof(struct iez_lov_composite);
    for (uint32_t i = 0; i < layout->count; i++)
        bytes += sizeof(struct iez_lov_entry) + sizeof(struct iez_lov_plain) + IEZ_POOL_NAME_BYTES +
                 layout->parts[i].stripe_count * sizeof(struct iez_lov_object);
    return bytes <= IEZ_WIRE_MAX;
}

int loop_request_parse(struct loop_fs *fs, const unsigned char *wire, size_t bytes,
                       const char *pool, struct loop_layout **layout) {
    int count = iez_wire_components(wire, bytes);
    *layout = NULL;
    if (count < 1 || count > LOOP_COMPONENT_MAX)
        return EINVAL;
    struct iez_lov_composite composite;
    memcpy(&composite, wire, sizeof composite);
    bool is_composite = composite.magic == IEZ_MAGIC_COMP;
    if (is_composite && composite.size != bytes)
        return EINVAL;
    if (is_composite && composite.mirror_count)
        return EOPNOTSUPP;
    struct loop_layout *made = loop_layout_new((uint32_t)count);
    int answer = made ? 0 : ENOMEM;
    uint64_t end = 0;
    for (int i = 0; !answer && i < count; i++) {
        struct iez_component_view view;
        if (iez_wire_component(wire, bytes, i, &view) != 0 || view.extent_start != end)
            answer = EINVAL;
        else
            answer = take_component(fs, &view, pool, &made->parts[i]);
        end = view.extent_end;
    }
    if (!answer)
        answer = check_extents(made);
    if (!answer && !is_tellable(made))
        answer = E2BIG;
    if (answer) {
        loop_layout_free(made);
        return answer;
    }
    made->is_composite = is_composite;
    *layout = made;
    return 0;
}

struct loop_layout *loop_request_default(const struct loop_fs *fs) {
    struct loop_layout *layout = loop_layout_new(1);
    if (layout) {
        layout->parts[0].end = IEZ_EXTENT_EOF;
        layout->parts[0].pattern = IEZ_PATTERN_RAID0;
        layout->parts[0].stripe_size = fs->settings.stripe_size;
        take_count(fs, 0, &layout->parts[0]);
    }
    return layout;
}

/* OSTs that other components of the file have already. */
static uint32_t collect_others(const struct loop_layout *layout, uint32_t number, uint16_t *osts) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < layout->count; i++)
        for (uint32_t k = 0; i != number && layout->parts[i].osts &&
                             k < layout->parts[i].stripe_count && count < LOOP_OST_MAX;
             k++)
            osts[count++] = layout->parts[i].osts[k];
    return count;
}

static void drop_needless_overstriping(struct loop_component *part) {
    for (uint32_t k = 0; k < part->stripe_count; k++)
        for (uint32_t other = 0; other < k; other++)
            if (part->osts[other] == part->osts[k])
                return;
    part->pattern &= ~(uint32_t)IEZ_PATTERN_OVERSTRIPING;
}

static int choose(struct loop_fs *fs, const struct loop_layout *layout, uint32_t number,
                  struct loop_component *part) {
    uint16_t others[LOOP_OST_MAX], chosen[LOOP_OST_MAX];
    const struct loop_pool *pool = loop_fs_pool(fs, part->pool);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct iez_mds_wish wish = {
        .pool = pool ? pool->osts : NULL,
        .pool_count = pool ? pool->count : 0,
        .pool_id = pool ? (uint32_t)(pool - fs->settings.pools) + 1 : 0,
        .stripe_count = part->stripe_count,
        .is_all = part->is_all,
        .overstripe = part->pattern & IEZ_PATTERN_OVERSTRIPING,
        .start = part->start_ost == LOOP_START_ANY ? -1 : part->start_ost,
        .others = others,
        .other_count = collect_others(layout, number, others),
    };
    pthread_mutex_lock(&fs->mds_lock);
    int count = iez_mds_choose(fs->mds, &wish, (uint64_t)now.tv_sec, chosen, LOOP_OST_MAX);
    pthread_mutex_unlock(&fs->mds_lock);
    if (count <= 0)
        return count ? -count : ENOSPC;
    part->osts = malloc((size_t)count * sizeof *part->osts);
    if (!part->osts)
        return ENOMEM;
    memcpy(part->osts, chosen, (size_t)count * sizeof *chosen);
    part->stripe_count = (uint16_t)count;
    return 0;
}

int loop_request_choose(struct loop_fs *fs, struct loop_layout *layout, uint32_t number) {
    struct loop_component *part = &layout->parts[number];
    if (part->is_on_mdt)
        return 0;
    int answer = part->osts ? check_states(fs, part) : choose(fs, layout, number, part);
    if (!answer)
        drop_needless_overstriping(part);
    return answer;
}
