/* A bench program works in batches: it waits for a byte on standard input, works, and writes the
 * nanoseconds that the batch took. So two programs can take turns, each keeping its state. */
#ifndef IEZ_BENCH_BATCH_H
#define IEZ_BENCH_BATCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline _Noreturn void give_up(const char *what) {
    perror(what);
    exit(1);
}

/* Calls `batch`, which gives its time in nanoseconds, until standard input ends. */
static inline int serve(uint64_t (*batch)(void)) {
    char byte;
    char line[32];
    while (read(0, &byte, 1) == 1) {
        int n = snprintf(line, sizeof line, "%llu\n", (unsigned long long)batch());
        if (write(1, line, (size_t)n) != n)
            return 1;
    }
    return 0;
}

/* What was asked for before is done: what follows does not overlap with it. */
static inline void finish_before_next(void) {
#if defined(__x86_64__)
    __asm__ volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
    __asm__ volatile("dsb ish\n\tisb" ::: "memory");
#endif
}

#endif
