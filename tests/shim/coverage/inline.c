/* What libc's headers make of a call in an optimized build: the character goes into the buffer. */
#include "call.h"

CALL(putc_unlocked, "opens=1 creates=1 size=2 writes=1 STDIO=1 end=1 sizes=0") {
    FILE *file = fopen("data", "w");
    fputc('a', file);
    int result = putc_unlocked('b', file);
    fclose(file);
    return result;
}
