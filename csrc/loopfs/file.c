#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "request.h"

struct loop_target *loop_file_target(struct loop_fs *fs, const struct loop_component *part,
                                     uint32_t stripe) {
    return part->is_on_mdt ? &fs->mdt : loop_fs_target(fs, part->osts[stripe]);
}

struct loop_layout *loop_file_layout(struct loop_file *file) {
    return atomic_load(&file->layout);
}

static int make_descriptors(struct loop_component *part) {
    uint32_t count = loop_stripes(part);
    part->objects = malloc(count * sizeof *part->objects);
    for (uint32_t k = 0; part->objects && k < count; k++)
        part->objects[k] = -1;
    return part->objects ? 0 : ENOMEM;
}

/* The size of the file and the blocks of its objects, asked of each of them. */
static void measure(struct loop_fs *fs, const struct loop_file *file,
                    const struct loop_layout *layout, uint64_t *size, uint64_t *blocks) {
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct loop_component *part = &layout->parts[i];
        for (uint32_t k = 0; part->is_instantiated && k < loop_stripes(part); k++) {
            struct stat st;
            struct loop_object_name name = loop_object_name(file->inode, i, k);
            struct loop_target *target = loop_file_target(fs, part, k);
            if (!target || fstatat(target->objects, name.text, &st, AT_SYMLINK_NOFOLLOW) != 0)
                continue;
            uint64_t end = loop_file_size(part, k, (uint64_t)st.st_size);
            if (end > *size)
                *size = end;
            *blocks += (uint64_t)st.st_blocks;
        }
    }
}

/* Metadata is read and written whatever the mode of the file says: who may do what, the kernel has
 * settled. Only root may do so in one step. */
static int open_meta(const struct loop_file *file) {
    struct loop_proc_path path = loop_proc_path(file);
    struct stat st;
    int meta = open(path.text, O_RDWR | O_CLOEXEC);
    if (meta >= 0 || errno != EACCES || fstat(file->handle, &st) != 0)
        return meta;
    if (chmod(path.text, st.st_mode | S_IRUSR | S_IWUSR) != 0)
        return -1;
    meta = open(path.text, O_RDWR | O_CLOEXEC);
    int error = errno;
    chmod(path.text, st.st_mode);
    errno = error;
    return meta;
}

/* Reads the layout and finds the size, once. With the lock held. */
static int load(struct loop_fs *fs, struct loop_file *file) {
    if (file->is_loaded)
        return 0;
    int meta = file->meta >= 0 ? file->meta : open_meta(file);
    if (meta < 0)
        return errno;
    struct loop_layout *layout;
    uint64_t size = 0, blocks = 0;
    int answer = loop_layout_load(meta, &layout, &size);
    if (meta != file->meta)
        close(meta);
    for (uint32_t i = 0; !answer && layout && i < layout->count; i++)
        if (layout->parts[i].is_instantiated)
            answer = make_descriptors(&layout->parts[i]);
    if (answer) {
        loop_layout_free(layout);
        return answer;
    }
    if (layout) {
        size = 0;
        measure(fs, file, layout, &size, &blocks);
    }
    file->size = size;
    atomic_store(&file->layout, layout);
    file->is_loaded = true;
    return 0;
}

