/* Look-ups in a plan, with the library's own code.
 *
 *   lookup hit|miss|template PLAN DIRECTORY   batches of random names
 *   lookup first PLAN DIRECTORY               map the plan and look one name up, print the time */
#include "batch.h"
#include "keys.h"
#include "plan.h"

#define LOOKUPS 2000

static struct iez_plan plan;
static struct key keys[2]; /* in turns: what was just written would be slow to read */
static uint64_t state = 88172645463325252ULL;
static char scratch[IEZ_PATH_MAX];
static int expected;

static uint64_t loop_alone(void) {
    uint64_t start = now_ns();
    for (int i = 0; i < LOOKUPS; i++) {
        key_set(&keys[i % 2], key_random(&state));
        finish_before_next();
    }
    return now_ns() - start;
}

static uint64_t loop_with_lookup(void) {
    struct iez_found found;
    uint64_t start = now_ns();
    for (int i = 0; i < LOOKUPS; i++) {
        const struct key *key = &keys[1 - i % 2];
        key_set(&keys[i % 2], key_random(&state));
        if (iez_plan_find(&plan, key->path, key->bytes, scratch, &found) ||
            (found.layout != NULL) != expected)
            give_up("a look-up gave another answer than expected");
        finish_before_next();
    }
    return now_ns() - start;
}

/* Nanoseconds of LOOKUPS look-ups, without the loop around them. */
static uint64_t batch(void) {
    uint64_t alone = loop_alone();
    uint64_t with = loop_with_lookup();
    return with > alone ? with - alone : 0;
}

static int first_use(const char *plan_path) {
    struct iez_found found;
    key_set(&key, 123456);
    uint64_t start = now_ns();
    const char *trouble = iez_plan_map(plan_path, &plan);
    if (!trouble)
        trouble = iez_plan_find(&plan, key.path, key.bytes, scratch, &found);
    uint64_t spent = now_ns() - start;
    if (trouble || !found.layout) {
        fprintf(stderr, "%s: %s\n", plan_path, trouble ? trouble : "a name is missing");
        return 1;
    }
    printf("%llu\n", (unsigned long long)spent);
    return 0;
}

int main(int count, char **words) {
    if (count != 4)
        return 2;
    const char *mode = words[1];
    expected = strcmp(mode, "miss") != 0;
    key = key_make(words[3], "ckpt_", ".h5");
    if (strcmp(mode, "first") == 0)
        return first_use(words[2]);
    if (strcmp(mode, "miss") == 0) /* begins as a template does, and ends otherwise */
        key = key_make(words[3], "slab_", "_of_8.nc");
    if (strcmp(mode, "template") == 0)
        key = key_make(words[3], "slab_", "_of_8.h5");
    const char *trouble = iez_plan_map(words[2], &plan);
    if (trouble) {
        fprintf(stderr, "%s: %s\n", words[2], trouble);
        return 1;
    }
    return serve(batch);
}
