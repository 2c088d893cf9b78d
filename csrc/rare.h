/* Marks functions that a call seldom reaches: they lie apart from those that it always does. After
 * a system call little of a program is left in the processor's first caches, so that each further
 * line of code on the way is paid for. */
#ifndef IEZ_RARE_H
#define IEZ_RARE_H

#define IEZ_RARE __attribute__((cold, noinline))

#endif
