/* Queues of stations.
 *
 * A waiting job that is cancelled stays in its queue, CANCELLED, until it is dequeued (lazy deletion).
 */

/* Refuse a job in a separate event, so that no station is entered while another is changing. */
static void fail_branch_soon(Engine *e, int64_t token, int why)
{
    schedule_with_detail(e, e->now_s, FAIL_BRANCH, token, (uint32_t)why);
}

/* Let a job continue in a separate event. */
static void end_visit_soon(Engine *e, int64_t token)
{
    schedule(e, e->now_s, END_VISIT, token);
}

static RARE void release_relatives(Engine *e, int64_t slot);

/* Free the slot when its request has ended and no branch or cancelled job of it is left. */
static inline void free_slot_if_over(Engine *e, int64_t slot)
{
    Slot *of = slot_at(e, slot);
    if (of->ended && of->busy == 0 && !of->is_free) {
        of->is_free = 1;
        if (UNLIKELY(e->relatives != NULL))
            release_relatives(e, slot);
        CHECK(e->free_count < e->slot_count);
        e->free_slots[e->free_count++] = slot;
    }
}

/* The priority of a job's route. */
static int64_t class_of(Engine *e, int64_t token)
{
    int64_t priority = route_layout(e, slot_at(e, slot_of(e, token)))->priority;
    CHECK(priority < e->program->classes);
    return priority;
}

static RARE void wait_in_random_order(Engine *e, Station *at, int64_t token)
{
    StationExtra *extra = extra_of(e, at);
    if (at->queued == extra->waiting_capacity) {
        int32_t capacity = extra->waiting_capacity ? 2 * extra->waiting_capacity : 16;
        int32_t *waiting = realloc(extra->waiting, (size_t)capacity * sizeof *waiting);
        if (!waiting) {
            e->out_of_memory = true;
            return;
        }
        extra->waiting = waiting;
        extra->waiting_capacity = capacity;
    }
    extra->waiting[at->queued++] = (int32_t)token;
}

static RARE void wait_in_class(Engine *e, Station *at, int64_t token)
{
    StationExtra *extra = extra_of(e, at);
    ClassQueue *queue = &extra->classes[class_of(e, token)];
    if (queue->queued++ == 0) {
        queue->head = (int32_t)token;
        if (extra->virtual_s > queue->start)
            queue->start = extra->virtual_s;
    } else {
        token_at(e, queue->tail)->next = (int32_t)token;
    }
    queue->tail = (int32_t)token;
}

static void wait_in_queue(Engine *e, Station *at, int64_t token)
{
    token_at(e, token)->state = WAITING;
    at->live++;
    if (UNLIKELY(DRAWS(at->discipline))) {
        wait_in_random_order(e, at, token);
    } else if (UNLIKELY(HAS_CLASSES(at->discipline))) {
        wait_in_class(e, at, token);
    } else {
        if (at->queued++ == 0)
            at->head = (int32_t)token;
        else
            token_at(e, at->tail)->next = (int32_t)token;
        at->tail = (int32_t)token;
    }
}

/* The next random word of a SIRO station. */
static inline uint64_t draw_choice(Engine *e, const Station *at)
{
    return mixed(e->program->seed, layout_of(e, at)->identity, extra_of(e, at)->choices++);
}

static RARE int64_t dequeue_in_random_order(Engine *e, Station *at)
{
    int32_t *waiting = extra_of(e, at)->waiting;
    int64_t last = --at->queued;
    int64_t chosen = (int64_t)(draw_choice(e, at) % (uint64_t)(last + 1));
    double age_bias = layout_of(e, at)->age_bias;
    if (age_bias != 0 && fraction(draw_choice(e, at)) < age_bias) {
        int64_t other = (int64_t)(draw_choice(e, at) % (uint64_t)(last + 1));
        if (token_at(e, waiting[other])->since_s < token_at(e, waiting[chosen])->since_s)
            chosen = other;
    }
    int64_t token = waiting[chosen];
    /* The last takes the place of the chosen one: the order of the queue does not matter. */
    waiting[chosen] = waiting[last];
    return token;
}

/* The first job of the class to serve: the first non-empty one or, with weights, the one with the least start. */
static RARE int64_t dequeue_of_class(Engine *e, const Station *at)
{
    ClassQueue *best = NULL;
    for (int64_t i = 0; i < e->program->classes; i++) {
        ClassQueue *one = &extra_of(e, at)->classes[i];
        if (one->queued &&
            (!best || (IS_WEIGHTED(at->discipline) && one->start < best->start)))
            best = one;
    }
    CHECK(best);
    int64_t token = best->head;
    best->head = token_at(e, token)->next;
    best->queued--;
    return token;
}

/* The next job of the queue, cancelled or not. */
static inline int64_t dequeue(Engine *e, Station *at)
{
    if (UNLIKELY(DRAWS(at->discipline)))
        return dequeue_in_random_order(e, at);
    if (UNLIKELY(HAS_CLASSES(at->discipline)))
        return dequeue_of_class(e, at);
    CHECK(at->queued > 0);
    int64_t token = at->head;
    at->head = token_at(e, token)->next;
    at->queued--;
    return token;
}

/* Forget a cancelled job that has left its queue. */
static inline void discard_cancelled(Engine *e, int64_t token)
{
    token_at(e, token)->state = IDLE;
    int64_t slot = slot_of(e, token);
    slot_at(e, slot)->busy--;
    free_slot_if_over(e, slot);
}

/* When the next job arrived that is not cancelled; there must be one, in a queue in order of arrival. */
static RARE double oldest_s(Engine *e, Station *at)
{
    CHECK(at->live > 0);
    while (token_at(e, at->head)->state == CANCELLED)
        discard_cancelled(e, dequeue(e, at));
    return token_at(e, at->head)->since_s;
}

/* The next job that is not cancelled; there must be one. */
static int64_t next_job(Engine *e, Station *at)
{
    CHECK(at->live > 0);
    int64_t token;
    Token *job;
    for (;;) {
        token = dequeue(e, at);
        job = token_at(e, token);
        if (LIKELY(job->state != CANCELLED))
            break;
        discard_cancelled(e, token);
    }
    job->state = IDLE;
    at->live--;
    at->waiting_s += e->now_s - job->since_s;
    return token;
}

/* Cancel a waiting job. */
static RARE void cancel_waiting(Engine *e, int64_t token)
{
    Token *job = token_at(e, token);
    Station *at = station_at(e, job->station);
    at->live--;
    at->waiting_s += e->now_s - job->since_s;
    job->state = CANCELLED;
}
