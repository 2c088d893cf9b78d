#include "target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define BLOCK_BYTES 4096

struct loop_object_name loop_object_name(uint64_t inode, uint32_t component, uint32_t stripe) {
    struct loop_object_name name;
    snprintf(name.text, sizeof name.text, "%" PRIx64 ".%" PRIx32 ".%" PRIx32, inode, component,
             stripe);
    return name;
}

uint64_t loop_object_owner(const char *name) {
    uint64_t inode;
    uint32_t component, stripe;
    int end = 0;
    int found =
        sscanf(name, "%" SCNx64 ".%" SCNx32 ".%" SCNx32 "%n", &inode, &component, &stripe, &end);
    return found == 3 && !name[end] ? inode : 0;
}

static int64_t allocated(int object) {
    struct stat st;
    return fstat(object, &st) == 0 ? (int64_t)st.st_blocks * 512 : 0;
}

/* What the objects that are there take up. */
static int64_t count_used(int objects) {
    DIR *all = fdopendir(openat(objects, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    int64_t used = 0;
    struct stat st;
    for (struct dirent *entry; all && (entry = readdir(all));)
        if (loop_object_owner(entry->d_name) &&
            fstatat(objects, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            used += (int64_t)st.st_blocks * 512;
    if (all)
        closedir(all);
    return used;
}

int loop_target_open(struct loop_target *target, int directory, bool has_quota) {
    if (mkdirat(directory, "objects", 0700) != 0 && errno != EEXIST)
        return errno;
    target->objects = openat(directory, "objects", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (target->objects < 0)
        return errno;
    target->has_quota = has_quota;
    if (has_quota)
        target->used_bytes = count_used(target->objects);
    pthread_mutex_init(&target->quota_lock, NULL);
    loop_counts_init(&target->counts);
    loop_rpcs_init(&target->rpcs);
    return 0;
}

void loop_target_recount(struct loop_target *target) {
    if (!target->has_quota)
        return;
    pthread_mutex_lock(&target->quota_lock);
    if (target->is_changed)
        target->used_bytes = count_used(target->objects);
    target->is_changed = false;
    pthread_mutex_unlock(&target->quota_lock);
}

/* With the lock held. */
static void book(struct loop_target *target, int64_t bytes) {
    atomic_fetch_add(&target->used_bytes, bytes);
    target->is_changed = true;
}

void loop_target_set(struct loop_target *target, const struct loop_ost_settings *settings) {
    atomic_store(&target->states, settings->states);
    atomic_store(&target->size_bytes, settings->size_bytes);
    loop_bucket_set(&target->bucket, settings->bandwidth, settings->window_bytes, loop_now_ns());
}

int loop_target_space(struct loop_target *target, struct loop_space *space) {
    struct statvfs below;
    if (fstatvfs(target->objects, &below) != 0)
        return errno;
    *space = (struct loop_space){
        .size_bytes = below.f_blocks * below.f_frsize,
        .free_bytes = below.f_bfree * below.f_frsize,
        .available_bytes = below.f_bavail * below.f_frsize,
        .files = below.f_files,
        .files_free = below.f_ffree,
    };
    if (target->has_quota) {
        int64_t used = target->used_bytes > 0 ? target->used_bytes : 0;
        int64_t left = (int64_t)target->size_bytes - used;
        uint64_t free_bytes = left > 0 ? (uint64_t)left : 0;
        space->size_bytes = target->size_bytes;
        space->free_bytes = free_bytes;
        if (space->available_bytes > free_bytes)
            space->available_bytes = free_bytes;
    }
    if (target->states & IEZ_OST_FULL)
        space->available_bytes = 0;
    return 0;
}

int loop_target_answer(const struct loop_target *target, bool is_write) {
    uint32_t states = atomic_load(&target->states);
    if (states & IEZ_OST_INACTIVE)
        return EIO;
    if (is_write && (states & IEZ_OST_READONLY))
        return EROFS;
    return is_write && (states & IEZ_OST_FULL) ? ENOSPC : 0;
}

static ssize_t write_whole(int object, const char *data, size_t bytes, off_t offset) {
    size_t done = 0;
    while (done < bytes) {
        ssize_t part = pwrite(object, data + done, bytes - done, offset + (off_t)done);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0 && done == 0)
            return -errno;
        if (part <= 0)
            break;
        done += (size_t)part;
    }
    return (ssize_t)done;
}

/* How much of the extent can be written with `room` bytes left: blocks that are there already cost
 * nothing. */
static size_t what_fits(int object, size_t bytes, off_t offset, uint64_t room) {
    off_t end = offset + (off_t)bytes, at = offset;
    while (at < end) {
        off_t hole = lseek(object, at, SEEK_HOLE);
        if (hole < 0)
            hole = at; /* past the end */
        if (hole >= end)
            return bytes;
        off_t data = lseek(object, hole, SEEK_DATA);
        off_t hole_end = data < 0 || data > end ? end : data;
        /* A block of which a part is data is there already. */
        off_t before = hole && lseek(object, hole - 1, SEEK_DATA) == hole - 1 ? BLOCK_BYTES - 1 : 0;
        off_t first = (hole + before) / BLOCK_BYTES * BLOCK_BYTES;
        uint64_t cost =
            (uint64_t)((hole_end + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES - first);
        if (cost > room) {
            off_t reached = first + (off_t)(room / BLOCK_BYTES * BLOCK_BYTES);
            return reached > offset ? (size_t)(reached - offset) : 0;
        }
        room -= cost;
        at = hole_end;
    }
    return bytes;
}

ssize_t loop_target_write(struct loop_target *target, int object, const void *data, size_t bytes,
                          off_t offset) {
    if (!target->has_quota)
        return write_whole(object, data, bytes, offset);
    pthread_mutex_lock(&target->quota_lock);
    int64_t left = (int64_t)atomic_load(&target->size_bytes) - atomic_load(&target->used_bytes);
    uint64_t room = left > 0 ? (uint64_t)left : 0;
    int64_t before = allocated(object);
    ssize_t done = -ENOSPC;
    if (room < bytes + 2 * BLOCK_BYTES)
        bytes = what_fits(object, bytes, offset, room);
    if (bytes)
        done = write_whole(object, data, bytes, offset);
    book(target, allocated(object) - before);
    pthread_mutex_unlock(&target->quota_lock);
    return done;
}

int loop_target_truncate(struct loop_target *target, int object, off_t size) {
    pthread_mutex_lock(&target->quota_lock);
    int64_t before = allocated(object);
    int answer = ftruncate(object, size) == 0 ? 0 : errno;
    if (target->has_quota)
        book(target, allocated(object) - before);
    pthread_mutex_unlock(&target->quota_lock);
    return answer;
}

int loop_target_punch(struct loop_target *target, int object, off_t offset, off_t bytes) {
    pthread_mutex_lock(&target->quota_lock);
    int64_t before = allocated(object);
    int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    int answer = fallocate(object, mode, offset, bytes) == 0 ? 0 : errno;
    if (target->has_quota)
        book(target, allocated(object) - before);
    pthread_mutex_unlock(&target->quota_lock);
    return answer;
}

void loop_target_remove(struct loop_target *target, const char *name) {
    struct stat st;
    pthread_mutex_lock(&target->quota_lock);
    bool is_known = fstatat(target->objects, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (unlinkat(target->objects, name, 0) == 0 && is_known && target->has_quota)
        book(target, -(int64_t)st.st_blocks * 512);
    pthread_mutex_unlock(&target->quota_lock);
}

void loop_target_charge(struct loop_target *target, uint64_t bytes, uint64_t now_ns,
                        struct loop_work *work) {
    loop_bucket_add(&target->bucket, bytes, now_ns, work);
    if (target->oss_bucket)
        loop_bucket_add(target->oss_bucket, bytes, now_ns, work);
}
