/* The functions that Python calls: create, advance, read and destroy an engine. */

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

#define FIRST_SLOTS 64

#ifndef KERNEL_SOURCES
#define KERNEL_SOURCES "unknown"
#endif

/* The hash of the sources of this library. */
EXPORTED const char *kernel_sources(void)
{
    return KERNEL_SOURCES;
}

/* Double the slots and their attempts and tokens. */
static RARE bool add_slots(Engine *e)
{
    const Program *program = e->program;
    int64_t old = e->slot_count, slots = old ? 2 * old : FIRST_SLOTS;
    int64_t had = old << e->attempt_bits, attempts = slots << e->attempt_bits;
    if (attempts << e->position_bits > INT32_MAX)
        return false;
    int64_t width = program->paths ? path_width(e) : 0;
    int64_t *free_slots = reallocate(e->free_slots, e->free_count, slots, sizeof *free_slots);
    if (!free_slots)
        return false;
    e->free_slots = free_slots;
    WIDEN(slots, old, slots);
    WIDEN(attempts, had, attempts);
    WIDEN(tokens, had << e->position_bits, attempts << e->position_bits);
    WIDEN(began_s, program->paths ? had << e->position_bits : 0, program->paths ? attempts << e->position_bits : 0);
    WIDEN(member_of_attempt, had * program->groups_count, attempts * program->groups_count);
    WIDEN(path_of_attempt, had * width, attempts * width);
    if (program->sub_requests_count) {
        WIDEN(relatives, old, slots);
        WIDEN(family_of_token, had << e->position_bits, attempts << e->position_bits);
        WIDEN(inherited_path, old * width, slots * width);
    }
    e->slot_count = slots;
    for (int64_t slot = old; slot < slots; slot++) {
        e->slots[slot].is_free = 1;
        e->free_slots[e->free_count++] = slot;
    }
    return true;
}

/* Make room for the results of `requests` requests. */
static RARE bool add_results(Engine *e, int64_t requests)
{
    Columns *results = &e->results;
    if (requests <= results->capacity)
        return true;
    int64_t capacity = requests > 2 * results->capacity ? requests : 2 * results->capacity;
    size_t path = e->program->paths ? 1 + 2 * (size_t)e->program->roles : 0;
    if ((uint64_t)capacity > SIZE_MAX / sizeof(double) / (path + 1))
        return false;
#define REALLOC(column, each)                                                                          \
    do {                                                                                               \
        void *made = realloc(results->column, (size_t)capacity * (each) * sizeof *results->column + 1); \
        if (!made)                                                                                     \
            return false;                                                                              \
        results->column = made;                                                                        \
    } while (0)
    REALLOC(start_s, 1);
    REALLOC(first_byte_s, 1);
    REALLOC(end_s, 1);
    REALLOC(client, 1);
    REALLOC(failure, 1);
    REALLOC(attempts, 1);
    REALLOC(winner, 1);
    REALLOC(path_s, path);
    results->capacity = capacity;
    return true;
}

static bool make_stations(Engine *e)
{
    const Program *program = e->program;
    int64_t with_classes = 0;
    for (int64_t i = 0; i < e->station_count; i++)
        with_classes += HAS_CLASSES(program->stations[i].discipline);
    e->stations = allocate(e->station_count, sizeof *e->stations);
    e->extras = allocate(e->station_count, sizeof *e->extras);
    e->class_queues = allocate(with_classes * program->classes, sizeof *e->class_queues);
    if (!e->stations || !e->extras || !e->class_queues)
        return false;
    ClassQueue *classes = e->class_queues;
    for (int64_t i = 0; i < e->station_count; i++) {
        const StationLayout *of = &program->stations[i];
        Station *at = &e->stations[i];
        at->discipline = (uint8_t)of->discipline;
        at->servers = of->servers < INT32_MAX ? (int32_t)of->servers : INT32_MAX;
        at->sets_up = of->setup_s != 0;
        at->caches = of->cold_penalty_s > 0;
        if (of->shares_server) {
            at->paired = 2;
            (at - 1)->paired = 1;
        }
        at->speed = e->extras[i].warm_fraction = 1.0;
        if (HAS_CLASSES(at->discipline)) {
            e->extras[i].classes = classes;
            classes += program->classes;
        }
    }
    return true;
}

static bool make_group(Group *group, const GroupLayout *of, int64_t stations)
{
    group->names = of->rows ? stations : of->members;
    group->present = allocate(group->names, sizeof *group->present);
    group->outstanding = allocate(group->names, sizeof *group->outstanding);
    if (!group->present || !group->outstanding)
        return false;
    memset(group->present, 1, (size_t)group->names);
    group->present_count = group->names;
    if (of->choice != CHOICE_LEAST_OUTSTANDING || of->rows)
        return true;
    for (group->leaves = 1; group->leaves < of->members;)
        group->leaves *= 2;
    group->best = allocate(2 * group->leaves, sizeof *group->best);
    if (!group->best)
        return false;
    for (int64_t leaf = 0; leaf < group->leaves; leaf++)
        group->best[group->leaves + leaf] = leaf < of->members ? leaf : NIL;
    for (int64_t node = group->leaves - 1; node >= 1; node--)
        group->best[node] = less_outstanding(group, group->best[2 * node], group->best[2 * node + 1]);
    return true;
}

