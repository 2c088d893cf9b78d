#include "fs.h"
#include "trees.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* xorshift64*: repeatable for a seed, and good enough to choose OSTs by. */
static uint64_t draw(void *source, uint64_t below) {
    uint64_t *state = source;
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    uint64_t high = (*state * 0x2545F4914F6CDD1DULL) >> 1;
    return high % below;
}

static int open_below(int directory, const char *name, mode_t mode) {
    if (mkdirat(directory, name, mode) != 0 && errno != EEXIST)
        return -1;
    return openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int open_target(struct loop_target *target, int parent, const char *name, bool has_quota) {
    int directory = open_below(parent, name, 0700);
    if (directory < 0)
        return errno;
    int answer = loop_target_open(target, directory, has_quota);
    close(directory);
    return answer;
}

static int open_osts(struct loop_fs *fs, int osts) {
    for (uint32_t i = 0; i < fs->target_count; i++) {
        const struct loop_ost_settings *settings = &fs->settings.osts[i];
        struct loop_target *target = &fs->targets[i];
        char name[16];
        snprintf(name, sizeof name, "%04x", settings->index);
        target->index = settings->index;
        target->oss = settings->oss;
        target->oss_bucket = &fs->oss_buckets[settings->oss];
        int answer = open_target(target, osts, name, !fs->settings.has_images);
        if (answer)
            return answer;
    }
    return 0;
}

static void see_osts(struct loop_fs *fs, struct iez_mds_ost *osts) {
    for (uint32_t i = 0; i < fs->target_count; i++) {
        struct loop_target *target = &fs->targets[i];
        struct loop_space space = {0};
        loop_target_space(target, &space);
        osts[i] = (struct iez_mds_ost){
            .index = target->index,
            .server = target->oss,
            .size_bytes = space.size_bytes,
            .available_bytes = space.available_bytes,
            .states = target->states,
        };
    }
}

/* STORE/identity: the inode number of the root of the namespace, since the first start. */
static int check_identity(struct loop_fs *fs) {
    struct stat st;
    char now[32], kept[32] = "";
    if (fstat(fs->meta, &st) != 0)
        return errno;
    size_t bytes = (size_t)snprintf(now, sizeof now, "%ju\n", (uintmax_t)st.st_ino);
    int fd = openat(fs->store, "identity", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return loop_replace(fs->store, "identity", now, bytes);
    ssize_t found = read(fd, kept, sizeof kept - 1);
    close(fd);
    return found >= 0 && strcmp(now, kept) == 0 ? 0 : ESTALE;
}

int loop_fs_open(struct loop_fs *fs) {
    fs->target_count = fs->settings.ost_count;
    fs->targets = calloc(fs->target_count, sizeof *fs->targets);
    fs->meta = open_below(fs->store, "meta", 0755);
    int osts = open_below(fs->store, "ost", 0700);
    if (!fs->targets || fs->meta < 0 || osts < 0)
        return errno;
    int answer = check_identity(fs);
    if (!answer)
        answer = open_osts(fs, osts);
    close(osts);
    if (!answer)
        answer = open_target(&fs->mdt, fs->store, "mdt", false);
    if (answer)
        return answer;
    pthread_mutex_init(&fs->mds_lock, NULL);
    loop_fs_set(fs, &fs->settings);
    fs->chance = fs->settings.seed * 0x9E3779B97F4A7C15ULL + 0x1234567;
    if (!fs->chance)
        fs->chance = 1;
    struct iez_mds_ost *seen = calloc(fs->target_count, sizeof *seen);
    if (!seen)
        return ENOMEM;
    see_osts(fs, seen);
    fs->mds = iez_mds_new(seen, fs->target_count, fs->settings.pool_count, draw, &fs->chance);
    free(seen);
    return fs->mds ? 0 : ENOMEM;
}

void loop_fs_set(struct loop_fs *fs, const struct loop_settings *settings) {
    atomic_store(&fs->inject, settings->inject);
    uint64_t windows[LOOP_OSS_MAX] = {0};
    for (uint32_t i = 0; i < settings->ost_count; i++) {
        struct loop_target *target = loop_fs_target(fs, settings->osts[i].index);
        windows[settings->osts[i].oss] += settings->osts[i].window_bytes;
        if (target)
            loop_target_set(target, &settings->osts[i]);
    }
    for (uint32_t i = 0; i < LOOP_OSS_MAX; i++) {
        loop_bucket_set(&fs->oss_buckets[i], settings->oss_bandwidth[i], windows[i], loop_now_ns());
    }
}

void loop_fs_recount(struct loop_fs *fs) {
    for (uint32_t i = 0; i < fs->target_count; i++)
        loop_target_recount(&fs->targets[i]);
}

void loop_fs_look(struct loop_fs *fs) {
    struct iez_mds_ost *seen = calloc(fs->target_count, sizeof *seen);
    if (!seen)
        return;
    see_osts(fs, seen);
    pthread_mutex_lock(&fs->mds_lock);
    iez_mds_see(fs->mds, seen);
    pthread_mutex_unlock(&fs->mds_lock);
    free(seen);
}

struct loop_target *loop_fs_target(struct loop_fs *fs, uint32_t index) {
    uint32_t low = 0, high = fs->target_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (fs->targets[middle].index == index)
            return &fs->targets[middle];
        if (fs->targets[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const struct loop_pool *loop_fs_pool(const struct loop_fs *fs, const char *name) {
    for (uint32_t i = 0; *name && i < fs->settings.pool_count; i++)
        if (strcmp(fs->settings.pools[i].name, name) == 0)
            return &fs->settings.pools[i];
    return NULL;
}

uint32_t loop_fs_active(const struct loop_fs *fs) {
    uint32_t active = 0;
    for (uint32_t i = 0; i < fs->target_count; i++)
        active += !(fs->targets[i].states & IEZ_OST_INACTIVE);
    return active;
}

/* The inode numbers of the files that are there. */
struct numbers {
    uint64_t *values;
    size_t count, room;
};

static bool collect(int directory, struct numbers *numbers) {
    DIR *all = directory < 0 ? NULL : fdopendir(directory);
    if (!all)
        return false;
    bool is_complete = true;
    for (struct dirent *entry; is_complete && (entry = readdir(all));) {
        struct stat st;
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            fstatat(dirfd(all), name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISDIR(st.st_mode)) {
            int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
            is_complete = collect(openat(dirfd(all), name, flags), numbers);
            continue;
        }
        if (numbers->count == numbers->room) {
            numbers->room = numbers->room ? 2 * numbers->room : 1024;
            uint64_t *grown = realloc(numbers->values, numbers->room * sizeof *grown);
            is_complete = grown;
            if (!grown)
                break;
            numbers->values = grown;
        }
        numbers->values[numbers->count++] = st.st_ino;
    }
    closedir(all);
    return is_complete;
}

static int compare(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static void sweep_target(struct loop_target *target, const struct numbers *numbers) {
    DIR *all = fdopendir(openat(target->objects, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (struct dirent *entry; all && (entry = readdir(all));) {
        uint64_t owner = loop_object_owner(entry->d_name);
        if (owner &&
            !bsearch(&owner, numbers->values, numbers->count, sizeof *numbers->values, compare))
            loop_target_remove(target, entry->d_name);
    }
    if (all)
        closedir(all);
}

void loop_fs_sweep(struct loop_fs *fs) {
    struct numbers numbers = {.values = malloc(sizeof(uint64_t)), .room = 1};
    bool is_complete = collect(openat(fs->meta, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), &numbers);
    /* A directory that could not be read may hold their owners. */
    if (is_complete && numbers.values) {
        qsort(numbers.values, numbers.count, sizeof *numbers.values, compare);
        for (uint32_t i = 0; i < fs->target_count; i++)
            sweep_target(&fs->targets[i], &numbers);
        sweep_target(&fs->mdt, &numbers);
    }
    free(numbers.values);
}
