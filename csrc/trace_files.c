#include "trace_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "current.h"
#include "path.h"
#include "trace.h"
#include "trace_counts.h"
#include "trace_file.h"

#define LAYOUT_BYTES_MAX 4096 /* of the plan's record: a list of 2000 OSTs */

static const char *path_of(const struct iez_trace_file *file) {
    return (const char *)(file + 1);
}

static struct iez_trace_file *next_of(const struct iez_trace_file *file) {
    return (struct iez_trace_file *)(uintptr_t)file->private_words[2];
}

static struct iez_trace_file *search(struct iez_trace_file *first, uint64_t hash,
                                     const struct iez_found *found) {
    for (struct iez_trace_file *file = first; file; file = next_of(file))
        if (file->private_words[0] == hash && file->path_bytes == found->path_bytes &&
            !(__atomic_load_n(&file->flags, __ATOMIC_RELAXED) & IEZ_FILE_RENAMED) &&
            memcmp(path_of(file), found->path, found->path_bytes) == 0)
            return file;
    return NULL;
}

static uint64_t layout_bytes_of(const struct iez_found *found) {
    bool is_whole = found->layout && found->layout->bytes <= found->layout_bytes &&
                    found->layout->bytes <= LAYOUT_BYTES_MAX;
    return is_whole ? found->layout->bytes : 0;
}

static struct iez_trace_file *make(uint64_t hash, const struct iez_found *found) {
    uint64_t bytes = found->path_bytes, layout_bytes = layout_bytes_of(found);
    uint64_t layout_at = (sizeof(struct iez_trace_file) + bytes + 1 + 7) / 8 * 8;
    struct iez_trace_file *file = iez_trace_block(layout_at + layout_bytes);
    if (!file)
        return NULL;
    memcpy(file + 1, found->path, bytes);
    if (layout_bytes)
        memcpy((char *)file + layout_at, found->layout, layout_bytes);
    file->path_bytes = (uint16_t)bytes;
    file->layout_bytes = (uint16_t)layout_bytes;
    file->private_words[0] = hash;
    file->opened_ns = iez_coarse_ns();
    file->size_bytes = IEZ_SIZE_UNKNOWN;
    file->comm_rank = -1;
    file->number = 1 + atomic_fetch_add(&iez_process->file_count, 1);
    return file;
}

static _Atomic(struct iez_trace_file *) *bucket_of(uint64_t hash) {
    iez_process_start();
    return &iez_process->buckets[hash % IEZ_BUCKETS];
}

struct iez_trace_file *iez_file_known(const struct iez_found *found) {
    uint64_t hash = iez_hash(found->path, found->path_bytes);
    return search(atomic_load(bucket_of(hash)), hash, found);
}

void iez_file_dropped(void) {
    struct iez_trace_header *header = iez_trace_header();
    if (!header)
        return;
    __atomic_fetch_add(&header->dropped_files, 1, __ATOMIC_RELAXED);
    iez_trace_publish(header, sizeof *header);
}

struct iez_trace_file *iez_file_of(const struct iez_found *found) {
    uint64_t hash = iez_hash(found->path, found->path_bytes);
    _Atomic(struct iez_trace_file *) *bucket = bucket_of(hash);
    struct iez_trace_file *first = atomic_load(bucket);
    struct iez_trace_file *file = search(first, hash, found);
    if (file || found->path_bytes >= IEZ_PATH_MAX)
        return file;
    struct iez_trace_file *made = make(hash, found);
    if (!made)
        return NULL;
    do {
        /* Another thread may have entered it: then the block of this one stays unused. */
        file = search(first, hash, found);
        if (file) {
            iez_trace_finish(made, IEZ_BLOCK_UNUSED);
            return file;
        }
        made->private_words[2] = (uintptr_t)first;
    } while (!atomic_compare_exchange_weak(bucket, &first, made));
    iez_trace_finish(made, IEZ_BLOCK_FILE);
    return made;
}

/* A file that was removed is the same again when it is created under its name. */
void iez_file_is_back(struct iez_trace_file *file) {
    if (__atomic_load_n(&file->flags, __ATOMIC_RELAXED) & IEZ_FILE_UNLINKED) {
        __atomic_fetch_and(&file->flags, ~IEZ_FILE_UNLINKED, __ATOMIC_RELAXED);
        file->ended_ns = 0;
    }
}

