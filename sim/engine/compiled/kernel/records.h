/* Made by sim/engine/compiled/records.py (make header); change it there. */

#ifndef RECORDS_H
#define RECORDS_H

#include <stdint.h>

#define HEDGE_SAMPLES INT64_C(100)
#define SUB_BINS INT64_C(32)
#define BINS INT64_C(2048)
#define LEAST_EXPONENT INT64_C(-40)
#define JITTER_STREAM INT64_C(4294967296)
#define BOUND_POSITIONS INT64_C(65536)
#define UNBOUNDED INT64_C(1099511627776)

enum { /* Discipline */
    DISCIPLINE_INFINITE_SERVER = 0,
    DISCIPLINE_FIFO = 1,
    DISCIPLINE_PROCESSOR_SHARING = 2,
    DISCIPLINE_GROUP_COMMIT = 3,
    DISCIPLINE_SIRO = 4,
    DISCIPLINE_PRIORITY = 5,
    DISCIPLINE_WEIGHTED_SHARE = 6,
    DISCIPLINE_POOL = 7,
    DISCIPLINE_GATE = 8,
    DISCIPLINES,
};

enum { /* Kind */
    KIND_SPEED = 0,
    KIND_DOWN = 1,
    KIND_UP = 2,
    KIND_SHUT = 3,
    KIND_OPEN = 4,
    KIND_JOIN = 5,
    KIND_LEAVE = 6,
};

enum { /* Choice */
    CHOICE_HASH = 0,
    CHOICE_ROUND_ROBIN = 1,
    CHOICE_RANDOM = 2,
    CHOICE_LEAST_OUTSTANDING = 3,
    CHOICE_POWER_OF_TWO = 4,
};

enum { /* Failure */
    FAILURE_NONE = 0,
    FAILURE_QUEUE_FULL = 1,
    FAILURE_GATE_SHUT = 2,
    FAILURE_STATION_DOWN = 3,
    FAILURE_NO_MEMBER = 4,
    FAILURE_TIMEOUT = 5,
};

enum { /* Status */
    STATUS_DONE = 0,
    STATUS_NEED_SHEET = 1,
    STATUS_CLOCK_RAN_BACK = 2,
    STATUS_OUT_OF_MEMORY = 3,
};

enum { /* Fault */
    FAULT_NONE = 0,
    FAULT_COUNTS = 1,
    FAULT_STATION = 2,
    FAULT_ROUTE = 3,
    FAULT_STAGE = 4,
    FAULT_POSITION = 5,
    FAULT_GROUP = 6,
    FAULT_ACTION = 7,
    FAULT_BACKGROUND = 8,
    FAULT_SIZES = 9,
    FAULT_SHEET_ROUTE = 10,
    FAULT_SHEET_ARRIVAL = 11,
    FAULT_SHEET_THINK = 12,
    FAULT_SHEET_PHASE = 13,
    FAULT_SHEET_VISITS = 14,
    FAULT_SHEET_STATION = 15,
    FAULT_SHEET_DEMAND = 16,
    FAULT_SHEET_FIRST = 17,
};

/* What a discipline is. */
#define INFINITE(discipline) (UINT64_C(0x1) >> (discipline) & 1)
#define SHARES(discipline) (UINT64_C(0x4) >> (discipline) & 1)
#define BATCHES(discipline) (UINT64_C(0x8) >> (discipline) & 1)
#define HOLDS_TOKENS(discipline) (UINT64_C(0x80) >> (discipline) & 1)
#define IS_GATE(discipline) (UINT64_C(0x100) >> (discipline) & 1)
#define TAKES_TIME(discipline) (UINT64_C(0x7f) >> (discipline) & 1)
#define HAS_ONE_SERVER(discipline) (UINT64_C(0x108) >> (discipline) & 1)
#define HAS_CLASSES(discipline) (UINT64_C(0x60) >> (discipline) & 1)
#define IS_WEIGHTED(discipline) (UINT64_C(0x40) >> (discipline) & 1)
#define DRAWS(discipline) (UINT64_C(0x10) >> (discipline) & 1)

/* A service centre. */
typedef struct {
    int64_t discipline;
    int64_t role;
    int64_t servers;
    int64_t queue_limit;
    int64_t poll_limit;
    double batch_item_s;
    double poll_s; /* 0: waiting jobs do not poll */
    double setup_s;
    double age_bias;
    double cold_penalty_s; /* 0: no caches */
    double warm_up_s;
    double decay_s;
} StationLayout;
_Static_assert(sizeof(StationLayout) == 96, "StationLayout is laid out as in Python");

/* The stages of one kind of request, and its client's policy. */
typedef struct {
    int64_t first_stage;
    int64_t end_stage;
    int64_t first_position;
    int64_t visits;
    int64_t priority;
    int64_t attempts; /* at most */
    int64_t retries;
    int64_t cancels;
    int64_t tied;
    double timeout_s;
    double backoff_s;
    double backoff_max_s;
    double jitter;
    double retry_budget;
    double hedge_budget;
    double second_s; /* when a second attempt starts; infinity: never, or by a quantile */
    double quantile; /* 0: none */
} RouteLayout;
_Static_assert(sizeof(RouteLayout) == 136, "RouteLayout is laid out as in Python");

