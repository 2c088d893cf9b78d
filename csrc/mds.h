/* Setting and reading the layout of an open file. This is the one place where a mock file system
 * differs from a real one. */
#ifndef IEZ_MDS_H
#define IEZ_MDS_H

#include "plan.h"

/* Asks for the layout in `wire`. 0, or an errno. The bytes may be overwritten with the answer. */
int iez_mds_set(const struct iez_plan *plan, const struct iez_prefix *prefix, int fd,
                unsigned char *wire, uint64_t bytes);

/* Reads the layout of the file into `wire`. Its length; -ENODATA: it has none yet; -ERANGE: it has
 * one that is longer than `room`. */
long iez_mds_get(const struct iez_prefix *prefix, int fd, unsigned char *wire, uint64_t room);

#endif
