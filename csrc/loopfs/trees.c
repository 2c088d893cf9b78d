#include "trees.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The files are written in the same order each time: by their number it is known what was written
 * last, and only what has changed is written again. */
struct writer {
    struct loop_fs *fs;
    char folder[128];
    size_t number;
};

static uint64_t *written; /* hashes, 0: no such file, UINT64_MAX: not known yet */
static size_t written_room;

static uint64_t hash_of(const char *text, size_t bytes) {
    uint64_t hash = 14695981039346656037ULL;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211ULL;
    return hash | 1;
}

int loop_replace(int directory, const char *path, const char *text, size_t bytes) {
    char temporary[256];
    snprintf(temporary, sizeof temporary, "%s.new", path);
    int fd = openat(directory, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return errno;
    bool is_whole = write(fd, text, bytes) == (ssize_t)bytes;
    close(fd);
    if (is_whole && renameat(directory, temporary, directory, path) == 0)
        return 0;
    int error = errno;
    unlinkat(directory, temporary, 0);
    return error;
}

static void put(struct writer *writer, const char *name, const char *text, size_t bytes) {
    char path[192];
    snprintf(path, sizeof path, "%s/%s", writer->folder, name);
    size_t number = writer->number++;
    if (number >= written_room) {
        size_t room = written_room ? 2 * written_room : 1024;
        uint64_t *grown = realloc(written, room * sizeof *grown);
        if (!grown)
            return;
        memset(grown + written_room, 0xFF, (room - written_room) * sizeof *grown);
        written = grown;
        written_room = room;
    }
    uint64_t hash = text ? hash_of(text, bytes) : 0;
    if (written[number] == hash)
        return;
    if (!text)
        unlinkat(writer->fs->store, path, 0);
    else if (loop_replace(writer->fs->store, path, text, bytes) != 0)
        return;
    written[number] = hash;
}

__attribute__((format(printf, 3, 4))) static void put_line(struct writer *writer, const char *name,
                                                           const char *format, ...) {
    char text[128];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text - 1, format, values);
    va_end(values);
    size_t bytes = strlen(text);
    text[bytes++] = '\n';
    put(writer, name, text, bytes);
}

typedef void print_text(const struct writer *writer, struct loop_target *target, FILE *to);

static void put_text(struct writer *writer, const char *name, struct loop_target *target,
                     print_text *print) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    if (!to)
        return;
    print(writer, target, to);
    fclose(to);
    put(writer, name, text, bytes);
    free(text);
}

static void print_stats(const struct writer *writer, struct loop_target *target, FILE *to) {
    (void)writer;
    loop_counts_print(&target->counts, to);
}

static void print_jobs(const struct writer *writer, struct loop_target *target, FILE *to) {
    (void)writer;
    loop_counts_print_jobs(&target->counts, to);
}

static void print_rpcs(const struct writer *writer, struct loop_target *target, FILE *to) {
    (void)writer;
    loop_rpcs_print(&target->rpcs, to);
}

__attribute__((format(printf, 2, 3))) static void enter(struct writer *writer, const char *format,
                                                        ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(writer->folder, sizeof writer->folder, format, values);
    va_end(values);
    for (char *slash = writer->folder; (slash = strchr(slash + 1, '/')); *slash = '/') {
        *slash = '\0';
        mkdirat(writer->fs->store, writer->folder, 0755);
    }
    mkdirat(writer->fs->store, writer->folder, 0755);
}

