// What a dying process still says: which signal, which requests were being served, and where it was.
// A C target, because a signal handler may call next to nothing (signal-safety(7)): no Swift runtime, no allocation, no lock.
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Where the report finds a request. Written by the thread that took the place, read by whichever thread dies. */
struct crash_place {
  uint64_t high; /* Both halves of the identifier; high is 0 while nothing is served. */
  uint64_t low;
  char *name;      /* The identifier that somebody else gave; stays allocated with the place. */
  size_t name_length; /* 0 unless somebody else gave one. */
};

/* Bytes of a name that are kept. */
enum { CRASH_NAME_MAX = 128 };

/* Has SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE and SIGABRT reported on standard error before they end the process: in place of
   Swift's own backtracer, which is a program that servers do not have. `program` begins the report. To be called once, on the main thread. */
void crash_report_install(const char *program);

/* Gives the calling thread a stack of its own for the report: one that overflowed has none left. */
void crash_report_prepare_thread(void);

/* A place of the calling thread; one that is in no report when there is no memory for another. */
struct crash_place *crash_place_take(void);

/* The place is free again; to be called on the thread that took it. */
void crash_place_give_back(struct crash_place *place);

/* The request's identifier is this text instead; longer ones are cut. */
void crash_place_set_name(struct crash_place *place, const uint8_t *text, size_t length);

/* A request is served from here on. */
static inline void crash_place_enter(struct crash_place *place, uint64_t high, uint64_t low) {
  __atomic_store_n(&place->low, low, __ATOMIC_RELAXED);
  __atomic_store_n(&place->high, high, __ATOMIC_RELEASE);
}

/* It has ended. */
static inline void crash_place_leave(struct crash_place *place) {
  __atomic_store_n(&place->name_length, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&place->high, 0, __ATOMIC_RELEASE);
}
