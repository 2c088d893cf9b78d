/* Look-ups in a plan, with the library's own code.
 *
 *   lookup hit|warm|miss|template PLAN DIRECTORY [alone]
 *       batches of random names; `warm`: out of a thousand. In a loop, as benchmarks do it;
 * `alone`: each begins only when the one before has ended, as in a program that opens files lookup
 * memory PLAN DIRECTORY [alone] one random read of the hash table in place of each look-up lookup
 * first PLAN DIRECTORY maps the plan, looks one name up and prints the nanoseconds */
#include <stdbool.h>

#include "batch.h"
#include "keys.h"
#include "plan.h"

#define LOOKUPS 2000

static struct iez_plan plan;
static struct key keys[2]; /* in turns: what was just written is slow to read */
static uint32_t first_number;
static bool planned = true;
static bool only_memory;
static bool warm;
static bool alone;
static uint64_t state;
static char scratch[IEZ_PATH_MAX];

static void next_key(struct key *key) {
    uint32_t number = key_random(&state);
    if (warm)
        number -= number % 1000;
    key_set(key, number);
    key_number(key, first_number + number);
}

static void look_up(const struct key *key) {
    struct iez_found found;
    if (iez_plan_find(&plan, key->path, key->bytes, scratch, &found) ||
        (found.layout != NULL) != planned)
        give_up("a look-up gave another answer than expected");
}

static void read_memory(void) {
    const struct iez_section *slots = &plan.header->slots;
    uint64_t number = iez_slot_of(state * 0x9e3779b97f4a7c15ULL, slots->count);
    *(const volatile unsigned char *)(plan.base + slots->offset + number * sizeof(struct iez_slot));
}

static uint64_t loop(bool work) {
    uint64_t start = now_ns();
    for (int i = 0; i < LOOKUPS; i++) {
        next_key(&keys[i % 2]);
        if (work && only_memory)
            read_memory();
        else if (work)
            look_up(&keys[1 - i % 2]);
        if (alone)
            finish_before_next();
    }
    return now_ns() - start;
}

/* Nanoseconds of LOOKUPS look-ups, without the loop around them. */
static uint64_t batch(void) {
    uint64_t without = loop(false);
    uint64_t with = loop(true);
    return with > without ? with - without : 0;
}

static int first_use(const char *plan_path) {
    struct iez_found found;
    uint64_t start = now_ns();
    const char *trouble = iez_plan_map(plan_path, &plan);
    if (!trouble)
        trouble = iez_plan_find(&plan, keys[0].path, keys[0].bytes, scratch, &found);
    uint64_t spent = now_ns() - start;
    if (trouble || !found.layout)
        give_up(trouble ? trouble : "a name is missing");
    printf("%llu\n", (unsigned long long)spent);
    return 0;
}

int main(int count, char **words) {
    if (count < 4)
        return 2;
    bool is_template = strcmp(words[1], "template") == 0;
    struct key key =
        is_template ? key_make(words[3], "slab_", "_of_8.h5") : key_make(words[3], "ckpt_", ".h5");
    keys[0] = keys[1] = key;
    if (strcmp(words[1], "first") == 0)
        return first_use(words[2]);
    if (strcmp(words[1], "miss") == 0) { /* later steps than the planned ones */
        planned = false;
        first_number = KEY_COUNT;
    }
    only_memory = strcmp(words[1], "memory") == 0;
    warm = strcmp(words[1], "warm") == 0;
    alone = count > 4;
    const char *trouble = iez_plan_map(words[2], &plan);
    if (trouble)
        give_up(trouble);
    state = key_seed();
    return serve(batch);
}
