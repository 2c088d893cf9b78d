/* Counts: what each OST was asked to do, in all and by job, as obdfilter's stats and job_stats. */
#ifndef IEZ_LOOPFS_COUNTS_H
#define IEZ_LOOPFS_COUNTS_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define LOOP_JOB_BYTES 32

enum loop_operation {
    LOOP_READ_BYTES,
    LOOP_WRITE_BYTES,
    LOOP_READ,
    LOOP_WRITE,
    LOOP_PUNCH,
    LOOP_SYNC,
    LOOP_DESTROY,
    LOOP_CREATE,
    LOOP_OPERATIONS,
};

struct loop_count {
    uint64_t samples, least, most, sum;
    double square_sum;
};

struct loop_job {
    char id[LOOP_JOB_BYTES];
    double start_s, last_s;
    struct loop_count counts[LOOP_OPERATIONS];
};

struct loop_counts {
    pthread_mutex_t lock;
    struct loop_job all;
    struct loop_job *jobs;
    uint32_t job_count, job_room;
};

void loop_counts_init(struct loop_counts *counts);

/* `bytes` matters to reads and writes only. */
void loop_count(struct loop_counts *counts, const char *job, enum loop_operation operation,
                uint64_t bytes, uint64_t takes_us);

/* The texts of the files stats and job_stats. */
void loop_counts_print(struct loop_counts *counts, FILE *to);
void loop_counts_print_jobs(struct loop_counts *counts, FILE *to);

/* The job that a process belongs to: the value of its environment variable `variable`, else
 * NAME.UID. */
void loop_job_of(const char *variable, pid_t pid, uid_t uid, char id[LOOP_JOB_BYTES]);

#endif
