/* The sub-requests of visits: the same as `sim/engine/reference/families.py`, in the same order. */

static void begin_request(Engine *e, int64_t slot);

static inline Family *family_at(Engine *e, int64_t family)
{
    CHECK(family >= 0 && family < e->family_capacity && e->families[family].references > 0);
    return &e->families[family];
}

static const SubRequestsLayout *layout_of_family(Engine *e, const Family *family)
{
    CHECK(family->sub_requests >= 0 && family->sub_requests < e->program->sub_requests_count);
    return &e->program->sub_requests[family->sub_requests];
}

/* Double the families. */
static RARE bool add_families(Engine *e)
{
    int64_t old = e->family_capacity, capacity = old ? 2 * old : 16, groups = e->program->groups_count;
    int64_t width = e->program->paths ? path_width(e) : 0;
    if (capacity > INT32_MAX)
        return false;
    WIDEN(free_families, 0, capacity);
    WIDEN(families, old, capacity);
    WIDEN(member_of_family, old * groups, capacity * groups);
    WIDEN(path_of_family, old * width, capacity * width);
    e->family_capacity = capacity;
    for (int64_t family = capacity - 1; family >= old; family--)
        e->free_families[e->free_family_count++] = family;
    return true;
}

static void release_family(Engine *e, int64_t family)
{
    Family *of = family_at(e, family);
    if (--of->references)
        return;
    release_descendants(e, of->of);
    e->free_families[e->free_family_count++] = family;
}

/* Free what a slot has to do with others, before it is used again. */
static RARE void release_relatives(Engine *e, int64_t slot)
{
    Relatives *of = &e->relatives[slot];
    const Slot *request = slot_at(e, slot);
    int64_t visits = e->program->paths ? route_layout(e, request)->visits : 0; /* otherwise left before */
    for (int64_t number = 0; number < request->attempts; number++) {
        int64_t first = ((slot << e->attempt_bits) + number) << e->position_bits;
        for (int64_t token = first; token < first + visits; token++) {
            if (e->family_of_token[token]) {
                release_family(e, e->family_of_token[token] - 1);
                e->family_of_token[token] = 0;
            }
        }
    }
    if (of->of)
        release_descendants(e, of->of);
    of->of = NULL;
}

/* The branch goes on or ends: it waits for the family no longer. If paths are recorded, its path is needed later. */
static RARE void leave_family(Engine *e, int64_t token)
{
    if (e->program->paths)
        return;
    release_family(e, e->family_of_token[token] - 1);
    e->family_of_token[token] = 0;
}

/* Put the beginning of the next child on the clock, if there is one and it need not wait for another's end. */
static void schedule_child(Engine *e, int64_t family)
{
    Family *of = family_at(e, family);
    int64_t limit = layout_of_family(e, of)->parallel;
    if (of->is_due || of->next == of->end || (limit && of->in_progress >= limit))
        return;
    of->is_due = 1;
    of->references++;
    schedule(e, e->now_s, CHILD, family);
}

/* Start the sub-requests of a visit that is over; returns whether there are any. */
static RARE bool start_family(Engine *e, int64_t token)
{
    int64_t slot = slot_of(e, token), attempt = attempt_of(e, token), groups = e->program->groups_count;
    int64_t number = attempt & ((INT64_C(1) << e->attempt_bits) - 1);
    const Relatives *parent = &e->relatives[slot];
    if (!parent->of)
        return false;
    int32_t sub_requests = position_of(e, token_at(e, token))->starts - 1;
    const SubRequestsLayout *layout = &e->program->sub_requests[sub_requests];
    int64_t starts = route_layout(e, slot_at(e, slot))->starts;
    int64_t place = parent->of->first_family[parent->row] + number * starts + layout->ordinal;
    int64_t first = parent->of->first_child[place], end = parent->of->end_child[place];
    if (first == end)
        return false;
    if (e->free_family_count == 0 && !add_families(e)) {
        e->out_of_memory = true;
        return true;
    }
    int64_t family = e->free_families[--e->free_family_count], count = end - first;
    e->families[family] = (Family){
        .of = parent->of, .token = token, .next = first, .end = end, .count = count,
        .need = layout->need && layout->need < count ? layout->need : count, .first = NIL, .last = NIL,
        .began_s = e->now_s, .references = 1, .sub_requests = sub_requests,
    };
    parent->of->references++;
    e->family_of_token[token] = (int32_t)(family + 1);
    for (int64_t group = 0; group < groups; group++)
        e->member_of_family[family * groups + group] = *member_at(e, attempt, group);
    if (e->program->paths)
        memset(&e->path_of_family[family * path_width(e)], 0, (size_t)path_width(e) * sizeof(double));
    schedule_child(e, family);
    return true;
}

/* Take a slot for the next child of a family. */
static int64_t take_child(Engine *e, int64_t family)
{
    Family *of = family_at(e, family);
    const Slot *parent = slot_at(e, slot_of(e, of->token));
    int64_t row = of->next++, visit = of->of->first_visit[row];
    Slot made = {.route = of->of->route[row], .key = of->of->key_hash[row], .is_child = 1, .request = parent->request,
                 .client = parent->client, .start_s = NAN, .first_byte_s = NAN};
    int64_t slot = take_slot(e, made, &of->of->station[visit], &of->of->demand_s[visit]);
    e->relatives[slot] = (Relatives){.of = of->of, .row = 1 + row, .family = family, .before = of->last, .after = NIL,
                                     .identity = of->of->identity[row]};
    of->of->references++;
    if (of->last == NIL)
        of->first = slot;
    else
        e->relatives[of->last].after = slot;
    of->last = slot;
    of->in_progress++;
    of->references++;
    if (e->program->paths)
        memcpy(&e->inherited_path[slot * path_width(e)], &e->path_of_family[family * path_width(e)],
               (size_t)path_width(e) * sizeof(double));
    return slot;
}

