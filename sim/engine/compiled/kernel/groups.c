/* Choice of a group member: the same as `sim/engine/reference/load_balancer.py`.
 *
 * A member is identified by its index or, if members are columns of a placement table, by its first station. If members are stations,
 * there may be thousands (gateways), so a choice must not iterate over all: if all are present, the candidate at a place
 * follows from those taken, and the least outstanding one is the root of a tournament: a binary tree whose leaves are
 * the members and whose inner nodes are the better of their two children, the first of equals.
 */

/* The station of a key and a coordinator in a column of a joined table. */
static RARE int64_t joined_station(Engine *e, const GroupLayout *of, int64_t key, int64_t coordinator, int64_t column)
{
    const Program *p = e->program;
    const JoinLayout *table = &p->joins[of->join];
    int64_t each = table->coordinators / table->epochs;
    int64_t epoch = coordinator / each, number = coordinator % each;
    const int64_t *near = p->near_coordinator + table->first_near + key * table->near;
    int64_t join = p->join_of_key[table->first_of_epochs + epoch * table->keys + key];
    for (int64_t i = 0; i < table->near; i++)
        if (near[i] == number) {
            join += 1 + i;
            break;
        }
    CHECK(join < table->joins);
    int64_t part = p->joined_part[table->first_part + join * of->positions + column];
    if (part >= 0)
        return part;
    part = -1 - part;
    if (part < table->key_parts)
        return p->placement_station[table->first_key + key * table->key_parts + part];
    part -= table->key_parts;
    return p->member_station[table->first_coordinator + coordinator * table->coordinator_parts + part];
}

/* The station at a position of a group member. */
static int64_t station_of_member(Engine *e, int64_t slot, int64_t group, int64_t member, int64_t position)
{
    const GroupLayout *of = group_layout(e, group);
    CHECK(member >= 0 && member < of->members && position < of->positions);
    if (of->join >= 0) {
        int64_t key = (int64_t)(slot_at(e, slot)->key % (uint64_t)e->program->joins[of->join].keys);
        return joined_station(e, of, key, member, position);
    }
    int64_t station = e->program->member_station[of->first_member + member * of->positions + position];
    if (of->rows) {
        int64_t row = (int64_t)(slot_at(e, slot)->key % (uint64_t)of->rows);
        CHECK(station >= 0 && station < of->columns);
        station = e->program->placement_station[of->first_row + row * of->columns + station];
    }
    return station;
}

/* The identifier of a member. */
static inline int64_t name_of(Engine *e, int64_t slot, int64_t group, int64_t member)
{
    int64_t name = group_layout(e, group)->rows ? station_of_member(e, slot, group, member, 0) : member;
    CHECK(name >= 0 && name < e->groups[group].names);
    return name;
}

static inline bool is_present(Engine *e, int64_t slot, int64_t group, int64_t member)
{
    return e->groups[group].present[name_of(e, slot, group, member)];
}

static inline int64_t outstanding(Engine *e, int64_t slot, int64_t group, int64_t member)
{
    return e->groups[group].outstanding[name_of(e, slot, group, member)];
}

/* The better of two members; NIL is worse than any. */
static inline int64_t less_outstanding(const Group *group, int64_t first, int64_t second)
{
    if (first == NIL || second == NIL)
        return first == NIL ? second : first;
    return group->outstanding[second] < group->outstanding[first] ? second : first;
}

/* Replay a member's matches; `plays`: it may win. */
static void update_tournament(Group *group, int64_t member, bool plays)
{
    int64_t node = group->leaves + member;
    CHECK(member >= 0 && member < group->leaves);
    group->best[node] = plays ? member : NIL;
    for (node >>= 1; node >= 1; node >>= 1)
        group->best[node] = less_outstanding(group, group->best[2 * node], group->best[2 * node + 1]);
}

static void change_outstanding(Engine *e, int64_t slot, int64_t group, int64_t member, int64_t change)
{
    Group *of = &e->groups[group];
    int64_t name = name_of(e, slot, group, member);
    of->outstanding[name] += change;
    CHECK(of->outstanding[name] >= 0);
    if (of->best)
        update_tournament(of, name, of->present[name]);
}

static void decrement_outstanding(Engine *e, int64_t slot, int64_t group, int64_t member)
{
    change_outstanding(e, slot, group, member, -1);
}

/* Let a member join or leave; `name` is that of `name_of`. */
static RARE void set_present(Engine *e, int64_t group, int64_t name, bool present)
{
    Group *of = &e->groups[group];
    CHECK(name >= 0 && name < of->names);
    of->present_count += present - of->present[name];
    of->present[name] = present;
    if (of->best)
        update_tournament(of, name, present);
}

/* The member to which an attempt of the request is bound; NIL: none. */
static inline int64_t member_of(Engine *e, int64_t slot, int64_t number, int64_t group)
{
    return *member_at(e, (slot << e->attempt_bits) + number, group);
}

/* Whether one of the first `attempts` attempts of the request is bound to the member. */
static bool is_taken(Engine *e, int64_t slot, int64_t group, int64_t member, int64_t attempts)
{
    for (int64_t number = 0; number < attempts; number++)
        if (member_of(e, slot, number, group) == member)
            return true;
    return false;
}

static inline bool is_candidate(Engine *e, int64_t slot, int64_t group, int64_t member, bool fresh)
{
    return is_present(e, slot, group, member) &&
           !(fresh && is_taken(e, slot, group, member, slot_at(e, slot)->attempts));
}

