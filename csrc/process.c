#include "process.h"

#include <stddef.h>
#include <sys/mman.h>

#define LOOKUPS        32
#define REQUESTS       64
#define LARGE_REQUESTS 4
#define REQUEST_BYTES  4096 /* a list of 168 OSTs */

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static struct iez_lookup lookups[LOOKUPS];
static _Alignas(8) unsigned char requests[REQUESTS][2][REQUEST_BYTES];
static _Alignas(8) unsigned char large_requests[LARGE_REQUESTS][2][IEZ_WIRE_MAX];

/* Where the kernel cannot wipe the page (before 4.14) a child counts into its parent's file. */
struct iez_process *iez_process(void) {
    static struct iez_process fallback;
    static _Atomic(struct iez_process *) made;
    struct iez_process *process = atomic_load_explicit(&made, memory_order_acquire);
    if (process)
        return process;
    void *page = mmap(NULL, sizeof *process, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);
    if (page == MAP_FAILED)
        return &fallback;
    madvise(page, sizeof *process, MADV_WIPEONFORK);
    if (atomic_compare_exchange_strong(&made, &process, page))
        return page;
    munmap(page, sizeof *process);
    return process; /* another thread's */
}

/* A bit that was free, now taken; -1: none. */
static int take(_Atomic uint64_t *used, int count) {
    for (int i = 0; i < count; i++) {
        uint64_t bit = 1ULL << i;
        if (!(atomic_load_explicit(used, memory_order_relaxed) & bit) &&
            !(atomic_fetch_or(used, bit) & bit))
            return i;
    }
    return -1;
}

static void give(_Atomic uint64_t *used, ptrdiff_t number) {
    atomic_fetch_and(used, ~(1ULL << number));
}

struct iez_lookup *iez_lookup_take(void) {
    int number = take(&iez_process()->lookups_used, LOOKUPS);
    return number < 0 ? NULL : &lookups[number];
}

void iez_lookup_give(struct iez_lookup *lookup) {
    give(&iez_process()->lookups_used, lookup - lookups);
}

bool iez_request_take(uint64_t bytes, struct iez_request *request) {
    int number;
    if (bytes <= REQUEST_BYTES) {
        number = take(&iez_process()->requests_used, REQUESTS);
        if (number < 0)
            return false;
        *request =
            (struct iez_request){requests[number][0], requests[number][1], REQUEST_BYTES};
        return true;
    }
    number = take(&iez_process()->large_requests_used, LARGE_REQUESTS);
    if (number < 0)
        return false;
    *request =
        (struct iez_request){large_requests[number][0], large_requests[number][1], IEZ_WIRE_MAX};
    return true;
}

void iez_request_give(const struct iez_request *request) {
    if (request->room == REQUEST_BYTES)
        give(&iez_process()->requests_used,
             (request->wire - requests[0][0]) / (ptrdiff_t)sizeof requests[0]);
    else
        give(&iez_process()->large_requests_used,
             (request->wire - large_requests[0][0]) / (ptrdiff_t)sizeof large_requests[0]);
}
