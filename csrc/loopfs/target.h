/* Targets: the OSTs, and the MDT for data that lies there. Each is a directory of objects with a
 * speed, a size and a state. */
#ifndef IEZ_LOOPFS_TARGET_H
#define IEZ_LOOPFS_TARGET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "counts.h"
#include "pace.h"
#include "rpcs.h"
#include "settings.h"

struct loop_target {
    uint32_t index;
    uint32_t oss;
    int objects;    /* their directory */
    bool has_quota; /* the daemon counts its space; else the file system below does */
    _Atomic uint32_t states;
    _Atomic uint64_t size_bytes;
    _Atomic int64_t used_bytes; /* with has_quota */
    pthread_mutex_t quota_lock;
    bool is_changed; /* since its space was counted; with the lock */
    struct loop_bucket bucket;
    struct loop_bucket *oss_bucket;
    struct loop_counts counts;
    struct loop_rpcs rpcs;
};

struct loop_space {
    uint64_t size_bytes;
    uint64_t free_bytes;
    uint64_t available_bytes;
    uint64_t files;
    uint64_t files_free;
};

/* Which object of which file. */
struct loop_object_name {
    char text[64];
};

struct loop_object_name loop_object_name(uint64_t inode, uint32_t component, uint32_t stripe);
/* The file that an object belongs to; 0: the name is none of an object. */
uint64_t loop_object_owner(const char *name);

/* Opens the objects below `directory`. 0, or an errno. */
int loop_target_open(struct loop_target *target, int directory, bool has_quota);

/* Takes over what may change while mounted. */
void loop_target_set(struct loop_target *target, const struct loop_ost_settings *settings);

/* Counts its space anew, if something was written or removed since. */
void loop_target_recount(struct loop_target *target);

int loop_target_space(struct loop_target *target, struct loop_space *space);

/* What the state says to one who reads or writes: 0, or an errno. */
int loop_target_answer(const struct loop_target *target, bool is_write);

/* Bytes written, fewer where the target gets full; or a negative errno. */
ssize_t loop_target_write(struct loop_target *target, int object, const void *data, size_t bytes,
                          off_t offset);
int loop_target_truncate(struct loop_target *target, int object, off_t size);
int loop_target_punch(struct loop_target *target, int object, off_t offset, off_t bytes);
void loop_target_remove(struct loop_target *target, const char *name);

/* Adds `bytes` of reading or writing to its work and to that of its server. */
void loop_target_charge(struct loop_target *target, uint64_t bytes, uint64_t now_ns,
                        struct loop_work *work);

#endif
