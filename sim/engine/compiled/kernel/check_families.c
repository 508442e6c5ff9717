/* The boundary: checks of sub-requests. */

/* Whether a visit that starts sub-requests has some of the program, which are those of its place in the route. */
static bool starts_well(const Program *p, int32_t starts, int64_t ordinal)
{
    if (!WITHIN(starts, 1, p->sub_requests_count + 1))
        return false;
    const SubRequestsLayout *s = &p->sub_requests[starts - 1];
    if (s->ordinal != ordinal || s->parallel < 0 || s->need < 0 || s->first_kept < 0 || s->end_kept < s->first_kept ||
        s->end_kept > p->kept_groups_count)
        return false;
    for (int64_t i = s->first_kept; i < s->end_kept; i++)
        if (!WITHIN(p->kept_groups[i], 0, p->groups_count) || p->groups[p->kept_groups[i]].rows)
            return false;
    return true;
}

static int check_sub_requests(const Program *p, int64_t *at)
{
    for (*at = 0; *at < p->routes_count; ++*at) {
        const RouteLayout *r = &p->routes[*at];
        int64_t starts = 0;
        for (int64_t i = r->first_position; i < r->first_position + r->visits; i++)
            if (p->positions[i].starts && !starts_well(p, p->positions[i].starts, starts++))
                return INPUT_FAULT_ROUTE;
        if (r->starts != starts)
            return INPUT_FAULT_ROUTE;
    }
    return INPUT_FAULT_NONE;
}

/* Whether a request or descendant has families whose children come after it, among the descendants from `first` on. */
static bool are_families_fit(
    const Program *p, const Sheet *sheet, int64_t route, int64_t row, int64_t first, int64_t end)
{
    int64_t families = p->routes[route].starts * p->routes[route].attempts, from = sheet->first_family[row];
    if (!families)
        return true;
    if (from < 0 || families > sheet->first_child_count - 1 - from)
        return false;
    for (int64_t i = from; i < from + families; i++) {
        int64_t begins = sheet->first_child[i], ends = sheet->first_child[i + 1];
        if (begins != ends && !(begins >= first && begins < ends && ends <= end))
            return false;
    }
    return true;
}

static bool is_descendant_fit(const Program *p, const Sheet *sheet, int64_t i)
{
    if (!WITHIN(sheet->child_route[i], 0, p->routes_count))
        return false;
    const RouteLayout *route = &p->routes[sheet->child_route[i]];
    int64_t visit = sheet->child_first_visit[i], count = route->visits * route->attempts;
    if (visit < 0 || count > sheet->child_station_count - visit)
        return false;
    for (int64_t v = visit; v < visit + count; v++)
        if (!is_visitable(p, sheet->child_station[v]) || !is_demand(sheet->child_demand_s[v]))
            return false;
    return true;
}

/* The descendants of a Sheet whose requests have been checked; `at`: the request that has the fault. */
static int check_descendants(const Program *p, const Sheet *sheet, int64_t *at)
{
    int64_t requests = sheet->route_count, count = sheet->child_route_count;
    *at = 0;
    if (!p->sub_requests_count)
        return count ? INPUT_FAULT_DESCENDANTS : INPUT_FAULT_NONE;
    if (!requests && !count)
        return INPUT_FAULT_NONE;
    if (sheet->first_descendant_count != requests + 1 || sheet->first_family_count != requests + count ||
        sheet->child_key_hash_count != count || sheet->child_identity_count != count ||
        sheet->child_first_visit_count != count || sheet->child_station_count != sheet->child_demand_s_count ||
        sheet->first_child_count < 1)
        return INPUT_FAULT_SIZES;
    int64_t first = 0;
    for (; *at < requests; ++*at) {
        int64_t end = sheet->first_descendant[*at + 1];
        if (sheet->first_descendant[*at] != first || end < first || end > count ||
            !are_families_fit(p, sheet, sheet->route[*at], *at, first, end))
            return INPUT_FAULT_DESCENDANTS;
        for (int64_t i = first; i < end; i++)
            if (!is_descendant_fit(p, sheet, i) ||
                !are_families_fit(p, sheet, sheet->child_route[i], requests + i, i + 1, end))
                return INPUT_FAULT_DESCENDANTS;
        first = end;
    }
    return INPUT_FAULT_NONE;
}