/* Members present, or those of them that no attempt of the request is bound to. */
static int64_t count_candidates(Engine *e, int64_t slot, int64_t group, bool fresh)
{
    const GroupLayout *of = group_layout(e, group);
    int64_t count = 0;
    if (of->rows) {
        for (int64_t member = 0; member < of->members; member++)
            count += is_candidate(e, slot, group, member, fresh);
        return count;
    }
    count = e->groups[group].present_count;
    for (int64_t number = 0; fresh && number < slot_at(e, slot)->attempts; number++) {
        int64_t member = member_of(e, slot, number, group);
        count -= member >= 0 && is_present(e, slot, group, member) && !is_taken(e, slot, group, member, number);
    }
    return count;
}

/* The candidate at a place, in the order of members. */
static int64_t candidate(Engine *e, int64_t slot, int64_t group, bool fresh, int64_t place)
{
    const GroupLayout *of = group_layout(e, group);
    if (!of->rows && e->groups[group].present_count == of->members) {
        /* Skip those taken, in ascending order; there are few. */
        int64_t attempts = fresh ? slot_at(e, slot)->attempts : 0;
        for (int64_t last = NIL;;) {
            int64_t least = of->members;
            for (int64_t number = 0; number < attempts; number++) {
                int64_t member = member_of(e, slot, number, group);
                if (member > last && member < least)
                    least = member;
            }
            if (least > place)
                return place;
            place++;
            last = least;
        }
    }
    for (int64_t member = 0; member < of->members; member++)
        if (is_candidate(e, slot, group, member, fresh) && place-- == 0)
            return member;
    CHECK(false);
    return NIL;
}

/* The candidate with the fewest outstanding attempts, the first of equals. */
static int64_t least_outstanding(Engine *e, int64_t slot, int64_t group, bool fresh)
{
    Group *of = &e->groups[group];
    if (!of->best) {
        int64_t best = NIL;
        for (int64_t member = 0; member < group_layout(e, group)->members; member++)
            if (is_candidate(e, slot, group, member, fresh) &&
                (best == NIL || outstanding(e, slot, group, member) < outstanding(e, slot, group, best)))
                best = member;
        return best;
    }
    int64_t attempts = fresh ? slot_at(e, slot)->attempts : 0;
    for (int64_t number = 0; number < attempts; number++) /* exclude those taken */
        if (member_of(e, slot, number, group) >= 0)
            update_tournament(of, member_of(e, slot, number, group), false);
    int64_t best = of->best[1];
    for (int64_t number = 0; number < attempts; number++) {
        int64_t member = member_of(e, slot, number, group);
        if (member >= 0)
            update_tournament(of, member, of->present[member]);
    }
    return best;
}

static int64_t draw_place(Engine *e, int64_t group, int64_t count)
{
    uint64_t word = mixed(e->program->seed, group_layout(e, group)->identity, e->groups[group].draws++);
    return (int64_t)(word % (uint64_t)count);
}

/* The one with fewer outstanding attempts of two candidates drawn at random. */
static int64_t better_of_two(Engine *e, int64_t slot, int64_t group, bool fresh, int64_t count)
{
    int64_t place = draw_place(e, group, count);
    int64_t other = draw_place(e, group, count > 1 ? count - 1 : 1);
    other += other >= place && count > 1;
    int64_t first = candidate(e, slot, group, fresh, place), second = candidate(e, slot, group, fresh, other);
    return outstanding(e, slot, group, second) < outstanding(e, slot, group, first) ? second : first;
}

/* A present member, if possible one to which no attempt of the request is bound; NIL: none is present. */
static int64_t pick(Engine *e, int64_t slot, int64_t group)
{
    const GroupLayout *layout = group_layout(e, group);
    if (layout->choice == CHOICE_CLIENT) {
        const Slot *request = slot_at(e, slot);
        return (request->client < 0 ? request->request : request->client) % layout->members;
    }
    bool fresh = true;
    int64_t count = count_candidates(e, slot, group, true), place;
    if (count == 0) {
        fresh = false;
        count = count_candidates(e, slot, group, false);
        if (count == 0)
            return NIL;
    }
    switch (layout->choice) {
    case CHOICE_LEAST_OUTSTANDING:
        return least_outstanding(e, slot, group, fresh);
    case CHOICE_POWER_OF_TWO:
        return better_of_two(e, slot, group, fresh, count);
    case CHOICE_HASH:
        place = (int64_t)(slot_at(e, slot)->key % (uint64_t)count);
        break;
    case CHOICE_ROUND_ROBIN:
        place = e->groups[group].picks++ % count;
        break;
    default:
        place = draw_place(e, group, count);
    }
    return candidate(e, slot, group, fresh, place);
}

/* The station of a run-time binding; NIL if no member is present. */
static RARE int64_t bind(Engine *e, int64_t token, int64_t code)
{
    int64_t group = code / BOUND_POSITIONS, position = code % BOUND_POSITIONS;
    int64_t slot = slot_of(e, token);
    int64_t *member = member_at(e, attempt_of(e, token), group);
    if (*member < 0) {
        int64_t picked = pick(e, slot, group);
        if (picked < 0)
            return NIL;
        *member = picked;
        change_outstanding(e, slot, group, picked, 1);
    }
    return station_of_member(e, slot, group, *member, position);
}
