/* How long a program takes from its start to its end, with the library and without, in turns.
 *
 *   spawn ROUNDS LIBRARY PLAN PROGRAM   a line a round: nanoseconds without, nanoseconds with */
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "batch.h"

static uint64_t run(char *program, char **environment) {
    char *words[] = {program, NULL};
    int status;
    pid_t pid;
    uint64_t start = now_ns();
    if (posix_spawn(&pid, program, NULL, NULL, words, environment) != 0)
        give_up(program);
    if (waitpid(pid, &status, 0) != pid || status != 0)
        give_up("the program failed");
    return now_ns() - start;
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
        uint64_t first = run(words[4], round % 2 ? with : without);
        uint64_t second = run(words[4], round % 2 ? without : with);
        uint64_t plain = round % 2 ? second : first;
        uint64_t loaded = round % 2 ? first : second;
        printf("%llu %llu\n", (unsigned long long)plain, (unsigned long long)loaded);
    }
    return 0;
}
