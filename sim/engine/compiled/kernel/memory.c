/* Memory: arrays allocated at the start, and arrays that double. */

#ifdef __linux__
#include <sys/mman.h>
#endif

#define HUGE_PAGE ((size_t)1 << 21)

/* Reallocate `old` to `count` elements, aligned to a cache line; elements beyond the first `kept` are zero.
 * Returns NULL, and leaves `old` unchanged, if there is no memory. */
static void *reallocate(void *old, int64_t kept, int64_t count, size_t size)
{
    if (count <= 0)
        count = 1; /* an empty array is not a failure */
    if ((uint64_t)count > (SIZE_MAX - HUGE_PAGE) / size)
        return NULL;
    size_t bytes = (size_t)count * size, unit = bytes < HUGE_PAGE ? CACHE_LINE : HUGE_PAGE;
    size_t kept_bytes = (size_t)kept * size;
    bytes = (bytes + unit - 1) / unit * unit;
    char *memory = aligned_alloc(unit, bytes);
    if (!memory)
        return NULL;
#ifdef __linux__
    if (unit == HUGE_PAGE)
        madvise(memory, bytes, MADV_HUGEPAGE); /* if it is refused, pages are small */
#endif
    if (kept_bytes)
        memcpy(memory, old, kept_bytes);
    memset(memory + kept_bytes, 0, bytes - kept_bytes);
    free(old);
    return memory;
}

/* Reallocate an array of the engine; the function returns false if there is no memory. */
#define WIDEN(array, kept, count)                                    \
    do {                                                             \
        void *made = reallocate(e->array, kept, count, sizeof *e->array); \
        if (!made)                                                   \
            return false;                                            \
        e->array = made;                                             \
    } while (0)

/* Zeroed memory for `count` elements, aligned to a cache line; NULL if there is none. */
static void *allocate(int64_t count, size_t size)
{
    return reallocate(NULL, 0, count, size);
}

/* Double the capacity of a heap; false if there is no memory. The place of the first entry stays empty. */
static RARE bool grow_heap(Heap *heap)
{
    int64_t capacity = heap->capacity ? 2 * heap->capacity : 16;
    Entry *old = heap->capacity ? heap->entries - 1 : NULL;
    Entry *made = reallocate(old, heap->capacity ? heap->size + 1 : 0, capacity + 1, sizeof *made);
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
