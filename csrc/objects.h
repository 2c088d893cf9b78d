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

/* Takes down the symbol tables of the objects that come after the one `address` lies in. Called
 * once, at the start. */
void iez_objects_take_down(uintptr_t address);

/* The first definition of a function there, as dlsym(RTLD_NEXT) would find it; 0 where it is not
 * found, or cannot be told (an object without a GNU hash table before it, a function that is chosen
 * at run time). Takes no lock and does not allocate: it may be called anywhere. */
uintptr_t iez_objects_next(const char *name);

#endif
