/* Other processes, few descriptors, little memory, other users. */
#include <spawn.h>
#include <sys/resource.h>

#include "say.h"

extern char **environ;

static const char script[] = "echo from sh > by-sh; echo done";

static void say_status(const char *what, pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    say("%s: %#x\n", what, status);
}

CASE(vfork_and_exec, "by-sh") {
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(99);
    }
    say_status("vfork", child);
}

/* The child of vfork shares the parent's memory: what it opens there must not unsettle it. */
CASE(open_in_a_vfork_child, "child by-sh after") {
    char *path = in_here("child");
    pid_t child = vfork();
    if (child == 0) {
        int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);
        dup2(fd, 1);
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(99);
    }
    say_status("vfork", child);
    TRY(open("after", O_CREAT | O_RDWR, 0644));
}

/* libc opens for posix_spawn inside of itself: such a file is not placed. */
CASE(spawn_with_file_actions, "by-sh") {
    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    char *arguments[] = {"sh", "-c", (char *)script, NULL};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "spawned", O_CREAT | O_WRONLY, 0640);
    INT(posix_spawn(&child, "/bin/sh", &actions, NULL, arguments, environ));
    say_status("posix_spawn", child);
    INT(posix_spawnp(&child, "none-such", NULL, NULL, arguments, environ));
}

CASE(the_exec_family, "by-*") {
    char *arguments[] = {"sh", "-c", "echo $0 > by-$1; echo $1", "argument", "x", NULL};
    for (int i = 0; i < 6; i++) {
        pid_t child = fork();
        if (child == 0) {
            char number[] = {(char)('0' + i), '\0'};
            arguments[4] = number;
            if (i == 0)
                execl("/bin/sh", "sh", "-c", arguments[2], "execl", "0", (char *)NULL);
            if (i == 1)
                execlp("sh", "sh", "-c", arguments[2], "execlp", "1", (char *)NULL);
            if (i == 2)
                execle("/bin/sh", "sh", "-c", arguments[2], "execle", "2", (char *)NULL, environ);
            if (i == 3)
                execv("/bin/sh", arguments);
            if (i == 4)
                execvp("sh", arguments);
            execvpe("sh", arguments, environ);
            _exit(99);
        }
        say_status("exec", child);
    }
    (void)!system("echo by system > by-system");
    FILE *pipe = popen("cat > by-popen", "w");
    fputs("text", pipe);
    INT(pclose(pipe));
}

/* What a descriptor inherits over exec: close-on-exec where asked, and only there. */
CASE(descriptors_survive_exec, "kept closed stream") {
    FD(open("kept", O_CREAT | O_RDWR, 0644));
    FD(open("closed", O_CREAT | O_RDWR | O_CLOEXEC, 0644));
    FILEP(fopen("stream", "we"));
    (void)!system("for n in 3 4 5 6 7 8 9; do test -e /dev/fd/$n && echo open $n; done; true");
}

static int saved_output;

static void close_all(void) {
    saved_output = fcntl(1, F_DUPFD, 1023);
    for (int fd = 0; fd < 1023; fd++)
        close(fd);
}

static void use_descriptors(void) {
    int a = open("a", O_CREAT | O_RDWR, 0644);
    int b = open("b", O_CREAT | O_RDWR, 0644);
    FILE *c = fopen("c", "w");
    int d = openat(AT_FDCWD, "d", O_CREAT | O_EXCL | O_RDWR, 0644);
    int numbers[] = {a, b, fileno(c), d};
    dup2(saved_output, 1);
    for (int i = 0; i < 4; i++)
        say("%d ", numbers[i]);
    say("\n");
}

CASE(all_descriptors_are_closed_at_the_start, "a b c d") {
    close_all();
    use_descriptors();
}

CASE(all_descriptors_are_closed_later, "a b c d warm") {
    close(open("warm", O_CREAT | O_RDWR, 0644));
    close_all();
    use_descriptors();
}

CASE(all_descriptors_are_closed_by_closefrom, "warm a b c") {
    close(open("warm", O_CREAT | O_RDWR, 0644));
    closefrom(3);
    FD(open("a", O_CREAT | O_RDWR, 0644));
    FD(open("b", O_CREAT | O_RDWR, 0644));
    FILEP(fopen("c", "w"));
}

