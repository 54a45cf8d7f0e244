// The kernel interfaces that Swift's Glibc module leaves out, and wraps for what the importer cannot take:
// macros, and calls whose address parameter becomes a transparent union under _GNU_SOURCE.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern int accept4(int, struct sockaddr *, socklen_t *, int);

static inline int clinux_errno(void) { return errno; }

static inline int clinux_accept4(int listener, struct sockaddr_storage *address, socklen_t *length) {
  return accept4(listener, (struct sockaddr *)address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}
static inline int clinux_connect(int fd, const struct sockaddr_storage *address, socklen_t length) {
  return connect(fd, (const struct sockaddr *)address, length);
}
static inline int clinux_bind(int fd, const struct sockaddr_storage *address, socklen_t length) {
  return bind(fd, (const struct sockaddr *)address, length);
}
static inline int clinux_getsockname(int fd, struct sockaddr_storage *address, socklen_t *length) {
  return getsockname(fd, (struct sockaddr *)address, length);
}
static inline int clinux_socket_error(int fd) {
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0) return errno;
  return error;
}
static inline int clinux_set_option(int fd, int level, int name, int value) {
  return setsockopt(fd, level, name, &value, sizeof value);
}
/* Bytes that were written and that the other side has not confirmed; 0 where the kernel does not tell (SIOCOUTQ). */
static inline int clinux_unconfirmed(int fd) {
  int count = 0;
  return ioctl(fd, TIOCOUTQ, &count) == 0 ? count : 0;
}
/* SO_LINGER with zero seconds: close sends a reset. */
static inline int clinux_reset_on_close(int fd) {
  struct linger linger = {1, 0};
  return setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}
static inline uint64_t clinux_monotonic_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
static inline uint64_t clinux_unix_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
static inline int clinux_epoll_add(int epoll, int fd, uint32_t events, uint64_t data) {
  struct epoll_event event = {.events = events, .data = {.u64 = data}};
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}
static inline int clinux_epoll_remove(int epoll, int fd) { return epoll_ctl(epoll, EPOLL_CTL_DEL, fd, 0); }
enum {
  CLINUX_EPOLLIN = EPOLLIN, CLINUX_EPOLLOUT = EPOLLOUT, CLINUX_EPOLLRDHUP = EPOLLRDHUP,
  CLINUX_EPOLLHUP = EPOLLHUP, CLINUX_EPOLLERR = EPOLLERR, CLINUX_EPOLLEXCLUSIVE = 1 << 28,
};
#define CLINUX_EPOLLET_BIT 31

/* Two buffers in one system call, without SIGPIPE. */
static inline ssize_t clinux_send_two(int fd, const void *first, size_t first_count, const void *second, size_t second_count) {
  struct iovec parts[2] = {{(void *)first, first_count}, {(void *)second, second_count}};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
  return sendmsg(fd, &message, MSG_NOSIGNAL);
}
static inline int clinux_open_log(const char *path) {
  /* A pipe that nobody reads must not hold up the start; one that is read is written to as ever. */
  int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0640);
  if (fd >= 0) fcntl(fd, F_SETFL, O_APPEND);
  return fd;
}
static inline int clinux_open_input(const char *path) { return open(path, O_RDONLY | O_CLOEXEC); }
/* A regular file: whatever else lies there, a pipe or a device, might never end. */
static inline int clinux_open_regular(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status;
  if (fd < 0 || (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))) return fd;
  close(fd);
  errno = EINVAL;
  return -1;
}
/* A new file for its owner's eyes; fails when there is one. */
static inline int clinux_create_private(const char *path) {
  return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}
