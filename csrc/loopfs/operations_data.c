#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "defaults.h"

#define DELAY_FLAG O_ASYNC /* of O_LOV_DELAY_CREATE, what the kernel passes on to FUSE */

/* A plain open for writing makes the MDS give the file a layout. */
static bool wants_layout(int flags) {
    return (flags & O_ACCMODE) != O_RDONLY && !(flags & DELAY_FLAG);
}

static int give_layout(fuse_req_t request, struct loop_file *parent, struct loop_file *file,
                       int flags) {
    if (!wants_layout(flags) || loop_file_layout(file))
        return 0;
    struct loop_context *context = loop_context_of(request);
    int answer = loop_default_layout(context->fs, context, parent, file);
    return answer == EEXIST ? 0 : answer;
}

static void open_file(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info) {
    struct loop_fs *fs = loop_fs_of(request);
    struct loop_file *file = loop_file_of(request, node);
    int answer = loop_file_open(fs, file, -1);
    if (answer) {
        fuse_reply_err(request, answer);
        return;
    }
    answer = give_layout(request, NULL, file, info->flags);
    if (answer)
        fuse_reply_err(request, answer);
    if (answer || loop_reply_open(request, 0, !fs->settings.has_mmap) != 0)
        loop_file_close(fs, file);
}

/* Where the MDS finds no OST for a new file, there is no file. */
static int open_new(fuse_req_t request, struct loop_file *parent, const char *name,
                    struct loop_file *file, int meta, bool is_new, int flags) {
    struct loop_fs *fs = loop_fs_of(request);
    int answer = loop_file_open(fs, file, meta);
    if (answer)
        return answer;
    answer = give_layout(request, parent, file, flags);
    if (answer) {
        if (is_new)
            unlinkat(parent->handle, name, 0);
        loop_file_close(fs, file);
    }
    return answer;
}

static void create(fuse_req_t request, fuse_ino_t node, const char *name, mode_t mode,
                   struct fuse_file_info *info) {
    struct loop_fs *fs = loop_fs_of(request);
    struct loop_file *parent = loop_file_of(request, node), *file = NULL;
    struct fuse_entry_param entry;
    int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int meta = openat(parent->handle, name, flags, mode), answer = meta < 0 ? errno : 0;
    bool is_new = meta >= 0;
    if (is_new)
        loop_set_owner(request, parent, name, S_IFREG | mode);
    if (answer == EEXIST && !(info->flags & O_EXCL))
        answer = 0; /* somebody was quicker */
    if (!answer && !(file = loop_file_find(parent, name)))
        answer = errno;
    if (!answer && is_new && !wants_layout(info->flags))
        loop_default_pool(parent, file->pool);
    if (!answer)
        answer = open_new(request, parent, name, file, meta, is_new, info->flags);
    else if (is_new)
        close(meta);
    if (!answer) {
        answer = loop_entry_of(fs, file, &entry);
        if (!answer && loop_reply_create(request, &entry, 0, !fs->settings.has_mmap) == 0)
            return;
        loop_file_close(fs, file);
    }
    if (file)
        loop_file_forget(file, 1);
    if (answer)
        fuse_reply_err(request, answer);
}

static void release(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info) {
    (void)info;
    loop_file_close(loop_fs_of(request), loop_file_of(request, node));
    fuse_reply_err(request, 0);
}

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* Books `bytes` of traffic of one object on its target, and lets the answer wait for it. */
static void book(struct loop_target *target, const char *job, enum loop_operation operation,
                 uint64_t bytes, uint64_t start_ns, struct loop_answer *answer) {
    uint64_t now_ns = loop_now_ns();
    struct loop_work work = {.service_ns = now_ns - start_ns};
    loop_target_charge(target, bytes, now_ns, &work);
    answer->due_ns = later(answer->due_ns, work.due_ns);
    loop_answer_after(answer, &target->states);
    loop_count(&target->counts, job, operation, bytes, work.service_ns / 1000 + 1);
    loop_rpc(&target->rpcs, operation == LOOP_WRITE, bytes, start_ns, work.done_ns);
}

/* One piece of a write. Bytes written, or a negative errno. */
static ssize_t write_piece(struct loop_fs *fs, struct loop_file *file,
                           const struct loop_piece *piece, const char *data, const char *job,
                           struct loop_answer *answer) {
    const struct loop_component *part = &loop_file_layout(file)->parts[piece->component];
    struct loop_target *target = loop_file_target(fs, part, piece->stripe);
    int error = target ? loop_target_answer(target, true) : EIO;
    int object = error ? -error : loop_file_object(fs, file, piece->component, piece->stripe);
    if (object < 0)
        return object;
    uint64_t start_ns = loop_now_ns();
    ssize_t done = loop_target_write(target, object, data, piece->bytes, (off_t)piece->offset);
    if (done > 0)
        book(target, job, LOOP_WRITE, (uint64_t)done, start_ns, answer);
    return done;
}

