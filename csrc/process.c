#include "process.h"

#include <stddef.h>
#include <sys/mman.h>

#define LOOKUPS        64 /* a create that a signal handler jumps out of loses up to two */
#define REQUESTS       64
#define LARGE_REQUESTS 4
#define REQUEST_BYTES  4096 /* for a list of 146 OSTs, as place.c reckons */

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* The linker sorts by alignment: whole pages for what few processes touch leave the small
 * variables, which all do, close together. */
static _Alignas(IEZ_PAGE_BYTES) struct iez_lookup lookups[LOOKUPS];
static _Alignas(IEZ_PAGE_BYTES) unsigned char requests[REQUESTS][2][REQUEST_BYTES];
static _Alignas(IEZ_PAGE_BYTES) unsigned char large_requests[LARGE_REQUESTS][2][IEZ_WIRE_MAX];

struct iez_process iez_process_memory;

/* Where the kernel cannot do it (before 4.14, or with larger pages) a child counts into its
 * parent's file. */
void iez_process_start(void) {
    static _Atomic bool is_started;
    if (!atomic_load_explicit(&is_started, memory_order_relaxed)) {
        atomic_store(&is_started, true);
        madvise(iez_process, sizeof *iez_process, MADV_WIPEONFORK);
    }
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
    int number = take(&iez_process->lookups_used, LOOKUPS);
    return number < 0 ? NULL : &lookups[number];
}

void iez_lookup_give(struct iez_lookup *lookup) {
    give(&iez_process->lookups_used, lookup - lookups);
}

bool iez_request_take(uint64_t bytes, struct iez_request *request) {
    int number;
    if (bytes <= REQUEST_BYTES) {
        number = take(&iez_process->requests_used, REQUESTS);
        if (number < 0)
            return false;
        *request = (struct iez_request){requests[number][0], requests[number][1], REQUEST_BYTES};
        return true;
    }
    number = take(&iez_process->large_requests_used, LARGE_REQUESTS);
    if (number < 0)
        return false;
    *request =
        (struct iez_request){large_requests[number][0], large_requests[number][1], IEZ_WIRE_MAX};
    return true;
}

void iez_request_give(const struct iez_request *request) {
    if (request->room == REQUEST_BYTES)
        give(&iez_process->requests_used,
             (request->wire - requests[0][0]) / (ptrdiff_t)sizeof requests[0]);
    else
        give(&iez_process->large_requests_used,
             (request->wire - large_requests[0][0]) / (ptrdiff_t)sizeof large_requests[0]);
}
