/* Asks an MDS for anything, valid or not. Wants of each answer that it is one. */
#include <stdio.h>
#include <stdlib.h>

#include "choose.h"

#define OSTS_MAX 20
#define ROOM_MAX 64

static uint64_t chance = 1;

static uint64_t draw(void *source, uint64_t below) {
    uint64_t *state = source;
    *state = *state * 6364136223846793005 + 1442695040888963407;
    return (*state >> 16) % below;
}

static uint32_t any(uint32_t below) {
    return (uint32_t)draw(&chance, below);
}

static void look(struct iez_mds_ost *osts, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        osts[i].size_bytes = any(8) ? (uint64_t)any(1 << 30) << any(34) : 0;
        osts[i].available_bytes = any(16) ? osts[i].size_bytes / (1 + any(4)) : UINT64_MAX;
        osts[i].states = any(2) ? 0 : any(64);
    }
}

static bool is_one_of(const struct iez_mds_ost *osts, uint32_t count, uint32_t index) {
    for (uint32_t i = 0; i < count; i++)
        if (osts[i].index == index)
            return true;
    return false;
}

static void ask(struct iez_mds *mds, const struct iez_mds_ost *osts, uint32_t count,
                uint64_t now_s) {
    uint16_t indices[OSTS_MAX];
    for (uint32_t i = 0; i < OSTS_MAX; i++)
        indices[i] = (uint16_t)any(3 * OSTS_MAX);
    struct iez_mds_wish wish = {
        .pool_id = any(4),
        .pool = indices,
        .pool_count = any(4),
        .stripe_count = any(8) ? any(2 * OSTS_MAX) : UINT32_MAX,
        .is_all = !any(8),
        .overstripe = !any(3),
        .start = any(4) ? -1 : (int32_t)any(3 * OSTS_MAX),
        .others = indices,
        .other_count = any(OSTS_MAX),
    };
    uint32_t room = any(ROOM_MAX);
    uint16_t *chosen = malloc(room * sizeof *chosen + 1);
    int found = iez_mds_choose(mds, &wish, now_s, chosen, room);
    for (int i = 0; i < found; i++)
        if (!is_one_of(osts, count, chosen[i]))
            abort();
    if (found == 0 || found > (int)room)
        abort();
    free(chosen);
}

int main(void) {
    for (int round = 0; round < 2000; round++) {
        struct iez_mds_ost osts[OSTS_MAX] = {0};
        uint32_t count = any(OSTS_MAX + 1), index = 0;
        for (uint32_t i = 0; i < count; i++) {
            osts[i].index = index += 1 + any(3);
            osts[i].server = any(5);
        }
        look(osts, count);
        struct iez_mds *mds = iez_mds_new(osts, count, 2, draw, &chance);
        uint64_t now_s = any(2) ? 0 : any(1 << 30);
        for (int file = 0; file < 40; file++) {
            ask(mds, osts, count, now_s);
            now_s = any(8) ? now_s + any(200) : any(1 << 30);
            if (!any(4)) {
                look(osts, count);
                iez_mds_see(mds, osts);
            }
        }
        iez_mds_free(mds);
    }
    iez_mds_free(NULL);
    puts("well");
    return 0;
}
