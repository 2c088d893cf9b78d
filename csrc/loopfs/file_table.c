#include "operations.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NAMES_AT_ONCE 256

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct loop_file **table;
static size_t table_size, file_count;

static sem_t is_crowded;
static size_t files_most = SIZE_MAX;

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

/* Names come faster than they can go: who asks for more gives way to who makes room. */
static void give_way(void) {
    pthread_mutex_lock(&table_lock);
    bool is_full = file_count / 3 > files_most / 2;
    pthread_mutex_unlock(&table_lock);
    if (is_full) {
        sem_post(&is_crowded);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}

struct loop_file *loop_file_find(struct loop_file *parent, const char *name) {
    struct stat st;
    give_way();
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
    if (is_new && file_count > files_most)
        sem_post(&is_crowded);
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

/* How the kernel may know a file. */
struct name {
    fuse_ino_t parent;
    char text[NAME_MAX + 1];
};

/* Directories stay: somebody's working directory must keep its name. With the lock held. */
static bool may_go(const struct loop_file *file) {
    struct stat st;
    return !file->opens && fstat(file->handle, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* The name under which the file was found, or what became of it. With the lock held. */
static bool name_of(const struct loop_file *file, const struct loop_file *root, struct name *name) {
    char path[PATH_MAX];
    struct stat above;
    ssize_t bytes = readlink(loop_proc_path(file).text, path, sizeof path - 1);
    if (bytes <= 0)
        return false;
    path[bytes] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash || strlen(slash + 1) > NAME_MAX)
        return false;
    strcpy(name->text, slash + 1);
    *slash = '\0';
    const struct loop_file *parent = stat(path, &above) == 0 ? *place_of(above.st_ino) : NULL;
    name->parent = parent == root ? FUSE_ROOT_ID : (uintptr_t)parent;
    return parent;
}

/* Goes on through the table where it left off. */
static size_t collect(const struct loop_file *root, struct name *names, size_t *at) {
    size_t count = 0;
    pthread_mutex_lock(&table_lock);
    for (size_t looked = 0; looked < table_size && count < NAMES_AT_ONCE; looked++)
        for (const struct loop_file *file = table[(*at)++ % table_size];
             file && count < NAMES_AT_ONCE; file = file->next)
            count += may_go(file) && name_of(file, root, &names[count]);
    pthread_mutex_unlock(&table_lock);
    return count;
}

/* The kernel answers with a forget for each that it lets go. The lock is not held meanwhile: it may
 * wait for a request that needs it. */
static void *make_room(void *given) {
    const struct loop_context *context = given;
    struct name *names = malloc(NAMES_AT_ONCE * sizeof *names);
    for (size_t at = 0; names;) {
        sem_wait(&is_crowded);
        while (sem_trywait(&is_crowded) == 0)
            ;
        for (size_t left = files_most / 4; left > 0;) {
            size_t count = collect(context->root, names, &at);
            for (size_t i = 0; i < count; i++)
                fuse_lowlevel_notify_inval_entry(context->session, names[i].parent, names[i].text,
                                                 strlen(names[i].text));
            left -= count < left ? count : left;
            if (!count)
                break;
        }
    }
    return NULL;
}

int loop_files_limit(struct loop_context *context, size_t most) {
    pthread_t thread;
    files_most = most;
    sem_init(&is_crowded, 0, 0);
    return pthread_create(&thread, NULL, make_room, context);
}