/* The path as the plan knows it, if it is watched: found->path. It may lie in `lookup`. */
static bool watched(int dirfd, const char *path, size_t bytes, struct iez_lookup *lookup,
                    struct iez_found *found) {
    size_t clean_bytes;
    const char *clean = iez_path_absolute(dirfd, path, bytes, lookup->path, &clean_bytes);
    return clean &&
           !iez_plan_watched(iez_current_known(), clean, clean_bytes, lookup->canonical, found) &&
           found->prefix && found->prefix->kind != IEZ_KIND_NONE;
}

struct iez_trace_file *iez_trace_named(const char *name, size_t bytes, bool make) {
    struct iez_found found;
    struct iez_trace_file *file = NULL;
    struct iez_lookup *lookup = iez_lookup_take();
    if (!lookup)
        return NULL;
    if (bytes > 0 && watched(AT_FDCWD, name, bytes, lookup, &found))
        file = make ? iez_file_of(&found) : iez_file_known(&found);
    iez_lookup_give(lookup);
    return file;
}

static void end(struct iez_trace_file *file, uint32_t flag) {
    file->ended_ns = iez_coarse_ns();
    iez_file_flag(file, flag);
    iez_publish_counts(file);
    iez_trace_publish(file, sizeof *file);
}

static void give_name(struct iez_trace_file *file, const struct iez_found *to) {
    struct iez_trace_name *name = iez_trace_block(sizeof *name + to->path_bytes + 1);
    if (!name)
        return;
    name->file = file->number;
    name->bytes = (uint32_t)to->path_bytes;
    memcpy(name + 1, to->path, to->path_bytes);
    iez_trace_finish(name, IEZ_BLOCK_NAME);
}

/* What was there under the new name is gone. A name that this process does not know may be another
 * rank's file, or a directory: the reader of all traces can tell. */
static void rename_known(const struct iez_found *from, const struct iez_found *to) {
    if (from->path_bytes == to->path_bytes && memcmp(from->path, to->path, to->path_bytes) == 0)
        return;
    struct iez_trace_file *replaced = iez_file_known(to);
    struct iez_trace_file *file = iez_file_of(from);
    if (!file) {
        iez_file_dropped();
        return;
    }
    if (replaced)
        end(replaced, IEZ_FILE_UNLINKED);
    give_name(file, to);
    end(file, IEZ_FILE_RENAMED);
}

/* To give a file its final name by a link and to remove the first one is a rename that replaces
 * nothing. */
static void link_known(const struct iez_found *from, const struct iez_found *to) {
    struct iez_trace_file *file = iez_file_known(from);
    if (!file)
        return;
    iez_file_flag(file, IEZ_FILE_LINKED);
    give_name(file, to);
}

typedef void (*names_function)(const struct iez_found *from, const struct iez_found *to);

static void note_names(int from_fd, const char *from, int to_fd, const char *to,
                       names_function note) {
    int saved = errno;
    struct iez_found old, new;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    struct iez_lookup *first = iez_lookup_take_at(frame), *second = iez_lookup_take_at(frame - 1);
    if (first && second && watched(from_fd, from, strlen(from), first, &old) &&
        watched(to_fd, to, strlen(to), second, &new))
        note(&old, &new);
    if (first)
        iez_lookup_give(first);
    if (second)
        iez_lookup_give(second);
    errno = saved;
}

void iez_note_rename(int from_fd, const char *from, int to_fd, const char *to) {
    note_names(from_fd, from, to_fd, to, rename_known);
}

void iez_note_link(int from_fd, const char *from, int to_fd, const char *to) {
    if (atomic_load(&iez_process->header)) /* else nothing is known */
        note_names(from_fd, from, to_fd, to, link_known);
}

void iez_note_unlink(int dirfd, const char *path) {
    int saved = errno;
    struct iez_found found;
    struct iez_lookup *lookup =
        atomic_load(&iez_process->header) ? iez_lookup_take() : NULL; /* else nothing is known */
    if (lookup && watched(dirfd, path, strlen(path), lookup, &found)) {
        struct iez_trace_file *file = iez_file_known(&found);
        if (file)
            end(file, file->flags & IEZ_FILE_LINKED ? IEZ_FILE_RENAMED : IEZ_FILE_UNLINKED);
    }
    if (lookup)
        iez_lookup_give(lookup);
    errno = saved;
}
