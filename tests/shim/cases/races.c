/* Threads and processes that create the same file at once. */
#include <sched.h>
#include <sys/mman.h>

#include "say.h"

enum { THREADS = 4, PROCESSES = 8, ROUNDS_MAX = 1000 };

static int rounds = 60;

__attribute__((constructor)) static void read_rounds(void) {
    const char *asked = getenv("CASE_ROUNDS");
    if (asked)
        rounds = atoi(asked);
}

static pthread_barrier_t barrier;
static _Atomic int winners[ROUNDS_MAX], losers[ROUNDS_MAX], others;

static void *race_exclusive(void *unused) {
    char name[32];
    for (int round = 0; round < rounds; round++) {
        snprintf(name, sizeof name, "round%d", round);
        pthread_barrier_wait(&barrier);
        int fd = open(name, O_CREAT | O_EXCL | O_RDWR, 0644);
        if (fd >= 0)
            winners[round]++;
        else if (errno == EEXIST)
            losers[round]++;
        else
            others++;
        close(fd);
    }
    return unused;
}

static void run_threads(int count, void *(*run)(void *)) {
    pthread_t threads[16];
    pthread_barrier_init(&barrier, NULL, (unsigned)count);
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, run, (void *)(intptr_t)i);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

CASE(threads_race_for_an_exclusive_create, "round*") {
    run_threads(THREADS, race_exclusive);
    for (int round = 0; round < rounds; round++)
        if (winners[round] != 1 || losers[round] != THREADS - 1)
            say("round %d: %d winners, %d losers\n", round, winners[round], losers[round]);
    say("other errors: %d\n", others);
}

static void *create_shared(void *number) {
    char name[32];
    for (int round = 0; round < rounds; round++) {
        snprintf(name, sizeof name, "round%d", round);
        pthread_barrier_wait(&barrier);
        int fd = (intptr_t)number % 2 ? open(name, O_CREAT | O_RDWR, 0644)
                                      : openat(AT_FDCWD, name, O_CREAT | O_WRONLY, 0644);
        if (fd < 0 || pwrite(fd, "x", 1, (intptr_t)number) != 1)
            others++;
        close(fd);
    }
    return NULL;
}

CASE(threads_create_a_shared_file, "round*") {
    run_threads(THREADS, create_shared);
    say("errors: %d\n", others);
}

/* Processes wait for a counter, so that all of them open at the same moment. */
static void open_together(_Atomic int *arrived, int number, int flags, _Atomic int *counts) {
    char name[32];
    for (int round = 0; round < rounds; round++) {
        snprintf(name, sizeof name, "round%d", round);
        ++*arrived;
        while (*arrived < PROCESSES * (round + 1))
            sched_yield();
        int fd = open(name, O_CREAT | O_WRONLY | flags, 0644);
        if (fd >= 0)
            counts[round]++;
        else if (errno != EEXIST || !(flags & O_EXCL))
            counts[ROUNDS_MAX]++;
        if (fd >= 0 && !flags && pwrite(fd, "x", 1, number) != 1)
            counts[ROUNDS_MAX]++;
        close(fd);
    }
}

static void race_processes(int flags, int expected) {
    _Atomic int *shared =
        mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < PROCESSES; i++)
        if (fork() == 0) {
            open_together(&shared[ROUNDS_MAX + 1], i, flags, shared);
            _exit(0);
        }
    int status;
    while (wait(&status) > 0)
        if (status != 0)
            say("a process ended with %#x\n", status);
    for (int round = 0; round < rounds; round++)
        if (shared[round] != expected)
            say("round %d: %d could open it\n", round, shared[round]);
    say("errors: %d\n", shared[ROUNDS_MAX]);
}

CASE(processes_create_a_shared_file, "round*") {
    race_processes(0, PROCESSES);
}

CASE(processes_create_and_truncate_a_shared_file, "round*") {
    race_processes(O_TRUNC, PROCESSES);
}

CASE(processes_race_for_an_exclusive_create, "round*") {
    race_processes(O_EXCL, 1);
}

