/* Each write as one record, where the plan asks for it. */
#ifndef IEZ_TRACE_EVENTS_H
#define IEZ_TRACE_EVENTS_H

#include <stdint.h>

#include "trace.h"

/* Records what `call`, which ended at `end_ns` of iez_ticks_ns, wrote. What finds no room is
 * counted as dropped. */
void iez_event(const struct iez_call *call, uint64_t end_ns, uint64_t bytes, uint64_t offset);

/* Brings this thread's events to the file, where that is not by itself. */
void iez_events_publish(void);

#endif
