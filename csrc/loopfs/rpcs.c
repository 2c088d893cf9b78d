#include "rpcs.h"

#include "pace.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

void loop_rpcs_init(struct loop_rpcs *rpcs) {
    memset(rpcs, 0, sizeof *rpcs);
    pthread_mutex_init(&rpcs->lock, NULL);
    rpcs->start_s = rpcs->last_s = loop_wall_s();
}

void loop_rpc(struct loop_rpcs *rpcs, bool is_write, uint64_t bytes, uint64_t start_ns,
              uint64_t done_ns) {
    struct loop_flow *flow = &rpcs->flows[is_write];
    double time_s = loop_wall_s();
    pthread_mutex_lock(&rpcs->lock);
    rpcs->last_s = time_s;
    while (flow->under_way && flow->done_ns[flow->first] <= start_ns) {
        flow->first = (flow->first + 1) % LOOP_QUEUE_MAX;
        flow->under_way--;
    }
    if (flow->under_way < LOOP_QUEUE_MAX)
        flow->done_ns[(flow->first + flow->under_way++) % LOOP_QUEUE_MAX] = done_ns;
    uint32_t in_flight = flow->under_way;
    flow->in_flight[in_flight < LOOP_FLIGHT_MAX ? in_flight : LOOP_FLIGHT_MAX - 1]++;
    flow->count++;
    flow->bytes += bytes;
    flow->takes_us += (done_ns > start_ns ? done_ns - start_ns : 0) / 1000 + 1;
    pthread_mutex_unlock(&rpcs->lock);
}

static unsigned percent(uint64_t part, uint64_t whole) {
    return whole ? (unsigned)(100 * part / whole) : 0;
}

static void print_flight(const struct loop_flow flows[2], FILE *to) {
    uint64_t reads = 0, writes = 0;
    fprintf(to, "\n\t\t\tread\t\t\twrite\n"
                "rpcs in flight        rpcs   %% cum %% |       rpcs   %% cum %%\n");
    for (int i = 1; i < LOOP_FLIGHT_MAX; i++) {
        uint64_t read = flows[0].in_flight[i], write = flows[1].in_flight[i];
        reads += read;
        writes += write;
        fprintf(to, "%d:\t\t%10" PRIu64 " %3u %3u   | %10" PRIu64 " %3u %3u\n", i, read,
                percent(read, flows[0].count), percent(reads, flows[0].count), write,
                percent(write, flows[1].count), percent(writes, flows[1].count));
        if (reads == flows[0].count && writes == flows[1].count)
            break;
    }
}

void loop_rpcs_print(struct loop_rpcs *rpcs, FILE *to) {
    pthread_mutex_lock(&rpcs->lock);
    fprintf(to, "snapshot_time:         %.9f secs.nsecs\n", rpcs->last_s);
    fprintf(to, "start_time:            %.9f secs.nsecs\n", rpcs->start_s);
    fprintf(to, "elapsed_time:          %.9f secs.nsecs\n", rpcs->last_s - rpcs->start_s);
    fprintf(to, "read RPCs in flight:  %" PRIu32 "\n", rpcs->flows[0].under_way);
    fprintf(to, "write RPCs in flight: %" PRIu32 "\n", rpcs->flows[1].under_way);
    fprintf(to, "pending write pages:  0\npending read pages:   0\n");
    print_flight(rpcs->flows, to);
    pthread_mutex_unlock(&rpcs->lock);
}

void loop_rpcs_print_averages(struct loop_rpcs *rpcs, FILE *to) {
    pthread_mutex_lock(&rpcs->lock);
    for (int is_write = 0; is_write <= 1; is_write++) {
        const struct loop_flow *flow = &rpcs->flows[is_write];
        if (!flow->count)
            continue;
        fprintf(to,
                "    %s_data_averages:\n       bytes_per_rpc: %" PRIu64
                "\n       usecs_per_rpc: %" PRIu64 "\n       MB_per_sec: %.2f\n",
                is_write ? "write" : "read", flow->bytes / flow->count,
                flow->takes_us / flow->count, (double)flow->bytes / (double)flow->takes_us);
    }
    pthread_mutex_unlock(&rpcs->lock);
}
