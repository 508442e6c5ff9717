/* A drive of known service time: a FUSE file system that passes through to a folder.
 *
 *     drive CONFIGURATION MOUNT_POINT
 *
 * The configuration has a line for each setting, its name first:
 *     backing PATH, log PATH, socket PATH, seed N, queue_depth N, max_read BYTES, max_write BYTES, page_cache BYTES
 *     demand KIND CONSTANT PER_BYTE LATER_BYTE_FACTOR PER_BLOCK BLOCK STREAM QUANTILE ...
 *     disk TURN OUTER INNER OVERHEAD CAPACITY AT SPAN DEPTH and 3 figures of each seek curve, read and write
 * in s, bytes and bytes/s. A kind without a demand takes no time.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "access_log.h"
#include "control.h"
#include "file_system.h"
#include "mechanism.h"
#include "page_cache.h"
#include "queue.h"
#include "service_time.h"

static char *log_path, *socket_path;
static uint64_t seed;
static int queue_depth = 1;

static bool parse_demand(const char *text)
{
    char name[32];
    int read = 0;
    struct demand demand = {0};
    long long block;
    unsigned long long stream;
    if (sscanf(text, "%31s %lf %lf %lf %lf %lld %llu %n", name, &demand.constant_s, &demand.per_byte_s,
               &demand.later_byte_factor, &demand.per_block_s, &block, &stream, &read) != 7)
        return false;
    int kind = kind_of(name), room = 0;
    char *rest = NULL;
    for (const char *at = text + read;; at = rest) {
        double value = strtod(at, &rest);
        if (rest == at)
            break;
        if (demand.points == room) {
            room = room ? 2 * room : 256;
            demand.quantiles = realloc(demand.quantiles, (size_t)room * sizeof *demand.quantiles);
            if (demand.quantiles == NULL)
                return false;
        }
        demand.quantiles[demand.points++] = value;
    }
    demand.block_bytes = block;
    demand.stream = stream;
    if (kind == KINDS || demand.points < 2 || block < 1)
        return false;
    demands[kind] = demand;
    return true;
}

static bool parse_disk(const char *text)
{
    struct seek *r = &disk.read, *w = &disk.write;
    int length = 0;
    disk.present = true;
    return sscanf(text, "%lf %lf %lf %lf %lf %lf %lf %d %lf %lf %lf %lf %lf %lf%n", &disk.turn_s,
                  &disk.outer_bytes_per_s, &disk.inner_bytes_per_s, &disk.overhead_s, &disk.capacity_bytes, &disk.at,
                  &disk.span, &disk.depth, &r->track_s, &r->root_s, &r->linear_s, &w->track_s, &w->root_s,
                  &w->linear_s, &length) == 14 && text[length] == '\0';
}

static bool parse_setting(const char *name, const char *text)
{
    long long number = atoll(text);
    if (strcmp(name, "backing") == 0)
        return (file_system.backing = strdup(text)) != NULL;
    if (strcmp(name, "log") == 0)
        return (log_path = strdup(text)) != NULL;
    if (strcmp(name, "socket") == 0)
        return (socket_path = strdup(text)) != NULL;
    if (strcmp(name, "seed") == 0)
        return sscanf(text, "%llu", (unsigned long long *)&seed) == 1;
    if (strcmp(name, "queue_depth") == 0)
        return (queue_depth = (int)number) >= 1 && number <= MOST_DEPTH;
    if (strcmp(name, "max_read") == 0)
        return (file_system.max_read = (unsigned)number) > 0;
    if (strcmp(name, "max_write") == 0)
        return (file_system.max_write = (unsigned)number) > 0;
    if (strcmp(name, "page_cache") == 0)
        return number >= 0 && page_cache_init(number) == 0;
    if (strcmp(name, "demand") == 0)
        return parse_demand(text);
    return strcmp(name, "disk") == 0 && parse_disk(text);
}

static bool read_configuration(const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        perror(path);
        return false;
    }
    char *line = NULL;
    size_t room = 0;
    bool right = true;
    while (right && getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *space = strchr(line, ' ');
        if (space != NULL)
            *space = '\0';
        right = space != NULL && parse_setting(line, space + 1);
        if (!right)
            fprintf(stderr, "%s: wrong setting: %s\n", path, line);
    }
    free(line);
    fclose(file);
    return right && file_system.backing != NULL && log_path != NULL && socket_path != NULL;
}

/* Be served by the processor at once, as a device has its own; without the right to it, as other programs. */
static void take_precedence(void)
{
    struct sched_param priority = {.sched_priority = 1};
    sched_setscheduler(0, SCHED_FIFO, &priority);
    prctl(PR_SET_TIMERSLACK, 1UL);
    mallopt(M_MMAP_THRESHOLD, 1 << 26); /* buffers of requests are used again, as new pages take long */
    mallopt(M_TRIM_THRESHOLD, 1 << 28);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

int main(int count, char **arguments)
{
    if (count != 3) {
        fprintf(stderr, "usage: drive CONFIGURATION MOUNT_POINT\n");
        return 2;
    }
    if (!read_configuration(arguments[1]))
        return 2;
    if (log_open(log_path) != 0) {
        perror(log_path);
        return 2;
    }
    umask(0);
    take_precedence();
    file_system.seed = seed;
    queue_init(queue_depth, seed);
    if (control_start(socket_path, arguments[2]) != 0) {
        perror(socket_path);
        return 2;
    }
    return file_system_run(arguments[2]);
}
