/* Space and state of an OST, as the ioctls tell them. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "caller.h"

#define OST_TABLE_STEP 64 /* the table of OSTs grows in such steps */

/* The packed buffer of IOC_OBD_STATFS, as far as it is used. */
struct statfs_request {
    uint32_t bytes, version;
    unsigned char unused[472];
    uint32_t statfs_bytes;
    uint64_t statfs;
    uint32_t uuid_bytes;
    uint64_t uuid;
    unsigned char unused2[64];
    uint32_t type;
    uint32_t pad;
    uint32_t index;
    uint32_t pad2;
};
_Static_assert(offsetof(struct statfs_request, statfs) == 488, "statfs request");
_Static_assert(offsetof(struct statfs_request, uuid) == 504, "statfs request");
_Static_assert(offsetof(struct statfs_request, type) == 576, "statfs request");
_Static_assert(sizeof(struct statfs_request) == 592, "statfs request");

struct statfs_answer {
    uint64_t type, blocks, free, available, files, files_free;
    unsigned char fsid[40];
    uint32_t block_bytes, name_bytes;
    uint64_t bytes_max;
    uint32_t state, precreated;
    uint32_t spare[8];
};
_Static_assert(sizeof(struct statfs_answer) == 144, "statfs answer");

static uint32_t state_bits(uint32_t states) {
    return (states & IEZ_OST_DEGRADED ? 0x1 : 0) | (states & IEZ_OST_READONLY ? 0x2 : 0) |
           (states & IEZ_OST_NOCREATE ? 0x4 : 0) | (states & IEZ_OST_FULL ? 0x20 : 0);
}

int loop_ost_status(fuse_req_t request, void *argument) {
    struct loop_fs *fs = loop_fs_of(request);
    struct statfs_request asked;
    if (!loop_fetch(request, argument, &asked, sizeof asked))
        return loop_memory_error();
    if (asked.bytes != sizeof asked || !(asked.type & 2))
        return EINVAL;
    uint32_t last = fs->targets[fs->target_count - 1].index;
    struct loop_target *target = loop_fs_target(fs, asked.index);
    if (!target)
        return asked.index <= last / OST_TABLE_STEP * OST_TABLE_STEP + OST_TABLE_STEP - 1 ? EAGAIN
                                                                                          : ENODEV;
    if (target->states & IEZ_OST_INACTIVE)
        return ENODATA;
    struct loop_space space;
    if ((target->states & LOOP_OST_DEAD) || loop_target_space(target, &space) != 0)
        return EIO;
    struct statfs_answer answer = {
        .blocks = space.size_bytes / 4096,
        .free = space.free_bytes / 4096,
        .available = space.available_bytes / 4096,
        .files = space.files,
        .files_free = space.files_free,
        .block_bytes = 4096,
        .name_bytes = 255,
        .state = state_bits(target->states),
    };
    char uuid[40] = "";
    snprintf(uuid, sizeof uuid, "%s-OST%04x_UUID", fs->settings.fs_name, target->index);
    size_t uuid_bytes = asked.uuid_bytes < sizeof uuid ? asked.uuid_bytes : sizeof uuid;
    if (asked.statfs_bytes < sizeof answer)
        return EINVAL;
    if (!loop_hand_out(request, (void *)(uintptr_t)asked.statfs, &answer, sizeof answer) ||
        !loop_hand_out(request, (void *)(uintptr_t)asked.uuid, uuid, uuid_bytes))
        return loop_memory_error();
    return 0;
}

int loop_count_osts(fuse_req_t request, void *argument, uint64_t *answer) {
    uint32_t wants_mdts = 0;
    if (!loop_fetch(request, argument, &wants_mdts, sizeof wants_mdts))
        return loop_memory_error();
    *answer = wants_mdts ? 1 : loop_fs_of(request)->target_count;
    return 0;
}
