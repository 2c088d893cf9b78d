#include "plan_build.h"

#include <string.h>

uint64_t iez_build_slots(struct iez_slot *slots, uint64_t slot_count, const unsigned char *texts,
                         const uint32_t *text_refs, const uint32_t *layout_refs, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        uint16_t length;
        memcpy(&length, texts + text_refs[i], sizeof length);
        uint64_t hash = iez_hash(texts + text_refs[i] + sizeof length, length);
        uint64_t at = iez_slot_of(hash, slot_count / IEZ_PLAN_BUCKET) * IEZ_PLAN_BUCKET;
        while (slots[at].hash && slots[at].hash != hash)
            at = at + 1 == slot_count ? 0 : at + 1;
        if (slots[at].hash)
            return i;
        slots[at] = (struct iez_slot){hash, layout_refs[i], text_refs[i]};
    }
    return n;
}

void iez_build_filter(uint64_t *words, uint64_t word_count, const struct iez_slot *slots,
                      uint64_t slot_count) {
    for (uint64_t i = 0; i < slot_count; i++)
        if (slots[i].hash)
            words[iez_slot_of(slots[i].hash, word_count)] |= iez_filter_bits(slots[i].hash);
}

long iez_build_unknown_ost(const struct iez_plan *plan, uint32_t *text) {
    const struct iez_slot *slots =
        (const struct iez_slot *)(plan->base + plan->header->slots.offset);
    char scratch[IEZ_PATH_MAX];
    for (uint64_t i = 0; i < plan->header->slots.count; i++) {
        if (!slots[i].hash)
            continue;
        uint32_t bytes;
        struct iez_found found;
        const char *path = iez_plan_text(plan, slots[i].text, &bytes);
        if (!path || iez_plan_find(plan, path, bytes, scratch, &found) != NULL)
            return -2;
        if (!found.prefix || !found.layout)
            continue;
        long unknown = iez_plan_unknown_ost(plan, found.prefix, found.layout, found.layout_bytes);
        if (unknown != -1) {
            *text = slots[i].text;
            return unknown;
        }
    }
    return -1;
}
