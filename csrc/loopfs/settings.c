#include "settings.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_text(const char *value, char *to, size_t room) {
    size_t bytes = strlen(value);
    if (bytes == 0 || bytes >= room)
        return false;
    memcpy(to, value, bytes + 1);
    return true;
}

static bool read_number(const char *value, uint64_t most, uint64_t *to) {
    char *end;
    unsigned long long number = strtoull(value, &end, 10);
    if (end == value || *end || number > most)
        return false;
    *to = number;
    return true;
}

static bool read_small(const char *value, uint32_t most, uint32_t *to) {
    uint64_t number;
    if (!read_number(value, most, &number))
        return false;
    *to = (uint32_t)number;
    return true;
}

static bool read_flag(const char *value, bool *to) {
    uint32_t number;
    if (!read_small(value, 1, &number))
        return false;
    *to = number;
    return true;
}

static bool read_ost(const char *value, struct loop_settings *settings) {
    struct loop_ost_settings ost;
    int end = 0;
    if (sscanf(value,
               "%" SCNu32 " oss %" SCNu32 " size %" SCNu64 " bandwidth %" SCNu64 " window %" SCNu64
               " states %" SCNu32 "%n",
               &ost.index, &ost.oss, &ost.size_bytes, &ost.bandwidth, &ost.window_bytes,
               &ost.states, &end) != 6 ||
        value[end])
        return false;
    uint32_t count = settings->ost_count;
    if (count == LOOP_OST_MAX || ost.index > 65534 || ost.oss >= LOOP_OSS_MAX ||
        (count && settings->osts[count - 1].index >= ost.index))
        return false;
    settings->osts[settings->ost_count++] = ost;
    return true;
}

static bool read_oss(const char *value, struct loop_settings *settings) {
    uint32_t number;
    uint64_t bandwidth;
    int end = 0;
    if (sscanf(value, "%" SCNu32 " bandwidth %" SCNu64 "%n", &number, &bandwidth, &end) != 2 ||
        value[end] || number >= LOOP_OSS_MAX)
        return false;
    settings->oss_bandwidth[number] = bandwidth;
    return true;
}

static bool read_pool(char *value, struct loop_settings *settings) {
    if (settings->pool_count == LOOP_POOL_MAX)
        return false;
    struct loop_pool *pool = &settings->pools[settings->pool_count];
    char *rest, *word = strtok_r(value, " ", &rest);
    if (!word || !read_text(word, pool->name, sizeof pool->name))
        return false;
    pool->count = 0;
    while ((word = strtok_r(NULL, " ", &rest))) {
        uint32_t index;
        if (pool->count == LOOP_OST_MAX || !read_small(word, 65534, &index))
            return false;
        pool->osts[pool->count++] = (uint16_t)index;
    }
    settings->pool_count++;
    return pool->count > 0;
}

static bool read_line(char *line, struct loop_settings *settings) {
    char *value = strchr(line, ' ');
    if (!value)
        return !*line;
    *value++ = '\0';
    if (strcmp(line, "generation") == 0)
        return read_number(value, UINT64_MAX, &settings->generation);
    if (strcmp(line, "fsname") == 0)
        return read_text(value, settings->fs_name, sizeof settings->fs_name);
    if (strcmp(line, "mount") == 0)
        return read_text(value, settings->mount, sizeof settings->mount);
    if (strcmp(line, "instance") == 0)
        return read_text(value, settings->instance, sizeof settings->instance);
    if (strcmp(line, "seed") == 0)
        return read_number(value, UINT64_MAX, &settings->seed);
    if (strcmp(line, "maxage") == 0)
        return read_small(value, 3600, &settings->maxage_s) && settings->maxage_s > 0;
    if (strcmp(line, "stripe_count") == 0)
        return read_small(value, 65535, &settings->stripe_count) && settings->stripe_count > 0;
    if (strcmp(line, "stripe_size") == 0)
        return read_small(value, UINT32_MAX, &settings->stripe_size) &&
               settings->stripe_size % 65536 == 0;
    if (strcmp(line, "jobid") == 0)
        return read_text(value, settings->job_variable, sizeof settings->job_variable);
    if (strcmp(line, "mmap") == 0)
        return read_flag(value, &settings->has_mmap);
    if (strcmp(line, "others") == 0)
        return read_flag(value, &settings->for_others);
    if (strcmp(line, "images") == 0)
        return read_flag(value, &settings->has_images);
    if (strcmp(line, "inject") == 0)
        return read_small(value, 65535, &settings->inject);
    if (strcmp(line, "oss") == 0)
        return read_oss(value, settings);
    if (strcmp(line, "ost") == 0)
        return read_ost(value, settings);
    return strcmp(line, "pool") == 0 && read_pool(value, settings);
}

int loop_settings_read(int store, struct loop_settings *settings) {
    int fd = openat(store, "config", O_RDONLY | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file)
        return -1;
    memset(settings, 0, sizeof *settings);
    settings->maxage_s = 5;
    settings->stripe_count = 1;
    settings->stripe_size = 4 << 20;
    char *line = NULL;
    size_t room = 0;
    int number = 0, wrong = 0;
    while (!wrong && getline(&line, &room, file) >= 0) {
        number++;
        line[strcspn(line, "\n")] = '\0';
        if (!read_line(line, settings))
            wrong = number;
    }
    free(line);
    fclose(file);
    bool is_whole = settings->fs_name[0] && settings->mount[0] && settings->instance[0] &&
                    settings->ost_count && settings->stripe_size;
    return wrong || is_whole ? wrong : number + 1;
}
