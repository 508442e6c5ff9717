/* Stations: the same as `sim/engine/reference/stations.py`, in the same order. */

/* CPU caches of a station's servers, the same as `sim/engine/cpu_caches.py`. */

/* Update the warm fraction to the present, before servers become idle or busy. */
static RARE void cool_caches(Engine *e, Station *at)
{
    StationExtra *extra = extra_of(e, at);
    double idle_s = (e->now_s - extra->warm_at_s) * (double)(at->servers - at->busy) / (double)at->servers;
    extra->warm_fraction = extra->warm_fraction * exp(-idle_s / layout_of(e, at)->decay_s);
    extra->warm_at_s = e->now_s;
}

/* Return a job's demand with the cold-cache time, and warm up the caches. */
static RARE double warm_caches(Engine *e, Station *at, double work_s)
{
    const StationLayout *of = layout_of(e, at);
    StationExtra *extra = extra_of(e, at);
    double warm_fraction = extra->warm_fraction;
    extra->warm_fraction = 1 - (1 - warm_fraction) * exp(-(work_s / (double)at->servers) / of->warm_up_s);
    return work_s + of->cold_penalty_s * (1 - warm_fraction) * (1 - exp(-work_s / of->warm_up_s));
}

static RARE void serve_by_weight(Engine *e, Station *at, int64_t token)
{
    StationExtra *extra = extra_of(e, at);
    int64_t class = class_of(e, token);
    ClassQueue *queue = &extra->classes[class];
    if (queue->start > extra->virtual_s)
        extra->virtual_s = queue->start;
    double weight = e->program->weights[number_of(e, at) * e->program->classes + class];
    queue->start = extra->virtual_s + token_at(e, token)->demand_s / weight;
}

/* Put the job's departure on the clock. */
static inline void serve(Engine *e, Station *at, int64_t token)
{
    Token *job = token_at(e, token);
    if (UNLIKELY(IS_WEIGHTED(at->discipline)))
        serve_by_weight(e, at, token); /* before the caches: a class is charged for its own work only */
    double demand_s = UNLIKELY(at->caches) ? warm_caches(e, at, job->demand_s) : job->demand_s;
    double duration_s = demand_s / at->speed;
    at->busy_s += duration_s;
    schedule(e, e->now_s + duration_s, INFINITE(at->discipline) ? DEPART_DELAY : DEPART_SERVED, token);
    service_begun(e, at, token);
}

/* Serve a job after a setup; its demand remains what it is, as the visit may be repeated. */
static RARE void set_up(Engine *e, Station *at, int64_t token)
{
    double demand_s = token_at(e, token)->demand_s;
    token_at(e, token)->demand_s += layout_of(e, at)->setup_s;
    serve(e, at, token);
    token_at(e, token)->demand_s = demand_s;
}

static void commit_next(Engine *e, Station *at);

/* The other station of a pair. */
static inline Station *partner_of(Station *at)
{
    return at->paired == 1 ? at + 1 : at - 1;
}

/* Whether a station of a pair needs the server. */
static inline bool waits_in_pair(Engine *e, Station *at)
{
    return at->live > 0 || extra_of(e, at)->paused;
}

/* Since when; a batch between two parts of its service is before those that wait for the next one. */
static RARE double waiting_since_s(Engine *e, Station *at)
{
    StationExtra *extra = extra_of(e, at);
    return extra->paused ? extra->paused_s : oldest_s(e, at);
}

/* Serve the next part of a batch. */
static RARE void resume_batch(Engine *e, Station *at)
{
    StationExtra *extra = extra_of(e, at);
    schedule(e, e->now_s + extra->part_s, DEPART_BATCH, extra->paused - 1);
    extra->paused = 0;
}

