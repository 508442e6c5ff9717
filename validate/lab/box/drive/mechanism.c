#include "mechanism.h"

#include <math.h>

#include "service_time.h"

struct disk disk;

static const uint64_t PLACES = 0x706c6163; /* the stream of places */

double place_of(uint64_t inode, uint64_t seed)
{
    return floor((disk.at + disk.span * uniform(seed, PLACES, inode)) * disk.capacity_bytes);
}

static double rate(double address)
{
    double outer = disk.outer_bytes_per_s, inner = disk.inner_bytes_per_s;
    double fraction = fmin(address / disk.capacity_bytes, 1);
    return sqrt(outer * outer - (outer * outer - inner * inner) * fraction);
}

static double track(double address)
{
    double outer = disk.outer_bytes_per_s, inner = disk.inner_bytes_per_s;
    return outer == inner ? fmin(address / disk.capacity_bytes, 1) : (outer - rate(address)) / (outer - inner);
}

int64_t positioning_ns(bool writes, double address, int64_t at_ns)
{
    if (address == disk.head_bytes)
        return 0;
    const struct seek *seek = writes ? &disk.write : &disk.read;
    double distance = fabs(track(address) - track(disk.head_bytes));
    double moved_s = disk.overhead_s + seek->track_s + seek->root_s * sqrt(distance) + seek->linear_s * distance;
    double turned = fmod((double)at_ns * 1e-9 + moved_s, disk.turn_s) / disk.turn_s;
    double angle = fmod(address / (rate(address) * disk.turn_s), 1);
    double rotation = angle - turned;
    return llround((moved_s + (rotation < 0 ? rotation + 1 : rotation) * disk.turn_s) * 1e9);
}

int64_t transfer_ns(double address, int64_t bytes)
{
    return llround((double)bytes / rate(address) * 1e9);
}