static bool make_policies(Engine *e)
{
    e->policies = allocate(e->program->routes_count, sizeof *e->policies);
    if (!e->policies)
        return false;
    for (int64_t i = 0; i < e->program->routes_count; i++) {
        const RouteLayout *route = &e->program->routes[i];
        PolicyState *policy = &e->policies[i];
        policy->retry_tokens = route->retry_tokens;
        policy->hedge_tokens = route->hedge_tokens;
        if (route->quantile > 0 && route->first_with_policy == i &&
            !(policy->bins = allocate(1, sizeof(LatencyHistogram))))
            return false;
    }
    return true;
}

static bool make_state(Engine *e)
{
    const Program *program = e->program;
    int64_t background = e->background->route_count;
    e->groups = allocate(program->groups_count, sizeof *e->groups);
    e->background_next = allocate(program->backgrounds_count, sizeof *e->background_next);
    e->background_end_s = allocate(background, sizeof *e->background_end_s);
    e->client_parked = allocate(program->clients, sizeof *e->client_parked);
    e->source_of_client = allocate(program->clients, sizeof *e->source_of_client);
    e->source_count = (program->open_loop != 0) + program->loops_count;
    e->sources = allocate(e->source_count, sizeof *e->sources);
    if (!e->groups || !e->background_next || !e->background_end_s || !e->client_parked || !e->source_of_client ||
        !e->sources)
        return false;
    for (int64_t i = 0; i < program->loops_count; i++)
        for (int64_t client = program->loops[i].first_client; client < program->loops[i].end_client; client++)
            e->source_of_client[client] = (int32_t)(i + (program->open_loop != 0));
    for (int64_t row = 0; row < background; row++)
        e->background_end_s[row] = NAN;
    for (int64_t group = 0; group < program->groups_count; group++)
        if (!make_group(&e->groups[group], &program->groups[group], e->station_count))
            return false;
    return make_stations(e) && make_policies(e) && add_slots(e);
}

/* Put the first events on the clock: the scenario, background loads, then clients or the first arrival. */
static void start(Engine *e)
{
    const Program *program = e->program;
    for (int64_t i = 0; i < program->actions_count; i++)
        schedule(e, program->actions[i].at_s + 0.0, APPLY_ACTION, i); /* + 0.0: -0 would break the order of bit patterns */
    for (int64_t i = 0; i < program->backgrounds_count; i++)
        schedule_background(e, i);
    if (program->open_loop)
        e->arrival_number = e->inserted++;
    for (const LoopLayout *loop = program->loops; loop < program->loops + program->loops_count; loop++)
        for (int64_t client = loop->first_client; client < loop->end_client; client++)
            schedule(e, (double)(client - loop->first_client) * loop->stagger_s, CLIENT_READY, client);
}

