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
