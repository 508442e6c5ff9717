/* The compiled engine, as specified in docs/engine.md and, in Python, in `sim/engine/reference/`. One translation unit
 * with one file per subject, each of which uses those above it.
 *
 * Python creates an engine for a Program, passes Sheets to it until the end, and receives the results in its own arrays.
 * The kernel has no state outside the engine and no callbacks, so engines run concurrently in threads. Both engines give
 * bit-identical results: arithmetic is in the same order as in the SimPy engine, and never fused (-ffp-contract=off).
 */
#define _DEFAULT_SOURCE /* madvise */

#include <math.h>

#include "state.h"

#include "memory.c"
#include "clock.c"
#include "random.c"
#include "queues.c"
#include "attempts.c"
#include "groups.c"
#include "paths.c"
#include "latency_histogram.c"
#include "policy_state.c"
#include "sharing.c"
#include "stations.c"
#include "descendants.c"
#include "requests.c"
#include "families.c"
#include "events.c"
#include "check.c"
#include "check_families.c"
#include "engine.c"
