#include "current.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "process.h"
#include "shim.h"
#include "system.h"
#include "text.h"

#define GENERATIONS_MAX 64 /* in one process; the last one stays */

/* Old generations stay mapped: another thread may be reading one. */
static struct iez_plan plans[GENERATIONS_MAX];
static _Atomic int newest;
static _Atomic uint64_t next_look_ms; /* 0: not set yet */
static const char *plan_path;
static _Alignas(IEZ_PAGE_BYTES) char plan_directory[IEZ_PATH_MAX];

static uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

const char *iez_current_start(const char *path) {
    plan_path = path;
    size_t bytes = (size_t)(iez_last_part(path) - path);
    if (bytes < sizeof plan_directory)
        memcpy(plan_directory, path, bytes);
    return iez_plan_map(path, &plans[0]);
}

const char *iez_current_directory(void) {
    return plan_directory;
}

const struct iez_plan *iez_current_known(void) {
    return &plans[atomic_load_explicit(&newest, memory_order_acquire)];
}

static bool is_replaced(const struct iez_plan *plan) {
    struct stat st;
    return iez_sys_fstatat(AT_FDCWD, plan_path, &st, 0) == 0 &&
           (st.st_dev != plan->device || st.st_ino != plan->inode ||
            iez_sys_changed_ns(&st) != plan->changed_ns);
}

/* What cannot be used is tried again at the next look; a mere shortage is not worth a word. */
static void refresh(void) {
    int at = atomic_load(&newest);
    if (at + 1 >= GENERATIONS_MAX || !is_replaced(&plans[at]))
        return;
    const char *trouble = iez_plan_map(plan_path, &plans[at + 1]);
    if (!trouble)
        atomic_store(&newest, at + 1);
    else if (errno == 0)
        iez_say(trouble, "the plan before it stays in force");
}

static void look(uint64_t now) {
    int saved = errno;
    struct iez_process *process = iez_process;
    uint32_t interval_ms = plans[atomic_load(&newest)].header->refresh_ms;
    if (!atomic_exchange(&process->plan_looking, 1)) {
        bool is_first = atomic_load(&next_look_ms) == 0;
        atomic_store(&next_look_ms, interval_ms ? now + interval_ms : UINT64_MAX);
        if (!is_first)
            refresh();
        atomic_store(&process->plan_looking, 0);
    }
    errno = saved;
}

const struct iez_plan *iez_current_plan(void) {
    uint64_t now = now_ms();
    if (now >= atomic_load_explicit(&next_look_ms, memory_order_relaxed))
        look(now);
    return &plans[atomic_load(&newest)];
}
