/* The file system: its store, its targets, and the part of the MDS that chooses OSTs. */
#ifndef IEZ_LOOPFS_FS_H
#define IEZ_LOOPFS_FS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "choose.h"
#include "settings.h"
#include "target.h"

struct loop_fs {
    int store;
    int meta; /* the root of the namespace */
    struct loop_settings settings;
    _Atomic uint32_t inject;
    struct loop_bucket oss_buckets[LOOP_OSS_MAX];
    uint32_t target_count;
    struct loop_target *targets; /* sorted by index */
    struct loop_target mdt;
    pthread_mutex_t mds_lock;
    struct iez_mds *mds;
    uint64_t chance; /* state of the generator of random numbers */
};

/* Opens the targets below fs->store, as fs->settings say. 0, or an errno; ESTALE: objects belong to
 * files by their inode numbers, and these files are others. */
int loop_fs_open(struct loop_fs *fs);

/* Takes over newer settings. */
void loop_fs_set(struct loop_fs *fs, const struct loop_settings *settings);

/* Counts anew what the objects take up: file systems book blocks later than they are written. */
void loop_fs_recount(struct loop_fs *fs);

/* Lets the MDS see the space of its OSTs. */
void loop_fs_look(struct loop_fs *fs);

struct loop_target *loop_fs_target(struct loop_fs *fs, uint32_t index); /* NULL: there is none */
const struct loop_pool *loop_fs_pool(const struct loop_fs *fs, const char *name); /* or NULL */
uint32_t loop_fs_active(const struct loop_fs *fs); /* OSTs that are not inactive */

/* Removes objects whose files are gone: a daemon that was killed could not. */
void loop_fs_sweep(struct loop_fs *fs);

#endif
