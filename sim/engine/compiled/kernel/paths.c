/* Critical paths: the branches that determine the ends of a request's stages. */

/* Add the visits of a branch that has just ended, by role, to the critical path of its attempt; not those that the
 * request has passed by. */
static RARE void add_branch(Engine *e, int64_t last)
{
    int64_t attempt = attempt_of(e, last), first = last;
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
        double left_s = next <= last ? token_at(e, next)->since_s : e->now_s;
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
        double *spent = &e->path_of_attempt[2 * (attempt * e->program->roles + station->role)];
        spent[0] += waited_s;
        spent[1] += served_s;
    }
}

/* Store the path of the winning attempt; NIL: there is none. */
static RARE void put_path(Engine *e, const Slot *request, int64_t winner)
{
    int64_t width = 2 * e->program->roles;
    double *path = &e->results.path_s[request->request * (1 + width)];
    path[0] = winner == NIL ? NAN : attempt_at(e, winner)->began_s - request->start_s;
    for (int64_t i = 0; i < width; i++)
        path[1 + i] = winner == NIL ? NAN : e->path_of_attempt[winner * width + i];
}
