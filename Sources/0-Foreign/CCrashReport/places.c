// Taking places and giving them back: once a connection, not once a request.
#include "places.h"
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

struct crash_table *crash_tables[TABLES_MAX];

static _Thread_local struct crash_table *own_table;
static struct crash_place nowhere;

static struct crash_table *table_of_thread(void) {
  if (own_table) return own_table;
  struct crash_table *table = calloc(1, sizeof *table);
  if (!table) return NULL;
  prctl(PR_GET_NAME, table->thread);
  for (int index = 0; index < TABLES_MAX; index++) {
    struct crash_table *none = NULL;
    if (__atomic_compare_exchange_n(&crash_tables[index], &none, table, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      own_table = table;
      return table;
    }
  }
  free(table);
  return NULL;
}

static void put_back(struct crash_table *table, struct crash_place *place) {
  place->low = (uint64_t)(uintptr_t)table->free;
  table->free = place;
}

static int add_chunk(struct crash_table *table) {
  if (table->chunk_count == CHUNKS_MAX) return 0;
  struct crash_chunk *chunk = calloc(1, sizeof *chunk);
  if (!chunk) return 0;
  for (int index = PLACES_PER_CHUNK - 1; index >= 0; index--) put_back(table, &chunk->places[index]);
  table->chunks[table->chunk_count] = chunk;
  __atomic_store_n(&table->chunk_count, table->chunk_count + 1, __ATOMIC_RELEASE);
  return 1;
}

struct crash_place *crash_place_take(void) {
  struct crash_table *table = table_of_thread();
  if (!table || (!table->free && !add_chunk(table))) return &nowhere;
  struct crash_place *place = table->free;
  table->free = (struct crash_place *)(uintptr_t)place->low;
  return place;
}

void crash_place_give_back(struct crash_place *place) {
  crash_place_leave(place);
  if (place == &nowhere || !own_table) return;
  put_back(own_table, place);
}

void crash_place_set_name(struct crash_place *place, const uint8_t *text, size_t length) {
  if (place == &nowhere) return;
  if (!place->name && !(place->name = malloc(CRASH_NAME_MAX))) return;
  if (length > CRASH_NAME_MAX) length = CRASH_NAME_MAX;
  memcpy(place->name, text, length);
  __atomic_store_n(&place->name_length, length, __ATOMIC_RELEASE);
}
