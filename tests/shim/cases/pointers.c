/* Paths in memory that cannot be read, and in memory that can: EFAULT or the right file. */
#include <sys/mman.h>
#include <ucontext.h>

#include "say.h"

#define PAGE 4096UL

static void try_all(const char *what, const char *path) {
    static const int flags[] = {O_CREAT | O_RDWR, O_CREAT | O_EXCL | O_WRONLY, O_RDONLY};
    say("%s\n", what);
    for (int i = 0; i < 3; i++) {
        TRY(open(path, flags[i], 0644));
        TRY(open64(path, flags[i], 0644));
        TRY(openat(AT_FDCWD, path, flags[i], 0644));
        TRY(openat64(0, path, flags[i], 0644));
    }
    TRY(creat(path, 0644));
    TRY(creat64(path, 0644));
    TRY_FILE(fopen(path, "w"));
    TRY_FILE(fopen64(path, "a+"));
    TRY_FILE(fopen(path, "r"));
}

CASE(bad_pointers, "") {
    char *gone = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *closed = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(gone, PAGE);
    try_all("null", hidden(NULL));
    try_all("one", hidden((void *)1));
    try_all("first page", hidden((void *)4095));
    try_all("minus one", hidden((void *)-1));
    try_all("last page", hidden((void *)-4096));
    try_all("non-canonical", hidden((void *)0x8000000000000000));
    try_all("non-canonical hole", hidden((void *)0x0000900000000000));
    try_all("kernel", hidden((void *)0xffffffff81000000));
    try_all("unmapped", hidden(gone));
    try_all("no access", hidden(closed));
    try_all("no access inside", hidden(closed + 100));
}

/* The memory that a first create and a first stream take must not fill the holes made here. */
static void warm_up(void) {
    close(open("warm", O_CREAT | O_RDWR, 0644));
    fclose(fopen("warm", "w"));
}

/* Two pages, the second not to be read: the string ends before it, at it, or runs into it. */
static void page_end(char *pages, const char *prefix) {
    char name[64];
    for (int over = -2; over <= 2; over++) {
        snprintf(name, sizeof name, "%s%d", prefix, over + 2);
        size_t bytes = strlen(in_here(name)) + 1;
        char *at = pages + PAGE - bytes + (over > 0 ? over : 0);
        size_t fits = (size_t)(pages + PAGE - at);
        memcpy(at + (over < 0 ? over : 0), in_here(name), over > 0 ? fits : bytes);
        say("%d past the end\n", over);
        TRY(open(at + (over < 0 ? over : 0), O_CREAT | O_RDWR, 0644));
        TRY_FILE(fopen(at + (over < 0 ? over : 0), "w"));
    }
}

CASE(strings_at_the_end_of_a_page, "mapped0 mapped1 mapped2 warm") {
    warm_up();
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + PAGE, PAGE, PROT_NONE);
    page_end(pages, "mapped");
}

CASE(strings_before_a_hole, "hole0 hole1 hole2 warm") {
    warm_up();
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages + PAGE, PAGE);
    page_end(pages, "hole");
}

CASE(strings_at_the_end_of_the_heap, "heap0 heap1 heap2 warm") {
    warm_up();
    uintptr_t end = ((uintptr_t)sbrk(0) + PAGE - 1) & ~(PAGE - 1);
    brk((void *)(end + PAGE));
    page_end((char *)end, "heap");
}

static char guarded[4 * PAGE] __attribute__((aligned(4096)));

/* A guard page inside the program's own data. */
CASE(strings_before_a_guard_page_in_static_data, "static0 static1 static2 warm") {
    warm_up();
    mprotect(guarded + PAGE, PAGE, PROT_NONE);
    page_end(guarded, "static");
    mprotect(guarded + PAGE, PAGE, PROT_READ | PROT_WRITE);
}

CASE(strings_before_a_guard_page_in_the_heap, "guard0 guard1 guard2 warm") {
    warm_up();
    uintptr_t end = ((uintptr_t)sbrk(0) + PAGE - 1) & ~(PAGE - 1);
    brk((void *)(end + 2 * PAGE));
    mprotect((void *)(end + PAGE), PAGE, PROT_NONE);
    page_end((char *)end, "guard");
    mprotect((void *)(end + PAGE), PAGE, PROT_READ | PROT_WRITE);
}

/* Long enough to cross pages, in each kind of memory. */
static const char *long_form(char *at, const char *name) {
    char *end = at + sprintf(at, "%s", here);
    while (end - at < 3000)
        end += sprintf(end, "/./");
    sprintf(end, "%s", name);
    return at;
}

CASE(strings_in_all_kinds_of_memory, "literal static heap mapped large shared readonly") {
    static char in_static[PATH_MAX];
    char *mapped = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *shared = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *readonly =
        mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TRY(open("literal", O_CREAT | O_RDWR, 0644));
    TRY(open(long_form(in_static, "static"), O_CREAT | O_RDWR, 0644));
    TRY(open(long_form(malloc(PATH_MAX), "heap"), O_CREAT | O_RDWR, 0644));
    TRY(open(long_form(mapped + 3 * PAGE - 17, "mapped"), O_CREAT | O_RDWR, 0644));
    TRY(open(long_form(malloc(1 << 20), "large"), O_CREAT | O_RDWR, 0644));
    TRY(open(long_form(shared, "shared"), O_CREAT | O_RDWR, 0644));
    long_form(readonly, "readonly");
    mprotect(readonly, 2 * PAGE, PROT_READ);
    TRY(open(readonly, O_CREAT | O_RDWR, 0644));
}

static void *from_thread(void *name) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", here, (char *)name);
    TRY(open(path, O_CREAT | O_RDWR, 0644));
    TRY(open(hidden((void *)1), O_CREAT | O_RDWR, 0644));
    /* The caller's memory may lie above or below this stack. */
    TRY(open((char *)name, O_CREAT | O_RDWR, 0644));
    return NULL;
}

CASE(strings_on_thread_stacks, "first second") {
    pthread_t thread;
    char name[] = "second";
    pthread_create(&thread, NULL, from_thread, "first");
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, from_thread, name);
    pthread_join(thread, NULL);
}

static ucontext_t main_context, other_context;

static void in_context(void) {
    char name[] = "context";
    from_thread(name);
}

static void with_stack(char *stack, size_t bytes) {
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = stack;
    other_context.uc_stack.ss_size = bytes;
    other_context.uc_link = &main_context;
    makecontext(&other_context, in_context, 0);
    swapcontext(&main_context, &other_context);
}

CASE(strings_on_other_stacks, "context") {
    static char in_static[64 * 1024];
    char on_main_stack[64 * 1024];
    char *mapped =
        mmap(NULL, 64 * 1024, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    with_stack(mapped, 64 * 1024);
    with_stack(malloc(64 * 1024), 64 * 1024);
    with_stack(in_static, sizeof in_static);
    with_stack(on_main_stack, sizeof on_main_stack);
}
