/* Trees: statistics as Lustre shows them, of a client (STORE/client) and of a server
 * (STORE/server). */
#ifndef IEZ_LOOPFS_TREES_H
#define IEZ_LOOPFS_TREES_H

#include "fs.h"

/* Brings the files up to date. */
void loop_trees_write(struct loop_fs *fs);

/* Replaces the file `path` below `directory` at once. 0, or an errno. */
int loop_replace(int directory, const char *path, const char *text, size_t bytes);

#endif
