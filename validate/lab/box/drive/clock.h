/* Instants in ns. Service follows the monotonic clock; logs have the realtime clock, as clients of the store do. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S 1000000000LL

static inline int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static inline int64_t monotonic_ns(void) { return clock_ns(CLOCK_MONOTONIC); }
static inline int64_t realtime_ns(void) { return clock_ns(CLOCK_REALTIME); }

/* What to add to an instant of the monotonic clock; read again if the thread was interrupted meanwhile. */
static inline int64_t realtime_shift_ns(void)
{
    int64_t before, shift, lasted;
    int tries = 0;
    do {
        before = monotonic_ns();
        shift = realtime_ns() - before;
        lasted = monotonic_ns() - before;
    } while (lasted > 5000 && ++tries < 10);
    return shift - lasted / 2;
}

#endif
