/* The state of a run.
 *
 * A *slot* is a request in flight, an *attempt* one try at it (slot and number in one integer), a *token* a visit of an
 * attempt (attempt and position in one integer). So whatever waits or is in service is named by a token, and what
 * belongs to it is found by shifts. Queues are linked lists through the tokens.
 *
 * Arrays that events access at random keep the values of an item together, in one cache line if they fit.
 */
#ifndef STATE_H
#define STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "families.h"
#include "records.h"

#define NIL INT64_C(-1)
#define CACHE_LINE 64

/* Two kinds of assertion: CHECK, in debug builds only, asserts what the boundary or the surrounding code guarantees.
 * What must hold whatever is in memory (the order of time) is a status that Python turns into an error. */
#ifdef KERNEL_DEBUG
#include <stdio.h>
#define CHECK(condition)                                                                     \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);    \
            abort();                                                                         \
        }                                                                                    \
    } while (0)
#else
#define CHECK(condition) ((void)0)
#endif

#define RARE __attribute__((noinline))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* An entry of a heap, ordered by time, then by number. Both together are compared as one number of 128 bits. */
typedef struct {
    int64_t number;
    double time_s;
    int64_t argument;
    int32_t kind;
    uint32_t detail;
} Entry;

/* The two children of an entry share a cache line: the root is in the second half of one. */
typedef struct {
    Entry *entries;
    int64_t size, capacity;
} Heap;

/* What every station has and most visits need: one cache line. */
typedef struct {
    uint8_t discipline;
    uint8_t down;    /* dead, or a gate that is shut */
    uint8_t caches;  /* whether it has CPU caches */
    uint8_t sets_up; /* setup_s is not 0 */
    uint32_t died : 24, /* how often */
        paired : 8;     /* 1: with the station after it, which uses the same server; 2: with the one before it */
    int32_t servers;
    int32_t busy;   /* busy servers, or tokens held */
    int32_t live;   /* waiting jobs, without cancelled ones */
    int32_t queued; /* jobs in the queue, with cancelled ones */
    int32_t head, tail; /* of the queue, linked through its tokens; classes have queues of their own */
    double speed;
    double busy_s, waiting_s;
    int64_t visits;
} Station;
_Static_assert(sizeof(Station) == CACHE_LINE, "a station is a cache line");

/* A class's queue at a station. */
typedef struct {
    int32_t head, tail, queued;
    double start; /* WEIGHTED_SHARE: virtual time at which the class's next job starts */
} ClassQueue;

/* What only some stations have. */
typedef struct {
    double last_s;       /* time up to which the integrals of shared servers and pools are updated */
    ClassQueue *classes; /* PRIORITY, WEIGHTED_SHARE */
    double virtual_s;    /* WEIGHTED_SHARE */
    Heap shared;         /* PROCESSOR_SHARING: by the attained service at which a job is done */
    double attained_s;   /* PROCESSOR_SHARING: of each job present */
    double left_s;       /* PROCESSOR_SHARING with a queue: the work of all jobs that is not done */
    int64_t behind;      /* likewise: jobs in the queue */
    int64_t joined;      /* PROCESSOR_SHARING: jobs that have been present */
    uint32_t version;    /* PROCESSOR_SHARING: outdates departures on the clock */
    int64_t commits;     /* OPTIMISTIC */
    int32_t waiting_capacity;
    int32_t *waiting;    /* SIRO: the queue */
    int64_t choices;     /* SIRO, OPTIMISTIC: random words taken */
    double warm_fraction, warm_at_s; /* of the caches, and the time at which it was calculated */
    int64_t paused;      /* first token of a batch between two parts of its service, plus 1; 0: none */
    double paused_s;     /* since when */
    double part_s;       /* of a batch's service, of which some more are to come */
    int64_t parts_left;
    double *death_s;     /* times when it died */
    int64_t death_capacity;
} StationExtra;

