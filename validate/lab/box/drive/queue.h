/* The queue of the drive: accesses are served first come first served, at most `depth` at the same time.
 *
 * Each access has a thread, which waits until its service begins, moves the data, and waits until it ends. The next
 * service begins when the one before it was to end, even if the thread of that access runs a little later, so delays of
 * threads do not add up.
 */
#ifndef QUEUE_H
#define QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "service_time.h"

enum { MOST_DEPTH = 1024 };

enum progress { WAITING, IN_SERVICE, ENDED };

struct access {
    enum kind kind;
    int64_t bytes;
    double address; /* on a hard disk */
    int64_t arrival_ns, start_ns, end_ns; /* by the monotonic clock */
    int64_t service_ns;
    enum progress progress;
    int error; /* negative errno */
    int server;
    pthread_cond_t changed;
    struct access *next;
};

struct faults {
    double slower; /* factor on service times, from the next service on */
    bool frozen, errors, full;
};

struct queue_status {
    struct faults faults;
    int waiting, in_service;
    uint64_t served;
    int64_t monotonic_ns, realtime_ns; /* when this was so */
};

void queue_init(int depth, uint64_t seed);

/* Wait for the beginning of the service of an access, of which kind, bytes and address are given.
 * Accesses that take no time wait for nothing but a frozen drive. Returns 0 or a negative errno. */
int queue_begin(struct access *access);

/* Wait for the end of its service, if it has begun. Returns 0 or a negative errno. */
int queue_end(struct access *access);

/* Stamp an access that has been paid for with another one: it waits for nothing. */
void queue_pass(struct access *access);

/* Whether new data find no room. */
bool queue_is_full(void);

/* Change what is wrong with the drive, at once. */
struct queue_status queue_change(struct faults faults);

struct queue_status queue_now(void);

#endif
