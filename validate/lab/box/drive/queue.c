#include "queue.h"

#include <errno.h>
#include <math.h>

#include "clock.h"
#include "mechanism.h"

struct list {
    struct access *first, **end;
    int count;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t thawed;
static pthread_condattr_t monotonic;
static struct list waiting = {.end = &waiting.first}, serving = {.end = &serving.first};
static int64_t free_at_ns[MOST_DEPTH]; /* of each server; -1: it serves */
static int servers;
static uint64_t draws_seed, served;
static struct faults faults = {.slower = 1};
static int64_t frozen_at_ns, resumed_at_ns;

static void append(struct list *list, struct access *access)
{
    access->next = NULL;
    *list->end = access;
    list->end = &access->next;
    list->count++;
}

static void take_out(struct list *list, struct access *access)
{
    struct access **at = &list->first;
    while (*at != access)
        at = &(*at)->next;
    *at = access->next;
    if (list->end == &access->next)
        list->end = at;
    list->count--;
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

void queue_init(int depth, uint64_t seed)
{
    servers = depth;
    draws_seed = seed;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&thawed, &monotonic);
}

static bool by_mechanism(const struct access *access)
{
    return disk.present && (access->kind == READ || access->kind == WRITE);
}

static bool takes_time(const struct access *access)
{
    if (access->kind == READ && access->bytes == 0) /* beyond the end of a file */
        return false;
    return by_mechanism(access) || demands[access->kind].quantiles != NULL;
}

/* The server that has been free for longest; -1: all serve. */
static int free_server(void)
{
    int longest = -1;
    for (int i = 0; i < servers; i++)
        if (free_at_ns[i] >= 0 && (longest < 0 || free_at_ns[i] < free_at_ns[longest]))
            longest = i;
    return longest;
}

/* The access to serve next: the first, or of the first few the one that the disk's head reaches first. */
static struct access *next_access(int64_t at_ns)
{
    struct access *best = waiting.first;
    if (!disk.present)
        return best;
    int64_t least_ns = INT64_MAX;
    int looked_at = 0;
    for (struct access *each = waiting.first; each != NULL && looked_at < disk.depth; each = each->next, looked_at++) {
        int64_t start_ns = later(at_ns, each->arrival_ns);
        int64_t reached_ns = start_ns;
        if (by_mechanism(each))
            reached_ns += positioning_ns(each->kind == WRITE, each->address, start_ns);
        if (reached_ns < least_ns) {
            least_ns = reached_ns;
            best = each;
        }
    }
    return best;
}

static int64_t mechanical_ns(const struct access *access)
{
    int64_t time_ns = positioning_ns(access->kind == WRITE, access->address, access->start_ns);
    time_ns += transfer_ns(access->address, access->bytes);
    disk.head_bytes = access->address + (double)access->bytes;
    return time_ns;
}

static void begin_services(void)
{
    int server;
    while (!faults.frozen && waiting.first != NULL && (server = free_server()) >= 0) {
        int64_t from_ns = later(free_at_ns[server], resumed_at_ns);
        struct access *access = next_access(from_ns);
        take_out(&waiting, access);
        access->start_ns = later(from_ns, access->arrival_ns);
        int64_t time_ns = by_mechanism(access) ? mechanical_ns(access) : access->service_ns;
        access->service_ns = llround((double)time_ns * faults.slower);
        access->end_ns = access->start_ns + access->service_ns;
        access->server = server;
        access->progress = IN_SERVICE;
        free_at_ns[server] = -1;
        append(&serving, access);
        pthread_cond_signal(&access->changed);
    }
}

static void end_service(struct access *access, int64_t at_ns)
{
    take_out(&serving, access);
    free_at_ns[access->server] = at_ns;
    access->progress = ENDED;
    served++;
}

/* End the services that are over by now, also those whose threads have not run yet, and begin the next ones. */
static void serve(void)
{
    int64_t now_ns = faults.frozen ? frozen_at_ns : monotonic_ns();
    for (struct access *each = serving.first, *next; each != NULL; each = next) {
        next = each->next;
        if (each->end_ns <= now_ns) {
            end_service(each, each->end_ns);
            pthread_cond_signal(&each->changed);
        }
    }
    begin_services();
}

int queue_begin(struct access *access)
{
    pthread_mutex_lock(&mutex);
    access->arrival_ns = access->start_ns = access->end_ns = monotonic_ns();
    access->service_ns = access->error = 0;
    access->progress = ENDED;
    if (!faults.errors && takes_time(access)) {
        pthread_cond_init(&access->changed, &monotonic);
        access->progress = WAITING;
        if (!by_mechanism(access))
            access->service_ns = draw_ns(access->kind, access->bytes, draws_seed);
        append(&waiting, access);
        serve();
        while (access->progress == WAITING)
            pthread_cond_wait(&access->changed, &mutex);
    } else {
        bool from_cache = access->kind == STAT; /* a kernel has the attributes of files in use, also of a drive that hangs */
        while (faults.frozen && !faults.errors && !from_cache)
            pthread_cond_wait(&thawed, &mutex);
        access->end_ns = from_cache ? access->arrival_ns : later(access->arrival_ns, resumed_at_ns);
        access->error = faults.errors ? -EIO : 0;
    }
    pthread_mutex_unlock(&mutex);
    return access->error;
}

int queue_end(struct access *access)
{
    pthread_mutex_lock(&mutex);
    for (serve(); access->progress != ENDED; serve()) {
        struct timespec end = {access->end_ns / NS_PER_S, access->end_ns % NS_PER_S};
        if (faults.frozen)
            pthread_cond_wait(&access->changed, &mutex);
        else
            pthread_cond_timedwait(&access->changed, &mutex, &end);
    }
    pthread_mutex_unlock(&mutex);
    return access->error;
}

void queue_pass(struct access *access)
{
    access->arrival_ns = access->start_ns = access->end_ns = monotonic_ns();
    access->progress = ENDED;
}

bool queue_is_full(void)
{
    pthread_mutex_lock(&mutex);
    bool full = faults.full;
    pthread_mutex_unlock(&mutex);
    return full;
}

/* Fail what waits and what is in service. */
static void fail_all(int64_t now_ns)
{
    while (waiting.first != NULL) {
        struct access *access = waiting.first;
        take_out(&waiting, access);
        access->progress = ENDED;
        access->error = -EIO;
        access->start_ns = access->end_ns = now_ns;
        access->service_ns = 0;
        pthread_cond_signal(&access->changed);
    }
    while (serving.first != NULL) {
        struct access *access = serving.first;
        end_service(access, now_ns);
        access->error = -EIO;
        access->end_ns = now_ns;
        pthread_cond_signal(&access->changed);
    }
}

static void thaw(int64_t now_ns)
{
    resumed_at_ns = now_ns;
    for (struct access *each = serving.first; each != NULL; each = each->next) {
        if (each->end_ns > frozen_at_ns)
            each->end_ns += now_ns - frozen_at_ns;
        pthread_cond_signal(&each->changed);
    }
}

static struct queue_status status(int64_t now_ns)
{
    return (struct queue_status){faults, waiting.count, serving.count, served, now_ns, realtime_ns()};
}

struct queue_status queue_change(struct faults changed)
{
    pthread_mutex_lock(&mutex);
    serve(); /* what was to begin before */
    int64_t now_ns = monotonic_ns();
    bool was_frozen = faults.frozen;
    faults = changed;
    if (faults.frozen && !was_frozen)
        frozen_at_ns = now_ns;
    if (!faults.frozen && was_frozen)
        thaw(now_ns);
    if (faults.errors)
        fail_all(now_ns);
    serve();
    pthread_cond_broadcast(&thawed);
    struct queue_status result = status(now_ns);
    pthread_mutex_unlock(&mutex);
    return result;
}

struct queue_status queue_now(void)
{
    pthread_mutex_lock(&mutex);
    struct queue_status result = status(monotonic_ns());
    pthread_mutex_unlock(&mutex);
    return result;
}
