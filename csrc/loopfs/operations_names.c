#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "operations.h"

int loop_entry_of(struct loop_fs *fs, struct loop_file *file, struct fuse_entry_param *entry) {
    *entry = (struct fuse_entry_param){
        .ino = (uintptr_t)file, .attr_timeout = LOOP_TIMEOUT_S, .entry_timeout = LOOP_TIMEOUT_S};
    return loop_file_stat(fs, file, &entry->attr);
}

static void reply_entry(fuse_req_t request, struct loop_file *parent, const char *name) {
    struct fuse_entry_param entry;
    struct loop_file *file = loop_file_find(parent, name);
    int answer = file ? loop_entry_of(loop_fs_of(request), file, &entry) : errno;
    if (!answer && fuse_reply_entry(request, &entry) == 0)
        return;
    if (answer)
        fuse_reply_err(request, answer);
    if (file)
        loop_file_forget(file, 1);
}

static void lookup(fuse_req_t request, fuse_ino_t parent, const char *name) {
    reply_entry(request, loop_file_of(request, parent), name);
}

static void forget(fuse_req_t request, fuse_ino_t node, uint64_t lookups) {
    if (node != FUSE_ROOT_ID)
        loop_file_forget(loop_file_of(request, node), lookups);
    fuse_reply_none(request);
}

static void forget_multi(fuse_req_t request, size_t count, struct fuse_forget_data *forgets) {
    for (size_t i = 0; i < count; i++)
        if (forgets[i].ino != FUSE_ROOT_ID)
            loop_file_forget(loop_file_of(request, forgets[i].ino), forgets[i].nlookup);
    fuse_reply_none(request);
}

static void reply_attributes(fuse_req_t request, struct loop_file *file) {
    struct stat st;
    int answer = loop_file_stat(loop_fs_of(request), file, &st);
    if (answer)
        fuse_reply_err(request, answer);
    else
        fuse_reply_attr(request, &st, LOOP_TIMEOUT_S);
}

static void get_attributes(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info) {
    (void)info;
    reply_attributes(request, loop_file_of(request, node));
}

static struct timespec time_to_set(struct timespec given, int is_set, int is_now) {
    if (is_now)
        return (struct timespec){.tv_nsec = UTIME_NOW};
    return is_set ? given : (struct timespec){.tv_nsec = UTIME_OMIT};
}

static int change(struct loop_fs *fs, struct loop_file *file, const struct stat *to, int which) {
    struct loop_proc_path path = loop_proc_path(file);
    if (which & FUSE_SET_ATTR_MODE && chmod(path.text, to->st_mode) != 0)
        return errno;
    if (which & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) {
        uid_t uid = which & FUSE_SET_ATTR_UID ? to->st_uid : (uid_t)-1;
        gid_t gid = which & FUSE_SET_ATTR_GID ? to->st_gid : (gid_t)-1;
        if (fchownat(file->handle, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0)
            return errno;
    }
    if (which & FUSE_SET_ATTR_SIZE) {
        int answer = loop_file_truncate(fs, file, (uint64_t)to->st_size);
        if (answer)
            return answer;
    }
    if (which & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)) {
        struct timespec times[] = {
            time_to_set(to->st_atim, which & FUSE_SET_ATTR_ATIME, which & FUSE_SET_ATTR_ATIME_NOW),
            time_to_set(to->st_mtim, which & FUSE_SET_ATTR_MTIME, which & FUSE_SET_ATTR_MTIME_NOW),
        };
        /* Through /proc a symbolic link's own times cannot be set; by the handle they can. */
        if (syscall(SYS_utimensat, file->handle, "", times, AT_EMPTY_PATH) != 0 &&
            utimensat(AT_FDCWD, path.text, times, 0) != 0)
            return errno;
    }
    return 0;
}

static void set_attributes(fuse_req_t request, fuse_ino_t node, struct stat *to, int which,
                           struct fuse_file_info *info) {
    (void)info;
    struct loop_file *file = loop_file_of(request, node);
    int answer = change(loop_fs_of(request), file, to, which);
    if (answer)
        fuse_reply_err(request, answer);
    else
        reply_attributes(request, file);
}

