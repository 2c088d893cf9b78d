#include "aside.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define THREADS 4

struct task {
    struct task *next;
    void (*work)(void *);
    void *argument;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t added = PTHREAD_COND_INITIALIZER;
static struct task *first, **last = &first;

static void *work_on(void *nothing) {
    (void)nothing;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (!first)
            pthread_cond_wait(&added, &lock);
        struct task *task = first;
        first = task->next;
        if (!first)
            last = &first;
        pthread_mutex_unlock(&lock);
        task->work(task->argument);
        free(task);
    }
    return NULL;
}

int loop_aside_start(void) {
    int answer = 0;
    for (int i = 0; !answer && i < THREADS; i++) {
        pthread_t thread;
        answer = pthread_create(&thread, NULL, work_on, NULL);
    }
    return answer;
}

int loop_aside(void (*work)(void *), void *argument) {
    struct task *task = malloc(sizeof *task);
    if (!task)
        return ENOMEM;
    *task = (struct task){.work = work, .argument = argument};
    pthread_mutex_lock(&lock);
    *last = task;
    last = &task->next;
    pthread_cond_signal(&added);
    pthread_mutex_unlock(&lock);
    return 0;
}
