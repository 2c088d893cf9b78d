/* The loaded objects, by dl_iterate_phdr, and how the linker bound their references. */
#include "objects.h"

#include <stddef.h>
#include <string.h>

struct walk {
    uintptr_t address; /* 0: stop at object.index */
    int at;
    struct iez_object object;
};

static bool holds(const struct dl_phdr_info *info, uintptr_t address) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD &&
            address - info->dlpi_addr - segment->p_vaddr < segment->p_memsz)
            return true;
    }
    return false;
}

static const ElfW(Dyn) * dynamic_of(const struct dl_phdr_info *info) {
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return NULL;
}

static int visit(struct dl_phdr_info *info, size_t size, void *data) {
    struct walk *walk = data;
    int index = walk->at++;
    (void)size;
    if (walk->address ? !holds(info, walk->address) : index != walk->object.index)
        return 0;
    walk->object.index = index;
    walk->object.name = info->dlpi_name ? info->dlpi_name : "";
    walk->object.base = info->dlpi_addr;
    walk->object.dynamic = dynamic_of(info);
    return 1;
}

bool iez_object_of(uintptr_t address, struct iez_object *object) {
    struct walk walk = {.address = address};
    if (!address || !dl_iterate_phdr(visit, &walk))
        return false;
    *object = walk.object;
    return true;
}

bool iez_object_at(int index, struct iez_object *object) {
    struct walk walk = {.object.index = index};
    if (!dl_iterate_phdr(visit, &walk))
        return false;
    *object = walk.object;
    return true;
}

static int read_unloaded(struct dl_phdr_info *info, size_t size, void *data) {
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        *(unsigned long long *)data = info->dlpi_subs;
    return 1;
}

unsigned long long iez_objects_unloaded(void) {
    unsigned long long unloaded = 0;
    dl_iterate_phdr(read_unloaded, &unloaded);
    return unloaded;
}

/* The linker replaces the offsets in a dynamic section by addresses; musl leaves them. */
static uintptr_t dynamic_value(const struct iez_object *object, ElfW(Sxword) tag) {
    for (const ElfW(Dyn) *entry = object->dynamic; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == tag)
            return entry->d_un.d_ptr;
    return 0;
}

static uintptr_t dynamic_address(const struct iez_object *object, ElfW(Sxword) tag) {
    uintptr_t value = dynamic_value(object, tag);
    return !value || value >= object->base ? value : value + object->base;
}

static const char *bound_in(const struct iez_object *object, ElfW(Sxword) table, ElfW(Sxword) bytes,
                            const char *prefix, bool (*allowed)(uintptr_t), uintptr_t *target) {
    const ElfW(Rela) *entry = (const ElfW(Rela) *)dynamic_address(object, table);
    size_t entries = dynamic_value(object, bytes) / sizeof *entry;
    const ElfW(Sym) *symbols = (const ElfW(Sym) *)dynamic_address(object, DT_SYMTAB);
    const char *names = (const char *)dynamic_address(object, DT_STRTAB);

    for (size_t i = 0; entry && symbols && names && i < entries; i++) {
        const ElfW(Sym) *symbol = &symbols[ELF64_R_SYM(entry[i].r_info)];
        const char *name = names + symbol->st_name;
        if (symbol->st_shndx != SHN_UNDEF || strncmp(name, prefix, strlen(prefix)) != 0)
            continue;
        uintptr_t value = *(const volatile uintptr_t *)(object->base + entry[i].r_offset);
        /* A reference that was never used yet still points into the object itself. */
        struct iez_object home;
        if (iez_object_of(value, &home) && home.index != object->index && allowed(value)) {
            *target = value;
            return name;
        }
    }
    return NULL;
}

const char *iez_object_bound(const struct iez_object *object, const char *prefix,
                             bool (*allowed)(uintptr_t), uintptr_t *target) {
    /* 32-bit machines with relocations of the other form get no answer from here. */
    if (sizeof(uintptr_t) != 8 || !object->dynamic || dynamic_value(object, DT_PLTREL) == DT_REL)
        return NULL;
    const char *name = bound_in(object, DT_JMPREL, DT_PLTRELSZ, prefix, allowed, target);
    return name ? name : bound_in(object, DT_RELA, DT_RELASZ, prefix, allowed, target);
}

