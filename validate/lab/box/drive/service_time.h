/* Service times: (constant + per_byte x bytes + per_block x blocks) x a draw of a distribution with mean 1.
 *
 * The distribution is a table of quantiles that the caller has computed, at the probabilities (1 - cos(pi x)) / 2 for
 * equidistant x in 0 .. 1, which are dense at both ends; between them it is linear. Draw i of a kind is a function of
 * the seed, the stream of the kind and i.
 */
#ifndef SERVICE_TIME_H
#define SERVICE_TIME_H

#include <stdbool.h>
#include <stdint.h>

enum kind {
    READ, WRITE, FSYNC, CREATE, OPEN, STAT, READDIR, MKDIR, RMDIR, UNLINK, RENAME, LINK, TRUNCATE, ALLOCATE, SETATTR,
    GETXATTR, SETXATTR, CACHED_READ, KINDS
};

extern const char *const KIND_NAMES[KINDS];

struct demand {
    double constant_s, per_byte_s, later_byte_factor, per_block_s;
    int64_t block_bytes;
    uint64_t stream;
    double *quantiles; /* with mean 1; none: the kind takes no time */
    int points;
    uint64_t draws;    /* how many were made */
};

extern struct demand demands[KINDS];

int kind_of(const char *name); /* KINDS: there is none of that name */

/* A uniform draw on (0, 1): SplitMix64's finaliser of its arguments. */
double uniform(uint64_t seed, uint64_t stream, uint64_t index);

/* The next service time of a kind, in ns. */
int64_t draw_ns(enum kind kind, int64_t bytes, uint64_t seed);

#endif
