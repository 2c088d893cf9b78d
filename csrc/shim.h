/* The library as a whole: is it on, and how it speaks. */
#ifndef IEZ_SHIM_H
#define IEZ_SHIM_H

#include <stdatomic.h>
#include <stdbool.h>

extern _Atomic bool iez_is_on;

/* False before the constructor ran, without a usable plan, with IEZ_DISABLE=1, in launchers, and
 * after trouble: then every wrapper only forwards. */
static inline bool iez_on(void) {
    return atomic_load_explicit(&iez_is_on, memory_order_relaxed);
}

/* Says what is wrong with the plan, and what follows, in one line on standard error; nothing if a
 * process of this job has spoken already. */
void iez_say(const char *trouble, const char *consequence);

/* The same for trouble with the trace. */
void iez_say_trace(const char *trouble);

/* Switches the library off for this process, and says so. */
void iez_off(const char *trouble);

#endif
