/* Requests and their stages: the same as `sim/engine/reference/attempts.py`, in the same order. */

static RARE bool start_family(Engine *e, int64_t token);
static RARE void leave_family(Engine *e, int64_t token);
static RARE void end_child(Engine *e, int64_t slot, int64_t winner, int why);
static RARE void keep_members(Engine *e, int64_t slot, int64_t attempt);
static RARE int64_t receiver(Engine *e, int64_t slot);

/* Copy a request's visits into a slot; returns the slot. */
static inline __attribute__((always_inline)) int64_t take_slot(
    Engine *e, Slot made, const int32_t *station, const double *demand_s)
{
    CHECK(e->free_count > 0);
    const Program *program = e->program;
    int64_t slot = e->free_slots[--e->free_count];
    Slot *request = slot_at(e, slot);
    made.life = request->life + 1;
    *request = made;
    const RouteLayout *route = route_layout(e, request);
    for (int64_t number = 0; number < route->attempts; number++) {
        int64_t attempt = (slot << e->attempt_bits) + number;
        *attempt_at(e, attempt) = (Attempt){.stage = (int32_t)route->first_stage};
        for (int64_t group = 0; group < program->groups_count; group++)
            *member_at(e, attempt, group) = NIL;
        if (program->paths)
            memset(&e->path_of_attempt[attempt * path_width(e)], 0, (size_t)path_width(e) * sizeof(double));
        Token *token = token_at(e, attempt << e->position_bits);
        for (int64_t i = 0; i < route->visits; i++, token++) {
            token->station = *station++;
            token->demand_s = *demand_s++;
            token->position = (int32_t)(route->first_position + i);
            token->state = IDLE;
        }
    }
    return slot;
}

/* Take a slot for a request of a Sheet, which can be freed before the request ends. */
static int64_t allocate_request(Engine *e, const Sheet *sheet, int64_t row, bool background)
{
    CHECK(row >= 0 && row < sheet->route_count);
    int64_t visit = sheet->first_visit[row];
    Slot made = {.route = sheet->route[row], .key = sheet->key_hash[row], .background = background, .client = -1,
                 .start_s = NAN, .first_byte_s = NAN};
    int64_t slot = take_slot(e, made, &sheet->station[visit], &sheet->demand_s[visit]);
    if (UNLIKELY(e->relatives != NULL))
        adopt(e, slot, sheet, row);
    return slot;
}

static int64_t next_request(Engine *e, Source *source, int64_t client)
{
    const Sheet *sheet = source->sheet;
    int64_t slot = allocate_request(e, sheet, source->next_row++ - sheet->first, false);
    if (source->next_row - sheet->first >= sheet->route_count && !sheet->is_last)
        e->wanted = source - e->sources;
    e->results.end_s[e->begun - e->results.first] = NAN;
    slot_at(e, slot)->request = e->begun++;
    slot_at(e, slot)->client = (int32_t)client;
    e->outstanding++;
    return slot;
}

/* Put a timer of a request on the clock; it is invalid when the request's slot is used again. */
static inline void set_timer(Engine *e, const Slot *request, double after_s, int kind, int64_t which)
{
    schedule_with_detail(e, e->now_s + after_s, kind, which, request->life);
}

static void end_branch(Engine *e, int64_t token, bool counts);

/* A timer of an infinite server begins, during which a branch is not in progress. */
static RARE void begin_timer(Engine *e, int64_t token)
{
    int64_t attempt = attempt_of(e, token);
    token_at(e, token)->state = TIMED;
    attempt_at(e, attempt)->live--;
    return_tokens_if_over(e, attempt);
}

/* Whether the stage of a branch still needs it at the end of a timer, which is in progress again then. So a branch that
 * waits for a timer holds no tokens of an attempt that has ended, and a timer that ends in vain is not the end of a
 * run. */
static RARE bool resume_branch(Engine *e, int64_t token)
{
    int64_t attempt = attempt_of(e, token), slot = slot_of(e, token);
    Attempt *one = attempt_at(e, attempt);
    token_at(e, token)->state = IDLE;
    if (position_of(e, token_at(e, token))->stage != one->stage || one->over) {
        slot_at(e, slot)->busy--;
        free_slot_if_over(e, slot);
        return false;
    }
    one->live++;
    return true;
}

