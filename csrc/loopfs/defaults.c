/* Default layouts of directories: a request that is kept and asked for each new file. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "../layout.h"
#include "defaults.h"
#include "request.h"

#define KEPT LOOP_PRIVATE_XATTR "default"

long loop_default_get(const struct loop_file *directory, unsigned char *wire, size_t room) {
    long bytes = getxattr(loop_proc_path(directory).text, KEPT, wire, room);
    return bytes < 0 ? -errno : bytes;
}

/* The same of the directory that the file is in. */
static long parents_default(const struct loop_file *file, unsigned char *wire, size_t room) {
    char path[PATH_MAX];
    ssize_t length = readlink(loop_proc_path(file).text, path, sizeof path - 1);
    if (length <= 0)
        return -ENOENT;
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash)
        return -ENOENT;
    *slash = '\0';
    long bytes = getxattr(path, KEPT, wire, room);
    return bytes < 0 ? -errno : bytes;
}

/* Such a request takes the default away. */
static bool asks_for_nothing(const unsigned char *wire, size_t bytes) {
    struct iez_component_view view;
    return memcmp(wire, &(uint32_t){IEZ_MAGIC_COMP}, 4) != 0 &&
           iez_wire_component(wire, bytes, 0, &view) == 0 && !view.stripe_size &&
           !view.stripe_count && view.generation == IEZ_STRIPE_OFFSET_ANY && !view.pool[0];
}

int loop_default_set(struct loop_fs *fs, const struct loop_file *directory,
                     const unsigned char *wire, size_t bytes) {
    struct loop_layout *layout;
    int answer = loop_request_parse(fs, wire, bytes, "", &layout);
    if (answer)
        return answer;
    loop_layout_free(layout);
    if (asks_for_nothing(wire, bytes)) {
        answer = loop_default_remove(directory);
        return answer == ENODATA ? 0 : answer;
    }
    return setxattr(loop_proc_path(directory).text, KEPT, wire, bytes, 0) == 0 ? 0 : errno;
}

int loop_default_remove(const struct loop_file *directory) {
    return removexattr(loop_proc_path(directory).text, KEPT) == 0 ? 0 : errno;
}

void loop_inherit_default(const struct loop_file *parent, const struct loop_file *child) {
    unsigned char wire[IEZ_WIRE_MAX];
    long bytes = loop_default_get(parent, wire, sizeof wire);
    if (bytes > 0)
        setxattr(loop_proc_path(child).text, KEPT, wire, (size_t)bytes, 0);
}

void loop_default_pool(const struct loop_file *directory, char pool[IEZ_POOL_NAME_BYTES + 1]) {
    unsigned char wire[IEZ_WIRE_MAX];
    struct iez_component_view view;
    *pool = '\0';
    long bytes = loop_default_get(directory, wire, sizeof wire);
    if (bytes > 0 && iez_wire_component(wire, (uint64_t)bytes, 0, &view) == 0)
        memcpy(pool, view.pool, sizeof view.pool);
}

int loop_default_layout(struct loop_fs *fs, struct loop_context *context, struct loop_file *parent,
                        struct loop_file *file) {
    unsigned char wire[IEZ_WIRE_MAX];
    struct loop_layout *layout = NULL;
    long bytes = parent ? loop_default_get(parent, wire, sizeof wire)
                        : parents_default(file, wire, sizeof wire);
    if (bytes <= 0)
        bytes = loop_default_get(context->root, wire, sizeof wire);
    int answer = 0;
    if (bytes > 0)
        answer = loop_request_parse(fs, wire, (size_t)bytes, "", &layout);
    else
        layout = loop_request_default(fs);
    if (!answer && !layout)
        answer = ENOMEM;
    return answer ? answer : loop_file_set_layout(fs, file, layout);
}
