/* Batches of system calls as a job makes them, to be run with and without the library.
 *
 *   calls open FILE             open(O_RDONLY) and close
 *   calls pwrite FILE           pwrite of 8 bytes
 *   calls create DIRECTORY STEM open(O_CREAT) and close of new files; unlink, not timed
 *   calls once DIRECTORY STEM COUNT [relative]
 *                               creates COUNT files and ends: for strace */
#include <fcntl.h>

#include "batch.h"
#include "keys.h"

#define CALLS   500
#define CREATES 50

static const char *path;
static int file;
static struct key key;
static uint32_t next_number;

static void open_and_close(int count) {
    for (int i = 0; i < count; i++) {
        int fd = open(path, O_RDONLY);
        if (fd < 0)
            give_up(path);
        close(fd);
    }
}

static uint64_t open_batch(void) {
    open_and_close(CALLS / 10);
    uint64_t start = now_ns();
    open_and_close(CALLS);
    return now_ns() - start;
}

static void write_often(int count) {
    for (int i = 0; i < count; i++)
        if (pwrite(file, "8 bytes.", 8, 8 * i) != 8)
            give_up(path);
}

static uint64_t pwrite_batch(void) {
    write_often(CALLS / 10);
    uint64_t start = now_ns();
    write_often(CALLS);
    return now_ns() - start;
}

/* File numbers `first` and after. The name is on the stack, where programs compose theirs. */
static void create(uint32_t first, uint32_t count) {
    struct key name = key;
    for (uint32_t i = 0; i < count; i++) {
        key_number(&name, first + i);
        int fd = open(name.path, O_CREAT | O_WRONLY | O_EXCL, 0644);
        if (fd < 0)
            give_up(name.path);
        close(fd);
    }
}

static void remove_files(uint32_t first, uint32_t count) {
    struct key name = key;
    for (uint32_t i = 0; i < count; i++) {
        key_number(&name, first + i);
        unlink(name.path);
    }
}

static uint64_t create_batch(void) {
    uint32_t warm = CREATES / 10;
    create(next_number, warm);
    uint64_t start = now_ns();
    create(next_number + warm, CREATES);
    uint64_t spent = now_ns() - start;
    remove_files(next_number, warm + CREATES);
    /* Run 0 of the plan has a thousand files. */
    next_number = (next_number + warm + CREATES) % 900;
    return spent;
}

static int create_once(uint32_t count, const char *relative_to) {
    if (relative_to) {
        if (chdir(relative_to) != 0)
            give_up(relative_to);
        memmove(key.path, key.path + strlen(relative_to) + 1, key.bytes - strlen(relative_to));
        key.number_at -= (uint32_t)strlen(relative_to) + 1;
    }
    create(0, count);
    remove_files(0, count);
    return 0;
}

int main(int count, char **words) {
    const char *mode = count > 2 ? words[1] : "";
    path = words[2];
    if (strcmp(mode, "open") == 0)
        return serve(open_batch);
    if (strcmp(mode, "pwrite") == 0) {
        file = open(path, O_WRONLY);
        return file < 0 ? 1 : serve(pwrite_batch);
    }
    if (count < 4)
        return 2;
    key = key_make(path, words[3], ".h5");
    if (strcmp(mode, "create") == 0)
        return serve(create_batch);
    if (strcmp(mode, "once") == 0 && count >= 5)
        return create_once((uint32_t)atoi(words[4]), count > 5 ? path : NULL);
    return 2;
}