/* Begin the visit at the token's position, or the next one that the request does not pass by. */
static inline void enter_visit(Engine *e, int64_t token)
{
    for (; UNLIKELY(token_at(e, token)->demand_s == PASSES_BY); token++) {
        if (position_of(e, token_at(e, token))->is_last) {
            end_branch(e, token, true);
            return;
        }
    }
    int64_t station = token_at(e, token)->station;
    if (UNLIKELY(station < 0)) {
        station = bind(e, token, -1 - station);
        if (station < 0) {
            fail_branch_soon(e, token, FAILURE_NO_MEMBER);
            return;
        }
        token_at(e, token)->station = (int32_t)station;
    }
    if (UNLIKELY(position_of(e, token_at(e, token))->timer) && INFINITE(station_at(e, station)->discipline))
        begin_timer(e, token);
    enter(e, station, token);
}

/* Start the branches of the attempt's present stage. */
static void fork_stage(Engine *e, int64_t attempt)
{
    Attempt *one = attempt_at(e, attempt);
    const StageLayout *stage = stage_layout(e, one->stage);
    int32_t width = (int32_t)(stage->end_branch - stage->first_branch);
    one->done = one->failed = one->claimed = 0;
    one->live += width;
    slot_at(e, slot_of_attempt(e, attempt))->busy += width;
    for (int64_t branch = stage->first_branch; branch < stage->end_branch; branch++)
        enter_visit(e, (attempt << e->position_bits) + e->program->branch_first_position[branch]);
}

/* Begin the next attempt. */
static void begin_attempt(Engine *e, int64_t slot)
{
    Slot *request = slot_at(e, slot);
    int64_t attempt = (slot << e->attempt_bits) + request->attempts++;
    attempt_at(e, attempt)->began_s = e->now_s;
    if (UNLIKELY(request->is_child) && request->attempts == 1)
        keep_members(e, slot, attempt);
    double timeout_s = route_layout(e, request)->timeout_s;
    if (timeout_s < INFINITY)
        set_timer(e, request, timeout_s, TIME_OUT, attempt);
    fork_stage(e, attempt);
}

/* Begin a request or a sub-request. */
static void begin_request(Engine *e, int64_t slot)
{
    Slot *request = slot_at(e, slot);
    const RouteLayout *layout = route_layout(e, request);
    request->start_s = e->now_s;
    double second_s = begin_with(policy_of(e, request), layout);
    if (second_s < INFINITY)
        set_timer(e, request, second_s, SECOND_ATTEMPT, slot);
    begin_attempt(e, slot);
}

/* Store the result of a request. */
static void put_result(Engine *e, const Slot *request, double end_s, int failure, int64_t winner)
{
    Columns *results = &e->results;
    int64_t at = request->request - results->first;
    CHECK(at >= 0 && at < results->capacity);
    results->start_s[at] = request->start_s;
    results->first_byte_s[at] = request->first_byte_s;
    results->end_s[at] = end_s;
    results->client[at] = request->client;
    results->failure[at] = (int8_t)failure;
    results->attempts[at] = request->attempts;
    results->winner[at] = (int16_t)(winner == NIL ? 0 : (winner & ((INT64_C(1) << e->attempt_bits) - 1)) + 1);
    if (UNLIKELY(e->program->paths))
        put_path(e, request, winner);
}

static void end_request(Engine *e, int64_t slot, int64_t winner, int why)
{
    Slot *request = slot_at(e, slot);
    const RouteLayout *layout = route_layout(e, request);
    e->clock_s = e->now_s;
    request->ended = 1;
    if (request->background) {
        e->background_end_s[request->request] = e->now_s;
        return;
    }
    if (LIKELY(!request->is_child)) {
        put_result(e, request, e->now_s, why, winner);
        e->outstanding--;
    }
    LatencyHistogram *bins = policy_of(e, request)->bins;
    if (winner != NIL && bins)
        histogram_add(bins, layout->quantile, e->now_s - request->start_s);
    if (layout->cancels) {
        int64_t first = slot << e->attempt_bits;
        for (int64_t other = first; other < first + request->attempts; other++)
            if (!attempt_at(e, other)->over)
                cancel(e, other);
    }
    if (UNLIKELY(request->is_child))
        end_child(e, slot, winner, why);
    else if (request->client >= 0)
        schedule(e, e->now_s, CLIENT_READY, request->client);
}