/* Begin the next child of a family. */
static RARE void begin_child(Engine *e, int64_t family)
{
    Family *of = family_at(e, family);
    of->is_due = 0;
    if (!of->is_over) {
        begin_request(e, take_child(e, family));
        if (!family_at(e, family)->is_over)
            schedule_child(e, family);
    }
    release_family(e, family);
}

/* Bind the first attempt of a child to the members that it has in common with its parent. */
static RARE void keep_members(Engine *e, int64_t slot, int64_t attempt)
{
    int64_t family = e->relatives[slot].family, groups = e->program->groups_count;
    const SubRequestsLayout *layout = layout_of_family(e, family_at(e, family));
    for (int64_t i = layout->first_kept; i < layout->end_kept; i++) {
        int64_t group = e->program->kept_groups[i], member = e->member_of_family[family * groups + group];
        if (member >= 0 && *member_at(e, attempt, group) < 0) {
            *member_at(e, attempt, group) = member;
            change_outstanding(e, slot, group, member, 1);
        }
    }
}

/* The request whose client receives the first byte of a child's response: what it descends from, or none. */
static RARE int64_t receiver(Engine *e, int64_t slot)
{
    while (slot_at(e, slot)->is_child) {
        const Relatives *child = &e->relatives[slot];
        if (child->family == NIL || slot_at(e, slot)->ended)
            return NIL;
        const Family *of = family_at(e, child->family);
        if (!layout_of_family(e, of)->delivers || child->row - 1 != of->end - of->count || of->is_over)
            return NIL;
        const Attempt *attempt = attempt_at(e, attempt_of(e, of->token));
        if (attempt->over || position_of(e, token_at(e, of->token))->stage != attempt->stage)
            return NIL;
        slot = slot_of(e, of->token);
    }
    return slot;
}

/* Cancel the children of a family in progress if its visit does so. */
static RARE void cancel_children(Engine *e, int64_t family)
{
    Family *of = family_at(e, family);
    if (!layout_of_family(e, of)->cancels)
        return;
    int64_t slot = of->first;
    of->first = of->last = NIL;
    of->in_progress = 0;
    for (int64_t next; slot != NIL; slot = next) {
        next = e->relatives[slot].after;
        e->relatives[slot].family = NIL;
        slot_at(e, slot)->ended = 1;
        int64_t first = slot << e->attempt_bits;
        for (int64_t attempt = first; attempt < first + slot_at(e, slot)->attempts; attempt++)
            if (!attempt_at(e, attempt)->over)
                cancel(e, attempt);
        free_slot_if_over(e, slot);
        release_family(e, family); /* the visit still has a reference */
    }
}

/* Begin no further children of a cancelled attempt; returns whether its branch ends now. */
static RARE bool abandon(Engine *e, int64_t token)
{
    int64_t family = e->family_of_token[token] - 1;
    if (family < 0 || family_at(e, family)->is_over) /* the branch will go on, or be refused, in an event of its own */
        return false;
    family_at(e, family)->is_over = family_at(e, family)->is_abandoned = 1;
    cancel_children(e, family);
    if (family_at(e, family)->in_progress)
        return false;
    leave_family(e, token);
    return true;
}

/* The critical path up to the end of a child: up to its beginning, which was the end of another one, and on. */
static RARE void extend_path(Engine *e, int64_t family, int64_t slot, int64_t winner)
{
    int64_t width = path_width(e);
    double *path = &e->path_of_family[family * width];
    const double *inherited = &e->inherited_path[slot * width], *own = &e->path_of_attempt[winner * width];
    if (winner == NIL) {
        memcpy(path, inherited, (size_t)width * sizeof *path);
        path[0] = inherited[0] + (e->now_s - slot_at(e, slot)->start_s);
        return;
    }
    path[0] = inherited[0] + (attempt_at(e, winner)->began_s - slot_at(e, slot)->start_s + own[0]);
    for (int64_t i = 1; i < width; i++)
        path[i] = inherited[i] + own[i];
}

/* Take a child that has ended out of its family. */
static void unlink_child(Engine *e, Family *of, int64_t slot)
{
    Relatives *child = &e->relatives[slot];
    if (child->before == NIL)
        of->first = child->after;
    else
        e->relatives[child->before].after = child->after;
    if (child->after == NIL)
        of->last = child->before;
    else
        e->relatives[child->after].before = child->before;
    child->family = NIL;
    of->in_progress--;
}

/* Count a child that has ended: let the branch go on or fail, or begin the next child. */
static RARE void end_child(Engine *e, int64_t slot, int64_t winner, int why)
{
    int64_t family = e->relatives[slot].family;
    Family *of = family_at(e, family);
    unlink_child(e, of, slot);
    if (of->is_over) {
        if (of->is_abandoned && of->in_progress == 0)
            end_visit_soon(e, of->token);
        release_family(e, family);
        return;
    }
    if (e->program->paths)
        extend_path(e, family, slot, winner);
    if (winner == NIL)
        of->failed++;
    else
        of->done++;
    if (of->done == of->need || of->count - of->failed < of->need) {
        if (of->done == of->need)
            end_visit_soon(e, of->token);
        else
            fail_branch_soon(e, of->token, why);
        of->is_over = 1;
        cancel_children(e, family);
    } else {
        schedule_child(e, family);
    }
    release_family(e, family);
}
