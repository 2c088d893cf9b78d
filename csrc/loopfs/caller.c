#include "caller.h"

#include <errno.h>
#include <sys/uio.h>

bool loop_fetch(fuse_req_t request, const void *from, void *to, size_t bytes) {
    struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)from, bytes};
    return process_vm_readv(fuse_req_ctx(request)->pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

bool loop_hand_out(fuse_req_t request, void *to, const void *from, size_t bytes) {
    struct iovec here = {(void *)(uintptr_t)from, bytes}, there = {to, bytes};
    return process_vm_writev(fuse_req_ctx(request)->pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

int loop_memory_error(void) {
    return errno == EPERM ? EPERM : EFAULT;
}