static void read_link(fuse_req_t request, fuse_ino_t node) {
    char target[4097];
    ssize_t bytes = readlinkat(loop_file_of(request, node)->handle, "", target, sizeof target - 1);
    if (bytes < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    target[bytes] = '\0';
    fuse_reply_readlink(request, target);
}

void loop_set_owner(fuse_req_t request, const struct loop_file *parent, const char *name,
                    mode_t mode) {
    const struct fuse_ctx *who = fuse_req_ctx(request);
    struct stat above;
    if (geteuid() != 0 || (who->uid == 0 && who->gid == 0))
        return;
    /* The file system below has seen to the group of a directory that passes its own on. */
    bool inherits = fstat(parent->handle, &above) == 0 && (above.st_mode & S_ISGID);
    gid_t group = inherits ? (gid_t)-1 : who->gid;
    if (fchownat(parent->handle, name, who->uid, group, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(mode) && (mode & (S_ISUID | S_ISGID)))
        fchmodat(parent->handle, name, mode & 07777, 0);
}

static void finish_new(fuse_req_t request, struct loop_file *parent, const char *name, mode_t mode,
                       int made) {
    if (made != 0) {
        fuse_reply_err(request, errno);
        return;
    }
    loop_set_owner(request, parent, name, mode);
    reply_entry(request, parent, name);
}

static void make_node(fuse_req_t request, fuse_ino_t node, const char *name, mode_t mode,
                      dev_t device) {
    struct loop_file *parent = loop_file_of(request, node);
    finish_new(request, parent, name, mode, mknodat(parent->handle, name, mode, device));
}

static void make_directory(fuse_req_t request, fuse_ino_t node, const char *name, mode_t mode) {
    struct loop_file *parent = loop_file_of(request, node);
    int made = mkdirat(parent->handle, name, mode);
    struct loop_file *child = made == 0 ? loop_file_find(parent, name) : NULL;
    if (child) {
        if (node != FUSE_ROOT_ID)
            loop_inherit_default(parent, child);
        loop_file_forget(child, 1);
    }
    finish_new(request, parent, name, S_IFDIR | mode, made);
}

static void make_link(fuse_req_t request, const char *target, fuse_ino_t node, const char *name) {
    struct loop_file *parent = loop_file_of(request, node);
    finish_new(request, parent, name, S_IFLNK, symlinkat(target, parent->handle, name));
}

static void add_name(fuse_req_t request, fuse_ino_t node, fuse_ino_t new_parent, const char *name) {
    struct loop_file *parent = loop_file_of(request, new_parent);
    struct loop_proc_path path = loop_proc_path(loop_file_of(request, node));
    if (linkat(AT_FDCWD, path.text, parent->handle, name, AT_SYMLINK_FOLLOW) != 0)
        fuse_reply_err(request, errno);
    else
        reply_entry(request, parent, name);
}

/* Removes a name, or replaces it by a rename; the data of what it named goes with the last one. */
static void settle(fuse_req_t request, struct loop_file *before, int done) {
    int answer = done == 0 ? 0 : errno;
    if (before) {
        if (!answer)
            loop_file_unlinked(loop_fs_of(request), before);
        loop_file_forget(before, 1);
    }
    fuse_reply_err(request, answer);
}

static void remove_name(fuse_req_t request, fuse_ino_t node, const char *name) {
    struct loop_file *parent = loop_file_of(request, node);
    /* Found rather than known: its layout is needed after its name is gone. */
    struct loop_file *before = loop_file_find(parent, name);
    if (!before) {
        fuse_reply_err(request, errno);
        return;
    }
    settle(request, before, unlinkat(parent->handle, name, 0));
}

static void remove_directory(fuse_req_t request, fuse_ino_t node, const char *name) {
    struct loop_file *parent = loop_file_of(request, node);
    fuse_reply_err(request, unlinkat(parent->handle, name, AT_REMOVEDIR) == 0 ? 0 : errno);
}

static void change_name(fuse_req_t request, fuse_ino_t node, const char *name, fuse_ino_t new_node,
                        const char *new_name, unsigned flags) {
    struct loop_file *parent = loop_file_of(request, node);
    struct loop_file *new_parent = loop_file_of(request, new_node);
    struct loop_file *before = loop_file_find(new_parent, new_name);
    if (!before && errno != ENOENT) {
        fuse_reply_err(request, errno);
        return;
    }
    settle(request, before, renameat2(parent->handle, name, new_parent->handle, new_name, flags));
}

static void open_directory(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info) {
    int fd = openat(loop_file_of(request, node)->handle, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        fuse_reply_err(request, error);
        return;
    }
    info->fh = (uintptr_t)directory;
    if (fuse_reply_open(request, info) != 0)
        closedir(directory);
}

static void read_directory(fuse_req_t request, fuse_ino_t node, size_t room, off_t offset,
                           struct fuse_file_info *info) {
    (void)node;
    DIR *directory = (DIR *)(uintptr_t)info->fh;
    char *buffer = malloc(room);
    size_t used = 0;
    if (!buffer) {
        fuse_reply_err(request, ENOMEM);
        return;
    }
    if (offset != telldir(directory) || offset == 0)
        seekdir(directory, offset);
    for (struct dirent *entry; (entry = readdir(directory));) {
        struct stat st = {.st_ino = entry->d_ino, .st_mode = (mode_t)entry->d_type << 12};
        size_t bytes = fuse_add_direntry(request, buffer + used, room - used, entry->d_name, &st,
                                         entry->d_off);
        if (bytes > room - used)
            break;
        used += bytes;
    }
    fuse_reply_buf(request, buffer, used);
    free(buffer);
}

static void close_directory(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info) {
    (void)node;
    closedir((DIR *)(uintptr_t)info->fh);
    fuse_reply_err(request, 0);
}

static void sync_directory(fuse_req_t request, fuse_ino_t node, int data_only,
                           struct fuse_file_info *info) {
    (void)node, (void)data_only;
    int fd = dirfd((DIR *)(uintptr_t)info->fh);
    fuse_reply_err(request, fsync(fd) == 0 ? 0 : errno);
}

static void status(fuse_req_t request, fuse_ino_t node) {
    (void)node;
    struct loop_fs *fs = loop_fs_of(request);
    struct statvfs all = {.f_bsize = 4096, .f_frsize = 4096, .f_namemax = 255}, meta;
    for (uint32_t i = 0; i < fs->target_count; i++) {
        struct loop_space space;
        if ((fs->targets[i].states & IEZ_OST_INACTIVE) ||
            loop_target_space(&fs->targets[i], &space) != 0)
            continue;
        all.f_blocks += space.size_bytes / all.f_frsize;
        all.f_bfree += space.free_bytes / all.f_frsize;
        all.f_bavail += space.available_bytes / all.f_frsize;
    }
    if (fstatvfs(fs->meta, &meta) == 0) {
        all.f_files = meta.f_files;
        all.f_ffree = meta.f_ffree;
        all.f_favail = meta.f_favail;
    }
    fuse_reply_statfs(request, &all);
}

void loop_add_name_operations(struct fuse_lowlevel_ops *operations) {
    operations->lookup = lookup;
    operations->forget = forget;
    operations->forget_multi = forget_multi;
    operations->getattr = get_attributes;
    operations->setattr = set_attributes;
    operations->readlink = read_link;
    operations->mknod = make_node;
    operations->mkdir = make_directory;
    operations->symlink = make_link;
    operations->link = add_name;
    operations->unlink = remove_name;
    operations->rmdir = remove_directory;
    operations->rename = change_name;
    operations->opendir = open_directory;
    operations->readdir = read_directory;
    operations->releasedir = close_directory;
    operations->fsyncdir = sync_directory;
    operations->statfs = status;
}
