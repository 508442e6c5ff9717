/* Memory: whole arrays made at the start, and arrays that double. */

#ifdef __linux__
#include <sys/mman.h>
#endif

#define HUGE_PAGE ((size_t)1 << 21)

/* Zeroed memory for `count` elements, at the start of a cache line; NULL where there is none. */
static void *room_for(int64_t count, size_t size)
{
    if (count <= 0)
        count = 1; /* an array of no elements is no failure */
    if ((uint64_t)count > (SIZE_MAX - HUGE_PAGE) / size)
        return NULL;
    size_t bytes = (size_t)count * size, unit = bytes < HUGE_PAGE ? CACHE_LINE : HUGE_PAGE;
    bytes = (bytes + unit - 1) / unit * unit;
    void *memory = aligned_alloc(unit, bytes);
    if (!memory)
        return NULL;
#ifdef __linux__
    if (unit == HUGE_PAGE)
        madvise(memory, bytes, MADV_HUGEPAGE); /* where it is refused, pages are small */
#endif
    memset(memory, 0, bytes);
    return memory;
}

/* Memory for `count` elements, of which the first `kept` are those at `old`, which is freed; NULL, and `old` as it
 * was, where there is none. */
static void *wider(void *old, int64_t kept, int64_t count, size_t size)
{
    void *memory = room_for(count, size);
    if (memory && kept)
        memcpy(memory, old, (size_t)kept * size);
    if (memory)
        free(old);
    return memory;
}

/* Have a heap hold twice as many entries; false where there is no memory. The first entry's place stays empty. */
static RARE bool grow_heap(Heap *heap)
{
    int64_t capacity = heap->capacity ? 2 * heap->capacity : 16;
    Entry *old = heap->capacity ? heap->entries - 1 : NULL;
    Entry *made = wider(old, heap->capacity ? heap->size + 1 : 0, capacity + 1, sizeof *made);
    if (!made)
        return false;
    heap->entries = made + 1;
    heap->capacity = capacity;
    return true;
}

static void free_heap(Heap *heap)
{
    if (heap->capacity)
        free(heap->entries - 1);
}
