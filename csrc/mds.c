#include "mds.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "layout.h"
#include "lustre.h"

#define XATTR_CREATE 1 /* <sys/xattr.h>: fail with EEXIST where there is one */

static const char *xattr_name(const struct iez_prefix *prefix) {
    return prefix->kind == IEZ_KIND_MOCK ? "user.iez.lov" : "lustre.lov";
}

long iez_mds_get(const struct iez_prefix *prefix, int fd, unsigned char *wire, uint64_t room) {
    long bytes = syscall(SYS_fgetxattr, fd, xattr_name(prefix), wire, room);
    return bytes < 0 ? -errno : bytes;
}

static int ost_answer(const struct iez_ost *ost) {
    if (!ost)
        return EINVAL;
    if (ost->state & IEZ_OST_INACTIVE)
        return EREMOTEIO;
    if (ost->state & IEZ_OST_FULL)
        return ENOSPC;
    if (ost->state & IEZ_OST_READONLY)
        return EROFS;
    return ost->state & IEZ_OST_NOCREATE ? ENOBUFS : 0;
}

static uint32_t active_osts(const struct iez_plan *plan, const struct iez_prefix *prefix) {
    const struct iez_ost *osts = (const struct iez_ost *)(plan->base + plan->header->osts.offset);
    uint32_t active = 0;
    for (uint64_t i = prefix->first_ost;
         i < (uint64_t)prefix->first_ost + prefix->ost_count && i < plan->header->osts.count; i++)
        active += !(osts[i].state & IEZ_OST_INACTIVE);
    return active;
}

/* A list is all or nothing: one bad OST fails it. Without overstriping no OST may repeat. */
static int list_answer(const struct iez_plan *plan, const struct iez_prefix *prefix,
                       const struct iez_component_view *view) {
    for (uint32_t k = 0; k < view->object_count; k++) {
        uint32_t index = iez_wire_ost(view, k);
        int answer = ost_answer(iez_plan_ost(plan, prefix, index));
        if (answer)
            return answer;
        if (view->pattern & IEZ_PATTERN_OVERSTRIPING)
            continue;
        for (uint32_t other = 0; other < k; other++)
            if (iez_wire_ost(view, other) == index)
                return EINVAL;
    }
    return 0;
}

/* What an MDS would say to this component. */
static int component_answer(const struct iez_plan *plan, const struct iez_prefix *prefix,
                            const struct iez_component_view *view, uint32_t active) {
    if (view->stripe_size % IEZ_STRIPE_SIZE_UNIT)
        return EINVAL;
    if (view->magic == IEZ_MAGIC_SPECIFIC && view->object_count < view->stripe_count)
        return EINVAL;
    if (view->magic == IEZ_MAGIC_SPECIFIC)
        return list_answer(plan, prefix, view);
    return active ? 0 : ENOSPC;
}

/* An MDS cuts what asks for more stripes than there are active OSTs, without a word. */
static void cut_stripes(unsigned char *wire, uint64_t *bytes, uint32_t active) {
    struct iez_lov_plain plain;
    memcpy(&plain, wire, sizeof plain);
    if ((plain.pattern & IEZ_PATTERN_OVERSTRIPING) || plain.stripe_count <= active)
        return;
    plain.stripe_count = (uint16_t)active;
    memcpy(wire, &plain, sizeof plain);
    if (plain.magic == IEZ_MAGIC_SPECIFIC)
        *bytes = sizeof plain + IEZ_POOL_NAME_BYTES + active * sizeof(struct iez_lov_object);
}

static int mock_set(const struct iez_plan *plan, const struct iez_prefix *prefix, int fd,
                    unsigned char *wire, uint64_t bytes) {
    if (prefix->inject == IEZ_INJECT_SILENT)
        return 0;
    if (prefix->inject)
        return (int)prefix->inject;
    uint32_t active = active_osts(plan, prefix);
    int count = iez_wire_components(wire, bytes);
    for (int i = 0; i < count; i++) {
        struct iez_component_view view;
        int answer = iez_wire_component(wire, bytes, i, &view) == 0
                         ? component_answer(plan, prefix, &view, active)
                         : EINVAL;
        if (answer)
            return answer;
    }
    if (count < 1)
        return EINVAL;
    if (count == 1)
        cut_stripes(wire, &bytes, active);
    return syscall(SYS_fsetxattr, fd, xattr_name(prefix), wire, bytes, XATTR_CREATE) == 0 ? 0
                                                                                          : errno;
}

int iez_mds_set(const struct iez_plan *plan, const struct iez_prefix *prefix, int fd,
                unsigned char *wire, uint64_t bytes) {
    if (prefix->kind == IEZ_KIND_MOCK)
        return mock_set(plan, prefix, fd, wire, bytes);
    long answer;
    do
        answer = syscall(SYS_ioctl, fd, IEZ_LOV_SETSTRIPE, wire);
    while (answer != 0 && errno == EINTR);
    return answer == 0 ? 0 : errno;
}