/* Fail an attempt: unless another is in progress or a retry pending, retry it or fail the request. */
static RARE void fail_attempt(Engine *e, int64_t attempt, int why)
{
    if (attempt_at(e, attempt)->over)
        return;
    cancel(e, attempt);
    int64_t slot = slot_of_attempt(e, attempt), first = slot << e->attempt_bits;
    Slot *request = slot_at(e, slot);
    if (request->ended)
        return;
    if (!request->background) {
        if (request->pending)
            return;
        for (int64_t other = first; other < first + request->attempts; other++)
            if (!attempt_at(e, other)->over)
                return;
    }
    const RouteLayout *layout = route_layout(e, request);
    if (request->retries < layout->retries && take_token(&policy_of(e, request)->retry_tokens)) {
        double next = (double)(request->retries + 1);
        double pause_s = layout->backoff_s * (layout->squares ? next * next : ldexp(1.0, request->retries));
        pause_s = pause_s < layout->backoff_max_s ? pause_s : layout->backoff_max_s;
        if (layout->jitter > 0) {
            int64_t number = request->is_child ? (int64_t)e->relatives[slot].identity : request->request;
            pause_s *= 1.0 - layout->jitter *
                                 fraction(mixed(e->program->seed, JITTER_STREAM + (uint64_t)request->retries, number));
        }
        request->retries++;
        request->pending++;
        set_timer(e, request, pause_s, RETRY, slot);
    } else {
        end_request(e, slot, NIL, why);
    }
}

/* Send the first byte of a response. */
static void deliver(Engine *e, int64_t slot)
{
    int64_t of = UNLIKELY(slot_at(e, slot)->is_child) ? receiver(e, slot) : slot;
    if (of == NIL)
        return;
    Slot *request = slot_at(e, of);
    if (!request->background && isnan(request->first_byte_s))
        request->first_byte_s = e->now_s;
}

/* All needed branches of a stage are done: begin the next stage, or end the attempt. */
static void join_stage(Engine *e, int64_t attempt)
{
    Attempt *one = attempt_at(e, attempt);
    int64_t slot = slot_of_attempt(e, attempt);
    Slot *request = slot_at(e, slot);
    if (stage_layout(e, one->stage)->delivers)
        deliver(e, slot);
    if (one->stage + 1 < route_layout(e, request)->end_stage) {
        one->stage++;
        fork_stage(e, attempt);
        return;
    }
    close_attempt(e, attempt);
    if (!request->ended)
        end_request(e, slot, attempt, FAILURE_NONE);
}

/* The last visit of a branch is over, or a visit of a cancelled attempt is. */
static void end_branch(Engine *e, int64_t token, bool counts)
{
    int64_t attempt = attempt_of(e, token), slot = slot_of(e, token);
    Attempt *one = attempt_at(e, attempt);
    one->live--;
    slot_at(e, slot)->busy--;
    if (counts && position_of(e, token_at(e, token))->stage == one->stage && !one->over &&
        ++one->done == stage_layout(e, one->stage)->need) {
        if (UNLIKELY(e->program->paths))
            add_branch(e, token);
        join_stage(e, attempt);
    }
    return_tokens_if_over(e, attempt);
    free_slot_if_over(e, slot);
}

static RARE void fail_branch(Engine *e, int64_t token, int why);

/* Whether its stage still needs a branch, which then claims the stage if `claims`; otherwise stop the branch. */
static RARE bool branch_is_needed(Engine *e, int64_t token, bool claims)
{
    int64_t attempt = attempt_of(e, token);
    Attempt *one = attempt_at(e, attempt);
    if (position_of(e, token_at(e, token))->stage != one->stage || one->over) {
        end_branch(e, token, false);
        return false;
    }
    const StageLayout *stage = stage_layout(e, one->stage);
    if (one->claimed >= stage->need) {
        fail_branch(e, token, FAILURE_STATION_DOWN);
        return false;
    }
    if (claims && ++one->claimed == stage->need && stage->delivers)
        deliver(e, slot_of_attempt(e, attempt));
    return true;
}

/* Whether a branch does not go on after a visit that is a timer, claims its stage or starts sub-requests, because its
 * stage does not need it, or it waits for these. */
