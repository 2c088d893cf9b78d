/* Finds the function that a caller of an MPI or HDF5 wrapper meant. */
#include "caller.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "objects.h"

/* Entries are filled once and never change; when those of a place are all taken, or what they hold
 * may have been unloaded, the search is done again. */
enum { CACHED = 1024, PROBES = 16, FREE = 0, FILLING = 1, FILLED = 2 };

static struct {
    atomic_int state;
    const char *name;
    uintptr_t address;
    uintptr_t function;
    unsigned long long unloaded;
} cache[CACHED];

/* Where the entries of a name and an address begin. */
static size_t place_of(const char *name, uintptr_t address) {
    uint64_t mixed = ((uintptr_t)name * 31 ^ address) * 0x9e3779b97f4a7c15ULL;
    return (size_t)(mixed >> 40) % (CACHED - PROBES);
}

static uintptr_t recall(const char *name, uintptr_t address, unsigned long long unloaded) {
    size_t first = place_of(name, address);
    for (size_t i = first; i < first + PROBES; i++) {
        int state = atomic_load_explicit(&cache[i].state, memory_order_acquire);
        if (state == FREE)
            return 0;
        if (state == FILLED && cache[i].address == address && cache[i].name == name &&
            cache[i].unloaded == unloaded)
            return cache[i].function;
    }
    return 0;
}

static void remember(const char *name, uintptr_t address, unsigned long long unloaded,
                     uintptr_t function) {
    size_t first = place_of(name, address);
    for (size_t i = first; i < first + PROBES; i++) {
        int expected = FREE;
        if (!atomic_compare_exchange_strong(&cache[i].state, &expected, FILLING))
            continue;
        cache[i].name = name;
        cache[i].address = address;
        cache[i].unloaded = unloaded;
        cache[i].function = function;
        atomic_store_explicit(&cache[i].state, FILLED, memory_order_release);
        return;
    }
}

/* Never this library's own wrapper, nor one of a library that was preloaded before this one: that
 * one is calling, and would be called again without end. */
static bool after_us(uintptr_t function) {
    struct iez_object home, own;
    return iez_object_of(function, &home) && iez_object_of((uintptr_t)&after_us, &own) &&
           home.index > own.index;
}

/* The first `name` in `object` and what it needs. */
static uintptr_t in_tree(const struct iez_object *object, const char *name) {
    if (!*object->name)
        return 0;
    void *handle = dlopen(object->name, RTLD_NOLOAD | RTLD_LAZY);
    if (!handle)
        return 0;
    uintptr_t function = (uintptr_t)dlsym(handle, name);
    dlclose(handle);
    return function;
}

static uintptr_t in_tree_after_us(const struct iez_object *object, const char *name) {
    uintptr_t function = in_tree(object, name);
    return after_us(function) ? function : 0;
}

static bool same_object(uintptr_t a, uintptr_t b) {
    struct iez_object of_a, of_b;
    return iez_object_of(a, &of_a) && iez_object_of(b, &of_b) && of_a.index == of_b.index;
}

/* By where the linker bound another reference of the caller: to the library of `next`; or past it
 * because `next` is from a preloaded tool that lacks that other function; or past it although it
 * has that function, so that `next` is from a library this caller does not use. */
static uintptr_t by_binding(const struct iez_object *caller, const char *name, const char *prefix,
                            uintptr_t next) {
    uintptr_t other;
    struct iez_object home;
    const char *other_name = iez_object_bound(caller, prefix, after_us, &other);
    if (!other_name)
        return 0;
    if (next && iez_object_of(next, &home) &&
        (same_object(next, other) || !same_object(next, in_tree(&home, other_name))))
        return next;
    return iez_object_of(other, &home) ? in_tree_after_us(&home, name) : 0;
}

static uintptr_t anywhere(const char *name) {
    struct iez_object own, object;
    char copy[4096]; /* the name goes when another thread unloads the object */
    if (!iez_object_of((uintptr_t)&after_us, &own))
        return 0;
    for (int i = own.index + 1; iez_object_at(i, &object); i++) {
        strncpy(copy, object.name, sizeof copy - 1);
        copy[sizeof copy - 1] = '\0';
        object.name = copy;
        uintptr_t function = in_tree_after_us(&object, name);
        if (function)
            return function;
    }
    return 0;
}

static uintptr_t search(const char *name, const char *prefix, uintptr_t address) {
    struct iez_object caller;
    uintptr_t found = 0;
    uintptr_t next = (uintptr_t)dlsym(RTLD_NEXT, name);
    if (!after_us(next))
        next = 0;
    if (iez_object_of(address, &caller)) {
        found = by_binding(&caller, name, prefix, next);
        if (!found)
            found = in_tree_after_us(&caller, name);
    }
    if (!found)
        found = next;
    return found ? found : anywhere(name);
}

uintptr_t iez_caller_real(const char *name, const char *prefix, const void *return_address) {
    return iez_caller_real_or(name, NULL, prefix, return_address);
}

uintptr_t iez_caller_real_or(const char *name, const char *fallback, const char *prefix,
                             const void *return_address) {
    uintptr_t address = (uintptr_t)return_address;
    unsigned long long unloaded = iez_objects_unloaded();
    uintptr_t found = recall(name, address, unloaded);
    if (!found) {
        found = search(name, prefix, address);
        if (!found && fallback)
            found = search(fallback, prefix, address);
        if (found)
            remember(name, address, unloaded, found);
    }
    return found;
}

uintptr_t iez_caller_sibling(const char *name, uintptr_t function) {
    unsigned long long unloaded = iez_objects_unloaded();
    uintptr_t found = recall(name, function, unloaded);
    struct iez_object home;
    if (!found && iez_object_of(function, &home)) {
        found = in_tree(&home, name);
        if (found)
            remember(name, function, unloaded, found);
    }
    return found;
}
