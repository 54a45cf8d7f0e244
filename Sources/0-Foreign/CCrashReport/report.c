// The report. Everything that runs after the signal calls only what signal-safety(7) lists, and backtrace(3), which allocates
// nothing once it has been called.
#include "places.h"
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { STACK_BYTES = 64 * 1024, FRAMES_MAX = 96, REQUESTS_MAX = 1000, SECONDS_MAX = 5 };

static const struct {
  int number;
  const char *name;
} reported[] = {
  {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGILL, "SIGILL"}, {SIGTRAP, "SIGTRAP"}, {SIGFPE, "SIGFPE"}, {SIGABRT, "SIGABRT"},
};
enum { REPORTED_COUNT = sizeof reported / sizeof *reported };

static char program_name[64];
static int reported_signal;

// MARK: Writing

struct line {
  size_t length;
  char bytes[512];
};

static void flush(struct line *line) {
  size_t written = 0;
  while (written < line->length) {
    ssize_t count = write(STDERR_FILENO, line->bytes + written, line->length - written);
    if (count > 0) written += (size_t)count;
    else if (count == 0 || errno != EINTR) break;
  }
  line->length = 0;
}

static void add_bytes(struct line *line, const char *bytes, size_t count) {
  for (size_t index = 0; index < count && line->length < sizeof line->bytes; index++) line->bytes[line->length++] = bytes[index];
}

static void add(struct line *line, const char *text) { add_bytes(line, text, strlen(text)); }

static void add_number(struct line *line, uint64_t number, unsigned base, int digits) {
  char text[24];
  int start = sizeof text;
  do {
    text[--start] = "0123456789abcdef"[number % base];
    number /= base;
  } while (number > 0 || (int)sizeof text - start < digits);
  add_bytes(line, text + start, sizeof text - (size_t)start);
}

// MARK: Parts of the report

static void report_signal(int index, const siginfo_t *info) {
  struct line line = {0};
  char thread[THREAD_NAME_MAX] = {0};
  prctl(PR_GET_NAME, thread);
  add(&line, program_name);
  add(&line, " crashed: ");
  add(&line, reported[index].name);
  // Not positive: somebody sent it, abort(3) for one; else the kernel, for what happened at an address.
  if (info->si_code <= 0) {
    if (info->si_pid != getpid()) {
      add(&line, " sent by process ");
      add_number(&line, (uint64_t)info->si_pid, 10, 1);
    }
  } else {
    add(&line, " at address 0x");
    add_number(&line, (uint64_t)(uintptr_t)info->si_addr, 16, 1);
  }
  add(&line, ", thread ");
  add(&line, thread);
  add(&line, "\n");
  flush(&line);
}

static void report_place(const struct crash_place *place, uint64_t high, const char *thread) {
  struct line line = {0};
  add(&line, "  request ");
  size_t name_length = __atomic_load_n(&place->name_length, __ATOMIC_ACQUIRE);
  if (name_length > 0 && name_length <= CRASH_NAME_MAX) {
    add_bytes(&line, place->name, name_length);
  } else {
    add_number(&line, high, 16, 16);
    add_number(&line, __atomic_load_n(&place->low, __ATOMIC_RELAXED), 16, 16);
  }
  add(&line, " ");
  add(&line, thread);
  add(&line, "\n");
  flush(&line);
}

static void say(const char *text) {
  struct line line = {0};
  add(&line, text);
  flush(&line);
}

static void report_requests(void) {
  int count = 0;
  say("requests being served:\n");
  for (int index = 0; index < TABLES_MAX; index++) {
    const struct crash_table *table = __atomic_load_n(&crash_tables[index], __ATOMIC_ACQUIRE);
    if (!table) break;
    size_t chunk_count = __atomic_load_n(&table->chunk_count, __ATOMIC_ACQUIRE);
    for (size_t place = 0; place < chunk_count * PLACES_PER_CHUNK; place++) {
      const struct crash_place *one = &table->chunks[place / PLACES_PER_CHUNK]->places[place % PLACES_PER_CHUNK];
      uint64_t high = __atomic_load_n(&one->high, __ATOMIC_ACQUIRE);
      if (high == 0) continue;
      if (count++ == REQUESTS_MAX) return say("  and more\n");
      report_place(one, high, table->thread);
    }
  }
  if (count == 0) say("  none\n");
}

static void report_backtrace(void) {
  void *frames[FRAMES_MAX];
  say("backtrace:\n");
  backtrace_symbols_fd(frames, backtrace(frames, FRAMES_MAX), STDERR_FILENO);
}

// MARK: Signals

/* A report that finds a lock held, or nobody who reads, must not keep a dead process alive. */
static void give_up(int number) {
  (void)number;
  signal(reported_signal, SIG_DFL);
  kill(getpid(), reported_signal);
}

static void report(int number, siginfo_t *info, void *context) {
  (void)context;
  int none = 0;
  if (!__atomic_compare_exchange_n(&reported_signal, &none, number, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    for (;;) pause(); // Another thread is reporting, and its signal will end this one too.
  }
  signal(SIGALRM, give_up);
  alarm(SECONDS_MAX);
  int index = 0;
  while (index < REPORTED_COUNT - 1 && reported[index].number != number) index++;
  report_signal(index, info);
  report_requests(); // First what always works.
  report_backtrace();
  signal(number, SIG_DFL);
  raise(number); // Taken when this handler returns, with the stack as it was: for a core dump.
}

void crash_report_prepare_thread(void) {
  void *memory = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t stack = {.ss_sp = memory, .ss_size = STACK_BYTES};
  sigaltstack(&stack, NULL);
}

void crash_report_install(const char *program) {
  strncpy(program_name, program, sizeof program_name - 1);
  void *frame;
  backtrace(&frame, 1); // Loads the library that unwinds, which a handler must not.
  crash_report_prepare_thread();
  for (int index = 0; index < REPORTED_COUNT; index++) {
    struct sigaction action = {.sa_sigaction = report, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    sigdelset(&action.sa_mask, SIGALRM);
    sigaction(reported[index].number, &action, NULL);
  }
}
