#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "../layout.h"
#include "aside.h"
#include "caller.h"
#include "defaults.h"
#include "request.h"

#define SETSTRIPE_NEW 0xC020669AU
#define GETSTRIPE     0x4008669BU
#define GETSTRIPE_NEW 0x8020669BU
#define OBD_STATFS    0xC00866A4U
#define GETOBDCOUNT   0x800866A8U
#define START_BYTES   sizeof(struct iez_lov_plain)
#define GROUPS_MAX    256

static bool is_in_group(fuse_req_t request, gid_t group) {
    if (fuse_req_ctx(request)->gid == group)
        return true;
    gid_t groups[GROUPS_MAX];
    int count = fuse_req_getgroups(request, GROUPS_MAX, groups);
    for (int i = 0; i < count && i < GROUPS_MAX; i++)
        if (groups[i] == group)
            return true;
    return false;
}

/* Whether the MDS lets this user set the layout: it asks for the right to write. */
static int may_write(fuse_req_t request, const struct loop_file *file, bool is_directory) {
    const struct fuse_ctx *who = fuse_req_ctx(request);
    struct stat st;
    if (fstat(file->handle, &st) != 0)
        return errno;
    if (who->uid == 0)
        return 0;
    if (is_directory)
        return who->uid == st.st_uid ? 0 : EPERM;
    mode_t others = is_in_group(request, st.st_gid) ? S_IWGRP : S_IWOTH;
    return st.st_mode & (who->uid == st.st_uid ? S_IWUSR : others) ? 0 : EACCES;
}

static int set_file_layout(struct loop_fs *fs, struct loop_file *file, const unsigned char *wire,
                           size_t bytes) {
    if (loop_file_layout(file))
        return EEXIST;
    struct loop_layout *layout;
    int answer = loop_request_parse(fs, wire, bytes, file->pool, &layout);
    return answer ? answer : loop_file_set_layout(fs, file, layout);
}

static int set_layout(fuse_req_t request, struct loop_file *file, mode_t type,
                      const unsigned char *wire, size_t bytes) {
    struct loop_fs *fs = loop_fs_of(request);
    int answer = may_write(request, file, S_ISDIR(type));
    if (answer)
        return answer;
    if (S_ISDIR(type))
        return loop_default_set(fs, file, wire, bytes);
    return S_ISREG(type) ? set_file_layout(fs, file, wire, bytes) : ENOTTY;
}

/* The layout of a file; of a directory its own default, else the root's. Its length, or a negative
 * errno. */
static long get_layout(fuse_req_t request, struct loop_file *file, mode_t type, unsigned char *wire,
                       size_t room) {
    if (S_ISDIR(type)) {
        long bytes = loop_default_get(file, wire, room);
        return bytes < 0 ? loop_default_get(loop_context_of(request)->root, wire, room) : bytes;
    }
    struct loop_layout *layout = S_ISREG(type) ? loop_file_layout(file) : NULL;
    if (!layout)
        return -ENODATA;
    pthread_mutex_lock(&file->lock);
    long bytes = loop_layout_wire(layout, file->inode, wire, room);
    pthread_mutex_unlock(&file->lock);
    return bytes;
}

