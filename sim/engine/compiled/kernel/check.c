/* The boundary: checks of the input from Python. Everything on which the event loop relies is checked here before it
 * begins, except types, shapes and contiguity, which Python checks. Each function returns a fault, or none, and the
 * index of the element that has it. */

#define WITHIN(value, low, end) ((value) >= (low) && (value) < (end))

/* Whether a value is finite and not negative; false for NaN. */
static inline bool is_duration(double value)
{
    return value >= 0 && value < INFINITY;
}

/* Whether a value is the demand of a visit: a duration, or the mark of a visit that the request passes by. */
static inline bool is_demand(double value)
{
    return is_duration(value) || value == PASSES_BY;
}

/* Whether a station may share its server with another one. */
static bool may_pair(const StationLayout *s)
{
    return (s->discipline == DISCIPLINE_FIFO || s->discipline == DISCIPLINE_GROUP_COMMIT) && s->servers == 1 &&
           s->setup_s == 0 && !(s->cold_penalty_s > 0);
}

/* Whether a station has a server of its own, or shares that of the station before it, which has one of its own. */
static bool pairs_well(const Program *p, int64_t at)
{
    const StationLayout *s = &p->stations[at];
    return s->shares_server == 0 ||
           (s->shares_server >= 1 && (s->shares_server == 1 || BATCHES(s->discipline)) && at > 0 && s[-1].shares_server == 0 && may_pair(s) && may_pair(s - 1));
}

/* Whether a station shares its server with another one. */
static bool is_paired(const Program *p, int64_t at)
{
    return p->stations[at].shares_server || (at + 1 < p->stations_count && p->stations[at + 1].shares_server);
}

static int check_stations(const Program *p, int64_t *at)
{
    for (*at = 0; *at < p->stations_count; ++*at) {
        const StationLayout *s = &p->stations[*at];
        if (!WITHIN(s->discipline, 0, DISCIPLINES) || !WITHIN(s->role, 0, p->roles) || s->servers < 1 ||
            (HAS_ONE_SERVER(s->discipline) && s->servers != 1) || s->queue_limit < 0 ||
            s->poll_limit < 1 || !is_duration(s->batch_item_s) || !is_duration(s->flush_s) || !is_duration(s->poll_s) ||
            !is_duration(s->period_s) || (s->period_s != 0 && !IS_GATE(s->discipline)) ||
            !(s->phase_s >= 0 && s->phase_s <= s->period_s) ||
            !(s->queue_s >= 0) || !(s->queued_each_s >= 0) || (s->queue_s > 0 && !SHARES(s->discipline)) ||
            !is_duration(s->setup_s) || !is_duration(s->repeat_s) || s->repeat_limit < 0 || !(s->age_bias >= 0 && s->age_bias <= 1) || !is_duration(s->cold_penalty_s) ||
            !(s->warm_up_s > 0) || !(s->decay_s > 0) || !pairs_well(p, *at))
            return INPUT_FAULT_STATION;
        for (int64_t c = 0; c < p->classes; c++)
            if (!(p->weights[*at * p->classes + c] > 0))
                return INPUT_FAULT_STATION;
    }
    return INPUT_FAULT_NONE;
}

static int check_route(const Program *p, const RouteLayout *r)
{
    if (!WITHIN(r->first_stage, 0, p->stages_count) || r->end_stage <= r->first_stage ||
        r->end_stage > p->stages_count || !WITHIN(r->first_position, 0, p->positions_count) || r->visits < 1 ||
        r->visits > p->positions_count - r->first_position || r->visits > INT64_C(1) << p->position_bits ||
        !WITHIN(r->priority, 0, p->classes) || !WITHIN(r->first_with_policy, 0, p->routes_count) || r->attempts < 1 || r->attempts > INT64_C(1) << p->attempt_bits ||
        r->attempts > INT16_MAX || !WITHIN(r->retries, 0, r->attempts) || !(r->timeout_s > 0) ||
        !(r->backoff_s >= 0) || !(r->backoff_max_s >= 0) || !(r->jitter >= 0 && r->jitter <= 1) ||
        !(r->retry_budget >= 0) || !(r->retry_tokens >= 0) || !(r->hedge_budget >= 0) || !(r->hedge_tokens >= 0) || !(r->second_s >= 0) ||
        !(r->quantile >= 0 && r->quantile < 1))
        return INPUT_FAULT_ROUTE;
    bool has_second = r->second_s < INFINITY || r->quantile > 0;
    return r->attempts == 1 + r->retries + has_second && (!r->tied || p->tied) ? INPUT_FAULT_NONE : INPUT_FAULT_ROUTE;
}