static void put_space(struct writer *writer, const struct loop_space *space) {
    struct {
        const char *name;
        uint64_t value;
    } lines[] = {
        {"kbytestotal", space->size_bytes / 1024},
        {"kbytesfree", space->free_bytes / 1024},
        {"kbytesavail", space->available_bytes / 1024},
        {"filestotal", space->files},
        {"filesfree", space->files_free},
        {"blocksize", 4096},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        put_line(writer, lines[i].name, "%" PRIu64, lines[i].value);
}

/* Whom nobody can ask has no sizes. */
static void put_no_space(struct writer *writer) {
    static const char *const names[] = {"kbytestotal", "kbytesfree", "kbytesavail",
                                        "filestotal",  "filesfree",  "blocksize"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        put(writer, names[i], NULL, 0);
}

static void put_states(struct writer *writer, uint32_t states) {
    char letters[8] = "";
    if (states & IEZ_OST_DEGRADED)
        strcat(letters, "D");
    if (states & IEZ_OST_READONLY)
        strcat(letters, "R");
    if (states & IEZ_OST_NOCREATE)
        strcat(letters, "N");
    if (states & IEZ_OST_FULL)
        strcat(letters, "S");
    put_line(writer, "statfs_state", "%s", letters);
}

/* Made-up addresses: a loopback one for each server. */
static struct nid {
    char text[32];
} nid_of(const struct loop_target *target) {
    struct nid nid;
    snprintf(nid.text, sizeof nid.text, "127.0.%u.%u@tcp", target->oss / 254 + 1,
             target->oss % 254 + 1);
    return nid;
}

static void print_import(const struct writer *writer, struct loop_target *target, FILE *to) {
    const struct loop_settings *settings = &writer->fs->settings;
    struct nid nid = nid_of(target);
    fprintf(
        to,
        "import:\n    name: %s-OST%04x-osc-%s\n    target: %s-OST%04x_UUID\n    state: %s\n"
        "    connection:\n       failover_nids: [ \"%s\" ]\n       current_connection: \"%s\"\n",
        settings->fs_name, target->index, settings->instance, settings->fs_name, target->index,
        target->states & LOOP_OST_DEAD ? "DISCONN" : "FULL", nid.text, nid.text);
    loop_rpcs_print_averages(&target->rpcs, to);
}

static void write_client(struct writer *writer, struct loop_target *target,
                         const struct loop_space *space) {
    const struct loop_settings *settings = &writer->fs->settings;
    enter(writer, "client/osc/%s-OST%04x-osc-%s", settings->fs_name, target->index,
          settings->instance);
    if (space && !(target->states & LOOP_OST_DEAD))
        put_space(writer, space);
    else
        put_no_space(writer);
    put_states(writer, target->states);
    put_line(writer, "active", "%d", !(target->states & IEZ_OST_INACTIVE));
    put_line(writer, "max_rpcs_in_flight", "8");
    put_line(writer, "max_dirty_mb", "%" PRIu64, target->bucket.window_bytes >> 20);
    put_line(writer, "ost_conn_uuid", "%s", nid_of(target).text);
    put_text(writer, "import", target, print_import);
    put_text(writer, "rpc_stats", target, print_rpcs);
}

static void write_server(struct writer *writer, struct loop_target *target,
                         const struct loop_space *space) {
    enter(writer, "server/obdfilter/%s-OST%04x", writer->fs->settings.fs_name, target->index);
    if (space)
        put_space(writer, space);
    else
        put_no_space(writer);
    put_line(writer, "degraded", "%d", !!(target->states & IEZ_OST_DEGRADED));
    put_line(writer, "no_create", "%d", !!(target->states & IEZ_OST_NOCREATE));
    put_text(writer, "stats", target, print_stats);
    put_text(writer, "job_stats", target, print_jobs);
}

static void write_volume(struct writer *writer) {
    const struct loop_settings *settings = &writer->fs->settings;
    enter(writer, "client/lov/%s-clilov-%s", settings->fs_name, settings->instance);
    put_line(writer, "stripesize", "%u", settings->stripe_size);
    put_line(writer, "stripecount", "%d",
             settings->stripe_count >= 0xFFE0 ? -1 : (int)settings->stripe_count);
    put_line(writer, "stripeoffset", "-1");
    put_line(writer, "numobd", "%u", writer->fs->target_count);
    put_line(writer, "activeobd", "%u", loop_fs_active(writer->fs));
}

void loop_trees_write(struct loop_fs *fs) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct writer writer = {.fs = fs};
    pthread_mutex_lock(&lock);
    write_volume(&writer);
    for (uint32_t i = 0; i < fs->target_count; i++) {
        struct loop_space found, *space = &found;
        if (loop_target_space(&fs->targets[i], &found) != 0)
            space = NULL;
        write_client(&writer, &fs->targets[i], space);
        write_server(&writer, &fs->targets[i], space);
    }
    pthread_mutex_unlock(&lock);
}
