/* The log of accesses: a line each, columns separated by tabs, written at once so that a crash loses none. */
#ifndef ACCESS_LOG_H
#define ACCESS_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "queue.h"

/* Returns 0, or -1 with errno. */
int log_open(const char *path);

/* Log an access that has been served.
 *
 * path: of the file when it was opened, relative to the drive.
 * to: new name of what was renamed or linked; NULL: none.
 * continued: whether it is the rest of a request that the kernel split, and paid for with its first part.
 * error: errno; 0: none. */
void log_access(const struct access *access, const char *path, const char *to, int64_t offset, bool continued,
                int error);

#endif