static ssize_t write_at(struct loop_fs *fs, struct loop_file *file, uint64_t offset,
                        const char *data, size_t bytes, const char *job,
                        struct loop_answer *answer) {
    const struct loop_layout *layout = loop_file_layout(file);
    struct loop_piece piece;
    if (!loop_piece_at(layout, offset, bytes, &piece))
        return -EFBIG;
    if (!piece.is_instantiated) {
        int error = loop_file_instantiate(fs, file, piece.component);
        if (error)
            return -error;
        loop_piece_at(layout, offset, bytes, &piece);
    }
    ssize_t done = write_piece(fs, file, &piece, data, job, answer);
    return done ? done : -ENOSPC;
}

/* What a write by another than root takes away. */
static void drop_privileges(fuse_req_t request, fuse_ino_t node, struct loop_file *file) {
    mode_t special = file->mode & S_ISUID;
    if ((file->mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
        special |= S_ISGID;
    if (!special || fuse_req_ctx(request)->uid == 0)
        return;
    struct stat st;
    pthread_mutex_lock(&file->lock);
    bool is_dropped =
        fstat(file->meta, &st) == 0 && fchmod(file->meta, st.st_mode & ~special & 07777) == 0;
    if (is_dropped)
        file->mode = st.st_mode & ~special;
    pthread_mutex_unlock(&file->lock);
    if (is_dropped)
        fuse_lowlevel_notify_inval_inode(loop_context_of(request)->session, node, -1, 0);
}

static void job_of(fuse_req_t request, char job[LOOP_JOB_BYTES]) {
    const struct fuse_ctx *who = fuse_req_ctx(request);
    loop_job_of(loop_fs_of(request)->settings.job_variable, who->pid, who->uid, job);
}

/* A file without a layout takes no data, unless its mode kept its owner from giving it one. */
static int has_layout_to_write(fuse_req_t request, struct loop_file *file) {
    if (loop_file_layout(file))
        return 0;
    if ((file->mode & S_IWUSR) || fuse_req_ctx(request)->uid == 0)
        return EBADF;
    return give_layout(request, NULL, file, O_WRONLY);
}

static void write_file(fuse_req_t request, fuse_ino_t node, const char *data, size_t bytes,
                       off_t offset, struct fuse_file_info *info) {
    struct loop_fs *fs = loop_fs_of(request);
    struct loop_file *file = loop_file_of(request, node);
    struct loop_answer answer = {.request = request, .is_write = true};
    answer.error = has_layout_to_write(request, file);
    if (answer.error) {
        fuse_reply_err(request, answer.error);
        return;
    }
    char job[LOOP_JOB_BYTES];
    job_of(request, job);
    ssize_t part = 0;
    for (; answer.bytes < bytes; answer.bytes += (size_t)part) {
        uint64_t at = (uint64_t)offset + answer.bytes;
        part = write_at(fs, file, at, data + answer.bytes, bytes - answer.bytes, job, &answer);
        if (part < 0)
            break;
    }
    if (!info->writepage)
        drop_privileges(request, node, file);
    if (answer.bytes)
        loop_file_written(file, (uint64_t)offset + answer.bytes);
    else if (part < 0)
        answer.error = (int)-part;
    loop_pace_answer(&answer);
}

/* One piece of a read into `data`, which is zero where nothing was written. 0, or an errno. */
static int read_piece(struct loop_fs *fs, struct loop_file *file, const struct loop_piece *piece,
                      char *data, const char *job, struct loop_answer *answer) {
    const struct loop_component *part = &loop_file_layout(file)->parts[piece->component];
    if (!piece->is_instantiated)
        return 0;
    struct loop_target *target = loop_file_target(fs, part, piece->stripe);
    int error = target ? loop_target_answer(target, false) : EIO;
    int object = error ? -error : loop_file_object(fs, file, piece->component, piece->stripe);
    if (object < 0)
        return -object;
    uint64_t start_ns = loop_now_ns();
    for (size_t done = 0; done < piece->bytes;) {
        ssize_t bytes =
            pread(object, data + done, piece->bytes - done, (off_t)(piece->offset + done));
        if (bytes < 0 && errno != EINTR)
            return errno;
        if (bytes == 0)
            break;
        if (bytes > 0)
            done += (size_t)bytes;
    }
    book(target, job, LOOP_READ, piece->bytes, start_ns, answer);
    return 0;
}

static void read_file(fuse_req_t request, fuse_ino_t node, size_t bytes, off_t offset,
                      struct fuse_file_info *info) {
    (void)info;
    struct loop_fs *fs = loop_fs_of(request);
    struct loop_file *file = loop_file_of(request, node);
    const struct loop_layout *layout = loop_file_layout(file);
    uint64_t size = atomic_load(&file->size), at = (uint64_t)offset;
    struct loop_answer answer = {.request = request};
    /* Without a layout there is nothing to read, whatever size the file was given. */
    if (layout && at < size)
        answer.bytes = size - at < bytes ? size - at : bytes;
    answer.data = calloc(1, answer.bytes + 1);
    if (!answer.data) {
        fuse_reply_err(request, ENOMEM);
        return;
    }
    char job[LOOP_JOB_BYTES];
    job_of(request, job);
    struct loop_piece piece;
    for (uint64_t done = 0; !answer.error && done < answer.bytes; done += piece.bytes) {
        if (!loop_piece_at(layout, at + done, answer.bytes - done, &piece))
            break;
        answer.error = read_piece(fs, file, &piece, (char *)answer.data + done, job, &answer);
    }
    loop_pace_answer(&answer);
}

static void flush(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info) {
    (void)node, (void)info;
    fuse_reply_err(request, 0);
}

static int sync_object(struct loop_fs *fs, struct loop_file *file, uint32_t component,
                       uint32_t stripe, struct loop_answer *answer) {
    struct loop_target *target =
        loop_file_target(fs, &loop_file_layout(file)->parts[component], stripe);
    int error = target ? loop_target_answer(target, false) : EIO;
    int object = error ? -error : loop_file_object(fs, file, component, stripe);
    if (object < 0)
        return -object;
    uint64_t start_ns = loop_now_ns();
    if (fsync(object) != 0)
        return errno;
    loop_count(&target->counts, "", LOOP_SYNC, 0, (loop_now_ns() - start_ns) / 1000 + 1);
    answer->due_ns = later(answer->due_ns, loop_bucket_idle_ns(&target->bucket));
    if (target->oss_bucket)
        answer->due_ns = later(answer->due_ns, loop_bucket_idle_ns(target->oss_bucket));
    loop_answer_after(answer, &target->states);
    return 0;
}

static void sync_file(fuse_req_t request, fuse_ino_t node, int data_only,
                      struct fuse_file_info *info) {
    (void)data_only, (void)info;
    struct loop_fs *fs = loop_fs_of(request);
    struct loop_file *file = loop_file_of(request, node);
    struct loop_layout *layout = loop_file_layout(file);
    struct loop_answer answer = {.request = request};
    for (uint32_t i = 0; layout && i < layout->count; i++)
        for (uint32_t k = 0; !answer.error && layout->parts[i].is_instantiated &&
                             k < loop_stripes(&layout->parts[i]);
             k++)
            answer.error = sync_object(fs, file, i, k, &answer);
    if (!answer.error && fsync(file->meta) != 0)
        answer.error = errno;
    loop_pace_answer(&answer);
}

static void allocate(fuse_req_t request, fuse_ino_t node, int mode, off_t offset, off_t bytes,
                     struct fuse_file_info *info) {
    (void)info;
    struct loop_fs *fs = loop_fs_of(request);
    struct loop_file *file = loop_file_of(request, node);
    const struct loop_layout *layout = loop_file_layout(file);
    /* Libraries write zeros where space cannot be allocated beforehand. */
    int answer = mode == (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE) ? 0 : EOPNOTSUPP;
    uint64_t at = (uint64_t)offset, end = at + (uint64_t)bytes, size = file->size;
    if (end > size)
        end = size;
    struct loop_piece piece;
    for (; !answer && layout && at < end && loop_piece_at(layout, at, end - at, &piece);
         at += piece.bytes) {
        const struct loop_component *part = &layout->parts[piece.component];
        if (!piece.is_instantiated)
            continue;
        int object = loop_file_object(fs, file, piece.component, piece.stripe);
        answer = object < 0 ? -object
                            : loop_target_punch(loop_file_target(fs, part, piece.stripe), object,
                                                (off_t)piece.offset, (off_t)piece.bytes);
    }
    if (!answer)
        loop_file_written(file, 0);
    fuse_reply_err(request, answer);
}

void loop_add_data_operations(struct fuse_lowlevel_ops *operations) {
    operations->create = create;
    operations->open = open_file;
    operations->release = release;
    operations->write = write_file;
    operations->read = read_file;
    operations->flush = flush;
    operations->fsync = sync_file;
    operations->fallocate = allocate;
}
