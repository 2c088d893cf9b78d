/* RPCs: what a client can measure of an OST by itself: how long its reads and writes take, and how
 * many are under way at once, as Lustre's files import and rpc_stats tell it. */
#ifndef IEZ_LOOPFS_RPCS_H
#define IEZ_LOOPFS_RPCS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define LOOP_FLIGHT_MAX 32 /* as many or more are counted together */
#define LOOP_QUEUE_MAX  1024

/* Reads, or writes. */
struct loop_flow {
    uint64_t count, bytes, takes_us;
    uint64_t in_flight[LOOP_FLIGHT_MAX]; /* RPCs by how many were under way when they went out */
    uint64_t done_ns[LOOP_QUEUE_MAX];    /* a ring: when those that are under way will be done */
    uint32_t first, under_way;
};

struct loop_rpcs {
    pthread_mutex_t lock;
    double start_s, last_s;
    struct loop_flow flows[2]; /* by is_write */
};

void loop_rpcs_init(struct loop_rpcs *rpcs);
void loop_rpc(struct loop_rpcs *rpcs, bool is_write, uint64_t bytes, uint64_t start_ns,
              uint64_t done_ns);

/* The file rpc_stats, and what import says of averages. */
void loop_rpcs_print(struct loop_rpcs *rpcs, FILE *to);
void loop_rpcs_print_averages(struct loop_rpcs *rpcs, FILE *to);

#endif
