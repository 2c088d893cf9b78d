/* Writes 1000 times 8 bytes to "data" by pwrite, and ends in the way that is asked for. Where the
 * number of writes is another one, it is said. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITES  1000
#define THREADS 4

static int data;

static void write_some(int fd, int first, int count) {
    for (int i = first; i < first + count; i++)
        if (pwrite(fd, "01234567", 8, 8L * i) != 8)
            _exit(3);
}

static void wait_for(pid_t child) {
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        _exit(4);
}

/* What ends the process after its writes. */
static void end(const char *how) {
    if (strcmp(how, "_exit") == 0)
        _exit(0);
    if (strcmp(how, "quick_exit") == 0)
        quick_exit(0);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "sigterm") == 0)
        raise(SIGTERM);
    if (strcmp(how, "sigsegv") == 0)
        *(volatile int *)8 = 0;
    if (strcmp(how, "sigkill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "exec") == 0)
        execl("/bin/true", "true", (char *)NULL);
    exit(0);
}

/* Forks: who writes what. */
static void fork_of(const char *who) {
    int first = strcmp(who, "both") == 0 ? WRITES / 2 : 0;
    int by_child = strcmp(who, "parent") == 0 ? 0 : WRITES - first;
    pid_t child = fork();
    if (child == 0) {
        write_some(data, first, by_child);
        _exit(0);
    }
    write_some(data, 0, WRITES - by_child);
    wait_for(child);
}

static void fork_killed(void) {
    pid_t child = fork();
    if (child == 0) {
        write_some(data, WRITES / 2, WRITES / 2);
        raise(SIGKILL);
    }
    waitpid(child, NULL, 0);
    write_some(data, 0, WRITES / 2);
}

static void vfork_child(void) {
    pid_t child = vfork();
    if (child == 0) {
        write_some(data, 0, WRITES);
        _exit(0);
    }
    wait_for(child);
}

/* A process that writes, and becomes another program that goes on with its descriptor. */
static void exec_and_go_on(const char *self) {
    char number[16];
    snprintf(number, sizeof number, "%d", data);
    write_some(data, 0, WRITES / 2);
    execl(self, self, "go_on", number, (char *)NULL);
}

static void *write_in_thread(void *number) {
    write_some(data, (int)(long)number * (WRITES / THREADS), WRITES / THREADS);
    return NULL;
}

static void threads(void) {
    pthread_t all[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&all[i], NULL, write_in_thread, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
}

/* Signals that strike while the thread writes. */
static volatile int handled;
static sigjmp_buf back;

static void write_in_handler(int number) {
    write_some(data, WRITES + handled++, 1);
    (void)number;
}

static void jump_out(int number) {
    siglongjmp(back, number);
}

static void every(int microseconds) {
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void handler_writes(void) {
    int rounds = 0;
    signal(SIGALRM, write_in_handler);
    every(50);
    while (handled < 2000) {
        write_some(data, 0, WRITES);
        rounds++;
    }
    signal(SIGALRM, SIG_IGN);
    printf("%d\n", rounds * WRITES + handled);
}

static void handler_jumps_out(void) {
    int noise = open("noise", O_CREAT | O_WRONLY, 0644);
    signal(SIGALRM, jump_out);
    for (volatile int i = 0; i < 500; i++)
        if (sigsetjmp(back, 1) == 0) {
            struct itimerval timer = {{0, 0}, {0, 60 + i % 40}};
            setitimer(ITIMER_REAL, &timer, NULL);
            for (;;)
                write_some(noise, 0, 1);
        }
    write_some(data, 0, WRITES);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "go_on") == 0) {
        data = atoi(argv[2]);
        write_some(data, WRITES / 2, WRITES / 2);
        return 0;
    }
    data = open("data", O_CREAT | O_WRONLY, 0644);
    if (argc != 3)
        return 2;
    if (strncmp(argv[1], "fork_", 5) == 0 && strcmp(argv[1], "fork_killed") != 0)
        fork_of(argv[1] + 5);
    else if (strcmp(argv[1], "fork_killed") == 0)
        fork_killed();
    else if (strcmp(argv[1], "vfork") == 0)
        vfork_child();
    else if (strcmp(argv[1], "exec_and_go_on") == 0)
        exec_and_go_on(argv[0]);
    else if (strcmp(argv[1], "threads") == 0)
        threads();
    else if (strcmp(argv[1], "handler_writes") == 0)
        handler_writes();
    else if (strcmp(argv[1], "handler_jumps_out") == 0)
        handler_jumps_out();
    else
        write_some(data, 0, WRITES);
    fflush(stdout);
    end(argv[2]);
}
