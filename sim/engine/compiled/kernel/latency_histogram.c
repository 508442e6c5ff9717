/* A running quantile of the latencies observed so far, the same as `sim/engine/latency_histogram.py`. */

/* Add a latency. */
static void histogram_add(LatencyHistogram *bins, double quantile, double latency_s)
{
    int exponent;
    double mantissa = frexp(latency_s, &exponent); /* exact, like the following arithmetic */
    int64_t place = (exponent - LEAST_EXPONENT) * SUB_BINS + (int64_t)((mantissa - 0.5) * (double)(2 * SUB_BINS));
    if (place >= BINS)
        place = BINS - 1;
    if (place < 0 || !(latency_s > 0))
        place = 0;
    bins->count[place]++;
    bins->total++;
    if (place <= bins->place)
        bins->below++;
    double wanted = quantile * (double)bins->total;
    while ((double)bins->below < wanted) {
        CHECK(bins->place + 1 < BINS);
        bins->below += bins->count[++bins->place];
    }
    while (bins->place > 0 && (double)(bins->below - bins->count[bins->place]) >= wanted)
        bins->below -= bins->count[bins->place--];
}

/* The upper edge of the bin that contains the quantile. */
static double histogram_quantile_s(const LatencyHistogram *bins)
{
    int64_t exponent = bins->place / SUB_BINS, sub = bins->place % SUB_BINS;
    return ldexp(0.5 + (double)(sub + 1) / (double)(2 * SUB_BINS), (int)(exponent + LEAST_EXPONENT));
}
