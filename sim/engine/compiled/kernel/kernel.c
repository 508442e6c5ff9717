/* The compiled engine: the machine of docs/engine.md, for a reader who knows `sim/engine/reference/engine.py`. One translation
 * unit, a file for each subject, each of which uses those above it.
 *
 * Python makes an engine of a Program, hands it Sheets until it is done, and has it put the results where it says. The
 * kernel keeps no state outside the engine and calls nothing back, so engines run side by side in threads. Both engines
 * agree to the bit: arithmetic is in the order that the SimPy engine has it, and never fused (-ffp-contract=off).
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
#include "latency_bins.c"
#include "sharing.c"
#include "stations.c"
#include "requests.c"
#include "events.c"
#include "check.c"
#include "engine.c"
