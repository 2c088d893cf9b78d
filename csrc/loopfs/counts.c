#include "counts.h"

#include "pace.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define JOB_MAX 4096 /* later ones are counted in all only */

static const struct {
    const char *name, *unit;
} operations[LOOP_OPERATIONS] = {
    {"read_bytes", "bytes"}, {"write_bytes", "bytes"}, {"read", "usecs"},    {"write", "usecs"},
    {"punch", "usecs"},      {"sync", "usecs"},        {"destroy", "usecs"}, {"create", "usecs"},
};
/* Operations that Lustre lists as well and that nothing here counts. */
static const char *const unused[] = {"getattr",  "setattr",  "statfs",  "get_info",
                                     "set_info", "quotactl", "prealloc"};

void loop_counts_init(struct loop_counts *counts) {
    memset(counts, 0, sizeof *counts);
    pthread_mutex_init(&counts->lock, NULL);
    counts->all.start_s = loop_wall_s();
}

static struct loop_job *find(struct loop_counts *counts, const char *id, double time_s) {
    for (uint32_t i = 0; i < counts->job_count; i++)
        if (strcmp(counts->jobs[i].id, id) == 0)
            return &counts->jobs[i];
    if (counts->job_count == JOB_MAX)
        return NULL;
    if (counts->job_count == counts->job_room) {
        uint32_t room = counts->job_room ? 2 * counts->job_room : 8;
        struct loop_job *grown = realloc(counts->jobs, room * sizeof *grown);
        if (!grown)
            return NULL;
        counts->jobs = grown;
        counts->job_room = room;
    }
    struct loop_job *job = &counts->jobs[counts->job_count++];
    memset(job, 0, sizeof *job);
    snprintf(job->id, sizeof job->id, "%s", id);
    job->start_s = time_s;
    return job;
}

static void add(struct loop_count *count, uint64_t value) {
    if (!count->samples || value < count->least)
        count->least = value;
    if (value > count->most)
        count->most = value;
    count->samples++;
    count->sum += value;
    count->square_sum += (double)value * (double)value;
}

static void add_all(struct loop_job *job, enum loop_operation operation, uint64_t bytes,
                    uint64_t takes_us, double time_s) {
    job->last_s = time_s;
    add(&job->counts[operation], takes_us);
    if (operation == LOOP_READ)
        add(&job->counts[LOOP_READ_BYTES], bytes);
    if (operation == LOOP_WRITE)
        add(&job->counts[LOOP_WRITE_BYTES], bytes);
}

void loop_count(struct loop_counts *counts, const char *job, enum loop_operation operation,
                uint64_t bytes, uint64_t takes_us) {
    double time_s = loop_wall_s();
    pthread_mutex_lock(&counts->lock);
    add_all(&counts->all, operation, bytes, takes_us, time_s);
    struct loop_job *own = *job ? find(counts, job, time_s) : NULL;
    if (own)
        add_all(own, operation, bytes, takes_us, time_s);
    pthread_mutex_unlock(&counts->lock);
}

static void print_times(FILE *to, const char *indent, int width, double start_s, double end_s) {
    fprintf(to, "%s%-*s %.9f secs.nsecs\n", indent, width, "snapshot_time:", end_s);
    fprintf(to, "%s%-*s %.9f secs.nsecs\n", indent, width, "start_time:", start_s);
    fprintf(to, "%s%-*s %.9f secs.nsecs\n", indent, width, "elapsed_time:", end_s - start_s);
}

void loop_counts_print(struct loop_counts *counts, FILE *to) {
    pthread_mutex_lock(&counts->lock);
    double end_s = counts->all.last_s ? counts->all.last_s : counts->all.start_s;
    print_times(to, "", 25, counts->all.start_s, end_s);
    for (int i = 0; i < LOOP_OPERATIONS; i++) {
        const struct loop_count *count = &counts->all.counts[i];
        if (count->samples)
            fprintf(to, "%-25s %" PRIu64 " samples [%s] %" PRIu64 " %" PRIu64 " %" PRIu64 " %.0f\n",
                    operations[i].name, count->samples, operations[i].unit, count->least,
                    count->most, count->sum, count->square_sum);
    }
    pthread_mutex_unlock(&counts->lock);
}