/* A route's branches are its positions cut at those that are a branch's last, stage by stage. */
static int check_branches(const Program *p, const RouteLayout *r)
{
    int64_t visit = 0;
    for (int64_t s = r->first_stage; s < r->end_stage; s++) {
        const StageLayout *stage = &p->stages[s];
        if (!WITHIN(stage->first_branch, 0, p->branch_first_position_count) ||
            stage->end_branch <= stage->first_branch || stage->end_branch > p->branch_first_position_count ||
            stage->need < 1 || stage->need > stage->end_branch - stage->first_branch)
            return INPUT_FAULT_STAGE;
        for (int64_t b = stage->first_branch; b < stage->end_branch; b++) {
            if (p->branch_first_position[b] != visit)
                return INPUT_FAULT_STAGE;
            bool is_last = false;
            for (; !is_last; visit++) {
                if (visit >= r->visits || p->positions[r->first_position + visit].stage != s)
                    return INPUT_FAULT_POSITION;
                is_last = p->positions[r->first_position + visit].is_last;
            }
        }
    }
    return visit == r->visits ? INPUT_FAULT_NONE : INPUT_FAULT_POSITION;
}

static int check_routes(const Program *p, int64_t *at)
{
    for (*at = 0; *at < p->routes_count; ++*at) {
        int fault = check_route(p, &p->routes[*at]);
        if (!fault)
            fault = check_branches(p, &p->routes[*at]);
        if (fault)
            return fault;
    }
    return INPUT_FAULT_NONE;
}

/* Whether an array of `count` numbers has `rows` x `columns` of them from `first` on; none of the three overflows. */
static bool has_table(int64_t count, int64_t first, int64_t rows, int64_t columns)
{
    return first >= 0 && rows >= 0 && columns >= 0 && first <= count && (!columns || rows <= (count - first) / columns);
}

/* Whether all numbers of a table are within limits; it exists. */
static bool are_within(const int64_t *table, int64_t rows, int64_t columns, int64_t low, int64_t limit)
{
    for (int64_t i = 0; i < rows * columns; i++)
        if (!WITHIN(table[i], low, limit))
            return false;
    return true;
}

/* Whether a group has a joined table whose coordinators are its members. */
static bool is_join_fit(const Program *p, const GroupLayout *g)
{
    if (g->join >= p->joins_count)
        return false;
    const JoinLayout *j = &p->joins[g->join];
    if (j->keys < 1 || j->epochs < 1 || j->joins < 1 || j->coordinators != g->members || g->members % j->epochs ||
        !has_table(p->placement_station_count, j->first_key, j->keys, j->key_parts) ||
        !has_table(p->member_station_count, j->first_coordinator, j->coordinators, j->coordinator_parts) ||
        !has_table(p->join_of_key_count, j->first_of_epochs, j->epochs, j->keys) ||
        !has_table(p->near_coordinator_count, j->first_near, j->keys, j->near) || j->near >= j->joins ||
        !has_table(p->joined_part_count, j->first_part, j->joins, g->positions))
        return false;
    return are_within(p->member_station + j->first_coordinator, j->coordinators, j->coordinator_parts, 0,
                      p->stations_count) &&
           are_within(p->join_of_key + j->first_of_epochs, j->epochs, j->keys, 0, j->joins - j->near) &&
           are_within(p->joined_part + j->first_part, j->joins, g->positions, -j->key_parts - j->coordinator_parts,
                      p->stations_count);
}

static int check_groups(const Program *p, int64_t *at)
{
    for (*at = 0; *at < p->groups_count; ++*at) {
        const GroupLayout *g = &p->groups[*at];
        int64_t columns = g->rows ? g->columns : p->stations_count;
        if (!WITHIN(g->choice, CHOICE_HASH, CHOICE_CLIENT + 1) || g->members < 1 ||
            !WITHIN(g->positions, 1, BOUND_POSITIONS + 1) || g->rows < 0 || (g->rows && g->join >= 0))
            return INPUT_FAULT_GROUP;
        if (g->join >= 0) {
            if (!is_join_fit(p, g))
                return INPUT_FAULT_GROUP;
            continue;
        }
        if (!has_table(p->member_station_count, g->first_member, g->members, g->positions) ||
            !are_within(p->member_station + g->first_member, g->members, g->positions, 0, columns))
            return INPUT_FAULT_GROUP;
        if (g->rows &&
            (g->columns < 1 || !has_table(p->placement_station_count, g->first_row, g->rows, g->columns)))
            return INPUT_FAULT_GROUP;
    }
    return are_within(p->placement_station, p->placement_station_count, 1, 0, p->stations_count) ? INPUT_FAULT_NONE
                                                                                                 : INPUT_FAULT_GROUP;
}