/* Free the server of a pair, and let it serve the job that has waited longest; of two, that of the earlier station. */
static RARE void hand_over_server(Engine *e, Station *at)
{
    Station *first = at->paired == 1 ? at : at - 1, *second = first + 1;
    bool of_first = waits_in_pair(e, first), of_second = waits_in_pair(e, second);
    first->busy = second->busy = of_first || of_second;
    if (!of_first && !of_second)
        return;
    bool is_first = !of_second || (of_first && waiting_since_s(e, first) <= waiting_since_s(e, second));
    Station *next = is_first ? first : second;
    if (extra_of(e, next)->paused)
        resume_batch(e, next);
    else if (BATCHES(next->discipline))
        commit_next(e, next);
    else
        serve(e, next, next_job(e, next));
}

/* Whether a batch has more parts of its service to come; then those that wait at the other station are served first. */
static RARE bool pause_batch(Engine *e, Station *at, int64_t first)
{
    StationExtra *extra = extra_of(e, at);
    if (extra->parts_left == 0)
        return false;
    extra->parts_left--;
    extra->paused = first + 1;
    extra->paused_s = e->now_s;
    hand_over_server(e, at);
    return true;
}

/* Serve the next job on a free server. */
static inline void serve_next(Engine *e, Station *at)
{
    if (UNLIKELY(at->paired)) {
        hand_over_server(e, at);
        return;
    }
    if (UNLIKELY(at->caches))
        cool_caches(e, at);
    if (at->live)
        serve(e, at, next_job(e, at));
    else
        at->busy--;
}

/* Whether a batch has a member whose visit flushes. */
static RARE bool flushes(Engine *e, int64_t first)
{
    for (int64_t token = first; token != NIL; token = token_at(e, token)->next)
        if (position_of(e, token_at(e, token))->flushes)
            return true;
    return false;
}

/* Begin a batch; its members are linked, starting at `first`. */
static void commit(Engine *e, Station *at, int64_t first, int64_t members)
{
    const StationLayout *layout = layout_of(e, at);
    double duration_s = token_at(e, first)->demand_s + (double)(members - 1) * layout->batch_item_s;
    bool flush = layout->flush_s != 0 && flushes(e, first);
    if (flush)
        duration_s += layout->flush_s;
    duration_s /= at->speed;
    at->busy_s += duration_s;
    if (UNLIKELY(at->paired == 2)) {
        StationExtra *extra = extra_of(e, at);
        int64_t parts = layout->shares_server + flush;
        extra->parts_left = parts - 1;
        extra->part_s = duration_s /= (double)parts;
    }
    schedule(e, e->now_s + duration_s, DEPART_BATCH, first);
    for (int64_t token = first; token != NIL; token = token_at(e, token)->next)
        service_begun(e, at, token);
}

/* Commit all waiting jobs as the next batch. */
static void commit_next(Engine *e, Station *at)
{
    int64_t members = at->live;
    if (members == 0) {
        at->busy = 0;
        return;
    }
    int64_t first = next_job(e, at), last = first;
    for (int64_t i = 1; i < members; i++) {
        int64_t token = next_job(e, at);
        token_at(e, last)->next = (int32_t)token;
        last = token;
    }
    token_at(e, last)->next = NIL;
    commit(e, at, first, members);
}

static RARE void enter_pool(Engine *e, Station *at, int64_t token)
{
    if (position_of(e, token_at(e, token))->releases) {
        int64_t taken = token_at(e, token)->state == RETURNED ? NIL : taken_before(e, token, number_of(e, at));
        if (taken != NIL)
            return_pool_token(e, taken);
        end_visit_soon(e, token);
    } else if (at->busy < at->servers) {
        integrate_pool(e, at);
        at->busy++;
        grant_pool_token(e, token);
    } else if (at->live < layout_of(e, at)->queue_limit) {
        wait_in_queue(e, at, token);
    } else {
        fail_branch_soon(e, token, FAILURE_QUEUE_FULL);
    }
}

