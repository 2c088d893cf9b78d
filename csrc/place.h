/* Creating a file with its planned layout (docs/shim.md tells the sequence and its reasons). */
#ifndef IEZ_PLACE_H
#define IEZ_PLACE_H

#include <fcntl.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lustre.h"
#include "plan.h"
#include "shim.h"
#include "trace_format.h"

/* One call of the open family, with what is needed to make it again with other flags. */
struct iez_create {
    int (*open)(const char *path, int flags, ...); /* NULL: openat */
    int (*openat)(int dirfd, const char *path, int flags, ...);
    int dirfd;
    const char *path;
    int flags;
    mode_t mode;
};

/* Whether flags like these may be a create to place: a plain create, without a layout choice of
 * the caller's own. */
static inline bool iez_may_place(int flags) {
    const int never = O_PATH | O_DIRECTORY | O_ASYNC | IEZ_DELAY_CREATE_OLD;
    return (flags & (O_CREAT | never)) == O_CREAT && iez_on();
}

/* The plan for one create. */
struct iez_order {
    const struct iez_plan *plan;
    struct iez_found found;
    struct iez_trace_file *file; /* in the trace; NULL: not watched, or no room */
    uint64_t before_ns;          /* the clock, before the create */
    unsigned outcome;            /* noted so far, plus one; 0 none */
    bool is_outermost;           /* not called from within another create of this thread */
};

enum iez_decision {
    IEZ_PASS,  /* not watched */
    IEZ_MISS,  /* watched, not planned */
    IEZ_PLACE, /* to be created by iez_place */
};

/* What is to be done with a create of this path. Keeps errno. Until iez_done the thread is inside
 * of this create: other preloaded libraries may call our hooks again, which is no second event. */
enum iez_decision iez_decide(int dirfd, const char *path, struct iez_order *order);
void iez_done(struct iez_order *order);

/* Notes a create that was not placed. */
void iez_note_unplaced(struct iez_order *order, enum iez_outcome outcome);

/* Notes that the file was opened as `fd` by a creating call; `created`: by iez_place. */
void iez_note_created(int fd, const struct iez_order *order, int flags, bool was_placed,
                      bool created);

/* What iez_place gives where the caller should make its plain call. */
#define IEZ_PLAIN (-2)

/* Creates the file. A descriptor, or -1 and errno, exactly as the plain call would have given; or
 * IEZ_PLAIN where nothing was done. `created` tells whether this call created the file. */
int iez_place(const struct iez_create *create, struct iez_order *order, bool *created);

/* All of it, for calls that give a descriptor: decide, place, else the plain call. */
int iez_open(const struct iez_create *create);

#endif