static void print_count(FILE *to, const char *name, const char *unit,
                        const struct loop_count *count) {
    char label[32];
    snprintf(label, sizeof label, "%s:", name);
    fprintf(to,
            "  %-16s { samples: %11" PRIu64 ", unit: %5s, min: %8" PRIu64 ", max: %8" PRIu64
            ", sum: %16" PRIu64 ", sumsq: %18.0f }\n",
            label, count->samples, unit, count->least, count->most, count->sum, count->square_sum);
}

void loop_counts_print_jobs(struct loop_counts *counts, FILE *to) {
    static const struct loop_count none;
    fprintf(to, "job_stats:\n");
    pthread_mutex_lock(&counts->lock);
    for (uint32_t i = 0; i < counts->job_count; i++) {
        const struct loop_job *job = &counts->jobs[i];
        fprintf(to, "- job_id:          %s\n", job->id);
        print_times(to, "  ", 16, job->start_s, job->last_s);
        for (int k = 0; k < LOOP_OPERATIONS; k++)
            print_count(to, operations[k].name, operations[k].unit, &job->counts[k]);
        for (size_t k = 0; k < sizeof unused / sizeof *unused; k++)
            print_count(to, unused[k], "usecs", &none);
    }
    pthread_mutex_unlock(&counts->lock);
}

/* The first bytes of a file of /proc. */
static size_t read_start(const char *path, char *text, size_t room) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t bytes = 0;
    for (ssize_t part; fd >= 0 && bytes + 1 < room; bytes += (size_t)part)
        if ((part = read(fd, text + bytes, room - 1 - bytes)) <= 0)
            break;
    if (fd >= 0)
        close(fd);
    text[bytes] = '\0';
    return bytes;
}

static bool from_environment(const char *variable, pid_t pid, char id[LOOP_JOB_BYTES]) {
    char path[64], text[65536];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    size_t bytes = read_start(path, text, sizeof text), length = strlen(variable);
    for (const char *at = text; at < text + bytes; at += strlen(at) + 1)
        if (strncmp(at, variable, length) == 0 && at[length] == '=' && at[length + 1]) {
            snprintf(id, LOOP_JOB_BYTES, "%.31s", at + length + 1);
            return true;
        }
    return false;
}

/* The same processes ask again and again, and /proc takes longer to read than a small write. */
struct known {
    pid_t pid;
    time_t time;
    char id[LOOP_JOB_BYTES];
};

void loop_job_of(const char *variable, pid_t pid, uid_t uid, char id[LOOP_JOB_BYTES]) {
    static struct known known[64];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct known *place = &known[(unsigned)pid % 64];
    time_t now = time(NULL);
    pthread_mutex_lock(&lock);
    bool is_known = place->pid == pid && place->time == now && place->id[0];
    if (is_known)
        memcpy(id, place->id, LOOP_JOB_BYTES);
    pthread_mutex_unlock(&lock);
    if (is_known)
        return;
    if (strcmp(variable, "procname_uid") == 0 || !from_environment(variable, pid, id)) {
        char path[64], name[32];
        snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
        read_start(path, name, sizeof name);
        name[strcspn(name, "\n")] = '\0';
        snprintf(id, LOOP_JOB_BYTES, "%.15s.%u", name, (unsigned)uid);
    }
    /* Lustre quotes and escapes what is unusual in a job's name; here it is replaced. */
    for (char *at = id; *at; at++)
        if ((unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7F || *at == '"' || *at == ':' ||
            *at == '\\')
            *at = '_';
    pthread_mutex_lock(&lock);
    place->pid = pid;
    place->time = now;
    memcpy(place->id, id, LOOP_JOB_BYTES);
    pthread_mutex_unlock(&lock);
}
