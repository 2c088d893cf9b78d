#include "template.h"

#include <stdbool.h>
#include <string.h>

#define STEPS_MAX 4096 /* nodes visited before giving up: a tree that we built needs far fewer */
#define STACK_MAX 64

struct frame {
    uint32_t node;
    uint16_t at;          /* bytes of the path taken when the node is entered */
    uint16_t field_start; /* where its field began, if its edge is one */
    uint8_t fields;       /* fields taken so far, its own included */
};

struct walk {
    const struct iez_plan *plan;
    const struct iez_node *nodes;
    uint64_t node_count;
    const char *path;
    uint64_t bytes;
    struct frame stack[STACK_MAX];
    int depth;
    uint16_t field_starts[IEZ_PLAN_FIELDS];
};

static bool is_digit(unsigned char c) {
    return c >= '0' && c <= '9';
}

static bool is_alnum(unsigned char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Length of what a field edge takes at `at`; 0: it does not match there. */
static uint64_t field_length(const struct walk *w, uint8_t edge, uint64_t at) {
    uint64_t end = at;
    if (edge == IEZ_EDGE_NUMBER) {
        while (end < w->bytes && is_digit((unsigned char)w->path[end]))
            end++;
    } else if (edge == IEZ_EDGE_ALNUM) {
        while (end < w->bytes && is_alnum((unsigned char)w->path[end]))
            end++;
    } else if (edge == IEZ_EDGE_DIRECTORY && at > 0 && w->path[at - 1] == '/') {
        while (end < w->bytes && w->path[end] != '/')
            end++;
        if (end == w->bytes)
            return 0;
    } else if (edge == IEZ_EDGE_REST) {
        end = w->bytes;
    }
    return end - at;
}

/* The literal child of `node` that begins with `byte`: children are sorted, literals first. */
static uint32_t literal_child(const struct walk *w, const struct iez_node *node,
                              unsigned char byte) {
    uint32_t low = node->first_child, high = low + node->child_count;
    /* Mostly there is just one, or they are the digits from 0 on. */
    uint32_t guess = low + (unsigned char)(byte - w->nodes[low].first_byte);
    if (guess < high && w->nodes[guess].first_byte == byte &&
        w->nodes[guess].edge == IEZ_EDGE_LITERAL)
        return guess;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        const struct iez_node *child = &w->nodes[middle];
        if (child->edge == IEZ_EDGE_LITERAL && child->first_byte == byte)
            return middle;
        if (child->edge == IEZ_EDGE_LITERAL && child->first_byte < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return IEZ_PLAN_NONE;
}

/* Keeps the field children that match after `frame`, one of each kind at most; what is kept last is
 * tried first. */
static void keep_fields(struct walk *w, const struct iez_node *node, const struct frame *frame) {
    uint32_t end = node->first_child + node->child_count;
    for (uint32_t i = end; i-- > node->first_child && end - i <= IEZ_EDGE_REST;) {
        if (w->nodes[i].edge == IEZ_EDGE_LITERAL)
            break;
        uint64_t length = field_length(w, w->nodes[i].edge, frame->at);
        if (length && w->depth < STACK_MAX && frame->fields < IEZ_PLAN_FIELDS)
            w->stack[w->depth++] = (struct frame){i, (uint16_t)(frame->at + length), frame->at,
                                                  (uint8_t)(frame->fields + 1)};
    }
}

/* Goes on to the literal child that matches after `frame`, if there is one. */
static bool follow_literal(const struct walk *w, const struct iez_node *node, struct frame *frame) {
    const char *path = w->path + frame->at;
    uint32_t child = literal_child(w, node, (unsigned char)*path);
    if (child == IEZ_PLAN_NONE)
        return false;
    uint32_t length;
    const char *text = iez_plan_text(w->plan, w->nodes[child].text, &length);
    /* The first byte was compared to find the child, and is often all there is. */
    if (!text || length - 1 >= w->bytes - frame->at ||
        (length > 1 && memcmp(text, path, length) != 0))
        return false;
    frame->node = child;
    frame->at = (uint16_t)(frame->at + length);
    return true;
}

/* Goes on behind `frame`, or back to what was kept. */
static bool step(struct walk *w, struct frame *frame) {
    const struct iez_node *node = &w->nodes[frame->node];
    if (frame->at < w->bytes && node->child_count > 0 && node->first_child < w->node_count &&
        node->child_count <= w->node_count - node->first_child) {
        keep_fields(w, node, frame);
        if (follow_literal(w, node, frame))
            return true;
    }
    if (w->depth == 0)
        return false;
    *frame = w->stack[--w->depth];
    w->field_starts[frame->fields - 1] = frame->field_start;
    return true;
}

static uint64_t field_value(const struct walk *w, uint32_t field) {
    uint64_t value = 0;
    for (uint64_t i = w->field_starts[field]; i < w->bytes && is_digit((unsigned char)w->path[i]);
         i++)
        value = value * 10 + (uint64_t)(w->path[i] - '0');
    return value;
}

static uint32_t choose(const struct walk *w, const struct frame *frame, uint32_t *template_text) {
    const struct iez_section *choices = &w->plan->header->choices;
    const struct iez_section *options = &w->plan->header->options;
    uint32_t number = w->nodes[frame->node].choice;
    if (number >= choices->count)
        return IEZ_PLAN_NONE;
    const struct iez_choice *choice =
        (const struct iez_choice *)(w->plan->base + choices->offset) + number;
    uint64_t pick = 0;
    if (choice->option_count == 0)
        return IEZ_PLAN_NONE;
    if (choice->option_count > 1 && choice->field < frame->fields) {
        int64_t steps = (int64_t)(field_value(w, choice->field) - choice->first_value);
        int64_t rest = steps % (int64_t)choice->option_count;
        pick = (uint64_t)(rest < 0 ? rest + choice->option_count : rest);
    }
    if ((uint64_t)choice->first_option + pick >= options->count)
        return IEZ_PLAN_NONE;
    *template_text = choice->text;
    return ((const uint32_t *)(w->plan->base + options->offset))[choice->first_option + pick];
}

uint32_t iez_template_find(const struct iez_plan *plan, const char *path, uint64_t bytes,
                           uint32_t *template_text) {
    struct walk w;
    w.plan = plan;
    w.nodes = (const struct iez_node *)(plan->base + plan->header->nodes.offset);
    w.node_count = plan->header->nodes.count;
    w.path = path;
    w.bytes = bytes;
    w.depth = 0;
    if (w.node_count == 0 || bytes > IEZ_PATH_MAX)
        return IEZ_PLAN_NONE;
    struct frame frame = {0};
    for (int steps = 0; steps < STEPS_MAX; steps++) {
        if (frame.at == bytes && w.nodes[frame.node].choice != IEZ_PLAN_NONE)
            return choose(&w, &frame, template_text);
        if (!step(&w, &frame))
            break;
    }
    return IEZ_PLAN_NONE;
}
