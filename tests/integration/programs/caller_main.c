/* Runs the words of its command line: global:LIB and local:LIB open a library, close:LIB closes it,
 * cd:DIR changes directory, id:LIB and create:LIB call through it, self: calls as the program,
 * threads:LIB calls from eight threads. Prints what each call gave. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef int64_t (*use_function)(void);

__attribute__((weak)) int64_t use_create(void);

static int64_t call(const char *library, const char *name) {
    void *handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
    use_function use = handle ? (use_function)dlsym(handle, name) : NULL;
    int64_t result = use ? use() : -2;
    if (handle)
        dlclose(handle);
    return result;
}

static void *in_thread(void *library) {
    intptr_t wrong = 0;
    for (int i = 0; i < 2000; i++)
        wrong += call(library, "use_create") != call(library, "use_id");
    return (void *)wrong;
}

static int64_t in_threads(const char *library) {
    pthread_t threads[8];
    void *wrong;
    int64_t sum = 0;
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, in_thread, (void *)library);
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], &wrong);
        sum += (intptr_t)wrong;
    }
    return sum;
}

static void run(const char *word, const char *value) {
    if (!strcmp(word, "global"))
        printf("open %d\n", dlopen(value, RTLD_LAZY | RTLD_GLOBAL) != NULL);
    else if (!strcmp(word, "local"))
        printf("open %d\n", dlopen(value, RTLD_LAZY | RTLD_LOCAL) != NULL);
    else if (!strcmp(word, "close")) {
        void *handle = dlopen(value, RTLD_NOLOAD | RTLD_LAZY);
        dlclose(handle);
        dlclose(handle);
        printf("still there %d\n", dlopen(value, RTLD_NOLOAD | RTLD_LAZY) != NULL);
    } else if (!strcmp(word, "cd"))
        printf("cd %d\n", chdir(value));
    else if (!strcmp(word, "id"))
        printf("id %ld\n", (long)call(value, "use_id"));
    else if (!strcmp(word, "create"))
        printf("create %ld\n", (long)call(value, "use_create"));
    else if (!strcmp(word, "threads"))
        printf("wrong in threads %ld\n", (long)in_threads(value));
    else if (!strcmp(word, "self"))
        printf("self %ld\n", use_create ? (long)use_create() : -3L);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        char *value = strchr(argv[i], ':');
        if (!value)
            return 2;
        *value = '\0';
        run(argv[i], value + 1);
    }
    return 0;
}
