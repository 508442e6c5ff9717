/* The page cache in front of the drive: pages of 4 KiB, of which the least recently used are evicted.
 *
 * It has no data, as the backing folder has them: it only says which reads need no access to the drive.
 */
#ifndef PAGE_CACHE_H
#define PAGE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* Returns 0, or -1 without memory. 0 bytes: no cache, which has nothing. */
int page_cache_init(int64_t bytes);

/* Whether all pages of a range of a file are cached; then they become the most recent ones. */
bool page_cache_has(uint64_t inode, int64_t offset, int64_t bytes);

/* Load the pages of a range that was read or written. */
void page_cache_load(uint64_t inode, int64_t offset, int64_t bytes);

/* Drop the pages of a range that was written past the cache, or that is no longer in a file. */
void page_cache_drop(uint64_t inode, int64_t offset, int64_t bytes);

#endif
