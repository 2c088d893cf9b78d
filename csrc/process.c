#include "process.h"

#include <stddef.h>
#include <sys/mman.h>

#define SCRATCH_SLOTS 32

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static struct iez_process fallback;
struct iez_process *iez_process = &fallback;
static struct iez_scratch scratch_slots[SCRATCH_SLOTS];

/* Where the kernel cannot wipe the page (before 4.14) a child counts into its parent's file. */
void iez_process_start(void) {
    void *page = mmap(NULL, sizeof(struct iez_process), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return;
    madvise(page, sizeof(struct iez_process), MADV_WIPEONFORK);
    iez_process = page;
}

struct iez_scratch *iez_scratch_take(void) {
    for (int i = 0; i < SCRATCH_SLOTS; i++) {
        uint32_t bit = 1U << i;
        if (!(atomic_load_explicit(&iez_process->scratch_used, memory_order_relaxed) & bit) &&
            !(atomic_fetch_or(&iez_process->scratch_used, bit) & bit))
            return &scratch_slots[i];
    }
    return NULL;
}

void iez_scratch_give(struct iez_scratch *scratch) {
    atomic_fetch_and(&iez_process->scratch_used, ~(1U << (scratch - scratch_slots)));
}