static void limit(int what, rlim_t value) {
    struct rlimit limits = {value, value};
    if (setrlimit(what, &limits) != 0)
        say("setrlimit: errno %d\n", errno);
}

static void use_them_up(void) {
    char name[16];
    for (int i = 0; i < 14; i++) {
        snprintf(name, sizeof name, "f%d", i);
        errno = 1234;
        say_fd(name, open(name, O_CREAT | O_RDWR, 0644));
    }
    TRY_FILE(fopen("stream", "w"));
    TRY(open("f3", O_CREAT | O_RDWR, 0644));
    TRY(open("f3", O_CREAT | O_RDWR | O_EXCL, 0644));
    char name2[] = "XXXXXX";
    INT(mkstemp(name2));
    close(5);
    TRY(open("last", O_CREAT | O_RDWR, 0644));
    TRY_FILE(fopen("last2", "w"));
    TRY_FILE(freopen("last3", "w", fopen("last", "r")));
}

CASE(twelve_descriptors, "f* last last2 last3") {
    limit(RLIMIT_NOFILE, 12);
    use_them_up();
}

static void use_the_last_as_nobody(void) {
    become_nobody();
    limit(RLIMIT_NOFILE, 12);
    umask(0277);
    use_them_up();
}

/* The new file can neither be opened a second time nor is there a descriptor for it. */
CASE(twelve_descriptors_and_no_right_to_open_again, "?") {
    INT(chmod(".", 0777));
    in_child(use_the_last_as_nobody);
}

CASE(no_descriptor_at_all, "") {
    limit(RLIMIT_NOFILE, 3);
    TRY(open("new", O_CREAT | O_RDWR, 0644));
    TRY_FILE(fopen("new", "w"));
}

CASE(little_address_space, "f* s*") {
    char name[16];
    limit(RLIMIT_AS, 256UL << 20);
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "f%d", i);
        int fd = open(name, O_CREAT | O_RDWR, 0644);
        if (fd != 3)
            say("%s: %d errno %d\n", name, fd, errno);
        close(fd);
        name[0] = 's';
        FILE *file = fopen(name, "w");
        if (!file)
            say("%s: errno %d\n", name, errno);
        else
            fclose(file);
    }
    void *large = malloc(200UL << 20);
    say("200 MiB: %d\n", large != NULL);
}

/* Started with the limit: the plan itself must be mapped within it. */
CASE(little_address_space_from_the_start, "by-sh") {
    limit(RLIMIT_AS, 256UL << 20);
    say_status("system", fork() ? -1 : (execl("/bin/sh", "sh", "-c", script, (char *)NULL), 0));
    while (wait(NULL) > 0)
        ;
}

CASE(no_memory_for_a_stream, "") {
    limit(RLIMIT_AS, 1 << 20);
    while (malloc(64 << 10))
        ;
    while (malloc(16))
        ;
    FILE *file = fopen("stream", "w");
    say("stream: %d errno %d\n", file != NULL, errno);
    say("left behind: %d\n", access("stream", F_OK) == 0);
}

CASE(a_limit_of_file_size, "full") {
    signal(SIGXFSZ, SIG_IGN);
    limit(RLIMIT_FSIZE, 4);
    int fd = FD(open("full", O_CREAT | O_RDWR, 0644));
    INT(write(fd, "12345678", 8));
    INT(write(fd, "12345678", 8));
}

static void after_setuid(void) {
    TRY(open("before", O_CREAT | O_RDWR, 0666));
    become_nobody();
    TRY(open("before", O_CREAT | O_RDWR, 0666));
    TRY(open("after", O_CREAT | O_RDWR, 0644));
    TRY_FILE(fopen("stream", "w"));
}

CASE(setuid_after_the_start, "before after stream") {
    INT(chmod(".", 0777));
    in_child(after_setuid);
}

static void never_as_root(void) {
    become_nobody();
    TRY(open("first", O_CREAT | O_RDWR, 0644));
    execl("/bin/sh", "sh", "-c", script, (char *)NULL);
}

/* After exec as another user the plan, of mode 0600 or not, must not trouble the program. */
CASE(exec_after_setuid, "?") {
    INT(chmod(".", 0777));
    in_child(never_as_root);
}
