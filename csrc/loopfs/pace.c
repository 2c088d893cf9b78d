#include "pace.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "settings.h"

#define SECOND_NS   1000000000ULL
#define LOOK_NS     50000000ULL /* a dead OST is looked at this often */
#define SIGKILL_BIT 0x100ULL

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static struct loop_answer *heap; /* the earliest is first */
static size_t heap_count, heap_room;

uint64_t loop_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

double loop_wall_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t time_of(uint64_t bytes, uint64_t rate) {
    return (uint64_t)((double)bytes * 1e9 / (double)rate);
}

static void set_later(uint64_t *time, uint64_t than) {
    if (*time < than)
        *time = than;
}

void loop_bucket_add(struct loop_bucket *bucket, uint64_t bytes, uint64_t now_ns,
                     struct loop_work *work) {
    uint64_t rate = atomic_load(&bucket->rate);
    set_later(&work->done_ns, now_ns);
    set_later(&work->due_ns, now_ns);
    if (!rate)
        return;
    uint64_t takes_ns = time_of(bytes, rate);
    uint64_t ahead_ns = time_of(atomic_load(&bucket->window_bytes), rate);
    uint64_t before = atomic_load(&bucket->free_at_ns), after;
    do
        after = (before > now_ns ? before : now_ns) + takes_ns;
    while (!atomic_compare_exchange_weak(&bucket->free_at_ns, &before, after));
    set_later(&work->service_ns, takes_ns);
    set_later(&work->done_ns, after);
    if (after > ahead_ns)
        set_later(&work->due_ns, after - ahead_ns);
}

void loop_bucket_set(struct loop_bucket *bucket, uint64_t rate, uint64_t window_bytes,
                     uint64_t now_ns) {
    uint64_t old_rate = atomic_load(&bucket->rate), after;
    uint64_t before = atomic_load(&bucket->free_at_ns);
    do {
        double left_ns = before > now_ns ? (double)(before - now_ns) : 0;
        after = rate ? now_ns + (uint64_t)(left_ns * (double)old_rate / (double)rate) : 0;
    } while (!atomic_compare_exchange_weak(&bucket->free_at_ns, &before, after));
    atomic_store(&bucket->window_bytes, window_bytes);
    atomic_store(&bucket->rate, rate);
}

uint64_t loop_bucket_idle_ns(struct loop_bucket *bucket) {
    return atomic_load(&bucket->rate) ? atomic_load(&bucket->free_at_ns) : 0;
}

static void swap(size_t a, size_t b) {
    struct loop_answer kept = heap[a];
    heap[a] = heap[b];
    heap[b] = kept;
}

static bool push(const struct loop_answer *answer) {
    if (heap_count == heap_room) {
        size_t room = heap_room ? 2 * heap_room : 256;
        struct loop_answer *grown = realloc(heap, room * sizeof *grown);
        if (!grown)
            return false;
        heap = grown;
        heap_room = room;
    }
    size_t at = heap_count++;
    heap[at] = *answer;
    for (; at && heap[(at - 1) / 2].due_ns > heap[at].due_ns; at = (at - 1) / 2)
        swap(at, (at - 1) / 2);
    return true;
}

static struct loop_answer pop(void) {
    struct loop_answer first = heap[0];
    heap[0] = heap[--heap_count];
    for (size_t at = 0;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap_count; child++)
            if (heap[child].due_ns < heap[least].due_ns)
                least = child;
        if (least == at)
            return first;
        swap(at, least);
        at = least;
    }
}

static void give(const struct loop_answer *answer) {
    if (answer->error)
        fuse_reply_err(answer->request, answer->error);
    else if (answer->is_write)
        fuse_reply_write(answer->request, answer->bytes);
    else if (answer->data)
        fuse_reply_buf(answer->request, answer->data, answer->bytes);
    else
        fuse_reply_err(answer->request, 0);
    free(answer->data);
    free(answer->dead);
}

void loop_answer_after(struct loop_answer *answer, const _Atomic uint32_t *states) {
    if (!(atomic_load(states) & LOOP_OST_DEAD))
        return;
    size_t bytes = (answer->dead_count + 1) * sizeof *answer->dead;
    const _Atomic uint32_t **grown = realloc(answer->dead, bytes);
    if (!grown)
        return;
    answer->dead = grown;
    answer->dead[answer->dead_count++] = states;
}

/* Whether who asked is being killed: it would wait for the answer before it dies. Other signals
 * wait, as they do on Lustre. */
static bool is_killed(fuse_req_t request) {
    if (!fuse_req_interrupted(request))
        return false;
    char name[64], line[256];
    unsigned long long pending = 0;
    snprintf(name, sizeof name, "/proc/%d/status", (int)fuse_req_ctx(request)->pid);
    FILE *file = fopen(name, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "SigPnd: %llx", &pending) == 1)
            break;
    if (!file)
        return true;
    fclose(file);
    return pending & SIGKILL_BIT;
}

/* Gives it, unless one of its OSTs is dead. True: it has to wait on. */
static bool try_to_give(struct loop_answer *answer) {
    while (answer->dead_count &&
           !(atomic_load(answer->dead[answer->dead_count - 1]) & LOOP_OST_DEAD))
        answer->dead_count--;
    if (answer->dead_count) {
        if (!is_killed(answer->request)) {
            answer->due_ns = loop_now_ns() + LOOK_NS;
            return true;
        }
        answer->error = EINTR;
    }
    give(answer);
    return false;
}

static void *answer_all(void *nothing) {
    pthread_mutex_lock(&lock);
    for (;;) {
        if (!heap_count) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        uint64_t due_ns = heap[0].due_ns;
        if (due_ns > loop_now_ns()) {
            struct timespec due = {.tv_sec = (time_t)(due_ns / SECOND_NS),
                                   .tv_nsec = (long)(due_ns % SECOND_NS)};
            pthread_cond_timedwait(&changed, &lock, &due);
            continue;
        }
        struct loop_answer next = pop();
        pthread_mutex_unlock(&lock);
        bool waits = try_to_give(&next);
        pthread_mutex_lock(&lock);
        if (waits && !push(&next))
            give(&next);
    }
    return nothing;
}

int loop_pace_start(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attributes);
    pthread_t thread;
    return pthread_create(&thread, NULL, answer_all, NULL);
}

void loop_pace_answer(const struct loop_answer *answer) {
    struct loop_answer own = *answer;
    if (own.due_ns <= loop_now_ns() && !try_to_give(&own))
        return;
    pthread_mutex_lock(&lock);
    bool is_kept = push(&own);
    bool is_first = is_kept && heap[0].request == own.request;
    if (is_first)
        pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    if (!is_kept)
        give(&own);
}
