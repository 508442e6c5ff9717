#include "page_cache.h"

#include <pthread.h>
#include <stdlib.h>

enum { PAGE_BYTES = 4096 };

/* Pages are numbered from 1; 0 is the head of the ring in order of use, and the end of chains. */
struct page {
    uint64_t inode;
    int64_t number;
    int64_t newer, older; /* in the ring: the newest page is older than the head, the oldest is newer than it */
    int64_t chained;      /* next page with the same hash, or next free page */
};

static struct page *pages;
static int64_t *chains, most, chain_count, unused;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int page_cache_init(int64_t bytes)
{
    most = bytes / PAGE_BYTES;
    if (most == 0)
        return 0;
    for (chain_count = 1; chain_count < 2 * most;)
        chain_count *= 2;
    pages = calloc((size_t)most + 1, sizeof *pages);
    chains = calloc((size_t)chain_count, sizeof *chains);
    if (pages == NULL || chains == NULL)
        return -1;
    for (int64_t i = 1; i <= most; i++)
        pages[i].chained = i < most ? i + 1 : 0;
    unused = 1;
    return 0;
}

static int64_t *chain_of(uint64_t inode, int64_t number)
{
    uint64_t hash = (inode + 0x9E3779B97F4A7C15u * (uint64_t)(number + 1)) * 0xD1B54A32D192ED03u;
    return &chains[(hash >> 32) & (uint64_t)(chain_count - 1)];
}

static int64_t found(uint64_t inode, int64_t number)
{
    int64_t i = *chain_of(inode, number);
    while (i != 0 && (pages[i].inode != inode || pages[i].number != number))
        i = pages[i].chained;
    return i;
}

static void leave_ring(int64_t i)
{
    pages[pages[i].newer].older = pages[i].older;
    pages[pages[i].older].newer = pages[i].newer;
}

static void become_newest(int64_t i)
{
    pages[i].newer = 0;
    pages[i].older = pages[0].older;
    pages[pages[0].older].newer = i;
    pages[0].older = i;
}

static void drop(int64_t i)
{
    int64_t *link = chain_of(pages[i].inode, pages[i].number);
    while (*link != i)
        link = &pages[*link].chained;
    *link = pages[i].chained;
    leave_ring(i);
    pages[i].chained = unused;
    unused = i;
}

static void load(uint64_t inode, int64_t number)
{
    int64_t i = found(inode, number);
    if (i != 0) {
        leave_ring(i);
    } else {
        if (unused == 0)
            drop(pages[0].newer); /* the oldest */
        i = unused;
        unused = pages[i].chained;
        int64_t *chain = chain_of(inode, number);
        pages[i].inode = inode;
        pages[i].number = number;
        pages[i].chained = *chain;
        *chain = i;
    }
    become_newest(i);
}

static int64_t first_page(int64_t offset) { return offset / PAGE_BYTES; }

static int64_t end_page(int64_t offset, int64_t bytes) { return (offset + bytes + PAGE_BYTES - 1) / PAGE_BYTES; }

bool page_cache_has(uint64_t inode, int64_t offset, int64_t bytes)
{
    if (most == 0)
        return false;
    pthread_mutex_lock(&mutex);
    bool all = true;
    for (int64_t n = first_page(offset); all && n < end_page(offset, bytes); n++)
        all = found(inode, n) != 0;
    for (int64_t n = first_page(offset); all && n < end_page(offset, bytes); n++)
        load(inode, n);
    pthread_mutex_unlock(&mutex);
    return all;
}

void page_cache_load(uint64_t inode, int64_t offset, int64_t bytes)
{
    if (most == 0)
        return;
    pthread_mutex_lock(&mutex);
    for (int64_t n = first_page(offset); n < end_page(offset, bytes); n++)
        load(inode, n);
    pthread_mutex_unlock(&mutex);
}

void page_cache_drop(uint64_t inode, int64_t offset, int64_t bytes)
{
    if (most == 0)
        return;
    pthread_mutex_lock(&mutex);
    for (int64_t n = first_page(offset); n < end_page(offset, bytes); n++) {
        int64_t i = found(inode, n);
        if (i != 0)
            drop(i);
    }
    pthread_mutex_unlock(&mutex);
}