int loop_file_stat(struct loop_fs *fs, struct loop_file *file, struct stat *st) {
    if (fstatat(file->handle, "", st, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0)
        return errno;
    st->st_blksize = 128 << 10;
    if (!S_ISREG(st->st_mode))
        return 0;
    pthread_mutex_lock(&file->lock);
    file->mode = st->st_mode;
    int answer = load(fs, file);
    pthread_mutex_unlock(&file->lock);
    if (answer == EIO)
        answer = 0; /* whose metadata are damaged can be seen and removed, but not opened */
    uint64_t size = 0, blocks = 0;
    struct loop_layout *layout = loop_file_layout(file);
    if (layout)
        measure(fs, file, layout, &size, &blocks);
    st->st_size = (off_t)file->size;
    st->st_blocks = (blkcnt_t)blocks;
    return answer;
}

int loop_file_open(struct loop_fs *fs, struct loop_file *file, int meta) {
    int answer = 0;
    pthread_mutex_lock(&file->lock);
    if (file->meta < 0 && meta < 0) {
        meta = open_meta(file);
        answer = meta < 0 ? errno : 0;
    }
    if (file->meta < 0)
        file->meta = meta;
    else if (meta >= 0)
        close(meta);
    if (!answer)
        answer = load(fs, file);
    if (!answer) {
        file->opens++;
    } else if (!file->opens && file->meta >= 0) {
        close(file->meta);
        file->meta = -1;
    }
    pthread_mutex_unlock(&file->lock);
    return answer;
}

static void for_each_object(struct loop_fs *fs, struct loop_file *file, bool remove) {
    struct loop_layout *layout = loop_file_layout(file);
    for (uint32_t i = 0; layout && i < layout->count; i++) {
        struct loop_component *part = &layout->parts[i];
        for (uint32_t k = 0; part->is_instantiated && k < loop_stripes(part); k++) {
            int object = atomic_exchange(&part->objects[k], -1);
            if (object >= 0)
                close(object);
            struct loop_target *target = loop_file_target(fs, part, k);
            if (!remove || !target)
                continue;
            loop_target_remove(target, loop_object_name(file->inode, i, k).text);
            loop_count(&target->counts, "", LOOP_DESTROY, 0, 0);
        }
    }
}

void loop_file_close(struct loop_fs *fs, struct loop_file *file) {
    pthread_mutex_lock(&file->lock);
    if (--file->opens == 0) {
        for_each_object(fs, file, file->is_gone);
        close(file->meta);
        file->meta = -1;
    }
    pthread_mutex_unlock(&file->lock);
}

void loop_file_unlinked(struct loop_fs *fs, struct loop_file *file) {
    struct stat st;
    if (fstat(file->handle, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink > 0)
        return;
    pthread_mutex_lock(&file->lock);
    if (!file->is_gone) {
        file->is_gone = true;
        if (load(fs, file) == 0 && !file->opens)
            for_each_object(fs, file, true);
    }
    pthread_mutex_unlock(&file->lock);
}

static void drop_objects(struct loop_fs *fs, const struct loop_file *file,
                         struct loop_component *part, uint32_t number) {
    for (uint32_t k = 0; part->objects && k < loop_stripes(part); k++) {
        if (part->objects[k] < 0)
            continue;
        close(part->objects[k]);
        loop_target_remove(loop_file_target(fs, part, k),
                           loop_object_name(file->inode, number, k).text);
    }
    free(part->objects);
    part->objects = NULL;
}

/* Makes the objects of a component. One that is there already was left by a daemon that died. */
static int make_objects(struct loop_fs *fs, const struct loop_file *file,
                        struct loop_component *part, uint32_t number) {
    int answer = make_descriptors(part);
    for (uint32_t k = 0; !answer && k < loop_stripes(part); k++) {
        struct loop_target *target = loop_file_target(fs, part, k);
        struct loop_object_name name = loop_object_name(file->inode, number, k);
        int flags = O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC;
        part->objects[k] = openat(target->objects, name.text, flags, 0600);
        if (part->objects[k] < 0)
            answer = errno;
        loop_count(&target->counts, "", LOOP_CREATE, 0, 0);
    }
    if (answer)
        drop_objects(fs, file, part, number);
    return answer;
}

/* Chooses the OSTs of a component, makes its objects and keeps that; only then others see it. With
 * the lock held. What fails leaves it as it was. */
static int instantiate_with(struct loop_fs *fs, const struct loop_file *file,
                            struct loop_layout *layout, uint32_t number, int meta) {
    struct loop_component *part = &layout->parts[number];
    bool was_listed = part->osts;
    uint16_t asked = part->stripe_count;
    int answer = loop_request_choose(fs, layout, number);
    if (!answer)
        answer = make_objects(fs, file, part, number);
    if (!answer) {
        layout->generation++;
        answer = loop_layout_store(meta, layout, number, file->size);
        if (answer) {
            layout->generation--;
            drop_objects(fs, file, part, number);
        }
    }
    if (!answer) {
        part->is_instantiated = true;
    } else if (!was_listed) {
        free(part->osts);
        part->osts = NULL;
        part->stripe_count = asked;
    }
    return answer;
}

static int truncate_loaded(struct loop_fs *fs, struct loop_file *file, uint64_t size);

static int instantiate(struct loop_fs *fs, const struct loop_file *file, struct loop_layout *layout,
                       uint32_t number) {
    int meta = file->meta >= 0 ? file->meta : open_meta(file);
    if (meta < 0)
        return errno;
    int answer = instantiate_with(fs, file, layout, number, meta);
    if (meta != file->meta)
        close(meta);
    return answer;
}

/* The MDS lets no component before one that is written stay without objects. */
static int instantiate_up_to(struct loop_fs *fs, const struct loop_file *file,
                             struct loop_layout *layout, uint32_t last) {
    int answer = 0;
    for (uint32_t number = 0; !answer && number <= last; number++)
        if (!layout->parts[number].is_instantiated)
            answer = instantiate(fs, file, layout, number);
    return answer;
}

int loop_file_instantiate(struct loop_fs *fs, struct loop_file *file, uint32_t component) {
    pthread_mutex_lock(&file->lock);
    int answer = instantiate_up_to(fs, file, loop_file_layout(file), component);
    pthread_mutex_unlock(&file->lock);
    return answer;
}

static int give_layout(struct loop_fs *fs, struct loop_file *file, struct loop_layout *layout) {
    layout->generation = UINT32_MAX; /* the first objects make it 0 */
    int answer = instantiate(fs, file, layout, 0);
    if (answer)
        return answer;
    uint64_t lazy_size = file->size;
    atomic_store(&file->layout, layout);
    return lazy_size ? truncate_loaded(fs, file, lazy_size) : 0;
}

int loop_file_set_layout(struct loop_fs *fs, struct loop_file *file, struct loop_layout *layout) {
    pthread_mutex_lock(&file->lock);
    int answer = load(fs, file);
    if (!answer && file->layout)
        answer = EEXIST;
    if (!answer)
        answer = give_layout(fs, file, layout);
    if (answer && file->layout != layout)
        loop_layout_free(layout);
    if (!file->opens) /* asked for by name */
        for_each_object(fs, file, file->is_gone);
    pthread_mutex_unlock(&file->lock);
    return answer;
}

/* With the lock held. */
static int open_object(struct loop_fs *fs, struct loop_file *file, struct loop_component *part,
                       uint32_t number, uint32_t stripe) {
    int object = part->objects[stripe];
    struct loop_target *target = loop_file_target(fs, part, stripe);
    if (object >= 0)
        return object;
    if (!target)
        return -EIO;
    struct loop_object_name name = loop_object_name(file->inode, number, stripe);
    object = openat(target->objects, name.text, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (object < 0)
        return -errno;
    part->objects[stripe] = object;
    return object;
}

int loop_file_object(struct loop_fs *fs, struct loop_file *file, uint32_t component,
                     uint32_t stripe) {
    struct loop_component *part = &loop_file_layout(file)->parts[component];
    int object = part->objects[stripe];
    if (object >= 0)
        return object;
    pthread_mutex_lock(&file->lock);
    object = open_object(fs, file, part, component, stripe);
    pthread_mutex_unlock(&file->lock);
    return object;
}

static int cut_objects(struct loop_fs *fs, struct loop_file *file, struct loop_layout *layout,
                       uint64_t size) {
    int answer = 0;
    for (uint32_t i = 0; i < layout->count; i++) {
        struct loop_component *part = &layout->parts[i];
        for (uint32_t k = 0; !answer && part->is_instantiated && k < loop_stripes(part); k++) {
            struct stat st;
            uint64_t own = loop_object_size(part, k, size);
            int object = open_object(fs, file, part, i, k);
            if (object < 0)
                return -object;
            int error = loop_target_answer(loop_file_target(fs, part, k), true);
            if (error && error != ENOSPC)
                return error;
            if (fstat(object, &st) == 0 && (uint64_t)st.st_size > own)
                answer = loop_target_truncate(loop_file_target(fs, part, k), object, (off_t)own);
        }
    }
    return answer;
}

/* The object of the last byte tells how long the file is. */
static int stretch(struct loop_fs *fs, struct loop_file *file, struct loop_layout *layout,
                   uint64_t size) {
    struct loop_piece piece;
    if (!loop_piece_at(layout, size - 1, 1, &piece))
        return EFBIG;
    struct loop_component *part = &layout->parts[piece.component];
    if (!piece.is_instantiated) {
        int answer = instantiate_up_to(fs, file, layout, piece.component);
        if (answer)
            return answer;
        loop_piece_at(layout, size - 1, 1, &piece); /* it may have got fewer stripes */
    }
    int object = open_object(fs, file, part, piece.component, piece.stripe);
    if (object < 0)
        return -object;
    return loop_target_truncate(loop_file_target(fs, part, piece.stripe), object,
                                (off_t)piece.offset + 1);
}

static int truncate_loaded(struct loop_fs *fs, struct loop_file *file, uint64_t size) {
    struct loop_layout *layout = file->layout;
    if (!layout) {
        int meta = file->meta >= 0 ? file->meta : open_meta(file);
        int answer = meta < 0 ? errno : loop_layout_store(meta, NULL, LOOP_NOTHING_MADE, size);
        if (meta >= 0 && meta != file->meta)
            close(meta);
        if (!answer)
            file->size = size;
        return answer;
    }
    int answer = cut_objects(fs, file, layout, size);
    if (!answer && size)
        answer = stretch(fs, file, layout, size);
    if (!answer)
        file->size = size;
    return answer;
}

int loop_file_truncate(struct loop_fs *fs, struct loop_file *file, uint64_t size) {
    pthread_mutex_lock(&file->lock);
    int answer = load(fs, file);
    if (!answer)
        answer = truncate_loaded(fs, file, size);
    if (!file->opens)
        for_each_object(fs, file, file->is_gone);
    int meta = file->meta >= 0 ? file->meta : open_meta(file);
    if (!answer && meta >= 0)
        futimens(meta, (struct timespec[]){{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}});
    if (meta >= 0 && meta != file->meta)
        close(meta);
    pthread_mutex_unlock(&file->lock);
    return answer;
}

void loop_file_written(struct loop_file *file, uint64_t end) {
    uint64_t size = atomic_load(&file->size);
    while (size < end && !atomic_compare_exchange_weak(&file->size, &size, end))
        ;
    futimens(file->meta, (struct timespec[]){{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}});
}
