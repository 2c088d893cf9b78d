/* Caller: the memory of the process that asks. */
#ifndef IEZ_LOOPFS_CALLER_H
#define IEZ_LOOPFS_CALLER_H

#include "operations.h"

/* Only a few bytes of an ioctl's argument come with it: the rest is fetched from who asks. May wait
 * for other requests (aside.h). */
bool loop_fetch(fuse_req_t request, const void *from, void *to, size_t bytes);
bool loop_hand_out(fuse_req_t request, void *to, const void *from, size_t bytes);

/* The errno of what has just failed. */
int loop_memory_error(void);

/* The answers to IOC_OBD_STATFS and LL_IOC_GETOBDCOUNT: 0, or an errno. */
int loop_ost_status(fuse_req_t request, void *argument);
int loop_count_osts(fuse_req_t request, void *argument, uint64_t *answer);

#endif
