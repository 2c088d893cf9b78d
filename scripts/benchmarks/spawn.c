/* How long a program takes from its start to its end, with the library and without, in turns.
 *
 *   spawn ROUNDS LIBRARY PLAN PROGRAM   a line a round, all in nanoseconds:
 *       without the library, with it, processor time without, processor time with */
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "batch.h"

struct cost {
    uint64_t wall_ns;
    uint64_t cpu_ns;
};

static uint64_t timeval_ns(struct timeval time) {
    return ((uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec) * 1000;
}

static struct cost run(char *program, char **environment) {
    char *words[] = {program, NULL};
    struct rusage usage;
    int status;
    pid_t pid;
    uint64_t start = now_ns();
    if (posix_spawn(&pid, program, NULL, NULL, words, environment) != 0)
        give_up(program);
    if (wait4(pid, &status, 0, &usage) != pid || status != 0)
        give_up("the program failed");
    return (struct cost){.wall_ns = now_ns() - start,
                         .cpu_ns = timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime)};
}

int main(int count, char **words) {
    if (count != 5)
        return 2;
    char preload[4096], plan[4096];
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", words[2]);
    snprintf(plan, sizeof plan, "IEZ_PLAN=%s", words[3]);
    char *without[] = {"PATH=/usr/bin:/bin", NULL};
    char *with[] = {"PATH=/usr/bin:/bin", preload, plan, NULL};
    for (int round = 0; round < atoi(words[1]); round++) {
        struct cost first = run(words[4], round % 2 ? with : without);
        struct cost second = run(words[4], round % 2 ? without : with);
        struct cost plain = round % 2 ? second : first;
        struct cost loaded = round % 2 ? first : second;
        printf("%llu %llu %llu %llu\n", (unsigned long long)plain.wall_ns,
               (unsigned long long)loaded.wall_ns, (unsigned long long)plain.cpu_ns,
               (unsigned long long)loaded.cpu_ns);
    }
    return 0;
}