/* A fork of branches; `need` of them join it. */
typedef struct {
    int64_t need;
    int64_t delivers;
    int64_t first_branch;
    int64_t end_branch;
} StageLayout;
_Static_assert(sizeof(StageLayout) == 32, "StageLayout is laid out as in Python");

/* A visit's place in its route. */
typedef struct {
    int32_t stage;
    int32_t is_last; /* of its branch */
    int32_t releases;
    int32_t ties;
} PositionLayout;
_Static_assert(sizeof(PositionLayout) == 16, "PositionLayout is laid out as in Python");

/* Alternatives bound at run time. With `rows`, members are columns of a placement table. */
typedef struct {
    int64_t choice;
    int64_t members;
    int64_t positions;
    int64_t first_member; /* in member_station */
    int64_t rows; /* 0: members are stations */
    int64_t columns;
    int64_t first_row; /* in placement_station */
} GroupLayout;
_Static_assert(sizeof(GroupLayout) == 56, "GroupLayout is laid out as in Python");

/* An entry of the scenario. */
typedef struct {
    int64_t kind;
    int64_t target;
    int64_t member;
    double at_s;
    double value;
} ActionLayout;
_Static_assert(sizeof(ActionLayout) == 40, "ActionLayout is laid out as in Python");

/* A background load: rows of the background sheet. */
typedef struct {
    int64_t first_row;
    int64_t end_row;
} BackgroundLayout;
_Static_assert(sizeof(BackgroundLayout) == 16, "BackgroundLayout is laid out as in Python");

/* A chunk of requests; see models/network/demand_sheet.py. */
typedef struct {
    int64_t first; /* index of its first request */
    int64_t is_last; /* no request follows it */
    const int32_t *route;
    int64_t route_count;
    const double *arrival_s;
    int64_t arrival_s_count;
    const double *think_s;
    int64_t think_s_count;
    const int32_t *phase;
    int64_t phase_count;
    const uint64_t *key_hash;
    int64_t key_hash_count;
    const int64_t *first_visit;
    int64_t first_visit_count;
    const int32_t *station; /* below 0: bound at run time */
    int64_t station_count;
    const double *demand_s;
    int64_t demand_s_count;
} Sheet;
_Static_assert(sizeof(Sheet) == 144, "Sheet is laid out as in Python");

/* All that stays the same during a run. */
typedef struct {
    int64_t open_loop;
    int64_t clients;
    int64_t classes; /* of priority */
    int64_t roles;
    int64_t paths; /* critical paths are wanted */
    int64_t tied; /* some route has tied attempts */
    int64_t position_bits; /* of a token */
    int64_t attempt_bits; /* of a token */
    uint64_t seed;
    double stagger_s;
    double limit_s; /* no request begins from then on */
    const StationLayout *stations;
    int64_t stations_count;
    const double *weights; /* stations x classes */
    int64_t weights_count;
    const RouteLayout *routes;
    int64_t routes_count;
    const StageLayout *stages;
    int64_t stages_count;
    const int64_t *branch_first_position; /* within its route */
    int64_t branch_first_position_count;
    const PositionLayout *positions;
    int64_t positions_count;
    const GroupLayout *groups;
    int64_t groups_count;
    const int64_t *member_station; /* or column; group after group, member after member */
    int64_t member_station_count;
    const int64_t *placement_station; /* the tables that groups use, row after row */
    int64_t placement_station_count;
    const ActionLayout *actions;
    int64_t actions_count;
    const BackgroundLayout *backgrounds;
    int64_t backgrounds_count;
} Program;
_Static_assert(sizeof(Program) == 264, "Program is laid out as in Python");

/* What happened: to each request, to each background request, at each station. */
typedef struct {
    double clock_s; /* when the last visit or attempt ended */
    int64_t in_flight;
    int64_t idle_with_queue; /* stations found with an idle server and a waiting job */
    double *start_s;
    int64_t start_s_count;
    double *first_byte_s;
    int64_t first_byte_s_count;
    double *end_s;
    int64_t end_s_count;
    int32_t *client;
    int64_t client_count;
    int8_t *failure;
    int64_t failure_count;
    int16_t *attempts;
    int64_t attempts_count;
    int16_t *winner;
    int64_t winner_count;
    double *path_s;
    int64_t path_s_count;
    double *background_end_s;
    int64_t background_end_s_count;
    int64_t *visits;
    int64_t visits_count;
    double *busy_s;
    int64_t busy_s_count;
    double *waiting_s;
    int64_t waiting_s_count;
    int64_t *held;
    int64_t held_count;
} Results;
_Static_assert(sizeof(Results) == 232, "Results is laid out as in Python");

#endif
