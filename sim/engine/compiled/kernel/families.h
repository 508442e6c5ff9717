/* The sub-requests of visits.
 *
 * The *descendants* of a request are its sub-requests, those of these, and so on. Those of a request in flight are
 * copied from its Sheet, which can be freed then. A *family* is the sub-requests that one attempt starts at one visit,
 * the *children* of that attempt's request; each child in progress has a slot of its own. A family is kept until its
 * visit is over, its children have ended and none of its events is on the clock; descendants, until no request and no
 * family needs them.
 */
#ifndef FAMILIES_H
#define FAMILIES_H

#include <stdint.h>

/* Descendants in the order of the Sheet. Row 0 of `first_family` is the request, row 1 + i descendant i. */
typedef struct Descendants {
    struct Descendants *before, *after; /* in the list of all */
    int64_t references;
    int64_t *first_family;
    int64_t *first_child, *end_child; /* of each family */
    int64_t *first_visit;
    uint64_t *key_hash, *identity;
    double *demand_s;
    int32_t *route;
    int32_t *station;
} Descendants;

typedef struct {
    Descendants *of;
    int64_t token;          /* the visit that waits for it */
    int64_t next, end;      /* the next child to begin, and after the last one */
    int64_t count, need;
    int64_t done, failed;
    int64_t first, last;    /* slots of the children in progress, in the order in which they began; NIL: none */
    int64_t in_progress;
    double began_s;         /* its visit ended */
    int64_t references;
    int32_t sub_requests;   /* index in the program */
    uint8_t is_due;         /* the beginning of the next child is on the clock */
    uint8_t is_over;        /* no further child begins */
    uint8_t is_abandoned;   /* the attempt is cancelled */
} Family;

/* What the request or sub-request in a slot has to do with others. */
typedef struct {
    Descendants *of;        /* NULL: it has none */
    int64_t row;            /* in first_family of these */
    int64_t family;         /* of a sub-request in progress; NIL: none */
    int64_t before, after;  /* slots of the same family */
    uint64_t identity;      /* of a sub-request */
} Relatives;

#endif
