/* Aside: work that may have to wait for who asked, done by threads that nothing else needs. Memory
 * of a process can be a mapping of a file of this very file system: reading it takes another
 * request. */
#ifndef IEZ_LOOPFS_ASIDE_H
#define IEZ_LOOPFS_ASIDE_H

int loop_aside_start(void); /* 0, or an errno */

/* Calls work(argument) soon. 0, or an errno. */
int loop_aside(void (*work)(void *), void *argument);

#endif
