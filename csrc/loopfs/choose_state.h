/* What the parts of choose.h share. Letters are those of docs/lustre-interface.md; space and
 * penalties are in units of 256 bytes. */
#ifndef IEZ_LOOPFS_CHOOSE_STATE_H
#define IEZ_LOOPFS_CHOOSE_STATE_H

#include "../plan_format.h"
#include "choose.h"

#define IEZ_MDS_PASSES 3

/* An OST: what was seen of it, what it is charged, and its part in the file at hand. */
struct iez_mds_target {
    uint32_t index;
    uint32_t server; /* position in `servers` */
    uint32_t states;
    bool is_full;        /* by its space; the state is a matter of its own */
    bool is_listed;      /* in the pool */
    bool is_other;       /* holds another component */
    bool is_taken;       /* holds a stripe of this one */
    bool is_candidate;   /* of QOS */
    uint64_t space;      /* a */
    uint64_t per_object; /* q */
    uint64_t penalty;    /* P */
    uint64_t used_s;     /* when QOS last chose it */
};

struct iez_mds_server {
    uint32_t name;
    uint32_t osts;       /* c */
    uint64_t space;      /* B */
    uint64_t per_object; /* Q */
    uint64_t penalty;    /* R */
    uint64_t used_s;
};

/* Round robin of a pool, or of the file system, and whether QOS has to do with it. */
struct iez_mds_pool {
    uint64_t start;    /* S */
    uint64_t offset;   /* K */
    int64_t countdown; /* C; the first create draws S */
    bool has_same_space;
    uint64_t same_until_s; /* of a pool: when it is looked at again */
};

struct iez_mds {
    iez_draw *draw;
    void *source;
    struct iez_mds_target *targets; /* by index */
    uint32_t count;
    uint32_t active;        /* M */
    uint32_t server_count;  /* all that there are */
    uint32_t space_servers; /* G: those with space */
    struct iez_mds_server *servers;
    uint32_t *ranked; /* positions of servers, those with most OSTs first */
    uint32_t pool_count;
    struct iez_mds_pool *pools; /* by id; 0: the file system */
    bool is_dirty;              /* penalties are to be worked out anew */
    bool is_reset;              /* from nothing */
    /* Of the file at hand. */
    struct iez_mds_target **list; /* the pool, or all */
    uint32_t list_count;
    struct iez_mds_target **order; /* the list as round robin visits it */
};

/* A component on its way. */
struct iez_mds_file {
    uint32_t pool_id;
    uint32_t wanted; /* n */
    uint32_t least;  /* m: it is content with so many */
    bool overstripe;
    uint32_t found;
    uint16_t *chosen;
};

/* 0, or the error of a create on it. */
int iez_mds_answer(const struct iez_mds_target *target);

/* Counts a further OST of a server. */
void iez_mds_rank(struct iez_mds *mds, uint32_t server);

/* By weighted chance. Finds nothing where round robin has to do it. */
void iez_mds_by_weight(struct iez_mds *mds, struct iez_mds_file *file, uint64_t now_s);
void iez_mds_by_turns(struct iez_mds *mds, struct iez_mds_file *file);

static inline bool iez_mds_is_active(const struct iez_mds_target *target) {
    return !(target->states & IEZ_OST_INACTIVE);
}

/* OSTs that a pass tries: with overstriping it goes round as often as the stripes need. */
static inline uint64_t iez_mds_tries(const struct iez_mds *mds, const struct iez_mds_file *file) {
    uint64_t slots = mds->list_count;
    return file->overstripe && slots ? (file->wanted + slots - 1) / slots * slots : slots;
}

static inline void iez_mds_take(struct iez_mds_file *file, struct iez_mds_target *target) {
    target->is_taken = true;
    file->chosen[file->found++] = (uint16_t)target->index;
}

#endif