static RARE bool stays(Engine *e, int64_t token, const PositionLayout *at, bool cancelled)
{
    if (at->starts && e->family_of_token[token]) { /* the sub-requests are over */
        leave_family(e, token);
        return false;
    }
    if (cancelled)
        return false;
    if ((at->timer | at->claims) && !branch_is_needed(e, token, at->claims))
        return true;
    return at->starts && start_family(e, token);
}

/* End a visit: continue with the next of its branch, or join the stage. */
static inline void end_visit(Engine *e, int64_t token)
{
    if (UNLIKELY(token_at(e, token)->state == TIMED) && !resume_branch(e, token))
        return;
    e->clock_s = e->now_s;
    bool cancelled = attempt_at(e, attempt_of(e, token))->cancelled;
    const PositionLayout *at = position_of(e, token_at(e, token));
    if (UNLIKELY(at->timer | at->claims | at->starts) && stays(e, token, at, cancelled))
        return;
    if (!cancelled && !at->is_last)
        enter_visit(e, token + 1);
    else
        end_branch(e, token, !cancelled);
}

/* Fail the job's branch, and its attempt if too few branches are left. */
static RARE void fail_branch(Engine *e, int64_t token, int why)
{
    if (token_at(e, token)->state == TIMED && !resume_branch(e, token))
        return;
    e->clock_s = e->now_s;
    int64_t attempt = attempt_of(e, token), slot = slot_of(e, token);
    Attempt *one = attempt_at(e, attempt);
    one->live--;
    slot_at(e, slot)->busy--;
    if (UNLIKELY(e->family_of_token != NULL) && e->family_of_token[token])
        leave_family(e, token);
    bool gives_up = false;
    if (position_of(e, token_at(e, token))->stage == one->stage && !one->over) {
        const StageLayout *stage = stage_layout(e, one->stage);
        one->failed++;
        gives_up = one->done < stage->need && stage->end_branch - stage->first_branch - one->failed < stage->need;
    }
    if (gives_up)
        fail_attempt(e, attempt, why);
    else
        return_tokens_if_over(e, attempt);
    free_slot_if_over(e, slot);
}

/* Begin the second attempt of a hedged or tied request. */
static void begin_second_attempt(Engine *e, int64_t slot)
{
    Slot *request = slot_at(e, slot);
    if (request->ended || request->tied)
        return;
    if (take_token(&policy_of(e, request)->hedge_tokens))
        begin_attempt(e, slot);
}

/* A timer of an attempt or a request has expired; it is ignored if its slot has been used again. */
static RARE void timer_expired(Engine *e, int kind, int64_t which, uint32_t life)
{
    int64_t slot = kind == TIME_OUT ? slot_of_attempt(e, which) : which;
    Slot *request = slot_at(e, slot);
    if (request->is_free || life != request->life)
        return;
    if (kind == TIME_OUT) {
        fail_attempt(e, which, FAILURE_TIMEOUT);
        free_slot_if_over(e, slot);
    } else if (kind == SECOND_ATTEMPT) {
        begin_second_attempt(e, slot);
    } else {
        request->pending--;
        if (!request->ended)
            begin_attempt(e, slot);
    }
}

/* A transaction that has conflicted begins again. */
static RARE void begin_again(Engine *e, int64_t token)
{
    Station *at = station_at(e, token_at(e, token)->station);
    at->visits++;
    token_at(e, token)->demand_s = (double)extra_of(e, at)->commits;
    end_visit(e, token);
}

/* A job polls a gate, or passes one that opens periodically. */
static RARE void poll_gate(Engine *e, int64_t token)
{
    Token *job = token_at(e, token);
    Station *at = station_at(e, job->station);
    const StationLayout *of = layout_of(e, at);
    bool shut = at->down;
    if (shut && job->polls < of->poll_limit && !attempt_at(e, attempt_of(e, token))->cancelled) {
        job->polls += job->polls < INT32_MAX;
        schedule(e, e->now_s + of->poll_s, POLL_GATE, token);
        return;
    }
    at->waiting_s += e->now_s - job->since_s;
    if (shut)
        fail_branch(e, token, FAILURE_GATE_SHUT);
    else
        end_visit(e, token);
}