/* RETURNED: early, before the visit. TIMED: at a timer of an infinite server, so its branch is not in progress. BEGUN: a
 * transaction that is not committed. */
typedef enum { IDLE, WAITING, CANCELLED, HOLDING, RETURNED, TIMED, BEGUN } TokenState;

/* Half a cache line: two consecutive visits share one. */
typedef struct {
    double demand_s; /* of a transaction that is BEGUN: the commits that it has noted */
    double since_s;  /* the visit began */
    union {
        int32_t next;        /* token in its queue, or batch */
        int32_t polls;       /* at a shut gate */
        int32_t repetitions; /* of a transaction */
    };
    int32_t station; /* below 0: bound at run time */
    int32_t position;
    uint32_t life : 24, /* number of deaths of its station when its service began */
        state : 8;      /* a TokenState */
} Token;

typedef struct {
    double began_s;
    int32_t stage;
    int32_t done, failed; /* branches of that stage */
    int32_t claimed;      /* likewise */
    int32_t live;         /* branches in progress, so not those at timers */
    int32_t held;         /* tokens of pools */
    uint8_t cancelled, over;
} Attempt;

typedef struct {
    int64_t request; /* or background operation */
    uint64_t key;
    double start_s, first_byte_s;
    int32_t route;
    int32_t client;
    int32_t busy;   /* branches of all attempts, also at timers, and cancelled jobs in queues */
    uint32_t life;  /* number of uses of the slot: invalidates timers */
    int16_t attempts, retries, pending; /* pending: retries that are due */
    uint8_t is_free, ended, tied;
    uint8_t background; /* a background operation, for which no client waits */
    uint8_t is_child;   /* a sub-request */
} Slot;

typedef struct {
    uint8_t *present;     /* by a member's name, see `name_of` */
    int64_t *outstanding; /* likewise */
    int64_t names;
    int64_t present_count; /* members present, where members are stations */
    int64_t *best;         /* LEAST_OUTSTANDING of stations: a tournament, see groups.c */
    int64_t leaves;
    int64_t picks, draws;
} Group;

/* The running quantile of observed latencies, like `LatencyHistogram` in Python. */
typedef struct {
    int64_t total, place, below;
    int64_t count[BINS];
} LatencyHistogram;

/* The state of a client policy, of the first route that has it, see policy_state.c. */
typedef struct {
    double retry_tokens, hedge_tokens;
    LatencyHistogram *bins; /* if it hedges after a quantile */
} PolicyState;

/* Requests that are issued in one order: the open loop, or a closed loop. */
typedef struct {
    const Sheet *sheet;
    int64_t next_row; /* the next request's index */
    double last_arrival_s; /* of the last sheet */
    int64_t last_phase;
    int64_t phase;
} Source;

/* The results of each request that are not taken yet, by column; `end_s` is NaN while it is in flight. */
typedef struct {
    double *start_s, *first_byte_s, *end_s, *path_s;
    int32_t *client;
    int16_t *attempts, *winner;
    int8_t *failure;
    int64_t capacity;
    int64_t first; /* request of the first row */
} Columns;

