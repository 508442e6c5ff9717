/* Processor sharing in virtual time: a heap of the attained service at which each job is done. A job may first wait for
 * the work in a queue before the server. */

static double share_rate(const Station *at, int64_t present)
{
    return at->speed * (present > at->servers ? (double)at->servers / (double)present : 1.0);
}

/* Update a shared server's integrals to the present. */
static void integrate_shared(Engine *e, Station *at)
{
    StationExtra *extra = extra_of(e, at);
    double elapsed_s = e->now_s - extra->last_s;
    int64_t present = extra->shared.size, beyond = present - at->servers;
    if (present) {
        at->busy_s += (double)(beyond > 0 ? at->servers : present) * elapsed_s;
        at->waiting_s += (double)(beyond > 0 ? beyond : 0) * elapsed_s;
        extra->attained_s += elapsed_s * share_rate(at, present);
    }
    if (layout_of(e, at)->queue_s > 0) {
        at->waiting_s += (double)extra->behind * elapsed_s;
        double left_s = extra->left_s - (double)(beyond > 0 ? at->servers : present) * elapsed_s * at->speed;
        extra->left_s = left_s > 0.0 ? left_s : 0.0;
    }
    extra->last_s = e->now_s;
}

static void share_schedule(Engine *e, const Station *at)
{
    StationExtra *extra = extra_of(e, at);
    extra->version++; /* invalidates the departure on the clock */
    if (extra->shared.size) {
        double left_s = extra->shared.entries[0].time_s - extra->attained_s;
        left_s = left_s > 0.0 ? left_s : 0.0;
        double due_s = e->now_s + left_s / share_rate(at, extra->shared.size);
        schedule_with_detail(e, due_s, DEPART_SHARED, number_of(e, at), extra->version);
    }
}

/* Begin to share the server. */
static void share_join(Engine *e, Station *at, int64_t token)
{
    StationExtra *extra = extra_of(e, at);
    Heap *shared = &extra->shared;
    if (UNLIKELY(shared->size == shared->capacity) && !grow_heap(shared)) {
        e->out_of_memory = true;
        return;
    }
    double done_s = extra->attained_s + token_at(e, token)->demand_s;
    sift_up(shared, (Entry){.number = ++extra->joined, .time_s = done_s, .argument = token});
    share_schedule(e, at);
}

static void share_enter(Engine *e, Station *at, int64_t token)
{
    integrate_shared(e, at);
    double queue_s = layout_of(e, at)->queue_s, wait_s = 0.0;
    if (queue_s > 0) {
        StationExtra *extra = extra_of(e, at);
        int64_t jobs = extra->shared.size + extra->behind;
        double queued_s = jobs ? (double)jobs * layout_of(e, at)->queued_each_s : 0.0;
        queued_s = (extra->left_s < queued_s ? extra->left_s : queued_s) / (double)at->servers;
        wait_s = (queued_s < queue_s ? queued_s : queue_s) / at->speed;
        extra->left_s += token_at(e, token)->demand_s;
    }
    if (wait_s > 0) {
        extra_of(e, at)->behind++;
        schedule(e, e->now_s + wait_s, SHARED_QUEUE_ENDED, token);
    } else {
        share_join(e, at, token);
    }
    service_begun(e, at, token);
}

/* The token has reached the end of the queue of a shared server that has not died meanwhile. */
static RARE void share_leave_queue(Engine *e, Station *at, int64_t token)
{
    integrate_shared(e, at);
    extra_of(e, at)->behind--;
    share_join(e, at, token);
}

/* Remove the job with the least remaining service; returns its token. */
static int64_t share_pop(Heap *shared)
{
    int64_t token = shared->entries[0].argument;
    remove_top(shared);
    return token;
}

/* The token that a shared server has finished; NIL if an arrival has invalidated the departure. */
static int64_t share_depart(Engine *e, Station *at, uint32_t version)
{
    StationExtra *extra = extra_of(e, at);
    if (version != extra->version)
        return NIL;
    integrate_shared(e, at);
    double attained_s = extra->shared.entries[0].time_s;
    int64_t token = share_pop(&extra->shared);
    extra->attained_s = extra->shared.size ? attained_s : 0.0;
    share_schedule(e, at);
    return token;
}
