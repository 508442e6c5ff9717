/* The clock: events in the order of (time, number of insertion).
 *
 * A binary heap. An entry is compared as one number of 128 bits, time above number: times are not negative, and the bit
 * patterns of non-negative doubles have the order of their values. Most events insert one event, which takes the place
 * of the current one: this stays at the top, as a *hole*, until then. Measured: with entries of 24 bytes, whose siblings
 * are often in two cache lines, an EC PUT takes a fifth longer.
 */

enum {
    DEPART_DELAY, DEPART_SERVED, DEPART_BATCH, DEPART_SHARED, SHARED_QUEUE_ENDED, END_VISIT, FAIL_BRANCH, POLL_GATE,
    BEGIN_AGAIN,
    CLIENT_READY, ISSUE, BACKGROUND, TIME_OUT, SECOND_ATTEMPT, RETRY, APPLY_ACTION, CHILD
};

#define IN_CACHE 8192 /* heap entries that fit into CPU caches */

static inline unsigned __int128 sort_key(const Entry *entry)
{
    unsigned __int128 value;
    _Static_assert(offsetof(Entry, time_s) == 8 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "time above number");
    memcpy(&value, entry, sizeof value);
    return value;
}

/* Put an entry into the hole at the top of a heap of `size`. */
static inline __attribute__((always_inline)) void sift_down(Heap *heap, int64_t size, Entry entry)
{
    Entry *entries = heap->entries;
    unsigned __int128 own = sort_key(&entry);
    int64_t at = 0;
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= size)
            break;
        if (size > IN_CACHE) { /* the children of both children */
            __builtin_prefetch(&entries[2 * child + 1]);
            __builtin_prefetch(&entries[2 * child + 3]);
        }
        if (child + 1 < size && sort_key(&entries[child + 1]) < sort_key(&entries[child]))
            child++;
        if (own < sort_key(&entries[child]))
            break;
        entries[at] = entries[child];
        at = child;
    }
    CHECK(at < heap->capacity);
    entries[at] = entry;
}

/* Move the last entry into the hole at the top of a heap. */
static void remove_top(Heap *heap)
{
    int64_t size = --heap->size;
    if (size > 0)
        sift_down(heap, size, heap->entries[size]);
}

/* Add an entry at the bottom of a heap with spare capacity. */
static inline __attribute__((always_inline)) void sift_up(Heap *heap, Entry entry)
{
    Entry *entries = heap->entries;
    int64_t at = heap->size++;
    CHECK(at < heap->capacity);
    while (at > 0) {
        int64_t parent = (at - 1) >> 1;
        if (entries[parent].time_s <= entry.time_s) /* entries inserted earlier come first */
            break;
        entries[at] = entries[parent];
        at = parent;
    }
    entries[at] = entry;
}

/* Put an event on the clock. */
static inline void schedule_with_detail(Engine *e, double time_s, int kind, int64_t argument, uint32_t detail)
{
    Entry entry = {e->inserted++, time_s, argument, kind, detail};
    if (e->hole) {
        e->hole = false;
        sift_down(&e->events, e->events.size, entry);
        return;
    }
    if (UNLIKELY(e->events.size == e->events.capacity) && !grow_heap(&e->events)) {
        e->out_of_memory = true;
        return;
    }
    sift_up(&e->events, entry);
}

static inline void schedule(Engine *e, double time_s, int kind, int64_t argument)
{
    schedule_with_detail(e, time_s, kind, argument, 0);
}

/* Fill the hole at the top of the heap with its last entry. */
static inline void remove_current_event(Engine *e)
{
    e->hole = false;
    remove_top(&e->events);
}