typedef struct {
    double now_s;   /* time of the current event */
    double clock_s; /* when the last visit or attempt ended */
    Heap events;
    bool hole;        /* the current event is still at the top of the heap */
    bool out_of_memory;
    int64_t inserted; /* events put on the clock */
    int64_t arrival_number; /* the next arrival's insertion number: arrivals stay out of the heap */

    const Program *program;
    const Sheet *background;
    int64_t station_count;
    int attempt_bits, position_bits;

    Station *stations;
    StationExtra *extras;
    ClassQueue *class_queues;
    Slot *slots;
    int64_t *free_slots; /* a stack */
    int64_t free_count, slot_count;
    Attempt *attempts;
    Token *tokens;
    double *began_s;            /* start of service of each token's visit, if paths are recorded */
    int64_t *member_of_attempt; /* attempts x groups; NIL: not bound */
    double *path_of_attempt;    /* attempts x path_width, if paths are recorded */

    /* If there are sub-requests. */
    Relatives *relatives;       /* of each slot */
    int32_t *family_of_token;   /* plus 1; 0: none */
    double *inherited_path;     /* slots x path_width, if paths are recorded */
    Family *families;
    int64_t *free_families;     /* a stack */
    int64_t free_family_count, family_capacity;
    int64_t *member_of_family;  /* families x groups: those of the attempt */
    double *path_of_family;     /* families x path_width, if paths are recorded */
    Descendants *descendants;   /* a list */

    Group *groups;
    PolicyState *policies; /* of each route; those of equal policies use the first one's */
    int64_t *background_next; /* the next operation of each background load */
    double *background_end_s;
    Source *sources; /* the open loop if there is one, then the closed loops */
    int64_t source_count;
    int64_t wanted;  /* source that needs a sheet; NIL: none */
    int32_t *source_of_client;
    uint8_t *client_parked;
    Columns results;

    int64_t begun; /* requests of all sources */
    int64_t outstanding;
    int64_t idle_with_queue;
} Engine;

/* The closed loop of a source. */
static inline const LoopLayout *loop_of(const Engine *e, const Source *source)
{
    return &e->program->loops[(source - e->sources) - (e->program->open_loop != 0)];
}

static inline Station *station_at(Engine *e, int64_t station)
{
    CHECK(station >= 0 && station < e->station_count);
    return &e->stations[station];
}

static inline int64_t number_of(const Engine *e, const Station *at)
{
    return at - e->stations;
}

static inline StationExtra *extra_of(Engine *e, const Station *at)
{
    return &e->extras[number_of(e, at)];
}

static inline const StationLayout *layout_of(Engine *e, const Station *at)
{
    return &e->program->stations[number_of(e, at)];
}

static inline Token *token_at(Engine *e, int64_t token)
{
    CHECK(token >= 0 && token < e->slot_count << (e->attempt_bits + e->position_bits));
    return &e->tokens[token];
}

static inline Attempt *attempt_at(Engine *e, int64_t attempt)
{
    CHECK(attempt >= 0 && attempt < e->slot_count << e->attempt_bits);
    return &e->attempts[attempt];
}

static inline Slot *slot_at(Engine *e, int64_t slot)
{
    CHECK(slot >= 0 && slot < e->slot_count);
    return &e->slots[slot];
}

static inline int64_t attempt_of(const Engine *e, int64_t token)
{
    return token >> e->position_bits;
}

static inline int64_t slot_of(const Engine *e, int64_t token)
{
    return token >> (e->position_bits + e->attempt_bits);
}

static inline int64_t slot_of_attempt(const Engine *e, int64_t attempt)
{
    return attempt >> e->attempt_bits;
}

static inline const PositionLayout *position_of(Engine *e, const Token *token)
{
    CHECK(token->position >= 0 && token->position < e->program->positions_count);
    return &e->program->positions[token->position];
}

static inline const RouteLayout *route_layout(Engine *e, const Slot *slot)
{
    CHECK(slot->route >= 0 && slot->route < e->program->routes_count);
    return &e->program->routes[slot->route];
}

static inline const StageLayout *stage_layout(Engine *e, int64_t stage)
{
    CHECK(stage >= 0 && stage < e->program->stages_count);
    return &e->program->stages[stage];
}

static inline const GroupLayout *group_layout(Engine *e, int64_t group)
{
    CHECK(group >= 0 && group < e->program->groups_count);
    return &e->program->groups[group];
}

static inline int64_t *member_at(Engine *e, int64_t attempt, int64_t group)
{
    CHECK(group >= 0 && group < e->program->groups_count);
    CHECK(attempt >= 0 && attempt < e->slot_count << e->attempt_bits);
    return &e->member_of_attempt[attempt * e->program->groups_count + group];
}

#endif
