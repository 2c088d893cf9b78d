/* The loaded objects (program and libraries) in the order of the linker's search. */
#ifndef IEZ_OBJECTS_H
#define IEZ_OBJECTS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iez_object {
    int index;        /* 0 the program; preloaded libraries; what the program needs; opened later */
    const char *name; /* as dlopen knows it; "" the program */
    uintptr_t base;
    const ElfW(Dyn) * dynamic; /* NULL without one */
};

/* False when `address` lies in no loaded object. */
bool iez_object_of(uintptr_t address, struct iez_object *object);

/* False when there are fewer objects. */
bool iez_object_at(int index, struct iez_object *object);

/* How many objects were unloaded so far: what was found before is good while this stays. */
unsigned long long iez_objects_unloaded(void);

/* A reference of `object` to another function of the family `prefix`, already bound by the linker
 * to an object that this library's wrappers may call. NULL when there is none. */
const char *iez_object_bound(const struct iez_object *object, const char *prefix,
                             bool (*allowed)(uintptr_t), uintptr_t *target);

/* The first definition of each name in the objects that come after the one `address` lies in, as
 * dlsym(RTLD_NEXT) from there would find it, into `found`, all zero before; what is not found, or
 * cannot be told (an object without a GNU hash table before it, a function chosen at run time),
 * stays 0. Does not allocate. */
#define IEZ_SYMBOLS_MAX 144
void iez_objects_find_after(uintptr_t address, const char *const *names, uintptr_t *found,
                            size_t count);

#endif