static mode_t type_of(fuse_req_t request, struct loop_file *file) {
    struct stat st;
    return loop_file_stat(loop_fs_of(request), file, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

/* ioctl */

static int set_stripe(fuse_req_t request, struct loop_file *file, mode_t type, void *argument) {
    unsigned char wire[IEZ_WIRE_MAX], start[START_BYTES];
    uint32_t inject = loop_fs_of(request)->inject;
    if (!loop_fetch(request, argument, start, sizeof start))
        return loop_memory_error();
    size_t bytes = loop_request_bytes(start);
    if (bytes < START_BYTES || bytes > sizeof wire)
        return EINVAL;
    if (!loop_fetch(request, argument, wire, bytes))
        return loop_memory_error();
    if (S_ISDIR(type) && memcmp(start, &(uint32_t){IEZ_MAGIC_COMP}, 4) == 0)
        return EOPNOTSUPP;
    if (inject)
        return inject == IEZ_INJECT_SILENT ? 0 : (int)inject;
    int answer = set_layout(request, file, type, wire, bytes);
    if (answer || S_ISDIR(type))
        return answer;
    /* The answer overwrites the request, as far as there is room. */
    long length = get_layout(request, file, type, wire, sizeof wire);
    if (length > 0)
        loop_hand_out(request, argument, wire, (size_t)length < bytes ? (size_t)length : bytes);
    return 0;
}

/* What a caller of old gets, who says in the buffer what it knows: one component, the last that has
 * objects. */
static long legacy_layout(const struct loop_file *file, const struct iez_lov_plain *asked,
                          unsigned char *wire, size_t room) {
    const struct loop_layout *layout = file->layout;
    uint32_t last = layout->count - 1;
    for (uint32_t i = 0; i < layout->count && file->size; i++)
        if (layout->parts[i].is_instantiated)
            last = i;
    long bytes = loop_component_wire(layout, last, file->inode, wire, room);
    long head = (long)START_BYTES + (asked->magic == IEZ_MAGIC_V3 ? IEZ_POOL_NAME_BYTES : 0);
    long most = head + asked->stripe_count * (long)sizeof(struct iez_lov_object);
    return bytes < most ? bytes : most;
}

static int get_stripe(fuse_req_t request, struct loop_file *file, mode_t type, void *argument) {
    unsigned char wire[IEZ_WIRE_MAX];
    struct iez_lov_plain asked;
    long bytes = get_layout(request, file, type, wire, sizeof wire);
    if (bytes < 0)
        return (int)-bytes;
    if (!loop_fetch(request, argument, &asked, sizeof asked))
        return loop_memory_error();
    bool is_legacy = asked.magic == IEZ_MAGIC_V1 || asked.magic == IEZ_MAGIC_V3;
    if (S_ISREG(type) && is_legacy && loop_file_layout(file)->is_composite)
        bytes = legacy_layout(file, &asked, wire, sizeof wire);
    return loop_hand_out(request, argument, wire, (size_t)bytes) ? 0 : loop_memory_error();
}

/* What the kernel copies back by itself would undo what was handed out: it gets the same bytes. */
static void reply_ioctl(fuse_req_t request, int answer, void *argument, size_t out_bytes) {
    unsigned char out[256];
    if (answer)
        fuse_reply_err(request, answer);
    else if (out_bytes == 0)
        fuse_reply_ioctl(request, 0, NULL, 0);
    else if (out_bytes <= sizeof out && loop_fetch(request, argument, out, out_bytes))
        fuse_reply_ioctl(request, 0, out, out_bytes);
    else
        fuse_reply_err(request, loop_memory_error());
}

struct control_call {
    fuse_req_t request;
    struct loop_file *file;
    unsigned command;
    void *argument;
    size_t out_bytes;
};

static void control_aside(void *given) {
    struct control_call call = *(struct control_call *)given;
    fuse_req_t request = call.request;
    struct loop_file *file = call.file;
    void *argument = call.argument;
    size_t out_bytes = call.out_bytes;
    uint64_t count = 0;
    int answer = ENOTTY;
    free(given);
    switch (call.command) {
    case IEZ_LOV_SETSTRIPE:
    case SETSTRIPE_NEW:
        answer = set_stripe(request, file, type_of(request, file), argument);
        break;
    case GETSTRIPE:
    case GETSTRIPE_NEW:
        answer = get_stripe(request, file, type_of(request, file), argument);
        break;
    case OBD_STATFS:
        answer = loop_ost_status(request, argument);
        break;
    case GETOBDCOUNT:
        answer = loop_count_osts(request, argument, &count);
        if (!answer) {
            fuse_reply_ioctl(request, 0, &count,
                             out_bytes < sizeof count ? out_bytes : sizeof count);
            return;
        }
    }
    reply_ioctl(request, answer, argument, out_bytes);
}

static void control(fuse_req_t request, fuse_ino_t node, unsigned command, void *argument,
                    struct fuse_file_info *info, unsigned flags, const void *in, size_t in_bytes,
                    size_t out_bytes) {
    (void)info, (void)in, (void)in_bytes;
    struct control_call *call = flags & FUSE_IOCTL_COMPAT ? NULL : malloc(sizeof *call);
    int answer = flags & FUSE_IOCTL_COMPAT ? ENOTTY : ENOMEM;
    if (call) {
        *call = (struct control_call){request, loop_file_of(request, node), command, argument,
                                      out_bytes};
        answer = loop_aside(control_aside, call);
    }
    if (answer) {
        free(call);
        fuse_reply_err(request, answer);
    }
}

/* Extended attributes */

static bool is_layout(const char *name) {
    return strcmp(name, "lustre.lov") == 0 || strcmp(name, "trusted.lov") == 0;
}

/* No attribute of ours, and none that needs more than to be kept. */
static bool is_kept(const char *name) {
    return strncmp(name, LOOP_PRIVATE_XATTR, sizeof LOOP_PRIVATE_XATTR - 1) != 0 &&
           strncmp(name, "lustre.", 7) != 0 && strncmp(name, "system.", 7) != 0;
}

static void set_attribute(fuse_req_t request, fuse_ino_t node, const char *name, const char *value,
                          size_t bytes, int flags) {
    struct loop_file *file = loop_file_of(request, node);
    mode_t type = type_of(request, file);
    int answer = 0;
    if (is_layout(name)) {
        answer = bytes < START_BYTES || loop_request_bytes((const unsigned char *)value) > bytes
                     ? EINVAL
                     : set_layout(request, file, type, (const unsigned char *)value, bytes);
        if (answer == EEXIST)
            answer = 0; /* the MDS's word is not passed on here */
    } else if (S_ISLNK(type)) {
        answer = EPERM;
    } else if (!is_kept(name)) {
        answer = EOPNOTSUPP;
    } else if (setxattr(loop_proc_path(file).text, name, value, bytes, flags) != 0) {
        answer = errno;
    }
    fuse_reply_err(request, answer);
}

static void get_attribute(fuse_req_t request, fuse_ino_t node, const char *name, size_t room) {
    struct loop_file *file = loop_file_of(request, node);
    mode_t type = is_layout(name) ? type_of(request, file) : 0;
    char value[IEZ_WIRE_MAX];
    long bytes = -ENODATA;
    if (is_layout(name)) {
        bytes = get_layout(request, file, type, (unsigned char *)value, sizeof value);
    } else if (is_kept(name)) {
        bytes = getxattr(loop_proc_path(file).text, name, value, sizeof value);
        if (bytes < 0)
            bytes = -errno;
    }
    if (bytes < 0)
        fuse_reply_err(request, (int)-bytes);
    else if (room == 0)
        fuse_reply_xattr(request, (size_t)bytes);
    else if ((size_t)bytes > room)
        fuse_reply_err(request, ERANGE);
    else
        fuse_reply_buf(request, value, (size_t)bytes);
}

static void list_attributes(fuse_req_t request, fuse_ino_t node, size_t room) {
    char names[65536];
    ssize_t bytes =
        listxattr(loop_proc_path(loop_file_of(request, node)).text, names, sizeof names);
    if (bytes < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    size_t kept = 0;
    for (size_t at = 0, length; at < (size_t)bytes; at += length) {
        length = strlen(names + at) + 1;
        if (!is_kept(names + at))
            continue;
        memmove(names + kept, names + at, length);
        kept += length;
    }
    if (room == 0)
        fuse_reply_xattr(request, kept);
    else if (kept > room)
        fuse_reply_err(request, ERANGE);
    else
        fuse_reply_buf(request, names, kept);
}

static void remove_attribute(fuse_req_t request, fuse_ino_t node, const char *name) {
    struct loop_file *file = loop_file_of(request, node);
    int answer = ENODATA;
    if (is_layout(name))
        answer = S_ISDIR(type_of(request, file)) ? loop_default_remove(file) : EOPNOTSUPP;
    else if (is_kept(name))
        answer = removexattr(loop_proc_path(file).text, name) == 0 ? 0 : errno;
    fuse_reply_err(request, answer);
}

void loop_add_layout_operations(struct fuse_lowlevel_ops *operations) {
    operations->ioctl = control;
    operations->setxattr = set_attribute;
    operations->getxattr = get_attribute;
    operations->listxattr = list_attributes;
    operations->removexattr = remove_attribute;
}