static int check_action(const Program *p, const ActionLayout *a)
{
    if (!is_duration(a->at_s))
        return INPUT_FAULT_ACTION;
    if (a->kind == ACTION_KIND_JOIN || a->kind == ACTION_KIND_LEAVE) {
        if (!WITHIN(a->target, 0, p->groups_count))
            return INPUT_FAULT_ACTION;
        const GroupLayout *g = &p->groups[a->target];
        return WITHIN(a->member, 0, g->rows ? p->stations_count : g->members) ? INPUT_FAULT_NONE : INPUT_FAULT_ACTION;
    }
    if (!WITHIN(a->kind, ACTION_KIND_SPEED, ACTION_KIND_OPEN + 1) || !WITHIN(a->target, 0, p->stations_count) || !(a->value > 0) ||
        !(a->value < INFINITY))
        return INPUT_FAULT_ACTION;
    int64_t discipline = p->stations[a->target].discipline;
    if ((a->kind == ACTION_KIND_DOWN || a->kind == ACTION_KIND_UP) && is_paired(p, a->target))
        return INPUT_FAULT_ACTION;
    if (p->stations[a->target].period_s != 0)
        return INPUT_FAULT_ACTION;
    bool of_gates = a->kind == ACTION_KIND_SHUT || a->kind == ACTION_KIND_OPEN;
    bool may_change = !HOLDS_TOKENS(discipline) && !COUNTS_COMMITS(discipline);
    return of_gates == IS_GATE(discipline) && may_change ? INPUT_FAULT_NONE : INPUT_FAULT_ACTION;
}

static int check_actions(const Program *p, int64_t *at)
{
    for (*at = 0; *at < p->actions_count; ++*at)
        if (check_action(p, &p->actions[*at]))
            return INPUT_FAULT_ACTION;
    return INPUT_FAULT_NONE;
}

/* Whether the closed loops do not have all clients in order, or there is no source. */
static bool check_loops(const Program *p)
{
    int64_t end = 0;
    for (const LoopLayout *loop = p->loops; loop < p->loops + p->loops_count; loop++) {
        if (loop->first_client != end || loop->end_client < end || loop->end_client > p->clients ||
            !is_duration(loop->stagger_s) || !(loop->limit_s >= 0))
            return true;
        end = loop->end_client;
    }
    return end != p->clients || (!p->open_loop && !p->loops_count);
}

static int check_program(const Program *p, int64_t *at)
{
    *at = 0;
    if (p->stations_count < 1 || p->stations_count >= INT32_MAX || p->routes_count < 1 ||
        !WITHIN(p->classes, 1, 1 << 16) || !WITHIN(p->roles, 1, p->stations_count + 1) ||
        !WITHIN(p->clients, 0, INT32_MAX) || !WITHIN(p->position_bits, 0, 20) || !WITHIN(p->attempt_bits, 0, 10) ||
        check_loops(p) || p->positions_count >= INT32_MAX ||
        p->stages_count >= INT32_MAX || p->actions_count >= 1 << 24)
        return INPUT_FAULT_COUNTS;
    if (p->weights_count != p->stations_count * p->classes)
        return INPUT_FAULT_SIZES;
    int fault = check_stations(p, at);
    if (!fault)
        fault = check_routes(p, at);
    if (!fault)
        fault = check_groups(p, at);
    return fault ? fault : check_actions(p, at);
}

/* Whether a station's code is one of a station, or of a group's position that all its members have. */
static inline bool is_visitable(const Program *p, int64_t code)
{
    if (code >= 0)
        return code < p->stations_count;
    int64_t group = (-1 - code) / BOUND_POSITIONS;
    return group < p->groups_count && (-1 - code) % BOUND_POSITIONS < p->groups[group].positions;
}

