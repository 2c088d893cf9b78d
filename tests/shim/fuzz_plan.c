/* Damages a plan in many ways and looks paths up in what is left; built with -fsanitize=address,
 * undefined, it finds any read outside the plan. Each damaged plan lies in a block of its exact
 * size, and so does each path, without a NUL behind it.
 *
 * usage: fuzz_plan PLAN SEED COUNT PATH...
 * Prints how far the damaged plans got, so that a test can see that the deep checks were reached.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "layout.h"
#include "plan.h"

static const uint64_t odd_values[] = {
    0,
    1,
    2,
    7,
    8,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fffffff,
    0xfffffff8,
    0xffffffff,
    0x7fffffffffffffff,
    0xfffffffffffffff8,
    0xffffffffffffffff,
};

static uint64_t odd_value(uint64_t bytes) {
    uint64_t kind = chance(4);
    if (kind == 0)
        return chance(bytes + 8); /* a place in the file, or just behind it */
    if (kind == 1)
        return chance(64);
    if (kind == 2)
        return odd_values[chance(sizeof odd_values / sizeof *odd_values)];
    return chance(0) ^ state;
}

static void damage(unsigned char *plan, uint64_t bytes) {
    uint64_t value, size, from, to;
    switch (chance(5)) {
    case 0: /* a bit */
        plan[chance(bytes)] ^= (unsigned char)(1 << chance(8));
        break;
    case 1: /* a byte */
        plan[chance(bytes)] = (unsigned char)chance(256);
        break;
    case 2: /* a field of the header */
        value = odd_value(bytes);
        size = chance(2) ? 8 : 4;
        to = chance(sizeof(struct iez_plan_header) / size) * size;
        if (to + size <= bytes)
            memcpy(plan + to, &value, size);
        break;
    case 3: /* a field anywhere */
        value = odd_value(bytes);
        size = (uint64_t)1 << chance(4);
        to = chance(bytes / size) * size;
        memcpy(plan + to, &value, size);
        break;
    default: /* a piece of it elsewhere */
        size = chance(bytes < 256 ? bytes : 256);
        from = chance(bytes - size);
        to = chance(bytes - size);
        memmove(plan + to, plan + from, size);
    }
}

/* Makes the header fit the damaged file, so that the checks behind it are reached. */
static void mend_header(unsigned char *plan, uint64_t bytes, int all) {
    struct iez_plan_header header;
    if (bytes < sizeof header)
        return;
    memcpy(&header, plan, sizeof header);
    if (all) {
        header.magic = IEZ_PLAN_MAGIC;
        header.version = IEZ_PLAN_VERSION;
        header.header_bytes = sizeof header;
        header.file_bytes = bytes;
    }
    header.header_checksum = iez_plan_header_hash(&header);
    memcpy(plan, &header, sizeof header);
}

static void *exact_copy(const void *data, uint64_t bytes) {
    void *copy = malloc(bytes ? bytes : 1);
    if (!copy)
        abort();
    memcpy(copy, data, bytes);
    return copy;
}

/* Damages the bytes of a layout as Lustre would send it, and reads them. */
static void read_damaged_wire(const unsigned char *wire, uint64_t bytes) {
    uint64_t kept = chance(4) ? bytes : chance(bytes + 1);
    unsigned char *copy = exact_copy(wire, kept);
    for (uint64_t n = chance(3); kept && n-- > 0;)
        copy[chance(kept)] = (unsigned char)chance(256);
    iez_wire_agrees(wire, bytes, copy, kept);
    iez_wire_agrees(copy, kept, wire, bytes);
    free(copy);
}

struct tally {
    unsigned long used, found, damaged, encoded;
};

static void look_up(const struct iez_plan *plan, const char *path, struct tally *tally) {
    static unsigned char wire[IEZ_WIRE_MAX];
    uint64_t bytes = strlen(path);
    char *copy = exact_copy(path, bytes);
    char *scratch = exact_copy(wire, IEZ_PATH_MAX);
    struct iez_found found;
    if (iez_plan_find(plan, copy, bytes, scratch, &found) != NULL) {
        tally->damaged++;
    } else if (found.prefix && found.layout) {
        tally->found++;
        iez_plan_unknown_ost(plan, found.prefix, found.layout, found.layout_bytes);
        long length = iez_layout_encode(found.layout, found.layout_bytes, wire, sizeof wire);
        if (length > 0) {
            tally->encoded++;
            read_damaged_wire(wire, (uint64_t)length);
        }
        uint32_t text_bytes;
        iez_plan_text(plan, found.template_text, &text_bytes);
    }
    free(scratch);
    free(copy);
}

int main(int argc, char **argv) {
    if (argc < 5)
        return 2;
    uint64_t bytes = begin(argv[1], argv[2], sizeof(struct iez_plan_header));
    struct tally tally = {0};
    for (unsigned long n = strtoul(argv[3], NULL, 10); n-- > 0;) {
        uint64_t kept = chance(8) ? bytes : chance(bytes + 1);
        unsigned char *copy = exact_copy(original, kept);
        for (uint64_t times = 1 + chance(4); kept >= 8 && times-- > 0;)
            damage(copy, kept);
        if (chance(8))
            mend_header(copy, kept, chance(8) != 0);
        struct iez_plan plan;
        if (iez_plan_use(copy, kept, &plan) == NULL) {
            tally.used++;
            for (int i = 4; i < argc; i++)
                look_up(&plan, argv[i], &tally);
        }
        free(copy);
    }
    printf("used %lu found %lu damaged %lu encoded %lu\n", tally.used, tally.found, tally.damaged,
           tally.encoded);
    return 0;
}
