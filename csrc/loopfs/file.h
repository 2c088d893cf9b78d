/* Files: everything that has a name, as long as the kernel knows it; and the data of regular ones.
 */
#ifndef IEZ_LOOPFS_FILE_H
#define IEZ_LOOPFS_FILE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "fs.h"
#include "striping.h"

struct loop_file {
    struct loop_file *next; /* in the table */
    uint64_t inode;
    int handle;       /* O_PATH, of its metadata */
    uint64_t lookups; /* that the kernel may forget */

    pthread_mutex_t lock; /* of all that follows */
    _Atomic uint32_t opens;
    int meta;     /* its metadata, while it is open */
    bool is_gone; /* its last name is removed */
    bool is_loaded;
    _Atomic(struct loop_layout *) layout;
    _Atomic uint64_t size;
    _Atomic uint32_t mode;              /* as last seen, for the bits that a write clears */
    char pool[IEZ_POOL_NAME_BYTES + 1]; /* of its directory, for one who asks for a layout */
};

/* /proc/self/fd/N: the way to calls that take no O_PATH descriptor. */
struct loop_proc_path {
    char text[32];
};
struct loop_proc_path loop_proc_path(const struct loop_file *file);

/* The root of the namespace; never forgotten. */
struct loop_file *loop_files_start(struct loop_fs *fs);

/* The file called `name`, known to the kernel once more. NULL, and errno. */
struct loop_file *loop_file_find(struct loop_file *parent, const char *name);
void loop_file_forget(struct loop_file *file, uint64_t lookups);

/* Attributes, with the size of its data. 0, or an errno. */
int loop_file_stat(struct loop_fs *fs, struct loop_file *file, struct stat *st);

/* One more user of a regular file. `meta` is its open metadata, which is taken over; -1: it is
 * opened here. 0, or an errno. */
int loop_file_open(struct loop_fs *fs, struct loop_file *file, int meta);
void loop_file_close(struct loop_fs *fs, struct loop_file *file);

/* Its last name may have gone: then its objects go with the last user. */
void loop_file_unlinked(struct loop_fs *fs, struct loop_file *file);

/* Gives the file a layout, unless it has one (EEXIST). Takes `layout` over. 0, or an errno. */
int loop_file_set_layout(struct loop_fs *fs, struct loop_file *file, struct loop_layout *layout);

/* The layout; NULL: it has none. */
struct loop_layout *loop_file_layout(struct loop_file *file);

/* Gives a component its OSTs and objects, and those before it, if they have none yet; it may get
 * fewer stripes than it asked for. 0, or an errno. */
int loop_file_instantiate(struct loop_fs *fs, struct loop_file *file, uint32_t component);

/* The descriptor of an object of a component that is instantiated; a negative errno. */
int loop_file_object(struct loop_fs *fs, struct loop_file *file, uint32_t component,
                     uint32_t stripe);
struct loop_target *loop_file_target(struct loop_fs *fs, const struct loop_component *part,
                                     uint32_t stripe);

int loop_file_truncate(struct loop_fs *fs, struct loop_file *file, uint64_t size);

/* The data was changed up to `end`: the file is at least that long, and it is now that it was. */
void loop_file_written(struct loop_file *file, uint64_t end);

#endif