static inline int clinux_open_unnamed(const char *folder) {
  int fd = open(folder, 020000000 | O_DIRECTORY | O_RDWR | O_CLOEXEC, 0600); /* O_TMPFILE, which wants _GNU_SOURCE */
  if (fd >= 0) return fd;
  char path[4096];
  if (snprintf(path, sizeof path, "%s/attestgate-XXXXXX", folder) >= (int)sizeof path) return -1;
  fd = mkstemp(path);
  if (fd >= 0) unlink(path);
  return fd;
}
/* Bytes that the allocator has and nobody uses. */
static inline ptrdiff_t clinux_free_heap_bytes(void) { return (ptrdiff_t)mallinfo2().fordblks; }
/* What is free at a heap's end is kept up to 4 MiB: to give it back and to take it anew costs a page fault for each page. */
static inline void clinux_keep_some_free_memory(void) {
  mallopt(M_TRIM_THRESHOLD, 4 << 20);
  mallopt(M_TOP_PAD, 1 << 20);
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
}
/* Large pieces are mapped one by one and go back whole: in a heap they would leave holes that the next one does not fit into. */
static inline void clinux_share_one_heap(void) {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
}
static inline void clinux_give_back_free_memory(void) { malloc_trim(0); }
static inline int clinux_ignore(int signal_number) { return signal(signal_number, SIG_IGN) == SIG_ERR ? -1 : 0; }
extern int pthread_setname_np(pthread_t, const char *);
static inline int clinux_name_thread(pthread_t thread, const char *name) { return pthread_setname_np(thread, name); }

static inline void *clinux_hold_thread(void *fd) {
  uint64_t one;
  if (read((int)(intptr_t)fd, &one, sizeof one) < 0) return fd;
  return NULL;
}
/* Whether so many more threads and descriptors are to be had, all at once: they are taken, and given back. The errno, 0 where they are. */
static inline int clinux_try_resources(int threads, int descriptors, size_t stack_bytes) {
  enum { TRIED_MAX = 4096 };
  static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
  static pthread_t held[TRIED_MAX];
  static int opened[TRIED_MAX];
  int error = 0, thread_count = 0, descriptor_count = 0;
  if (threads > TRIED_MAX || descriptors > TRIED_MAX) return EINVAL;
  pthread_mutex_lock(&one_at_a_time);
  int hold = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
  if (hold < 0) error = errno;
  while (error == 0 && descriptor_count < descriptors)
    if ((opened[descriptor_count] = fcntl(hold, F_DUPFD_CLOEXEC, 3)) < 0) error = errno;
    else descriptor_count++;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  while (error == 0 && thread_count < threads)
    if ((error = pthread_create(&held[thread_count], &attributes, clinux_hold_thread, (void *)(intptr_t)hold)) == 0) thread_count++;
  pthread_attr_destroy(&attributes);
  uint64_t all = (uint64_t)thread_count;
  if (thread_count > 0 && write(hold, &all, sizeof all) == sizeof all)
    for (int i = 0; i < thread_count; i++) pthread_join(held[i], NULL);
  for (int i = 0; i < descriptor_count; i++) close(opened[i]);
  if (hold >= 0) close(hold);
  pthread_mutex_unlock(&one_at_a_time);
  return error;
}
static inline int clinux_is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }
/* Neither closed on exec nor made so: for a standard descriptor. */
static inline int clinux_open_null(void) { return open("/dev/null", O_RDWR); }
static inline void clinux_set_close_on_exec(int fd) { fcntl(fd, F_SETFD, FD_CLOEXEC); }
static inline void clinux_set_nonblocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }
static inline int clinux_is_listening_stream(int fd) {
  int listens = 0, type = 0;
  socklen_t length = sizeof listens;
  if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) < 0 || !listens) return 0;
  length = sizeof type;
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}
/* The path of a Unix socket, which is in no other form of the address; empty for another one. */
static inline void clinux_unix_path(int fd, char path[108]) {
  struct sockaddr_un address;
  memset(&address, 0, sizeof address);
  socklen_t length = sizeof address;
  path[0] = 0;
  if (getsockname(fd, (struct sockaddr *)&address, &length) == 0 && address.sun_family == AF_UNIX)
    memcpy(path, address.sun_path, 107), path[107] = 0;
}
static inline int clinux_pipe(int ends[2]) {
  if (pipe(ends) < 0) return -1;
  clinux_set_close_on_exec(ends[0]);
  clinux_set_close_on_exec(ends[1]);
  return 0;
}
/* 1: a byte came. 0: the other end is gone. -1: neither within the time. */
static inline int clinux_wait_for_byte(int fd, int milliseconds) {
  struct pollfd entry = {fd, POLLIN, 0};
  char byte;
  int result;
  do result = poll(&entry, 1, milliseconds); while (result < 0 && errno == EINTR);
  return result > 0 ? (int)read(fd, &byte, 1) : -1;
}
/* One datagram to a Unix socket's address; the first byte of an abstract name is NUL. It waits a second for room in the other's queue. */
static inline int clinux_send_datagram(const uint8_t *path, size_t path_count, const uint8_t *text, size_t count) {
  struct sockaddr_un address;
  memset(&address, 0, sizeof address);
  if (path_count > sizeof address.sun_path) return -1;
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path, path_count);
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  struct timeval patience = {1, 0};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path_count);
  ssize_t sent = sendto(fd, text, count, MSG_NOSIGNAL, (struct sockaddr *)&address, length);
  close(fd);
  return sent == (ssize_t)count ? 0 : -1;
}
static inline void clinux_write_number(char *end, unsigned number) {
  for (int digit = 0; digit < 10; digit++, number /= 10) *--end = (char)('0' + number % 10);
}
/* What processes tell over a pipe before they are gone, or programs: a process's number, or the negative errno of whatever failed. */
static inline int clinux_take_number(const int told[2]) {
  int number = -ECHILD, one;
  ssize_t got;
  close(told[1]);
  for (;;) {
    do got = read(told[0], &one, sizeof one); while (got < 0 && errno == EINTR);
    if (got != sizeof one) break;
    if (number == -ECHILD || one < 0) number = one;
  }
  close(told[0]);
  return number;
}
enum { CLINUX_DESCRIPTORS_MAX = 1100 };
/* Becomes the program; it returns where that fails, with the reason in errno. `report` stays open until then. */
static inline void clinux_become(
    char *const *arguments, char *const *variables, const int *descriptors, int count, int numbered, int report) {
  int parked[CLINUX_DESCRIPTORS_MAX];
  for (int i = numbered; variables[i]; i++) clinux_write_number(variables[i] + strlen(variables[i]), (unsigned)getpid());
  for (int i = 0; i < count; i++)
    if ((parked[i] = fcntl(descriptors[i], F_DUPFD_CLOEXEC, 3 + count)) < 0) return;
  for (int i = 0; i < count; i++)
    if (dup2(parked[i], 3 + i) < 0) return;
  syscall(SYS_close_range, 3 + count, report - 1, 0);
  syscall(SYS_close_range, report + 1, ~0u, 0);
  execve(arguments[0], arguments, variables);
}
/* Starts a program with descriptors from 3 on and no others beyond the standard ones. The variables from `numbered` on end in ten
   digits, which become the new process's number: only the process itself knows it, and between fork and exec it may call nothing but the
   kernel. It is no child of this one but of a process between the two, which ends at once, and so the service manager's own (or process
   1's): a service manager that cannot wait for its main process does not wait when it stops it either, and cuts its draining short.
   The process's number, or the negative errno of whatever kept the program from running. */