static RARE void enter_gate(Engine *e, Station *at, int64_t token)
{
    double poll_s = layout_of(e, at)->poll_s, period_s = layout_of(e, at)->period_s;
    if (period_s != 0) {
        double phase_s = layout_of(e, at)->phase_s;
        double opens_s = phase_s + (floor((e->now_s - phase_s) / period_s) + 1) * period_s;
        schedule(e, opens_s > e->now_s ? opens_s : e->now_s, POLL_GATE, token);
    } else if (!at->down) {
        end_visit_soon(e, token);
    } else if (poll_s != 0) {
        token_at(e, token)->polls = 1;
        schedule(e, e->now_s + poll_s, POLL_GATE, token);
    } else {
        wait_in_queue(e, at, token);
    }
}

/* The last visit before this one by which its branch has noted the commits, for a transaction that is not committed;
 * NIL: none. */
static int64_t begun_before(Engine *e, int64_t token, int64_t station)
{
    int64_t first = attempt_of(e, token) << e->position_bits;
    for (int64_t at = token - 1; at >= first && !position_of(e, token_at(e, at))->is_last; at--)
        if (token_at(e, at)->state == BEGUN && token_at(e, at)->station == station)
            return at;
    return NIL;
}

/* Let a branch go back to the beginning of its transaction, unless it has done what cannot be repeated. */
static RARE void repeat_transaction(Engine *e, Station *at, int64_t token, int64_t begun)
{
    for (int64_t one = begun; one != NIL; one = begun_before(e, one, number_of(e, at)))
        begun = one; /* the first one */
    const StationLayout *of = layout_of(e, at);
    bool is_final = token_at(e, begun)->repetitions >= of->repeat_limit;
    for (int64_t one = begun; one < token; one++) {
        const PositionLayout *position = position_of(e, token_at(e, one));
        is_final |= position->timer || position->claims || position->starts;
    }
    if (is_final) {
        fail_branch_soon(e, token, FAILURE_CONFLICT);
        return;
    }
    for (int64_t one = begun + 1; one < token; one++) {
        if (token_at(e, one)->state == HOLDING)
            return_pool_token(e, one);
        token_at(e, one)->state = IDLE;
    }
    double repetitions = (double)++token_at(e, begun)->repetitions;
    StationExtra *extra = extra_of(e, at);
    double pause_s = of->repeat_s * (repetitions * repetitions - 1.0) *
                     fraction(mixed(e->program->seed, of->identity, extra->choices++));
    at->waiting_s += pause_s;
    schedule(e, e->now_s + pause_s, BEGIN_AGAIN, begun);
}

/* Begin a transaction, or commit it. */
static RARE void enter_counter(Engine *e, Station *at, int64_t token)
{
    Token *job = token_at(e, token);
    int64_t commits = extra_of(e, at)->commits;
    if (!position_of(e, job)->releases) {
        job->state = BEGUN;
        job->demand_s = (double)commits;
        job->repetitions = 0;
        end_visit_soon(e, token);
        return;
    }
    int64_t begun = begun_before(e, token, number_of(e, at));
    if (begun != NIL && token_at(e, begun)->demand_s != (double)commits) {
        repeat_transaction(e, at, token, begun);
        return;
    }
    extra_of(e, at)->commits++;
    for (; begun != NIL; begun = begun_before(e, begun, number_of(e, at)))
        token_at(e, begun)->state = IDLE;
    end_visit_soon(e, token);
}

