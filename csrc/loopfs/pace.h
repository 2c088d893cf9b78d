/* Pace: how fast an OST is. A request is answered when its OSTs would have taken it; nobody sleeps
 * for that: one thread answers requests when their time has come. */
#ifndef IEZ_LOOPFS_PACE_H
#define IEZ_LOOPFS_PACE_H

#define FUSE_USE_VERSION 312
#include <fuse3/fuse_lowlevel.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Work that is done one after the other, and how much of it may lie waiting. */
struct loop_bucket {
    _Atomic uint64_t rate; /* bytes/s; 0: no limit */
    _Atomic uint64_t window_bytes;
    _Atomic uint64_t free_at_ns; /* when all work so far is done */
};

uint64_t loop_now_ns(void); /* of the monotonic clock */
double loop_wall_s(void);   /* of the clock on the wall */

/* What becomes of a piece of work. */
struct loop_work {
    uint64_t service_ns; /* the time that it takes by itself */
    uint64_t done_ns;    /* when it will be done, after all that was there before */
    uint64_t due_ns;     /* when the one who asked may go on */
};

/* Adds `bytes` of work, of which `work` tells what is later than was known: who asked may go on
 * once what lies waiting fits into the window. */
void loop_bucket_add(struct loop_bucket *bucket, uint64_t bytes, uint64_t now_ns,
                     struct loop_work *work);

/* Changes its speed. What lies waiting goes on at the new one. */
void loop_bucket_set(struct loop_bucket *bucket, uint64_t rate, uint64_t window_bytes,
                     uint64_t now_ns);

/* When all work so far is done. */
uint64_t loop_bucket_idle_ns(struct loop_bucket *bucket);

/* An answer to a request, and when it may be given. */
struct loop_answer {
    fuse_req_t request;
    uint64_t due_ns;
    const _Atomic uint32_t **dead; /* not before LOOP_OST_DEAD is gone from all of these */
    size_t dead_count;
    int error;    /* the answer: an errno, */
    void *data;   /* bytes, freed afterwards, */
    size_t bytes; /* or, without data, a number of bytes written */
    bool is_write;
};

/* If the OST with these states is dead, the answer waits for it. */
void loop_answer_after(struct loop_answer *answer, const _Atomic uint32_t *states);

int loop_pace_start(void); /* 0, or an errno */

/* Gives the answer when it is due, at once if that is now. */
void loop_pace_answer(const struct loop_answer *answer);

#endif
