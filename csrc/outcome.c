#include "outcome.h"

#include <errno.h>

#include "context.h"
#include "process.h"
#include "trace_file.h"

static void add(uint64_t *counter, uint64_t n) {
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* Moves what was counted before there was a file into it. */
static void drain(uint64_t *from, uint64_t *to, int count) {
    for (int i = 0; i < count; i++)
        if (__atomic_load_n(&from[i], __ATOMIC_RELAXED))
            add(&to[i], __atomic_exchange_n(&from[i], 0, __ATOMIC_RELAXED));
}

static void write_communicator(struct iez_process *process, struct iez_trace_header *counts) {
    counts->comm_rank = atomic_load(&process->comm_rank_plus_one) - 1;
    counts->comm_size = atomic_load(&process->comm_size);
    counts->collective = atomic_load(&process->collective);
}

void iez_outcome_note(enum iez_outcome outcome, uint64_t plan_generation) {
    int saved = errno;
    struct iez_process *process = iez_process;
    iez_process_start();
    struct iez_trace_header *header = iez_trace_header();
    struct iez_trace_header *counts = header ? header : &process->own;
    add(&counts->outcomes[outcome], 1);
    if (outcome == IEZ_PLACED)
        add(&counts->placed_by[iez_context_api], 1);
    counts->plan_generation = plan_generation;
    write_communicator(process, counts);
    if (header) {
        drain(process->own.outcomes, header->outcomes, IEZ_OUTCOMES);
        drain(process->own.placed_by, header->placed_by, IEZ_APIS);
        iez_trace_publish(header, sizeof *header);
    }
    errno = saved;
}

void iez_outcome_communicator(int rank, int size) {
    int saved = errno;
    struct iez_process *process = iez_process;
    iez_process_start();
    atomic_store(&process->comm_rank_plus_one, rank + 1);
    atomic_store(&process->comm_size, size);
    if (size > 1)
        atomic_fetch_add(&process->collective, 1);
    struct iez_trace_header *header = atomic_load(&process->header);
    if (header) {
        write_communicator(process, header);
        iez_trace_publish(header, sizeof *header);
    }
    errno = saved;
}
