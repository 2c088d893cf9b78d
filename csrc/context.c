/* What the calling thread is inside of. */
#include "context.h"

__thread enum iez_api iez_context_api __attribute__((tls_model("initial-exec")));
