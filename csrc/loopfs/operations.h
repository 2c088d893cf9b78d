/* Operations: what the kernel asks for. */
#ifndef IEZ_LOOPFS_OPERATIONS_H
#define IEZ_LOOPFS_OPERATIONS_H

#include "file.h"

#define LOOP_TIMEOUT_S 3600.0 /* all changes pass through here: the kernel knows of each */

/* What the operations share; the userdata of a FUSE session. */
struct loop_context {
    struct loop_fs *fs;
    struct loop_file *root;
    struct fuse_session *session;
};

static inline struct loop_context *loop_context_of(fuse_req_t request) {
    return fuse_req_userdata(request);
}

static inline struct loop_fs *loop_fs_of(fuse_req_t request) {
    return loop_context_of(request)->fs;
}

static inline struct loop_file *loop_file_of(fuse_req_t request, fuse_ino_t node) {
    return node == FUSE_ROOT_ID ? loop_context_of(request)->root
                                : (struct loop_file *)(uintptr_t)node;
}

/* Each file that the kernel knows takes a descriptor. Starts a thread that makes the kernel forget
 * files which nobody has open, once there are more than `most`. 0, or an errno. */
int loop_files_limit(struct loop_context *context, size_t most);

/* The file's attributes in the kernel's form. 0, or an errno. */
int loop_entry_of(struct loop_fs *fs, struct loop_file *file, struct fuse_entry_param *entry);

/* A new file or directory belongs to who asked for it. */
void loop_set_owner(fuse_req_t request, const struct loop_file *parent, const char *name,
                    mode_t mode);

/* Gives a file that has no layout what its directory says, or the default. `parent` may be NULL. */
int loop_default_layout(struct loop_fs *fs, struct loop_context *context, struct loop_file *parent,
                        struct loop_file *file);

/* Subdirectories inherit the default layout, except the root's, which is everybody's anyway. */
void loop_inherit_default(const struct loop_file *parent, const struct loop_file *child);

/* As fuse_reply_open and fuse_reply_create, with what libfuse of Debian 12 does not know yet:
 * direct writes to one file go on side by side. Not 0: who asked is gone. */
int loop_reply_open(fuse_req_t request, uint64_t handle, bool is_direct);
int loop_reply_create(fuse_req_t request, const struct fuse_entry_param *entry, uint64_t handle,
                      bool is_direct);

void loop_add_name_operations(struct fuse_lowlevel_ops *operations);
void loop_add_data_operations(struct fuse_lowlevel_ops *operations);
void loop_add_layout_operations(struct fuse_lowlevel_ops *operations);

#endif
