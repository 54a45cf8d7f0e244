// The places of all threads, for the report to walk through.
#pragma once
#include "CCrashReport.h"

/* Bounds of the walk. Places are made a chunk at a time, and neither they nor their tables are ever freed: a report may read them
   at any moment. */
enum { TABLES_MAX = 1024, CHUNKS_MAX = 1024, PLACES_PER_CHUNK = 1024, THREAD_NAME_MAX = 16 };

struct crash_chunk {
  struct crash_place places[PLACES_PER_CHUNK];
};

/* One thread's. */
struct crash_table {
  char thread[THREAD_NAME_MAX];
  size_t chunk_count;
  struct crash_chunk *chunks[CHUNKS_MAX];
  struct crash_place *free; /* A free place's `low` is the next one's address. */
};

extern struct crash_table *crash_tables[TABLES_MAX];
