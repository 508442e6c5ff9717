/* The handling of events; the scenario, clients and background loads. */

/* Execute an action of the scenario. */
static RARE void apply_action(Engine *e, int64_t action)
{
    CHECK(action >= 0 && action < e->program->actions_count);
    const ActionLayout *of = &e->program->actions[action];
    switch (of->kind) {
    case ACTION_KIND_SPEED:
        set_speed(e, station_at(e, of->target), of->value);
        break;
    case ACTION_KIND_DOWN:
    case ACTION_KIND_SHUT:
        take_down(e, station_at(e, of->target));
        break;
    case ACTION_KIND_UP:
    case ACTION_KIND_OPEN:
        bring_up(e, station_at(e, of->target));
        break;
    default:
        CHECK(of->kind == ACTION_KIND_JOIN || of->kind == ACTION_KIND_LEAVE);
        set_present(e, of->target, of->member, of->kind == ACTION_KIND_JOIN);
    }
}

/* Begin the next row's phase when no request is outstanding: all parked clients become ready. */
static RARE void open_phase(Engine *e, Source *source, int64_t phase)
{
    const LoopLayout *loop = loop_of(e, source);
    source->phase = phase;
    for (int64_t client = loop->first_client; client < loop->end_client; client++) {
        if (e->client_parked[client]) {
            e->client_parked[client] = 0;
            schedule(e, e->now_s + (double)(client - loop->first_client) * loop->stagger_s, CLIENT_READY, client);
        }
    }
}

/* A closed-loop client takes its next request. */
static void client_ready(Engine *e, int64_t client)
{
    Source *source = &e->sources[e->source_of_client[client]];
    const Sheet *sheet = source->sheet;
    double limit_s = loop_of(e, source)->limit_s;
    int64_t row = source->next_row - sheet->first;
    if (e->now_s >= limit_s || row >= sheet->route_count)
        return;
    if (sheet->phase[row] != source->phase) {
        e->client_parked[client] = 1;
        if (e->outstanding == 0)
            open_phase(e, source, sheet->phase[row]);
        return;
    }
    double think_s = sheet->think_s[row];
    if (think_s > 0) {
        if (e->now_s + think_s < limit_s)
            schedule(e, e->now_s + think_s, ISSUE, next_request(e, source, client));
    } else {
        begin_request(e, next_request(e, source, client));
    }
}

/* Put a background load's next arrival on the clock. */
static RARE void schedule_background(Engine *e, int64_t number)
{
    const BackgroundLayout *of = &e->program->backgrounds[number];
    int64_t row = of->first_row + e->background_next[number];
    if (row < of->end_row)
        schedule(e, e->background->arrival_s[row] + 0.0, BACKGROUND, number);
}

static RARE void arrive_background(Engine *e, int64_t number)
{
    int64_t row = e->program->backgrounds[number].first_row + e->background_next[number]++;
    int64_t slot = allocate_request(e, e->background, row, true);
    slot_at(e, slot)->request = row;
    schedule_background(e, number);
    begin_attempt(e, slot);
}

static RARE void depart_batch(Engine *e, int64_t first)
{
    Station *at = station_at(e, token_at(e, first)->station);
    if (UNLIKELY(at->paired) && pause_batch(e, at, first))
        return;
    bool lost = is_lost(e, at, token_at(e, first));
    if (UNLIKELY(at->paired))
        hand_over_server(e, at); /* a pair cannot die */
    else if (!lost)
        commit_next(e, at);
    for (int64_t token = first, next; token != NIL; token = next) {
        next = token_at(e, token)->next; /* before the token may enter another queue */
        if (lost)
            fail_branch(e, token, FAILURE_STATION_DOWN);
        else
            end_visit(e, token);
    }
}

static void depart(Engine *e, int64_t token, bool served)
{
    Station *at = station_at(e, token_at(e, token)->station);
    if (UNLIKELY(is_lost(e, at, token_at(e, token)))) {
        fail_branch(e, token, FAILURE_STATION_DOWN);
        return;
    }
    if (served)
        serve_next(e, at);
    end_visit(e, token);
}

static RARE void shared_queue_ended(Engine *e, int64_t token)
{
    Station *at = station_at(e, token_at(e, token)->station);
    if (token_at(e, token)->life == at->died)
        share_leave_queue(e, at, token);
    else
        fail_branch(e, token, FAILURE_STATION_DOWN);
}

