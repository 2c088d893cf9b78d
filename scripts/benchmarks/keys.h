/* The names in the bench's plan: DIRECTORY/user/run0042/out/ckpt_000042123.h5. File number `i` of
 * 10^6 lies in run i / 1000; plans.py writes the same names. */
#ifndef IEZ_BENCH_KEYS_H
#define IEZ_BENCH_KEYS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEY_COUNT 1000000U

struct key {
    char path[256];
    uint32_t bytes;
    uint32_t run_at;    /* of its four digits */
    uint32_t number_at; /* of its nine digits */
};

static inline void key_digits(char *at, int digits, uint32_t number) {
    while (digits-- > 0) {
        at[digits] = (char)('0' + number % 10);
        number /= 10;
    }
}

/* The digits of 0 to 999: dividing would take longer than what is measured. */
static char key_three_digits[1000][4];

/* `stem` and `suffix` stand around the number: "ckpt_" and ".h5". */
static inline struct key key_make(const char *directory, const char *stem, const char *suffix) {
    struct key key = {.bytes = 0};
    for (uint32_t i = 0; i < 1000; i++)
        key_digits(key_three_digits[i], 3, i);
    int run_at = snprintf(key.path, sizeof key.path, "%s/user/run", directory);
    int number_at = run_at + 4 + (int)strlen("/out/") + (int)strlen(stem);
    int bytes = snprintf(key.path, sizeof key.path, "%s/user/run0000/out/%s000000000%s", directory,
                         stem, suffix);
    key.bytes = (uint32_t)bytes;
    key.run_at = (uint32_t)run_at;
    key.number_at = (uint32_t)number_at;
    return key;
}

static inline void key_number(struct key *key, uint32_t number) {
    char *at = key->path + key->number_at;
    memcpy(at, key_three_digits[number / 1000000], 3);
    memcpy(at + 3, key_three_digits[number / 1000 % 1000], 3);
    memcpy(at + 6, key_three_digits[number % 1000], 3);
}

static inline void key_set(struct key *key, uint32_t number) {
    memcpy(key->path + key->run_at + 1, key_three_digits[number / 1000], 3);
    key_number(key, number);
}

/* Another one in each process: names that another one just looked up would still be in the cache.
 */
static inline uint64_t key_seed(void) {
    return (uint64_t)getpid() * 0x9e3779b97f4a7c15ULL;
}

/* Numbers below KEY_COUNT without a pattern (xorshift). */
static inline uint32_t key_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(((*state >> 32) * KEY_COUNT) >> 32);
}

#endif
