/* What the two files of stdio hooks share. */
#ifndef IEZ_STREAMS_H
#define IEZ_STREAMS_H

#include <stdio.h>

/* A stream is about to be closed. */
void iez_note_stream_close(FILE *stream);

#endif