EXPORTED void kernel_destroy(Engine *e)
{
    if (!e)
        return;
    for (int64_t i = 0; e->extras && i < e->station_count; i++) {
        free_heap(&e->extras[i].shared);
        free(e->extras[i].waiting);
        free(e->extras[i].death_s);
    }
    for (int64_t i = 0; e->groups && i < e->program->groups_count; i++) {
        free(e->groups[i].present);
        free(e->groups[i].outstanding);
        free(e->groups[i].best);
    }
    for (int64_t i = 0; e->policies && i < e->program->routes_count; i++)
        free(e->policies[i].bins);
    free_heap(&e->events);
    for (Descendants *of = e->descendants, *after; of; of = after) {
        after = of->after;
        free(of);
    }
    void *arrays[] = {
        e->stations, e->extras, e->class_queues, e->slots, e->free_slots, e->attempts, e->tokens, e->began_s,
        e->member_of_attempt, e->path_of_attempt, e->groups, e->policies, e->background_next, e->background_end_s,
        e->client_parked, e->source_of_client, e->sources, e->results.start_s, e->results.first_byte_s, e->results.end_s, e->results.path_s,
        e->relatives, e->family_of_token, e->inherited_path, e->families, e->free_families, e->member_of_family,
        e->path_of_family, e->results.client, e->results.attempts, e->results.winner, e->results.failure,
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    free(e);
}

/* Check a program and its background requests; returns the fault and the index of the element that has it. */
EXPORTED int kernel_check(const Program *program, const Sheet *background, int64_t *at)
{
    int fault = check_program(program, at);
    if (!fault)
        fault = check_sub_requests(program, at);
    if (!fault)
        fault = check_background(program, background, at);
    return fault ? fault : check_descendants(program, background, at);
}

/* Create an engine for a program; NULL if there is no memory. Both arguments must outlive it. */
EXPORTED Engine *kernel_create(const Program *program, const Sheet *background)
{
    Engine *e = allocate(1, sizeof *e);
    if (!e)
        return NULL;
    e->program = program;
    e->background = background;
    e->station_count = program->stations_count;
    e->attempt_bits = (int)program->attempt_bits;
    e->position_bits = (int)program->position_bits;
    if (make_state(e))
        start(e);
    else
        e->out_of_memory = true;
    if (!e->out_of_memory)
        return e;
    kernel_destroy(e);
    return NULL;
}

/* The source that needs a sheet. */
EXPORTED int64_t kernel_wanted(const Engine *e)
{
    return e->wanted;
}

/* Check the next sheet of the wanted source; returns the fault and the row that has it. */
EXPORTED int kernel_check_sheet(const Engine *e, const Sheet *sheet, int64_t *at)
{
    int fault = check_sheet(e, sheet, at);
    return fault ? fault : check_descendants(e->program, sheet, at);
}

/* Execute the next sheet of the wanted source, which must have been checked and must outlive the next one; returns a
 * status. */
EXPORTED int kernel_advance(Engine *e, const Sheet *sheet)
{
    Source *source = &e->sources[e->wanted];
    int64_t count = sheet->route_count;
    if (count) {
        source->last_arrival_s = sheet->arrival_s[count - 1];
        source->last_phase = sheet->phase[count - 1];
    }
    source->sheet = sheet;
    if (count || sheet->is_last) {
        e->wanted = NIL;
        for (int64_t i = e->source_count - 1; i >= 0; i--)
            if (!e->sources[i].sheet)
                e->wanted = i;
    }
    return advance(e);
}

/* The number of requests begun. */
EXPORTED int64_t kernel_begun(const Engine *e)
{
    return e->begun;
}

/* Update all integrals to the end, and store requests in flight in the results. */
EXPORTED void kernel_finish(Engine *e)
{
    count_idle(e);
    check_tokens(e);
    e->now_s = e->clock_s;
    for (int64_t i = 0; i < e->station_count; i++) {
        Station *at = station_at(e, i);
        if (SHARES(at->discipline))
            integrate_shared(e, at);
        else if (HOLDS_TOKENS(at->discipline))
            integrate_pool(e, at);
    }
    for (int64_t slot = 0; slot < e->slot_count; slot++) {
        const Slot *request = slot_at(e, slot);
        if (!request->is_free && !request->ended && !request->background && !request->is_child)
            put_result(e, request, NAN, FAILURE_NONE, NIL);
    }
}

/* The number of requests whose results can be taken: those before the first one in flight. */
EXPORTED int64_t kernel_ready(const Engine *e)
{
    const Columns *results = &e->results;
    int64_t rows = e->begun - results->first, ready = 0;
    while (ready < rows && !isnan(results->end_s[ready]))
        ready++;
    return ready;
}

/* Take the results of the next requests, and copy those of background operations and stations. The lengths of the
 * caller's arrays say how many. */
EXPORTED void kernel_take(Engine *e, Results *to)
{
    Columns *from = &e->results;
    int64_t taken = to->start_s_count, left = e->begun - from->first - taken;
    CHECK(left >= 0);
    to->clock_s = e->clock_s;
    to->in_flight = e->outstanding;
    to->idle_with_queue = e->idle_with_queue;
/* No more than the caller has room for, whatever width of a path the program gives. */
#define TAKE(column, each)                                                                                  \
    do {                                                                                                    \
        int64_t count = taken * (each);                                                                     \
        int64_t copied = count < to->column##_count ? count : to->column##_count;                           \
        memcpy(to->column, from->column, (size_t)copied * sizeof *to->column);                              \
        memmove(from->column, from->column + count, (size_t)(left * (each)) * sizeof *to->column);          \
    } while (0)
    if (taken) {
        TAKE(start_s, 1);
        TAKE(first_byte_s, 1);
        TAKE(end_s, 1);
        TAKE(client, 1);
        TAKE(failure, 1);
        TAKE(attempts, 1);
        TAKE(winner, 1);
        TAKE(path_s, e->program->paths ? path_width(e) : 0);
        from->first += taken;
    }
    memcpy(to->background_end_s, e->background_end_s, (size_t)to->background_end_s_count * sizeof(double));
    for (int64_t i = 0; i < to->visits_count; i++) {
        const Station *at = &e->stations[i];
        to->visits[i] = at->visits;
        to->busy_s[i] = at->busy_s;
        to->waiting_s[i] = at->waiting_s;
        to->held[i] = at->busy;
        to->waiting[i] = at->live;
    }
}
