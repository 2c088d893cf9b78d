/* Matching a path against the plan's name templates: one walk down a tree, however many there are.
 */
#ifndef IEZ_TEMPLATE_H
#define IEZ_TEMPLATE_H

#include "plan.h"

/* The layout reference of the template that `path` matches, or IEZ_PLAN_NONE. A literal is
 * preferred to a number, a number to an alphanumeric run, that to a directory name, that to the
 * rest of the path. */
uint32_t iez_template_find(const struct iez_plan *plan, const char *path, uint64_t bytes,
                           uint32_t *template_text);

#endif
