#include <linux/fuse.h>
#include <string.h>

#include "operations.h"

#ifndef FOPEN_PARALLEL_DIRECT_WRITES
#define FOPEN_PARALLEL_DIRECT_WRITES (1 << 6) /* Linux 6.0; others ignore it */
#endif

static struct fuse_open_out open_out(uint64_t handle, bool is_direct) {
    return (struct fuse_open_out){
        .fh = handle,
        .open_flags = is_direct ? FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES : 0,
    };
}

int loop_reply_open(fuse_req_t request, uint64_t handle, bool is_direct) {
    struct fuse_open_out out = open_out(handle, is_direct);
    return fuse_reply_buf(request, (const char *)&out, sizeof out);
}

int loop_reply_create(fuse_req_t request, const struct fuse_entry_param *entry, uint64_t handle,
                      bool is_direct) {
    const struct stat *st = &entry->attr;
    struct {
        struct fuse_entry_out entry;
        struct fuse_open_out open;
    } out = {
        .entry =
            {
                .nodeid = entry->ino,
                .entry_valid = (uint64_t)entry->entry_timeout,
                .attr_valid = (uint64_t)entry->attr_timeout,
                .attr =
                    {
                        .ino = st->st_ino,
                        .size = (uint64_t)st->st_size,
                        .blocks = (uint64_t)st->st_blocks,
                        .atime = (uint64_t)st->st_atim.tv_sec,
                        .mtime = (uint64_t)st->st_mtim.tv_sec,
                        .ctime = (uint64_t)st->st_ctim.tv_sec,
                        .atimensec = (uint32_t)st->st_atim.tv_nsec,
                        .mtimensec = (uint32_t)st->st_mtim.tv_nsec,
                        .ctimensec = (uint32_t)st->st_ctim.tv_nsec,
                        .mode = st->st_mode,
                        .nlink = (uint32_t)st->st_nlink,
                        .uid = st->st_uid,
                        .gid = st->st_gid,
                        .rdev = (uint32_t)st->st_rdev,
                        .blksize = (uint32_t)st->st_blksize,
                    },
            },
        .open = open_out(handle, is_direct),
    };
    return fuse_reply_buf(request, (const char *)&out, sizeof out);
}
