/* The plan in force: loaded when the process starts, replaced when a newer one was put in its
 * place. */
#ifndef IEZ_CURRENT_H
#define IEZ_CURRENT_H

#include "plan.h"

/* Loads the plan at `path`, which must stay where it is. NULL, or what is wrong with it. */
const char *iez_current_start(const char *path);

/* The directory where it lies. */
const char *iez_current_directory(void);

/* The newest plan that was found so far: for calls that create nothing, and need not look. */
const struct iez_plan *iez_current_known(void);

/* The plan to use now; never NULL once started, and valid for the life of the process. Looks for a
 * newer generation at most once in the plan's refresh interval: other calls make no system call. */
const struct iez_plan *iez_current_plan(void);

#endif
