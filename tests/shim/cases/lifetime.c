/* Opens at every moment of a program's life: before its constructors, in them, and after main. */
#include "say.h"

/* The part of a program that runs before all constructors. */
static void before_all(int argc, char **argv, char **environment) {
    (void)argc, (void)argv, (void)environment;
    TRY(open("in-preinit", O_CREAT | O_RDWR, 0644));
    TRY(creat("in-preinit2", 0600));
    TRY_FILE(fopen("in-preinit3", "w"));
    char name[] = "in-preinit-XXXXXX";
    TRY(mkstemp(name));
    unlink(name);
    TRY(open(hidden(NULL), O_CREAT | O_RDWR, 0644));
}
__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **,
                                                                              char **) = before_all;

__attribute__((constructor)) static void construct(void) {
    TRY(open("in-constructor", O_CREAT | O_RDWR, 0644));
    TRY_FILE(fopen("in-constructor2", "w"));
}

__attribute__((destructor)) static void destruct(void) {
    TRY(open("in-destructor", O_CREAT | O_RDWR, 0644));
    TRY_FILE(fopen("in-destructor2", "w"));
}

/* Chosen while the program is being linked: no constructor ran, not even libc's. */
static int chosen(void) {
    return 42;
}
static int (*choose(void))(void) {
    long fd = openat(AT_FDCWD, "in-resolver", O_CREAT | O_RDWR, 0644);
    if (fd >= 0)
        close((int)fd);
    return chosen;
}
int resolved(void) __attribute__((ifunc("choose")));

static void at_exit(void) {
    TRY(open("in-atexit", O_CREAT | O_RDWR, 0644));
    TRY_FILE(fopen("in-atexit2", "a"));
}

static void at_thread_end(void *unused) {
    TRY(open("in-thread-end", O_CREAT | O_RDWR, 0644));
    (void)unused;
}

static void *thread(void *key) {
    pthread_setspecific(*(pthread_key_t *)key, "value");
    return NULL;
}

/* What ran before the library's own constructor is created plainly. */
CASE(from_the_first_to_the_last_moment,
     "in-constructor* in-destructor* in-atexit* in-thread-end in-main") {
    pthread_key_t key;
    pthread_t one;
    pthread_key_create(&key, at_thread_end);
    pthread_create(&one, NULL, thread, &key);
    pthread_join(one, NULL);
    atexit(at_exit);
    say("resolved: %d\n", resolved());
    TRY(open("in-main", O_CREAT | O_RDWR, 0644));
}

static void at_quick_exit_do(void) {
    TRY(open("in-quick-exit", O_CREAT | O_RDWR, 0644));
}

CASE(a_quick_exit, "in-constructor* in-quick-exit") {
    at_quick_exit(at_quick_exit_do);
    quick_exit(7);
}

CASE(an_exit_with_buffers, "in-constructor* in-destructor* buffered") {
    FILE *file = fopen("buffered", "w");
    fputs("flushed by exit", file);
    exit(3);
}

CASE(a_death_by_signal, "in-constructor* in-main") {
    TRY(open("in-main", O_CREAT | O_RDWR, 0644));
    raise(SIGSEGV);
}
