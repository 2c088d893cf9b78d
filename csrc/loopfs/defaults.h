/* Default layouts of directories. */
#ifndef IEZ_LOOPFS_DEFAULTS_H
#define IEZ_LOOPFS_DEFAULTS_H

#include "operations.h"

#define LOOP_PRIVATE_XATTR "user.iez-loopfs." /* nobody else sees attributes of such names */

/* The directory's own default, as it was asked for. Its length, or a negative errno. */
long loop_default_get(const struct loop_file *directory, unsigned char *wire, size_t room);
int loop_default_set(struct loop_fs *fs, const struct loop_file *directory,
                     const unsigned char *wire, size_t bytes);
int loop_default_remove(const struct loop_file *directory);

/* The pool of a directory's default, which the requests for its files inherit. */
void loop_default_pool(const struct loop_file *directory, char pool[IEZ_POOL_NAME_BYTES + 1]);

#endif