/* One creates, one removes: whatever happens in between, both only see what they may see. */
static void *create_and_remove(void *number) {
    for (int i = 0; i < 2000; i++) {
        if ((intptr_t)number % 2) {
            if (unlink("flicker") != 0 && errno != ENOENT)
                others++;
            continue;
        }
        int fd = open("flicker", O_CREAT | O_RDWR, 0644);
        if (fd < 0)
            others++;
        close(fd);
    }
    return NULL;
}

CASE(a_file_comes_and_goes, "") {
    run_threads(4, create_and_remove);
    unlink("flicker");
    say("errors: %d\n", others);
}

/* A symbolic link comes and goes where the file is created. */
static void *link_and_create(void *number) {
    for (int i = 0; i < 1000; i++) {
        if (number) {
            if (symlink("target", "name") != 0 && errno != EEXIST)
                others++;
            unlink("name");
            continue;
        }
        int fd = open("name", O_CREAT | O_RDWR, 0644);
        if (fd < 0)
            others++;
        close(fd);
    }
    return NULL;
}

CASE(a_link_comes_and_goes, "") {
    run_threads(2, link_and_create);
    unlink("name");
    close(open("target", O_CREAT | O_RDWR, 0444));
    unlink("target");
    say("errors: %d\n", others);
}

static _Atomic bool stop;

static void *do_io(void *number) {
    char name[32];
    for (int i = 0; !stop; i++) {
        snprintf(name, sizeof name, "io%d-%d", (int)(intptr_t)number, i % 10);
        FILE *file = fopen(name, "w");
        if (file) {
            fputs("text", file);
            fclose(file);
        }
        int fd = open(name, O_CREAT | O_RDWR, 0644);
        (void)!write(fd, "x", 1);
        close(fd);
        unlink(name);
    }
    return NULL;
}

/* The child opens, writes and forks again while the parent's threads are inside of the library. */
CASE(a_threaded_program_forks, "child*") {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, do_io, (void *)(intptr_t)i);
    for (int i = 0; i < 200; i++) {
        pid_t child = fork();
        if (child == 0) {
            char name[32];
            snprintf(name, sizeof name, "child%d", i);
            int fd = open(name, O_CREAT | O_EXCL | O_RDWR, 0644);
            if (fd < 0 || write(fd, "x", 1) != 1)
                _exit(1);
            _exit(0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        if (status != 0)
            say("child %d: %#x\n", i, status);
    }
    stop = true;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static void *open_fifo(void *path) {
    open(path, O_RDONLY | O_CREAT, 0644);
    return NULL;
}

static void *fopen_fifo(void *path) {
    fopen(path, "w");
    return NULL;
}

static void *open_after(void *path) {
    TRY(open(path, O_CREAT | O_RDWR, 0644));
    return NULL;
}

CASE(a_thread_is_cancelled_in_open, "after") {
    void *(*const calls[])(void *) = {open_fifo, open_fifo, fopen_fifo};
    pthread_t thread;
    INT(mkfifo("fifo", 0644));
    for (int i = 0; i < 3; i++) {
        void *result = NULL;
        pthread_create(&thread, NULL, calls[i], "fifo");
        usleep(20000);
        INT(pthread_cancel(thread));
        INT(pthread_join(thread, &result));
        say("cancelled: %d\n", result == PTHREAD_CANCELED);
    }
    pthread_create(&thread, NULL, open_after, "after");
    pthread_join(thread, NULL);
}

static void *cancelled_at_once(void *name) {
    pthread_cancel(pthread_self());
    open(name, O_CREAT | O_RDWR, 0644);
    return NULL;
}

/* More threads than there are scratch slots are cancelled; later creates must still be placed. */
CASE(many_threads_are_cancelled, "after") {
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        void *result = NULL;
        pthread_create(&thread, NULL, cancelled_at_once, "never");
        pthread_join(thread, &result);
        if (result != PTHREAD_CANCELED)
            say("%d was not cancelled\n", i);
    }
    INT(access("never", F_OK));
    TRY(open("after", O_CREAT | O_RDWR, 0644));
}
