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
#include <sys/un.h>
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
  return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
}
static inline int clinux_open_input(const char *path) { return open(path, O_RDONLY | O_CLOEXEC); }
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
static inline void clinux_share_one_heap(void) { mallopt(M_ARENA_MAX, 1); }
static inline void clinux_give_back_free_memory(void) { malloc_trim(0); }
static inline int clinux_ignore(int signal_number) { return signal(signal_number, SIG_IGN) == SIG_ERR ? -1 : 0; }
extern int pthread_setname_np(pthread_t, const char *);
static inline int clinux_name_thread(pthread_t thread, const char *name) { return pthread_setname_np(thread, name); }
