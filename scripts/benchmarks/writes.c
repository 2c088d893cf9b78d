/* Batches of writes to watched files, to be run with and without the library.
 *
 *   writes same FILE COUNT        pwrite of 8 bytes at one offset
 *   writes own FILE COUNT         two threads do so at once, each with a descriptor of its own
 *   writes shared FILE COUNT      both with the same descriptor
 *   writes cycle DIRECTORY COUNT  create, one write of 4 KiB, close; unlink, not timed */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include "batch.h"

#define CYCLES_MAX 100

static const char *path;
static int count;
static int files[2];
static sem_t start_of_batch; /* for the second thread */
static atomic_int arrived;   /* threads at a meeting, all meetings together */

static int open_to_write(void) {
    int fd = open(path, O_WRONLY);
    if (fd < 0)
        give_up(path);
    return fd;
}

static void write_often(int fd, int times) {
    for (int i = 0; i < times; i++)
        if (pwrite(fd, "8 bytes.", 8, 0) != 8)
            give_up(path);
}

static uint64_t same_batch(void) {
    write_often(files[0], count / 10);
    uint64_t start = now_ns();
    write_often(files[0], count);
    return now_ns() - start;
}

/* Waits for the other thread, awake: both go on at once. */
static void meet(void) {
    int until = atomic_fetch_add(&arrived, 1) / 2 * 2 + 2;
    while (atomic_load(&arrived) < until)
        ;
}

static void *second_thread(void *unused) {
    (void)unused;
    while (sem_wait(&start_of_batch) == 0) {
        meet();
        write_often(files[1], count);
        meet();
    }
    return NULL;
}

static uint64_t threads_batch(void) {
    sem_post(&start_of_batch);
    meet();
    uint64_t start = now_ns();
    write_often(files[0], count);
    meet();
    return now_ns() - start;
}

static uint64_t cycle_batch(void) {
    static const char data[4096];
    static char names[CYCLES_MAX][256];
    static unsigned next_number;
    for (int i = 0; i < count; i++)
        snprintf(names[i], sizeof names[i], "%s/part_%09u.dat", path, next_number++);
    uint64_t start = now_ns();
    for (int i = 0; i < count; i++) {
        int fd = open(names[i], O_CREAT | O_WRONLY | O_EXCL, 0644);
        if (fd < 0 || write(fd, data, sizeof data) != sizeof data)
            give_up(names[i]);
        close(fd);
    }
    uint64_t spent = now_ns() - start;
    for (int i = 0; i < count; i++)
        unlink(names[i]);
    return spent;
}

int main(int word_count, char **words) {
    if (word_count != 4)
        return 2;
    path = words[2];
    count = atoi(words[3]);
    if (strcmp(words[1], "cycle") == 0)
        return count > CYCLES_MAX ? 2 : serve(cycle_batch);
    files[0] = files[1] = open_to_write();
    if (strcmp(words[1], "same") == 0)
        return serve(same_batch);
    if (strcmp(words[1], "own") == 0)
        files[1] = open_to_write();
    else if (strcmp(words[1], "shared") != 0)
        return 2;
    pthread_t second;
    sem_init(&start_of_batch, 0, 0);
    if (pthread_create(&second, NULL, second_thread, NULL) != 0)
        give_up("pthread_create");
    return serve(threads_batch);
}
