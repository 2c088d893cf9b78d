/* The watched files that this process knows: found by name, made known, renamed, removed. */
#ifndef IEZ_TRACE_FILES_H
#define IEZ_TRACE_FILES_H

#include <stdint.h>

#include "plan.h"
#include "trace_format.h"

/* The file of this name that is not renamed, made known if need be. NULL where there is no room. A
 * new one keeps the layout that is planned for it. */
struct iez_trace_file *iez_file_of(const struct iez_found *found);

/* There was no room for a file that was opened or renamed. May change errno. */
void iez_file_dropped(void);

/* The same, but only if it is known. */
struct iez_trace_file *iez_file_known(const struct iez_found *found);

/* It was opened by its name. */
void iez_file_is_back(struct iez_trace_file *file);

static inline void iez_file_flag(struct iez_trace_file *file, uint32_t flags) {
    if ((__atomic_load_n(&file->flags, __ATOMIC_RELAXED) & flags) != flags)
        __atomic_fetch_or(&file->flags, flags, __ATOMIC_RELAXED);
}

static inline void iez_file_api(struct iez_trace_file *file, unsigned api) {
    uint8_t bit = (uint8_t)(1U << api);
    if (!(__atomic_load_n(&file->apis, __ATOMIC_RELAXED) & bit))
        __atomic_fetch_or(&file->apis, bit, __ATOMIC_RELAXED);
}

#endif
