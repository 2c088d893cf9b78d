#include "allocate.h"

#include <stdlib.h>
#include <string.h>

/* Every stripe with its request and OST, and which OSTs each request is on. */
struct board {
    const struct iez_targets *targets;
    int64_t osts;
    int64_t stripe_count;
    int64_t *bytes;    /* of each stripe */
    uint32_t *request; /* of each stripe */
    int32_t *picks;    /* OST of each stripe */
    uint64_t *on;      /* requests x words, a bit an OST */
    int64_t words;
    int64_t *load; /* of each OST */
    double *level;
};

static inline int is_on(const struct board *board, uint32_t request, int64_t ost) {
    return board->on[request * board->words + ost / 64] >> ost % 64 & 1;
}

static inline void flip(struct board *board, uint32_t request, int64_t ost) {
    board->on[request * board->words + ost / 64] ^= 1ULL << ost % 64;
}

static inline double level_with(const struct board *board, int64_t ost, int64_t load) {
    const struct iez_targets *targets = board->targets;
    return ((double)load + targets->offset[ost]) / targets->speed[ost];
}

/* An OST that holds nothing new does not count, however full it is. */
static void set_load(struct board *board, int64_t ost, int64_t load) {
    board->load[ost] = load;
    board->level[ost] = load ? level_with(board, ost, load) : 0;
}

static int64_t highest(const struct board *board) {
    int64_t best = 0;
    for (int64_t ost = 1; ost < board->osts; ost++) {
        best = board->level[ost] > board->level[best] ? ost : best;
    }
    return best;
}

/* A stripe that leaves its OST, for nothing or for a smaller one of another OST. */
struct exchange {
    int64_t stripe;
    int64_t other; /* -1: none comes back */
    int64_t ost;   /* where the stripe goes */
    double level;  /* the higher of the two OSTs afterwards */
};

static inline void consider(const struct board *board, int64_t from, int64_t stripe, int64_t to,
                            int64_t other, struct exchange *best) {
    int64_t less = board->bytes[stripe] - (other < 0 ? 0 : board->bytes[other]);
    if (less <= 0 || board->targets->free_bytes[to] - board->load[to] < less) {
        return;
    }
    double up = level_with(board, to, board->load[to] + less);
    if (up >= best->level) {
        return;
    }
    double down = level_with(board, from, board->load[from] - less);
    double level = up > down ? up : down;
    if (level >= best->level || is_on(board, board->request[stripe], to)) {
        return;
    }
    if (other >= 0 && is_on(board, board->request[other], from)) {
        return;
    }
    *best = (struct exchange){stripe, other, to, level};
}

static struct exchange best_exchange(const struct board *board, int64_t from) {
    struct exchange best = {-1, -1, -1, board->level[from]};
    for (int64_t stripe = 0; stripe < board->stripe_count; stripe++) {
        if (board->picks[stripe] != from) {
            continue;
        }
        for (int64_t to = 0; to < board->osts; to++) {
            if (to != from) {
                consider(board, from, stripe, to, -1, &best);
            }
        }
        for (int64_t other = 0; other < board->stripe_count; other++) {
            if (board->picks[other] != from) {
                consider(board, from, stripe, board->picks[other], other, &best);
            }
        }
    }
    return best;
}

static void move(struct board *board, int64_t stripe, int64_t to) {
    int64_t from = board->picks[stripe];
    flip(board, board->request[stripe], from);
    flip(board, board->request[stripe], to);
    board->picks[stripe] = (int32_t)to;
    set_load(board, from, board->load[from] - board->bytes[stripe]);
    set_load(board, to, board->load[to] + board->bytes[stripe]);
}

static int lay_out(struct board *board, const struct iez_stripes *stripes, const int64_t *starts) {
    size_t stripe_count = (size_t)board->stripe_count + 1;
    size_t osts = (size_t)board->osts + 1;
    board->bytes = malloc(stripe_count * sizeof *board->bytes);
    board->request = malloc(stripe_count * sizeof *board->request);
    board->on = calloc((size_t)(stripes->count * board->words) + 1, sizeof *board->on);
    board->load = calloc(osts, sizeof *board->load);
    board->level = malloc(osts * sizeof *board->level);
    if (!board->bytes || !board->request || !board->on || !board->load || !board->level) {
        return 0;
    }
    for (int64_t i = 0; i < stripes->count; i++) {
        for (int64_t at = starts[i]; at < starts[i] + stripes->counts[i]; at++) {
            board->bytes[at] = stripes->stripe_bytes[i];
            board->request[at] = (uint32_t)i;
            board->load[board->picks[at]] += stripes->stripe_bytes[i];
            flip(board, (uint32_t)i, board->picks[at]);
        }
    }
    for (int64_t ost = 0; ost < board->osts; ost++) {
        set_load(board, ost, board->load[ost]);
    }
    return 1;
}

static int64_t stripes_on(const struct board *board, int64_t ost) {
    int64_t count = 0;
    for (int64_t i = 0; i < board->stripe_count; i++) {
        count += board->picks[i] == ost;
    }
    return count;
}

int iez_allocate_polish(const struct iez_targets *targets, const struct iez_stripes *stripes,
                        const int64_t *starts, double goal, int64_t steps_max, int32_t *picks) {
    struct board board = {
        .targets = targets,
        .osts = targets->count,
        .picks = picks,
        .words = (targets->count + 63) / 64,
    };
    for (int64_t i = 0; i < stripes->count; i++) {
        board.stripe_count += stripes->counts[i];
    }
    int is_laid_out = lay_out(&board, stripes, starts);
    for (int64_t steps = 0; is_laid_out && steps < steps_max;) {
        int64_t from = highest(&board);
        if (board.level[from] <= goal) {
            break;
        }
        struct exchange best = best_exchange(&board, from);
        if (best.stripe < 0) {
            break;
        }
        steps += stripes_on(&board, from) * board.stripe_count;
        move(&board, best.stripe, best.ost);
        if (best.other >= 0) {
            move(&board, best.other, from);
        }
    }
    free(board.bytes);
    free(board.request);
    free(board.on);
    free(board.load);
    free(board.level);
    return is_laid_out ? 0 : -1;
}
