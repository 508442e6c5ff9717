/* Critical paths: the branches that determine the ends of a request's stages. */

/* Number of parts of a critical path: the time before winning attempts; waiting and service by role. */
static inline int64_t path_width(const Engine *e)
{
    return 1 + 2 * e->program->roles;
}

/* What a visit has started; NULL: nothing. */
static const Family *family_of(const Engine *e, int64_t token)
{
    return e->family_of_token && e->family_of_token[token] ? &e->families[e->family_of_token[token] - 1] : NULL;
}

/* Add the visits of a branch that has just ended, by role, to the critical path of its attempt; not those that the
 * request has passed by. After a visit that started sub-requests comes the path of these. */
static RARE void add_branch(Engine *e, int64_t last)
{
    int64_t attempt = attempt_of(e, last), first = last, width = path_width(e);
    const PositionLayout *position = position_of(e, token_at(e, last));
    for (; first > attempt << e->position_bits && !position[-1].is_last; position--)
        first--;
    for (int64_t token = first; token <= last; token++) {
        const Token *job = token_at(e, token);
        if (job->demand_s == PASSES_BY)
            continue;
        int64_t next = token + 1;
        while (next <= last && token_at(e, next)->demand_s == PASSES_BY)
            next++;
        const Family *family = family_of(e, token);
        double left_s = family ? family->began_s : next <= last ? token_at(e, next)->since_s : e->now_s;
        double stayed_s = left_s - job->since_s, waited_s, served_s;
        const StationLayout *station = layout_of(e, station_at(e, job->station));
        if (SHARES(station->discipline)) {
            served_s = stayed_s < job->demand_s ? stayed_s : job->demand_s;
            waited_s = stayed_s - served_s;
        } else if (!TAKES_TIME(station->discipline)) {
            waited_s = stayed_s;
            served_s = 0.0;
        } else {
            waited_s = e->began_s[token] - job->since_s;
            served_s = left_s - e->began_s[token];
        }
        double *path = &e->path_of_attempt[attempt * width];
        path[1 + 2 * station->role] += waited_s;
        path[2 + 2 * station->role] += served_s;
        for (int64_t i = 0; family && i < width; i++)
            path[i] += e->path_of_family[(family - e->families) * width + i];
    }
}

/* Store the path of the winning attempt; NIL: there is none. */
static RARE void put_path(Engine *e, const Slot *request, int64_t winner)
{
    int64_t width = path_width(e);
    double *path = &e->results.path_s[(request->request - e->results.first) * width];
    for (int64_t i = 0; i < width; i++)
        path[i] = winner == NIL ? NAN : e->path_of_attempt[winner * width + i];
    if (winner != NIL)
        path[0] = attempt_at(e, winner)->began_s - request->start_s + path[0];
}
