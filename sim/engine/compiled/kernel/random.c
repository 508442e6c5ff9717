/* Random words drawn during a run: pure functions of its seed, a stream and an index. */

/* The same as `traces.random_streams.mixed`. */
static inline uint64_t mixed(uint64_t seed, uint64_t stream, int64_t index)
{
    uint64_t value = seed + UINT64_C(0x9E3779B97F4A7C15) * (stream + 1);
    value += UINT64_C(0xD1B54A32D192ED03) * ((uint64_t)index + 1);
    value = (value ^ (value >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94D049BB133111EB);
    return value ^ (value >> 31);
}

/* Convert a random word to a number from 0 to 1. */
static inline double fraction(uint64_t word)
{
    return (double)(word >> 11) * 0x1p-53;
}
