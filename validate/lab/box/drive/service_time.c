#include "service_time.h"

#include <math.h>
#include <string.h>

const char *const KIND_NAMES[KINDS] = {
    "read", "write", "fsync", "create", "open", "stat", "readdir", "mkdir", "rmdir", "unlink", "rename", "link",
    "truncate", "allocate", "setattr", "getxattr", "setxattr", "cached_read",
};

struct demand demands[KINDS];

int kind_of(const char *name)
{
    int kind = 0;
    while (kind < KINDS && strcmp(name, KIND_NAMES[kind]) != 0)
        kind++;
    return kind;
}

double uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint64_t value = seed + 0x9E3779B97F4A7C15u * (stream + 1) + 0xD1B54A32D192ED03u * (index + 1);
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    value ^= value >> 31;
    return ((double)(value >> 12) + 0.5) * 0x1p-52;
}

static double quantile(const struct demand *demand, double u)
{
    double x = acos(1 - 2 * u) / M_PI * (demand->points - 1);
    int below = (int)x;
    if (below > demand->points - 2)
        below = demand->points - 2;
    return demand->quantiles[below] + (x - below) * (demand->quantiles[below + 1] - demand->quantiles[below]);
}

static double mean_s(const struct demand *demand, int64_t bytes)
{
    double mean = demand->constant_s + demand->per_byte_s * (double)bytes;
    if (demand->per_block_s > 0)
        mean += demand->per_block_s * (double)((bytes + demand->block_bytes - 1) / demand->block_bytes);
    if (bytes > demand->block_bytes)
        mean += (demand->later_byte_factor - 1) * demand->per_byte_s * (double)(bytes - demand->block_bytes);
    return mean;
}

int64_t draw_ns(enum kind kind, int64_t bytes, uint64_t seed)
{
    struct demand *demand = &demands[kind];
    double u = uniform(seed, demand->stream, demand->draws++);
    return llround(mean_s(demand, bytes) * quantile(demand, u) * 1e9);
}
