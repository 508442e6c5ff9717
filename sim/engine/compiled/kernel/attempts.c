/* Service, cancellation and end of attempts, and the tokens of pools that they hold. */

static void cancel(Engine *e, int64_t attempt);

static RARE void cancel_tied_attempts(Engine *e, int64_t token)
{
    int64_t attempt = attempt_of(e, token), slot = slot_of(e, token);
    Slot *request = slot_at(e, slot);
    if (attempt_at(e, attempt)->over || !route_layout(e, request)->tied || !position_of(e, token_at(e, token))->ties)
        return;
    request->tied = 1;
    int64_t first = slot << e->attempt_bits;
    for (int64_t other = first; other < first + request->attempts; other++)
        if (other != attempt && !attempt_at(e, other)->over)
            cancel(e, other);
}

static RARE void release_early(Engine *e, int64_t token);

/* Record that the service of a job has begun; at a tied visit, cancel the other attempts; make an early release. */
static inline void service_begun(Engine *e, const Station *at, int64_t token)
{
    Token *job = token_at(e, token);
    job->life = at->died;
    if (UNLIKELY(e->program->paths))
        e->began_s[token] = e->now_s;
    if (UNLIKELY(e->program->tied))
        cancel_tied_attempts(e, token);
    if (UNLIKELY(e->program->early))
        release_early(e, token);
}

/* Update the pool's integral to the present. */
static void integrate_pool(Engine *e, Station *at)
{
    StationExtra *extra = extra_of(e, at);
    CHECK(at->busy == 0 || e->now_s >= extra->last_s);
    at->busy_s += (double)at->busy * (e->now_s - extra->last_s);
    extra->last_s = e->now_s;
}

static void grant_pool_token(Engine *e, int64_t token)
{
    token_at(e, token)->state = HOLDING;
    attempt_at(e, attempt_of(e, token))->held++;
    end_visit_soon(e, token);
}

/* Return the pool token that was taken at this visit; it is granted to the first waiting job. */
static RARE void return_pool_token(Engine *e, int64_t token)
{
    Token *job = token_at(e, token);
    Station *at = station_at(e, job->station);
    CHECK(job->state == HOLDING && at->busy > 0 && at->busy <= at->servers);
    job->state = IDLE;
    attempt_at(e, attempt_of(e, token))->held--;
    if (at->live) {
        grant_pool_token(e, next_job(e, at));
    } else {
        integrate_pool(e, at);
        at->busy--;
    }
}

/* The token of a pool that was taken first, by a visit before this one; NIL: none. */
static int64_t taken_before(Engine *e, int64_t token, int64_t station)
{
    for (int64_t taken = attempt_of(e, token) << e->position_bits; taken < token; taken++)
        if (token_at(e, taken)->state == HOLDING && token_at(e, taken)->station == station)
            return taken;
    return NIL;
}

static RARE int64_t bind(Engine *e, int64_t token, int64_t code);

/* Make the release that follows a visit whose service begins, if it is an early one. */
static RARE void release_early(Engine *e, int64_t token)
{
    if (position_of(e, token_at(e, token))->is_last)
        return;
    Token *next = token_at(e, token + 1);
    if (position_of(e, next)->releases != 2 || next->demand_s == PASSES_BY)
        return;
    int64_t station = next->station;
    if (station < 0)
        station = bind(e, token + 1, -1 - station);
    if (station < 0 || !HOLDS_TOKENS(station_at(e, station)->discipline))
        return;
    int64_t taken = taken_before(e, token + 1, station);
    if (taken == NIL)
        return;
    next->state = RETURNED;
    return_pool_token(e, taken);
}

static RARE void return_pool_tokens(Engine *e, int64_t attempt)
{
    int64_t visits = route_layout(e, slot_at(e, slot_of_attempt(e, attempt)))->visits;
    int64_t first = attempt << e->position_bits;
    for (int64_t token = first; token < first + visits; token++)
        if (token_at(e, token)->state == HOLDING)
            return_pool_token(e, token);
}

/* Return the tokens that the attempt still holds if it has ended and none of its branches is in progress. */
static inline void return_tokens_if_over(Engine *e, int64_t attempt)
{
    const Attempt *one = attempt_at(e, attempt);
    CHECK(one->live >= 0);
    if (one->live == 0 && one->held && one->over)
        return_pool_tokens(e, attempt);
}

/* In debug builds: check that each token that is taken from a pool is held by an attempt in flight. */
static void check_tokens(Engine *e)
{
#ifdef KERNEL_DEBUG
    int64_t *held = allocate(e->station_count, sizeof *held);
    CHECK(held);
    for (int64_t slot = 0; slot < e->slot_count; slot++) {
        const Slot *request = slot_at(e, slot);
        for (int64_t number = 0; number < request->attempts; number++) {
            int64_t attempt = (slot << e->attempt_bits) + number, of_attempt = 0;
            for (int64_t i = 0; i < route_layout(e, request)->visits; i++) {
                const Token *token = token_at(e, (attempt << e->position_bits) + i);
                if (token->state == HOLDING) {
                    held[token->station]++;
                    of_attempt++;
                }
            }
            CHECK(attempt_at(e, attempt)->held == of_attempt);
            CHECK(of_attempt == 0 || !request->is_free);
        }
    }
    for (int64_t i = 0; i < e->station_count; i++)
        CHECK(HOLDS_TOKENS(station_at(e, i)->discipline) ? station_at(e, i)->busy == held[i] : held[i] == 0);
    free(held);
#else
    (void)e;
#endif
}

static void decrement_outstanding(Engine *e, int64_t slot, int64_t group, int64_t member);

/* The attempt has an outcome: its members have one outstanding attempt less. */
static inline void close_attempt(Engine *e, int64_t attempt)
{
    attempt_at(e, attempt)->over = 1;
    for (int64_t group = 0; group < e->program->groups_count; group++) {
        int64_t member = *member_at(e, attempt, group);
        if (member >= 0)
            decrement_outstanding(e, slot_of_attempt(e, attempt), group, member);
    }
}

static RARE bool abandon(Engine *e, int64_t token);

/* Cancel an attempt: waiting jobs leave their queues, jobs in service end there. No further sub-requests begin; those
 * in progress end, or are cancelled. */
static RARE void cancel(Engine *e, int64_t attempt)
{
    Attempt *one = attempt_at(e, attempt);
    e->clock_s = e->now_s;
    one->cancelled = 1;
    close_attempt(e, attempt);
    int64_t visits = route_layout(e, slot_at(e, slot_of_attempt(e, attempt)))->visits;
    int64_t first = attempt << e->position_bits;
    for (int64_t token = first; token < first + visits; token++) {
        if (token_at(e, token)->state == WAITING) {
            cancel_waiting(e, token);
            one->live--;
        } else if (UNLIKELY(e->family_of_token != NULL) && abandon(e, token)) {
            one->live--;
            slot_at(e, slot_of(e, token))->busy--;
        }
    }
    return_tokens_if_over(e, attempt);
}
