/* Requests: what an MDS makes of the layout that somebody asks for (docs/lustre-interface.md). */
#ifndef IEZ_LOOPFS_REQUEST_H
#define IEZ_LOOPFS_REQUEST_H

#include "fs.h"
#include "striping.h"

/* How long the request that begins with these 32 bytes is; 0: its magic is unknown. */
size_t loop_request_bytes(const unsigned char *start);

/* The layout for a new file, none of it instantiated. `pool` is the directory's, which a request
 * that names none inherits. 0, or the errno that the MDS answers with. */
int loop_request_parse(struct loop_fs *fs, const unsigned char *wire, size_t bytes,
                       const char *pool, struct loop_layout **layout);

/* The layout of a file for which nobody asks anything. NULL: no memory. */
struct loop_layout *loop_request_default(const struct loop_fs *fs);

/* Chooses the OSTs of component number `number`, or checks its list. On success they are in its
 * `osts`. 0, or an errno. */
int loop_request_choose(struct loop_fs *fs, struct loop_layout *layout, uint32_t number);

#endif
