#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct loop_file **table;
static size_t table_size, file_count;

struct loop_proc_path loop_proc_path(const struct loop_file *file) {
    struct loop_proc_path path;
    snprintf(path.text, sizeof path.text, "/proc/self/fd/%d", file->handle);
    return path;
}

static struct loop_file **place_of(uint64_t inode) {
    struct loop_file **place = &table[inode % table_size];
    while (*place && (*place)->inode != inode)
        place = &(*place)->next;
    return place;
}

static bool grow(void) {
    size_t size = table_size ? 2 * table_size : 4096;
    struct loop_file **old = table, **grown = calloc(size, sizeof *grown);
    if (!grown)
        return table;
    size_t old_size = table_size;
    table = grown;
    table_size = size;
    for (size_t i = 0; i < old_size; i++)
        while (old[i]) {
            struct loop_file *file = old[i];
            old[i] = file->next;
            file->next = table[file->inode % size];
            table[file->inode % size] = file;
        }
    free(old);
    return true;
}

static struct loop_file *make(int handle, uint64_t inode) {
    struct loop_file *file = calloc(1, sizeof *file);
    if (!file)
        return NULL;
    file->handle = handle;
    file->inode = inode;
    file->meta = -1;
    pthread_mutex_init(&file->lock, NULL);
    struct loop_file **place = &table[inode % table_size];
    file->next = *place;
    *place = file;
    file_count++;
    return file;
}

struct loop_file *loop_files_start(struct loop_fs *fs) {
    struct stat st;
    int handle = openat(fs->meta, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0 || fstat(handle, &st) != 0 || !grow())
        return NULL;
    struct loop_file *root = make(handle, st.st_ino);
    if (root)
        root->lookups = 1;
    return root;
}

struct loop_file *loop_file_find(struct loop_file *parent, const char *name) {
    struct stat st;
    int handle = openat(parent->handle, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (handle < 0)
        return NULL;
    if (fstat(handle, &st) != 0) {
        close(handle);
        return NULL;
    }
    pthread_mutex_lock(&table_lock);
    struct loop_file *file = *place_of(st.st_ino);
    bool is_new = !file;
    if (is_new && (file_count < table_size || grow()))
        file = make(handle, st.st_ino);
    if (file)
        file->lookups++;
    pthread_mutex_unlock(&table_lock);
    if (!is_new || !file)
        close(handle);
    if (!file)
        errno = ENOMEM;
    return file;
}

void loop_file_forget(struct loop_file *file, uint64_t lookups) {
    pthread_mutex_lock(&table_lock);
    file->lookups -= lookups;
    bool is_last = !file->lookups;
    if (is_last) {
        *place_of(file->inode) = file->next;
        file_count--;
    }
    pthread_mutex_unlock(&table_lock);
    if (!is_last)
        return;
    close(file->handle);
    loop_layout_free(file->layout);
    pthread_mutex_destroy(&file->lock);
    free(file);
}
