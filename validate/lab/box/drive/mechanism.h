/* A hard disk by its mechanism: seeks by distance (Lee and Katz, SIGMETRICS 1993), rotation, and zones.
 *
 * Addresses are bytes from the outer edge. The platter turns with the monotonic clock, so nothing is drawn but the
 * places of files.
 */
#ifndef MECHANISM_H
#define MECHANISM_H

#include <stdbool.h>
#include <stdint.h>

struct seek {
    double track_s, root_s, linear_s; /* track + root sqrt(d) + linear d over a fraction d of all tracks */
};

struct disk {
    bool present; /* whether the drive is one */
    struct seek read, write;
    double turn_s, outer_bytes_per_s, inner_bytes_per_s, overhead_s;
    double capacity_bytes, at, span; /* the blocks in use, as fractions of all */
    int depth;                       /* how many waiting accesses it chooses from */
    double head_bytes;               /* where the last access ended */
};

extern struct disk disk;

/* Where a file with that inode number begins. */
double place_of(uint64_t inode, uint64_t seed);

/* The time until the head is at an address, if it sets out at an instant. */
int64_t positioning_ns(bool writes, double address, int64_t at_ns);

/* The time that the transfer of bytes takes. */
int64_t transfer_ns(double address, int64_t bytes);

#endif