/* Begin a visit at a station that is neither a gate nor dead. */
static inline void admit(Engine *e, Station *at, int64_t token)
{
    switch (at->discipline) {
    case DISCIPLINE_INFINITE_SERVER:
        serve(e, at, token);
        return;
    case DISCIPLINE_PROCESSOR_SHARING:
        share_enter(e, at, token);
        return;
    case DISCIPLINE_POOL:
        enter_pool(e, at, token);
        return;
    case DISCIPLINE_OPTIMISTIC:
        enter_counter(e, at, token);
        return;
    default:
        break;
    }
    if (at->busy >= at->servers) {
        wait_in_queue(e, at, token);
        return;
    }
    if (UNLIKELY(at->paired))
        partner_of(at)->busy = 1;
    if (BATCHES(at->discipline)) {
        at->busy = 1;
        token_at(e, token)->next = NIL;
        commit(e, at, token, 1);
    } else {
        if (UNLIKELY(at->caches))
            cool_caches(e, at);
        at->busy++;
        if (UNLIKELY(at->sets_up))
            set_up(e, at, token);
        else
            serve(e, at, token);
    }
}

/* Begin a visit. */
static inline void enter(Engine *e, int64_t station, int64_t token)
{
    Station *at = station_at(e, station);
    token_at(e, token)->since_s = e->now_s;
    at->visits++;
    if (UNLIKELY(IS_GATE(at->discipline)))
        enter_gate(e, at, token);
    else if (UNLIKELY(at->down))
        fail_branch_soon(e, token, FAILURE_STATION_DOWN);
    else
        admit(e, at, token);
}

/* Whether the station has died since the job's service began; its time after that was not spent. */
static inline bool is_lost(Engine *e, Station *at, const Token *job)
{
    if (LIKELY(job->life == at->died))
        return false;
    CHECK(job->life < at->died);
    at->busy_s -= e->now_s - extra_of(e, at)->death_s[job->life];
    return true;
}

static RARE void record_failure(Engine *e, Station *at)
{
    StationExtra *extra = extra_of(e, at);
    if (at->died == extra->death_capacity) {
        int64_t capacity = extra->death_capacity ? 2 * extra->death_capacity : 4;
        double *death_s = realloc(extra->death_s, (size_t)capacity * sizeof *death_s);
        if (!death_s) {
            e->out_of_memory = true;
            return;
        }
        extra->death_s = death_s;
        extra->death_capacity = capacity;
    }
    extra->death_s[at->died++] = e->now_s;
}

/* Refuse waiting jobs; jobs in service are lost at their departure. A gate is shut. */
static RARE void take_down(Engine *e, Station *at)
{
    if (at->down)
        return;
    at->down = 1;
    if (IS_GATE(at->discipline))
        return;
    if (at->caches)
        cool_caches(e, at);
    at->busy = 0;
    record_failure(e, at);
    while (at->live)
        fail_branch_soon(e, next_job(e, at), FAILURE_STATION_DOWN);
    if (SHARES(at->discipline)) {
        StationExtra *extra = extra_of(e, at);
        integrate_shared(e, at);
        while (extra->shared.size)
            fail_branch_soon(e, share_pop(&extra->shared), FAILURE_STATION_DOWN);
        extra->attained_s = extra->left_s = 0.0;
        extra->behind = 0;
        extra->version++;
    }
}

/* Revive a station; an opened gate releases all waiting jobs. */
static RARE void bring_up(Engine *e, Station *at)
{
    if (!at->down)
        return;
    at->down = 0;
    if (IS_GATE(at->discipline))
        while (at->live)
            end_visit_soon(e, next_job(e, at));
}

/* Set the speed factor of a station. */
static RARE void set_speed(Engine *e, Station *at, double speed)
{
    if (SHARES(at->discipline)) {
        integrate_shared(e, at);
        at->speed = speed;
        share_schedule(e, at);
    } else {
        at->speed = speed;
    }
}

/* Whether a server is idle while a job waits, which never happens. */
static bool idles_with_queue(const Station *at)
{
    if (INFINITE(at->discipline) || SHARES(at->discipline))
        return false;
    if (IS_GATE(at->discipline))
        return at->live > 0 && !at->down;
    return at->live > 0 && at->busy < at->servers;
}

static void count_idle(Engine *e)
{
    for (int64_t station = 0; station < e->station_count; station++)
        e->idle_with_queue += idles_with_queue(station_at(e, station));
}