/* Whether all visits of a sheet are fit: a pass over each column, without a branch so that it can be vectorised. */
static bool are_visits_fit(const Program *p, const Sheet *sheet)
{
    int32_t limit = (int32_t)p->stations_count, beyond = 0, bound = 0, durations = 1, fit = 1;
    for (int64_t i = 0; i < sheet->station_count; i++) {
        beyond |= sheet->station[i] >= limit;
        bound |= sheet->station[i] < 0;
    }
    for (int64_t i = 0; bound && i < sheet->station_count; i++)
        fit &= is_visitable(p, sheet->station[i]);
    for (int64_t i = 0; i < sheet->demand_s_count; i++)
        durations &=
            ((sheet->demand_s[i] >= 0) & (sheet->demand_s[i] < INFINITY)) | (sheet->demand_s[i] == PASSES_BY);
    return !beyond && fit && durations;
}

/* `fit`: all of the sheet's visits are. */
static int check_visits(const Program *p, const Sheet *sheet, int64_t row, bool fit)
{
    const RouteLayout *route = &p->routes[sheet->route[row]];
    int64_t first = sheet->first_visit[row], count = route->visits * route->attempts;
    if (first < 0 || count > sheet->station_count - first)
        return INPUT_FAULT_SHEET_VISITS;
    for (int64_t i = first; !fit && i < first + count; i++) {
        if (!is_visitable(p, sheet->station[i]))
            return INPUT_FAULT_SHEET_STATION;
        if (!is_demand(sheet->demand_s[i]))
            return INPUT_FAULT_SHEET_DEMAND;
    }
    return INPUT_FAULT_NONE;
}

/* Arrivals count in open loops, think times and phases in closed ones; none of them goes back. */
static int check_sheet(const Engine *e, const Sheet *sheet, int64_t *at)
{
    const Program *p = e->program;
    const Source *source = &e->sources[e->wanted];
    bool is_open = p->open_loop && e->wanted == 0;
    double since_s = source->last_arrival_s;
    int64_t phase = source->last_phase, count = sheet->route_count;
    *at = 0;
    if (sheet->first != source->next_row)
        return INPUT_FAULT_SHEET_FIRST;
    if (sheet->arrival_s_count != count || sheet->think_s_count != count ||
        sheet->phase_count != count || sheet->key_hash_count != count || sheet->first_visit_count != count ||
        sheet->station_count != sheet->demand_s_count)
        return INPUT_FAULT_SIZES;
    bool fit = are_visits_fit(p, sheet);
    for (; *at < count; ++*at) {
        int64_t row = *at;
        if (!WITHIN(sheet->route[row], 0, p->routes_count))
            return INPUT_FAULT_SHEET_ROUTE;
        if (is_open && !(sheet->arrival_s[row] >= since_s && sheet->arrival_s[row] < INFINITY))
            return INPUT_FAULT_SHEET_ARRIVAL;
        if (!is_open && !is_duration(sheet->think_s[row]))
            return INPUT_FAULT_SHEET_THINK;
        if (!is_open && sheet->phase[row] < phase)
            return INPUT_FAULT_SHEET_PHASE;
        since_s = sheet->arrival_s[row];
        phase = sheet->phase[row];
        int fault = check_visits(p, sheet, row, fit);
        if (fault)
            return fault;
    }
    return INPUT_FAULT_NONE;
}

static int check_background(const Program *p, const Sheet *sheet, int64_t *at)
{
    int64_t end = 0;
    for (*at = 0; *at < p->backgrounds_count; ++*at) {
        const BackgroundLayout *load = &p->backgrounds[*at];
        if (load->first_row != end || load->end_row < end || load->end_row > sheet->route_count)
            return INPUT_FAULT_BACKGROUND;
        end = load->end_row;
        for (int64_t row = load->first_row; row < end; row++) {
            if (!WITHIN(sheet->route[row], 0, p->routes_count) || p->routes[sheet->route[row]].attempts != 1 ||
                p->routes[sheet->route[row]].timeout_s < INFINITY || !is_duration(sheet->arrival_s[row]) ||
                (row > load->first_row && sheet->arrival_s[row] < sheet->arrival_s[row - 1]) ||
                check_visits(p, sheet, row, false))
                return INPUT_FAULT_BACKGROUND;
        }
    }
    return end == sheet->route_count ? INPUT_FAULT_NONE : INPUT_FAULT_BACKGROUND;
}
