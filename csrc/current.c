#include "current.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "shim.h"
#include "system.h"

#define GENERATIONS_MAX 64 /* in one process; the last one stays */

/* Old generations stay mapped: another thread may be reading one. */
static struct iez_plan plans[GENERATIONS_MAX];
static _Atomic int newest;
static _Atomic uint64_t next_look_ms;
static _Atomic uint32_t looking;
static const char *plan_path;
static struct {
    dev_t device;
    ino_t inode;
    struct timespec changed;
} loaded;

static uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Whether the file at the plan's path is another one than at the last call. */
static bool file_changed(void) {
    struct stat st;
    if (iez_sys_fstatat(AT_FDCWD, plan_path, &st, 0) != 0)
        return false;
    bool same = st.st_dev == loaded.device && st.st_ino == loaded.inode &&
                st.st_mtim.tv_sec == loaded.changed.tv_sec &&
                st.st_mtim.tv_nsec == loaded.changed.tv_nsec;
    loaded.device = st.st_dev;
    loaded.inode = st.st_ino;
    loaded.changed = st.st_mtim;
    return !same;
}

static void look_again_after(uint64_t now, const struct iez_plan *plan) {
    uint32_t interval = plan->header->refresh_ms;
    atomic_store(&next_look_ms, interval ? now + interval : UINT64_MAX);
}

const char *iez_current_start(const char *path) {
    plan_path = path;
    file_changed(); /* before the file is read: what comes in between is seen at the next look */
    const char *trouble = iez_plan_map(path, &plans[0]);
    if (!trouble)
        look_again_after(now_ms(), &plans[0]);
    return trouble;
}

static void refresh(void) {
    int at = atomic_load(&newest);
    if (at + 1 >= GENERATIONS_MAX || !file_changed())
        return;
    const char *trouble = iez_plan_map(plan_path, &plans[at + 1]);
    if (trouble)
        iez_say(trouble, "the plan before it stays in force");
    else if (plans[at + 1].header->generation == plans[at].header->generation)
        iez_plan_unmap(&plans[at + 1]);
    else
        atomic_store(&newest, at + 1);
}

const struct iez_plan *iez_current_plan(void) {
    uint64_t now = now_ms();
    if (now >= atomic_load_explicit(&next_look_ms, memory_order_relaxed) &&
        !atomic_exchange(&looking, 1)) {
        int saved = errno;
        look_again_after(now, &plans[atomic_load(&newest)]);
        refresh();
        errno = saved;
        atomic_store(&looking, 0);
    }
    return &plans[atomic_load(&newest)];
}
