/* Settings: the text STORE/config, which `iez loopback` writes and docs/loopback.md explains. */
#ifndef IEZ_LOOPFS_SETTINGS_H
#define IEZ_LOOPFS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "../plan_format.h"

#define LOOP_OST_DEAD 32 /* a further IEZ_OST_*: its server hangs */
#define LOOP_OST_MAX  2000
#define LOOP_OSS_MAX  256
#define LOOP_POOL_MAX 32

struct loop_ost_settings {
    uint32_t index;
    uint32_t oss;
    uint64_t size_bytes;
    uint64_t bandwidth; /* bytes/s; 0: no limit */
    uint64_t window_bytes;
    uint32_t states; /* IEZ_OST_*, LOOP_OST_DEAD */
};

struct loop_pool {
    char name[17];
    uint32_t count;
    uint16_t osts[LOOP_OST_MAX];
};

struct loop_settings {
    uint64_t generation;
    char fs_name[16];
    char mount[4096];
    char instance[17];
    uint64_t seed;
    uint32_t maxage_s;
    uint32_t stripe_count;
    uint32_t stripe_size;
    char job_variable[64]; /* procname_uid, or an environment variable */
    bool has_mmap;
    bool for_others;
    bool has_images;
    uint32_t inject;
    uint64_t oss_bandwidth[LOOP_OSS_MAX];
    uint32_t ost_count;
    struct loop_ost_settings osts[LOOP_OST_MAX]; /* sorted by index */
    uint32_t pool_count;
    struct loop_pool pools[LOOP_POOL_MAX];
};

/* Reads STORE/config. 0; or a line's number, or -1 where there is no such file. */
int loop_settings_read(int store, struct loop_settings *settings);

#endif
