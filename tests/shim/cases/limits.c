/* Limits and jumps that strike in the middle of a create. */
#include <setjmp.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "say.h"

/* The library's own file would be the first to pass the limit: SIGXFSZ ends a program. */
CASE(a_limit_of_zero_bytes, "empty") {
    struct rlimit limit = {0, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    TRY(open("empty", O_CREAT | O_WRONLY, 0644));
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static sigjmp_buf back;

static void jump(int number) {
    siglongjmp(back, number);
}

/* A time-out that jumps out of open() must not keep the thread's later files from being placed. */
CASE(a_jump_out_of_a_create, "after") {
    signal(SIGALRM, jump);
    for (volatile int i = 0; i < 20; i++) {
        if (sigsetjmp(back, 1))
            continue;
        setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 50 + 7 * i}, NULL);
        for (;;) {
            int fd = open("again", O_CREAT | O_WRONLY, 0644);
            close(fd);
            unlink("again");
        }
    }
    unlink("again");
    say("after: %s\n", open("after", O_CREAT | O_WRONLY, 0644) < 0 ? "failed" : "created");
}
