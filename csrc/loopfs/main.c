/* iez-loopfs STORE: a file system that stripes files over directories as Lustre does over OSTs.
 * `iez loopback up` writes STORE/config and starts this; docs/loopback.md says what it is for. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aside.h"
#include "operations.h"
#include "trees.h"

#define THREADS_MAX 64

extern char **environ;

static struct loop_fs fs;
static struct loop_context context = {.fs = &fs};
static sigset_t own_signals;

static pthread_once_t unmounted = PTHREAD_ONCE_INIT;

static void unmount(void) {
    fuse_session_unmount(context.session);
}

static int complain(const char *what, int error) {
    fprintf(stderr, "iez-loopfs: %s%s%s\n", what, error ? ": " : "", error ? strerror(error) : "");
    return 1;
}

/* One daemon a store: its number is in the file, which stays locked while it lives. */
static int take_store(void) {
    int fd = openat(fs.store, "daemon", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0)
        return errno;
    char text[32];
    int bytes = snprintf(text, sizeof text, "%d\n", (int)getpid());
    if (ftruncate(fd, 0) != 0 || write(fd, text, (size_t)bytes) != bytes)
        return errno;
    return 0;
}

static int mount_image(const char *store, uint32_t index) {
    char image[4200], directory[4200];
    snprintf(image, sizeof image, "%s/image/%04x", store, index);
    snprintf(directory, sizeof directory, "%s/ost/%04x", store, index);
    char *const words[] = {"mount",        "-n",  "-t",      "ext4", "-o",
                           "loop,noatime", image, directory, NULL};
    pid_t pid;
    int status = 0, error = posix_spawnp(&pid, "mount", NULL, NULL, words, environ);
    if (error)
        return error;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : EIO;
}

/* Mounts the images where nobody else sees them, and opens what is on them: that keeps them alive
 * when the namespace ends with its thread, and nothing else in it. */
static void *open_images(void *given) {
    const char *store = given;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return (void *)(intptr_t)errno;
    int answer = 0, before = fs.store;
    for (uint32_t i = 0; !answer && i < fs.settings.ost_count; i++)
        answer = mount_image(store, fs.settings.osts[i].index);
    /* What was opened before leads to the directories below the mounts. */
    fs.store = answer ? -1 : open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!answer)
        answer = fs.store < 0 ? errno : loop_fs_open(&fs);
    if (fs.store >= 0)
        close(fs.store);
    fs.store = before;
    return (void *)(intptr_t)answer;
}

static int open_targets(char *store) {
    if (!fs.settings.has_images)
        return loop_fs_open(&fs);
    pthread_t thread;
    void *answer;
    int error = pthread_create(&thread, NULL, open_images, store);
    if (error || (error = pthread_join(thread, &answer)))
        return error;
    return (int)(intptr_t)answer;
}

static void reload(void) {
    struct loop_settings *settings = malloc(sizeof *settings);
    int wrong = settings ? loop_settings_read(fs.store, settings) : -1;
    if (wrong) {
        fprintf(stderr, "iez-loopfs: line %d of the settings makes no sense\n", wrong);
    } else {
        char text[32];
        int bytes = snprintf(text, sizeof text, "%" PRIu64 "\n", settings->generation);
        loop_fs_set(&fs, settings);
        loop_fs_look(&fs);
        loop_trees_write(&fs);
        loop_replace(fs.store, "generation", text, (size_t)bytes);
    }
    free(settings);
}

/* Signals, the statistics every second, and the MDS's looks at its OSTs. */
static void *keep_house(void *nothing) {
    for (uint64_t second = 1;; second++) {
        int number = sigtimedwait(&own_signals, NULL, &(struct timespec){.tv_sec = 1});
        if (number == SIGHUP) {
            reload();
        } else if (number == SIGTERM || number == SIGINT) {
            /* The loop ends when the kernel answers the next read; unmounting makes it. */
            fuse_session_exit(context.session);
            pthread_once(&unmounted, unmount);
        } else if (number < 0) {
            if (second % fs.settings.maxage_s == 0) {
                loop_fs_recount(&fs);
                loop_fs_look(&fs);
            }
            loop_trees_write(&fs);
        }
    }
    return nothing;
}

