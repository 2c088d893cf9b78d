/* open() and write() in signal handlers, on stacks as small as the system allows. */
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "say.h"

static _Atomic int handled, failed;

static void create_in_handler(int signal) {
    int saved = errno;
    char name[24] = "signal0000";
    int number = handled++ % 1000;
    for (int i = 9; i > 5; i--, number /= 10)
        name[i] = (char)('0' + number % 10);
    int fd = open(name, O_CREAT | O_RDWR, 0644);
    if (fd < 0 || write(fd, "x", 1) != 1)
        failed++;
    close(fd);
    errno = saved;
    (void)signal;
}

static void on_alternate_stack(size_t bytes, void (*handler)(int)) {
    /* A page that cannot be written to lies below. */
    char *pages = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + 4096, (1 << 20) - 4096, PROT_READ | PROT_WRITE);
    stack_t stack = {.ss_sp = pages + 4096, .ss_size = bytes};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART};
    if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGALRM, &action, NULL) != 0)
        say("errno %d\n", errno);
}

static void every(int microseconds) {
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void open_under_fire(void) {
    every(200);
    for (int i = 0; i < 1500; i++) {
        char name[32];
        snprintf(name, sizeof name, "main%d", i % 50);
        int fd = open(name, O_CREAT | O_RDWR, 0644);
        if (fd < 0 || write(fd, "y", 1) != 1)
            failed++;
        close(fd);
        unlink(name);
    }
    every(0);
    say("handled some: %d, failed: %d\n", handled > 10, failed);
}

static void remove_all(void) {
    (void)!system("rm -f signal*");
}

CASE(creates_in_a_handler_interrupt_creates, "") {
    on_alternate_stack(1 << 16, create_in_handler);
    open_under_fire();
    remove_all();
}

CASE(handlers_on_a_small_stack, "") {
    on_alternate_stack(8192, create_in_handler);
    open_under_fire();
    remove_all();
}

/* Three threads take signals at once, each on its own stack. */
static void *fired_at(void *unused) {
    on_alternate_stack(8192, create_in_handler);
    for (int i = 0; i < 150; i++) {
        pthread_kill(pthread_self(), SIGALRM);
        close(open("thread", O_CREAT | O_RDWR, 0644));
    }
    return unused;
}

CASE(handlers_in_threads, "thread") {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, fired_at, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    say("handled: %d, failed: %d\n", handled, failed);
    remove_all();
}

static void create_painted(int signal) {
    int fd = open("painted", O_CREAT | O_RDWR, 0644);
    if (fd >= 0)
        close(fd);
    (void)signal;
}

/* A handler that creates a file, the first of the process as well as later ones. */
CASE(a_create_takes_little_stack, "painted") {
    size_t used = 0, frame = (size_t)sysconf(_SC_MINSIGSTKSZ);
    stack_t stack;
    on_alternate_stack(1 << 16, create_painted);
    sigaltstack(NULL, &stack);
    for (int round = 0; round < 3; round++) {
        char *painted = memset(stack.ss_sp, 0x5a, stack.ss_size);
        raise(SIGALRM);
        size_t untouched = 0;
        while (painted[untouched] == 0x5a)
            untouched++;
        if (stack.ss_size - untouched > used)
            used = stack.ss_size - untouched;
    }
    say("within 4 KiB of the least: %d\n", used < frame + 4096);
    if (getenv("IEZ_TEST_STACK"))
        say("used %zu, the least is %zu\n", used, frame);
}

static sigjmp_buf back;

static void jump_out(int signal) {
    siglongjmp(back, signal);
}

/* A handler that never returns, out of a blocked open: the usual time-out of old programs. */
CASE(a_handler_jumps_out_of_open, "after") {
    struct sigaction action = {.sa_handler = jump_out};
    sigaction(SIGALRM, &action, NULL);
    INT(mkfifo("fifo", 0644));
    for (int i = 0; i < 40; i++) {
        if (sigsetjmp(back, 1) == 0) {
            struct itimerval timer = {{0, 0}, {0, 3000}};
            setitimer(ITIMER_REAL, &timer, NULL);
            int fd = i % 2 ? open("fifo", O_CREAT | O_RDONLY, 0644)
                           : openat(AT_FDCWD, "fifo", O_CREAT | O_WRONLY, 0644);
            say("not reached: %d\n", fd);
        }
    }
    TRY(open("after", O_CREAT | O_RDWR, 0644));
}

CASE(an_open_is_interrupted, "after") {
    struct sigaction action = {.sa_handler = create_in_handler};
    sigaction(SIGALRM, &action, NULL);
    INT(mkfifo("fifo", 0644));
    struct itimerval timer = {{0, 0}, {0, 20000}};
    setitimer(ITIMER_REAL, &timer, NULL);
    TRY(open("fifo", O_CREAT | O_RDONLY, 0644));
    setitimer(ITIMER_REAL, &timer, NULL);
    TRY_FILE(fopen("fifo", "w"));
    TRY(open("after", O_CREAT | O_RDWR, 0644));
    say("handled: %d, failed: %d\n", handled, failed);
    remove_all();
}