/* A symbol table with its GNU hash table: buckets of chains, behind a filter that says at once of
 * most names that they are not there. */
struct symbol_table {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *names;
    const uint16_t *versions; /* NULL: none */
    uint32_t bucket_count, first, filter_words, filter_shift;
    const ElfW(Addr) * filter;
    const uint32_t *buckets, *chains;
};

static bool open_table(const struct iez_object *object, struct symbol_table *table) {
    const uint32_t *hash = (const uint32_t *)dynamic_address(object, DT_GNU_HASH);
    if (!hash || !hash[0] || !hash[2])
        return false;
    table->base = object->base;
    table->symbols = (const ElfW(Sym) *)dynamic_address(object, DT_SYMTAB);
    table->names = (const char *)dynamic_address(object, DT_STRTAB);
    table->versions = (const uint16_t *)dynamic_address(object, DT_VERSYM);
    table->bucket_count = hash[0];
    table->first = hash[1];
    table->filter_words = hash[2];
    table->filter_shift = hash[3];
    table->filter = (const ElfW(Addr) *)(hash + 4);
    table->buckets = (const uint32_t *)(table->filter + table->filter_words);
    table->chains = table->buckets + table->bucket_count;
    return table->symbols && table->names;
}

static uint32_t gnu_hash(const char *name) {
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static bool may_have(const struct symbol_table *table, uint32_t hash) {
    const unsigned bits = 8 * sizeof(ElfW(Addr));
    ElfW(Addr) word = table->filter[hash / bits % table->filter_words];
    return word >> (hash % bits) & word >> ((hash >> table->filter_shift) % bits) & 1;
}

#define UNSURE 1 /* found, but only dlsym can tell what it is */

/* The default version of a function; 0: not here. */
static uintptr_t function_in(const struct symbol_table *table, const char *name, uint32_t hash) {
    uint32_t at = table->buckets[hash % table->bucket_count];
    if (at < table->first)
        return 0;
    for (;; at++) {
        uint32_t link = table->chains[at - table->first];
        const ElfW(Sym) *symbol = &table->symbols[at];
        bool is_hidden = table->versions && (table->versions[at] & 0x8000);
        if ((link | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
            !is_hidden && strcmp(table->names + symbol->st_name, name) == 0)
            return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC ? table->base + symbol->st_value
                                                              : UNSURE;
        if (link & 1)
            return 0;
    }
}

/* Objects of the start are never unloaded: what is taken down of them holds. */
#define TABLES_MAX 128
static _Alignas(64) struct symbol_table tables[TABLES_MAX];
static size_t table_count;

struct taking {
    uintptr_t address;
    bool is_after;
};

static int take_down(struct dl_phdr_info *info, size_t size, void *data) {
    struct taking *taking = data;
    (void)size;
    if (!taking->is_after) {
        taking->is_after = holds(info, taking->address);
        return 0;
    }
    struct iez_object object = {.base = info->dlpi_addr, .dynamic = dynamic_of(info)};
    if (!object.dynamic)
        return 0;
    if (!open_table(&object, &tables[table_count]))
        tables[table_count].bucket_count = 0;
    return ++table_count == TABLES_MAX;
}

void iez_objects_take_down(uintptr_t address) {
    struct taking taking = {address, false};
    if (table_count == 0)
        dl_iterate_phdr(take_down, &taking);
}

uintptr_t iez_objects_next(const char *name) {
    uint32_t hash = gnu_hash(name);
    for (size_t i = 0; i < table_count; i++) {
        if (tables[i].bucket_count == 0)
            return 0; /* it cannot be told whether it is in this one */
        uintptr_t found = may_have(&tables[i], hash) ? function_in(&tables[i], name, hash) : 0;
        if (found)
            return found == UNSURE ? 0 : found;
    }
    return 0;
}
