/* Budgets of retries and hedges, and observed latencies, the same as `sim/engine/policy_state.py`. */

static inline PolicyState *policy_of(Engine *e, const Slot *request)
{
    return &e->policies[route_layout(e, request)->first_with_policy];
}

/* Add the tokens of a request that begins. */
static inline void add_tokens(double *tokens, double budget, double cap)
{
    double more = *tokens + budget;
    *tokens = more < cap ? more : cap;
}

/* Take a token if there is a whole one, and return whether there was. */
static inline bool take_token(double *tokens)
{
    if (*tokens < 1)
        return false;
    *tokens -= 1;
    return true;
}

/* Count a request that begins, and return the delay of its second attempt; infinite: it has none. */
static inline double begin_with(PolicyState *policy, const RouteLayout *layout)
{
    add_tokens(&policy->retry_tokens, layout->retry_budget, layout->retry_tokens);
    add_tokens(&policy->hedge_tokens, layout->hedge_budget, layout->hedge_tokens);
    if (policy->bins && policy->bins->total >= HEDGE_SAMPLES)
        return histogram_quantile_s(policy->bins);
    return layout->second_s;
}
