#include "plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "layout.h"
#include "system.h"
#include "template.h"

#define PROBES_MAX 256 /* a chain is never this long in a table that we built */

static uint64_t mix(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t word(const unsigned char *at) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* The fractional digits of pi, e and the golden ratio: constants that hide no pattern. */
#define SALT_A 0x243f6a8885a308d3ULL
#define SALT_B 0xb7e151628aed2a6bULL
#define SALT_C 0x9e3779b97f4a7c15ULL

uint64_t iez_hash(const void *data, uint64_t bytes) {
    const unsigned char *at = data;
    unsigned char padded[16] = {0};
    uint64_t left = bytes, hash = SALT_A;
    if (left < sizeof padded) {
        memcpy(padded, at, left);
        at = padded;
        left = sizeof padded;
    }
    for (; left > 16; at += 16, left -= 16)
        hash = mix(word(at) ^ SALT_B, word(at + 8) ^ hash);
    /* The last 16 bytes, some of them perhaps once more: quicker than padding what is left. */
    at = at + left - 16;
    hash = mix(word(at) ^ SALT_C, word(at + 8) ^ hash);
    hash = mix(hash ^ SALT_B, bytes ^ SALT_C);
    return hash ? hash : 1; /* 0 marks an empty slot */
}

uint64_t iez_plan_header_hash(const struct iez_plan_header *header) {
    return iez_hash(header, offsetof(struct iez_plan_header, header_checksum));
}

static int section_fits(const struct iez_section *section, uint64_t size, uint64_t file_bytes) {
    return section->offset % 8 == 0 && section->offset <= file_bytes &&
           section->count <= (file_bytes - section->offset) / size;
}

const char *iez_plan_use(const void *base, uint64_t bytes, struct iez_plan *plan) {
    const struct iez_plan_header *header = base;
    if (bytes < sizeof *header)
        return "it is too short to be a plan";
    if (header->magic != IEZ_PLAN_MAGIC)
        return "it is not a plan file";
    if (header->version != IEZ_PLAN_VERSION || header->header_bytes != sizeof *header)
        return "it was made by another version of iez";
    if (header->header_checksum != iez_plan_header_hash(header))
        return "its header is damaged";
    if (header->file_bytes != bytes)
        return "it is truncated";
    if (!section_fits(&header->prefixes, sizeof(struct iez_prefix), bytes) ||
        !section_fits(&header->slots, sizeof(struct iez_slot), bytes) ||
        !section_fits(&header->nodes, sizeof(struct iez_node), bytes) ||
        !section_fits(&header->choices, sizeof(struct iez_choice), bytes) ||
        !section_fits(&header->options, sizeof(uint32_t), bytes) ||
        !section_fits(&header->osts, sizeof(struct iez_ost), bytes) ||
        !section_fits(&header->layouts, 1, bytes) || !section_fits(&header->texts, 1, bytes) ||
        !section_fits(&header->filter, sizeof(uint64_t), bytes) ||
        !section_fits(&header->trace_dir, 1, bytes))
        return "its header is damaged";
    *plan = (struct iez_plan){.base = base, .bytes = bytes, .header = header};
    return NULL;
}

static const char *map_descriptor(int fd, struct iez_plan *plan) {
    struct stat st;
    if (iez_sys_fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return "it cannot be read";
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return "other users may write to it (chmod go-w)";
    if (st.st_uid != getauxval(AT_EUID) && st.st_uid != 0)
        return "it belongs to another user";
    if ((uint64_t)st.st_size < sizeof(struct iez_plan_header))
        return "it is too short to be a plan";
    void *base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        errno = ENOMEM;
        return "there is no memory to map it";
    }
    const char *trouble = iez_plan_use(base, (uint64_t)st.st_size, plan);
    if (trouble) {
        munmap(base, (size_t)st.st_size);
        return trouble;
    }
    plan->device = st.st_dev;
    plan->inode = st.st_ino;
    plan->changed_ns = iez_sys_changed_ns(&st);
    return NULL;
}

const char *iez_plan_map(const char *path, struct iez_plan *plan) {
    /* The raw call: the library's own open() is one of its hooks. O_NONBLOCK: never wait on a
     * FIFO that somebody put there. */
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
    if (fd < 0) {
        bool missing = errno == ENOENT;
        if (errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != EINTR)
            errno = 0;
        return missing ? "it is not there" : "it cannot be read";
    }
    errno = 0;
    const char *trouble = map_descriptor((int)fd, plan);
    syscall(SYS_close, fd);
    return trouble;
}

void iez_plan_unmap(struct iez_plan *plan) {
    munmap((void *)plan->base, plan->bytes);
    *plan = (struct iez_plan){0};
}

const char *iez_plan_text(const struct iez_plan *plan, uint32_t text, uint32_t *bytes) {
    const struct iez_section *texts = &plan->header->texts;
    uint16_t length;
    if ((uint64_t)text + sizeof length + 1 > texts->count)
        return NULL;
    const unsigned char *at = plan->base + texts->offset + text;
    memcpy(&length, at, sizeof length);
    if ((uint64_t)text + sizeof length + length + 1 > texts->count)
        return NULL;
    *bytes = length;
    return (const char *)at + sizeof length;
}

static const struct iez_prefix *prefix_at(const struct iez_plan *plan, uint64_t i) {
    return (const struct iez_prefix *)(plan->base + plan->header->prefixes.offset) + i;
}

/* The longest prefix that `path` lies below; its length in `length`. */
static const struct iez_prefix *find_prefix(const struct iez_plan *plan, const char *path,
                                            uint64_t bytes, uint32_t *length) {
    const struct iez_prefix *best = NULL;
    *length = 0;
    for (uint64_t i = 0; i < plan->header->prefixes.count; i++) {
        const struct iez_prefix *prefix = prefix_at(plan, i);
        uint32_t n;
        const char *text = iez_plan_text(plan, prefix->text, &n);
        if (!text || n >= bytes || path[n] != '/' || (best && n < *length))
            continue;
        if (memcmp(text, path, n) == 0) {
            best = prefix;
            *length = n;
        }
    }
    return best;
}

/* The path as the plan knows it: below the canonical prefix instead of its alias. */
static const char *canonical_path(const struct iez_plan *plan, const struct iez_prefix *prefix,
                                  uint32_t prefix_bytes, const char *path, uint64_t *bytes,
                                  char *scratch) {
    if (prefix->canonical >= plan->header->prefixes.count)
        return NULL;
    const struct iez_prefix *canonical = prefix_at(plan, prefix->canonical);
    if (canonical == prefix)
        return path;
    uint32_t n;
    const char *text = iez_plan_text(plan, canonical->text, &n);
    uint64_t rest = *bytes - prefix_bytes;
    if (!text || !scratch || n + rest > IEZ_PATH_MAX)
        return NULL;
    memcpy(scratch, text, n);
    memcpy(scratch + n, path + prefix_bytes, rest);
    *bytes = n + rest;
    return scratch;
}

/* False where no exact path has this hash. Most creates are in no plan, and the filter stays in the
 * processor's caches where the hash table does not. */
static bool may_be_planned(const struct iez_plan *plan, uint64_t hash) {
    const struct iez_section *section = &plan->header->filter;
    if (section->count == 0)
        return true;
    const uint64_t *words = (const uint64_t *)(plan->base + section->offset);
    uint64_t bits = iez_filter_bits(hash);
    return (words[iez_slot_of(hash, section->count)] & bits) == bits;
}

/* The slot of `hash` in a bucket, else its first empty slot, else NULL. Without a branch for each:
 * which of the four it is cannot be foreseen, and a wrong guess waits for main memory. */
static const struct iez_slot *probe(const struct iez_slot *bucket, uint64_t hash) {
    const struct iez_slot *found = NULL, *empty = NULL;
    for (int i = IEZ_PLAN_BUCKET - 1; i >= 0; i--) {
        found = bucket[i].hash == hash ? &bucket[i] : found;
        empty = bucket[i].hash == 0 ? &bucket[i] : empty;
    }
    return found ? found : empty;
}

/* The layout reference of an exact path, or IEZ_PLAN_NONE. */
static uint32_t find_exact(const struct iez_plan *plan, const char *path, uint64_t bytes) {
    uint64_t buckets = plan->header->slots.count / IEZ_PLAN_BUCKET;
    if (buckets == 0)
        return IEZ_PLAN_NONE;
    const struct iez_slot *slots =
        (const struct iez_slot *)(plan->base + plan->header->slots.offset);
    uint64_t hash = iez_hash(path, bytes);
    uint64_t at = iez_slot_of(hash, buckets);
    __builtin_prefetch(&slots[at * IEZ_PLAN_BUCKET]); /* may have to come from main memory */
    if (!may_be_planned(plan, hash))
        return IEZ_PLAN_NONE;
    for (int tries = 0; tries < PROBES_MAX; tries++) {
        const struct iez_slot *slot = probe(&slots[at * IEZ_PLAN_BUCKET], hash);
        if (slot)
            return slot->hash == hash ? slot->layout : IEZ_PLAN_NONE;
        if (++at == buckets)
            at = 0;
    }
    return IEZ_PLAN_NONE;
}

static const char *found_layout(const struct iez_plan *plan, uint32_t reference,
                                struct iez_found *found) {
    const struct iez_section *layouts = &plan->header->layouts;
    uint64_t at = (uint64_t)reference * 8;
    if (reference == IEZ_PLAN_NONE)
        return NULL;
    if (at + sizeof(struct iez_layout) > layouts->count)
        return "it is damaged: a layout lies outside it";
    found->layout = (const struct iez_layout *)(plan->base + layouts->offset + at);
    found->layout_bytes = layouts->count - at;
    return NULL;
}

const char *iez_plan_watched(const struct iez_plan *plan, const char *path, uint64_t bytes,
                             char *scratch, struct iez_found *found) {
    *found = (struct iez_found){.template_text = IEZ_PLAN_NONE};
    uint32_t prefix_bytes;
    found->prefix = find_prefix(plan, path, bytes, &prefix_bytes);
    if (!found->prefix)
        return NULL;
    found->path = canonical_path(plan, found->prefix, prefix_bytes, path, &bytes, scratch);
    found->path_bytes = bytes;
    return found->path ? NULL : "it is damaged: a prefix lies outside it";
}

const char *iez_plan_find(const struct iez_plan *plan, const char *path, uint64_t bytes,
                          char *scratch, struct iez_found *found) {
    const char *trouble = iez_plan_watched(plan, path, bytes, scratch, found);
    if (trouble || !found->prefix)
        return trouble;
    uint32_t reference = find_exact(plan, found->path, found->path_bytes);
    if (reference == IEZ_PLAN_NONE)
        reference = iez_template_find(plan, found->path, found->path_bytes, &found->template_text);
    return found_layout(plan, reference, found);
}

const struct iez_ost *iez_plan_ost(const struct iez_plan *plan, const struct iez_prefix *prefix,
                                   uint32_t index) {
    const struct iez_section *section = &plan->header->osts;
    if (prefix->first_ost > section->count ||
        prefix->ost_count > section->count - prefix->first_ost)
        return NULL;
    const struct iez_ost *osts = (const struct iez_ost *)(plan->base + section->offset);
    uint64_t low = prefix->first_ost, high = low + prefix->ost_count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (osts[middle].index == index)
            return &osts[middle];
        if (osts[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

long iez_plan_unknown_ost(const struct iez_plan *plan, const struct iez_prefix *prefix,
                          const struct iez_layout *layout, uint64_t layout_bytes) {
    const struct iez_component *component = NULL;
    for (uint32_t i = 0; i < layout->component_count; i++) {
        component = iez_layout_next(layout, layout_bytes, component);
        if (!component)
            return -2;
        const uint16_t *osts = iez_component_osts(component);
        for (uint32_t k = 0; k < component->ost_count; k++)
            if (!iez_plan_ost(plan, prefix, osts[k]))
                return osts[k];
    }
    return -1;
}