static inline int clinux_start_successor(
    char *const *arguments, char *const *variables, const int *descriptors, int count, int numbered) {
  int told[2];
  if (count > CLINUX_DESCRIPTORS_MAX) return -E2BIG;
  if (clinux_pipe(told) != 0) return -errno;
  int between = fork();
  if (between == 0) {
    /* Out of the way of what the program gets. */
    int report = fcntl(told[1], F_DUPFD_CLOEXEC, 3 + count);
    int number = report < 0 ? -1 : _Fork();
    if (number == 0) clinux_become(arguments, variables, descriptors, count, numbered, report);
    if (number <= 0) number = -errno;
    _exit(write(report, &number, sizeof number) == sizeof number ? 0 : 127);
  }
  int error = between < 0 ? -errno : 0, number = clinux_take_number(told);
  if (error == 0) while (waitpid(between, NULL, 0) < 0 && errno == EINTR) {}
  return error != 0 ? error : number;
}
/* A process by a descriptor: its number may be another's once it has ended. */
static inline int clinux_open_process(int number) { return (int)syscall(SYS_pidfd_open, number, 0); }
static inline int clinux_signal_process(int process, int signal_number) {
  return (int)syscall(SYS_pidfd_send_signal, process, signal_number, NULL, 0);
}
/* Whether it ends within the time. */
static inline int clinux_wait_for_end(int process, int milliseconds) {
  struct pollfd entry = {process, POLLIN, 0};
  int result;
  do result = poll(&entry, 1, milliseconds); while (result < 0 && errno == EINTR);
  return result > 0;
}