/* Handle an event. */
static inline void handle(Engine *e, int kind, int64_t argument, uint32_t detail)
{
    switch (kind) {
    case DEPART_DELAY:
        depart(e, argument, false);
        break;
    case DEPART_SERVED:
        depart(e, argument, true);
        break;
    case DEPART_SHARED:
        argument = share_depart(e, station_at(e, argument), detail);
        if (argument != NIL)
            end_visit(e, argument);
        break;
    case SHARED_QUEUE_ENDED:
        shared_queue_ended(e, argument);
        break;
    case DEPART_BATCH:
        depart_batch(e, argument);
        break;
    case END_VISIT:
        end_visit(e, argument);
        break;
    case CLIENT_READY:
        client_ready(e, argument);
        break;
    case ISSUE:
        begin_request(e, argument);
        break;
    case POLL_GATE:
        poll_gate(e, argument);
        break;
    case BEGIN_AGAIN:
        begin_again(e, argument);
        break;
    case BACKGROUND:
        arrive_background(e, argument);
        break;
    case FAIL_BRANCH:
        fail_branch(e, argument, (int)detail);
        break;
    case APPLY_ACTION:
        apply_action(e, argument);
        break;
    case CHILD:
        begin_child(e, argument);
        break;
    default:
        timer_expired(e, kind, argument, detail);
    }
}

/* Whether the next row's arrival comes before all events on the clock, by time, then by insertion. */
static inline bool arrives_next(Engine *e)
{
    const Source *source = &e->sources[0];
    const Sheet *sheet = source->sheet;
    int64_t row = source->next_row - sheet->first;
    if (row >= sheet->route_count)
        return false;
    if (e->events.size == 0)
        return true;
    const Entry *top = &e->events.entries[0];
    double arrival_s = sheet->arrival_s[row];
    return arrival_s < top->time_s || (arrival_s == top->time_s && e->arrival_number < top->number);
}

static void arrive(Engine *e)
{
    Source *source = &e->sources[0];
    e->now_s = source->sheet->arrival_s[source->next_row - source->sheet->first];
    int64_t slot = next_request(e, source, NIL);
    e->arrival_number = e->inserted++; /* of the next arrival, before the events that this one inserts */
    begin_request(e, slot);
}

/* Number of slots from which prefetching pays: measured with 32 visits per slot; with 512 slots it costs a tenth. */
#define PREFETCH_SLOTS 1024

/* Prefetch the memory that the next events access. The next event is one of the two children of the top, the one after
 * it at most a level below them: for that level only the tokens are prefetched; for the children, whose tokens have
 * arrived by then, what a departure needs. Always inline: GCC removes calls of functions that only prefetch. */
static inline __attribute__((always_inline)) void prefetch_events(Engine *e)
{
    const Entry *entries = e->events.entries;
    int64_t size = e->events.size;
    for (int64_t i = 3; i < 7 && i < size; i++) {
        __builtin_prefetch(&e->tokens[entries[i].argument]); /* for other kinds of event a harmless address */
        __builtin_prefetch(&e->tokens[entries[i].argument + 1]);
    }
    for (int64_t i = 1; i < 3 && i < size; i++) {
        int64_t token = entries[i].argument;
        if (entries[i].kind > DEPART_SERVED)
            continue;
        const Token *job = token_at(e, token);
        __builtin_prefetch(&e->stations[job->station]);
        __builtin_prefetch(&e->attempts[attempt_of(e, token)]);
        if (!position_of(e, job)->is_last && job[1].station >= 0)
            __builtin_prefetch(&e->stations[job[1].station]);
        else
            __builtin_prefetch(&e->slots[slot_of(e, token)]);
    }
}

static bool add_slots(Engine *e);
static bool add_results(Engine *e, int64_t requests);

/* Execute events until the end or until a source needs its next Sheet. */
static int advance(Engine *e)
{
    int64_t requests = e->begun - e->results.first;
    for (const Source *source = e->sources; source < e->sources + e->source_count; source++)
        requests += source->sheet ? source->sheet->first + source->sheet->route_count - source->next_row : 0;
    if (!add_results(e, requests))
        return KERNEL_STATUS_OUT_OF_MEMORY;
    count_idle(e);
    check_tokens(e);
    for (;;) {
        if (e->wanted != NIL)
            return KERNEL_STATUS_NEED_SHEET;
        if (UNLIKELY(e->free_count == 0) && !add_slots(e)) /* an event takes at most one */
            return KERNEL_STATUS_OUT_OF_MEMORY;
        if (e->program->open_loop && arrives_next(e)) {
            arrive(e);
        } else if (e->events.size) {
            const Entry *top = &e->events.entries[0];
            if (UNLIKELY(top->time_s < e->now_s))
                return KERNEL_STATUS_CLOCK_RAN_BACK;
            e->now_s = top->time_s;
            e->hole = true;
            if (e->slot_count >= PREFETCH_SLOTS)
                prefetch_events(e);
            handle(e, top->kind, top->argument, top->detail);
            if (e->hole)
                remove_current_event(e);
        } else {
            return KERNEL_STATUS_DONE;
        }
        if (UNLIKELY(e->out_of_memory))
            return KERNEL_STATUS_OUT_OF_MEMORY;
    }
}
