/* What the fuzzers share: chance, and the file that they damage. */
#ifndef IEZ_FUZZ_H
#define IEZ_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state;
static unsigned char original[1 << 20];

static uint64_t chance(uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return below ? state % below : 0;
}

/* Reads the file and begins with the seed. Gives the file's size, which is at least `least`. */
static uint64_t begin(const char *path, const char *seed, uint64_t least) {
    FILE *file = fopen(path, "rb");
    uint64_t bytes = file ? fread(original, 1, sizeof original, file) : 0;
    if (bytes < least || bytes == sizeof original)
        exit(2);
    fclose(file);
    state = strtoull(seed, NULL, 10) * 0x9e3779b97f4a7c15ULL + 1;
    return bytes;
}

#endif
