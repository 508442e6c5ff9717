/* The descendants of requests in flight, copied from their Sheets. */

/* Add the numbers of elements that a request or descendant with this route has. */
static void count_elements(const Program *p, int64_t route, int64_t *families, int64_t *visits)
{
    const RouteLayout *of = &p->routes[route];
    *families += of->starts * of->attempts;
    *visits += of->visits * of->attempts;
}

/* Copy the descendants of a row of a Sheet into the memory behind the record. */
static void fill_descendants(
    const Program *p, Descendants *to, const Sheet *sheet, int64_t row, int64_t families, int64_t visits)
{
    int64_t first = sheet->first_descendant[row], count = sheet->first_descendant[row + 1] - first;
    int64_t family = 0, visit = 0;
    to->first_family = (int64_t *)(to + 1);
    to->first_child = to->first_family + 1 + count;
    to->end_child = to->first_child + families;
    to->first_visit = to->end_child + families;
    to->key_hash = (uint64_t *)(to->first_visit + count);
    to->identity = to->key_hash + count;
    to->demand_s = (double *)(to->identity + count);
    to->route = (int32_t *)(to->demand_s + visits);
    to->station = to->route + count;
    memcpy(to->key_hash, &sheet->child_key_hash[first], (size_t)count * sizeof *to->key_hash);
    memcpy(to->identity, &sheet->child_identity[first], (size_t)count * sizeof *to->identity);
    memcpy(to->route, &sheet->child_route[first], (size_t)count * sizeof *to->route);
    for (int64_t i = -1; i < count; i++) {
        const RouteLayout *route = &p->routes[i < 0 ? sheet->route[row] : to->route[i]];
        int64_t from = sheet->first_family[i < 0 ? row : sheet->route_count + first + i];
        to->first_family[1 + i] = family;
        for (int64_t number = 0; number < route->starts * route->attempts; number++, family++) {
            to->first_child[family] = sheet->first_child[from + number] - first;
            to->end_child[family] = sheet->first_child[from + number + 1] - first;
        }
        if (i < 0)
            continue;
        int64_t width = route->visits * route->attempts, at = sheet->child_first_visit[first + i];
        to->first_visit[i] = visit;
        memcpy(&to->station[visit], &sheet->child_station[at], (size_t)width * sizeof *to->station);
        memcpy(&to->demand_s[visit], &sheet->child_demand_s[at], (size_t)width * sizeof *to->demand_s);
        visit += width;
    }
}

/* Give a slot the descendants of a row of a Sheet. */
static RARE void adopt(Engine *e, int64_t slot, const Sheet *sheet, int64_t row)
{
    const Program *p = e->program;
    e->relatives[slot] = (Relatives){.family = NIL};
    int64_t first = sheet->first_descendant[row], end = sheet->first_descendant[row + 1];
    if (first == end)
        return;
    int64_t families = 0, visits = 0, of_request = 0;
    count_elements(p, sheet->route[row], &families, &of_request);
    for (int64_t i = first; i < end; i++)
        count_elements(p, sheet->child_route[i], &families, &visits);
    size_t words = (size_t)(1 + 4 * (end - first) + 2 * families + visits), halves = (size_t)(end - first + visits);
    Descendants *of = malloc(sizeof *of + words * sizeof(int64_t) + halves * sizeof(int32_t));
    if (!of) {
        e->out_of_memory = true;
        return;
    }
    fill_descendants(p, of, sheet, row, families, visits);
    of->references = 1;
    of->before = NULL;
    of->after = e->descendants;
    if (of->after)
        of->after->before = of;
    e->descendants = of;
    e->relatives[slot].of = of;
}

static void release_descendants(Engine *e, Descendants *of)
{
    CHECK(of->references > 0);
    if (--of->references)
        return;
    if (of->before)
        of->before->after = of->after;
    else
        e->descendants = of->after;
    if (of->after)
        of->after->before = of->before;
    free(of);
}