static void start(void *userdata, struct fuse_conn_info *connection) {
    (void)userdata;
    /* A file is cut by setattr, which knows what to do. */
    connection->want &= ~(unsigned)FUSE_CAP_ATOMIC_O_TRUNC;
    if (connection->capable & FUSE_CAP_PARALLEL_DIROPS)
        connection->want |= FUSE_CAP_PARALLEL_DIROPS;
    connection->max_write = 1 << 20;
}

static int mount_session(const char *store, const struct fuse_lowlevel_ops *operations) {
    char source[4300], escaped[8600], options[9000];
    snprintf(source, sizeof source, "%s:/%s", store, fs.settings.fs_name);
    size_t at = 0;
    for (const char *from = source; *from; from++) {
        if (*from == ',' || *from == '\\')
            escaped[at++] = '\\';
        escaped[at++] = *from;
    }
    escaped[at] = '\0';
    snprintf(options, sizeof options,
             "fsname=%s,subtype=iez-loopfs,default_permissions,auto_unmount%s", escaped,
             fs.settings.for_others ? ",allow_other" : "");
    char *words[] = {"iez-loopfs", "-o", options, NULL};
    struct fuse_args arguments = FUSE_ARGS_INIT(3, words);
    context.session = fuse_session_new(&arguments, operations, sizeof *operations, &context);
    fuse_opt_free_args(&arguments);
    if (!context.session)
        return complain("FUSE takes none of the options", 0);
    if (fuse_session_mount(context.session, fs.settings.mount) != 0)
        return complain("cannot mount", 0);
    return 0;
}

static int serve(void) {
    pthread_t house;
    pthread_create(&house, NULL, keep_house, NULL);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    if (loop_files_limit(&context, files.rlim_cur / 2) != 0 || loop_pace_start() != 0 ||
        loop_aside_start() != 0)
        return complain("cannot start", errno);
    loop_trees_write(&fs);
    puts("ready");
    fflush(stdout);
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    close(null);
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    fuse_loop_cfg_set_max_threads(config, THREADS_MAX);
    int answer = fuse_session_loop_mt(context.session, config);
    fuse_loop_cfg_destroy(config);
    loop_trees_write(&fs);
    return answer < 0 ? 1 : 0;
}

int main(int count, char **words) {
    if (count != 2)
        return complain("usage: iez-loopfs STORE", 0);
    umask(0);
    struct rlimit files = {1 << 20, 1 << 20};
    if (setrlimit(RLIMIT_NOFILE, &files) != 0 && getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    sigemptyset(&own_signals);
    sigaddset(&own_signals, SIGHUP);
    sigaddset(&own_signals, SIGTERM);
    sigaddset(&own_signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &own_signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    char *store = realpath(words[1], NULL);
    fs.store = store ? open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fs.store < 0)
        return complain(words[1], errno);
    int error = take_store();
    if (error)
        return complain(error == EWOULDBLOCK ? "another daemon has this store" : words[1],
                        error == EWOULDBLOCK ? 0 : error);
    int wrong = loop_settings_read(fs.store, &fs.settings);
    if (wrong) {
        fprintf(stderr, "iez-loopfs: %s/config, line %d makes no sense\n", store, wrong);
        return 1;
    }
    static struct fuse_lowlevel_ops operations = {.init = start};
    loop_add_name_operations(&operations);
    loop_add_data_operations(&operations);
    loop_add_layout_operations(&operations);
    if (mount_session(store, &operations) != 0)
        return 1;
    error = open_targets(store);
    if (!error) {
        loop_fs_sweep(&fs);
        context.root = loop_files_start(&fs);
        error = context.root ? 0 : errno;
    }
    if (error) {
        fuse_session_unmount(context.session);
        if (error == ESTALE)
            return complain("the store is a copy, of which no file would find its objects", 0);
        return complain("cannot open the store", error);
    }
    int status = serve();
    pthread_once(&unmounted, unmount);
    return status;
}
