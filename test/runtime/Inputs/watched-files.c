// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Preloaded: what the process whose RANK is $WATCHED_RANK does to files whose
// path contains $WATCHED. Calls that change a disk are counted:
//   WATCHED_LOG=FILE  lists them
//   WATCHED_KILL=N    the process is killed as the N-th begins
//   WATCHED_FULL=N    from the N-th on, the disk is full
//   WATCHED_MS=N      every write, and every read, takes N ms longer
//   WATCHED_STALE=1   stat() does not find shards, as on a client of NFS that
//   has
//                     not opened a file since another one has made it
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define NEXT(name, ...)                                                        \
  static int (*next)(__VA_ARGS__);                                             \
  if (!next)                                                                   \
  *(void **)&next = dlsym(RTLD_NEXT, #name)

static int isWatched(const char *path) {
  const char *rank = getenv("RANK"), *only = getenv("WATCHED_RANK"),
             *part = getenv("WATCHED");
  return part && path && strstr(path, part) &&
         (!only || (rank && strcmp(rank, only) == 0));
}

static const char *pathOf(int file) {
  static __thread char path[4096];
  char link[40];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  path[length < 0 ? 0 : length] = 0;
  return path;
}

static int numberIn(const char *name) {
  const char *text = getenv(name);
  return text ? atoi(text) : 0;
}

static void delay(void) { usleep(1000 * numberIn("WATCHED_MS")); }

// Returns whether the disk is full.
static int begin(const char *call, const char *path, int writes) {
  static int count;
  ++count;
  const char *log = getenv("WATCHED_LOG");
  if (log) {
    char line[4200];
    const int length =
        snprintf(line, sizeof line, "%s %s\n", call,
                 strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    const int file = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (write(file, line, length) != length)
      abort();
    close(file);
  }
  if (count == numberIn("WATCHED_KILL"))
    raise(SIGKILL);
  const int full = numberIn("WATCHED_FULL");
  if (!writes || full == 0 || count < full)
    return 0;
  errno = ENOSPC;
  return 1;
}

ssize_t pwrite(int file, const void *data, size_t bytes, off_t offset) {
  static ssize_t (*next)(int, const void *, size_t, off_t);
  if (!next)
    *(void **)&next = dlsym(RTLD_NEXT, "pwrite");
  if (isWatched(pathOf(file))) {
    delay();
    if (begin("write", pathOf(file), 1))
      return -1;
  }
  return next(file, data, bytes, offset);
}

size_t fwrite(const void *data, size_t size, size_t count, FILE *file) {
  static size_t (*next)(const void *, size_t, size_t, FILE *);
  if (!next)
    *(void **)&next = dlsym(RTLD_NEXT, "fwrite");
  if (isWatched(pathOf(fileno(file)))) {
    delay();
    if (begin("write", pathOf(fileno(file)), 1))
      return 0;
  }
  return next(data, size, count, file);
}

ssize_t read(int file, void *data, size_t bytes) {
  static ssize_t (*next)(int, void *, size_t);
  if (!next)
    *(void **)&next = dlsym(RTLD_NEXT, "read");
  if (isWatched(pathOf(file)))
    delay();
  return next(file, data, bytes);
}

ssize_t readv(int file, const struct iovec *parts, int count) {
  static ssize_t (*next)(int, const struct iovec *, int);
  if (!next)
    *(void **)&next = dlsym(RTLD_NEXT, "readv");
  if (isWatched(pathOf(file)))
    delay();
  return next(file, parts, count);
}

int ftruncate(int file, off_t bytes) {
  NEXT(ftruncate, int, off_t);
  if (isWatched(pathOf(file)) && begin("truncate", pathOf(file), 1))
    return -1;
  return next(file, bytes);
}

int stat(const char *path, struct stat *status) {
  NEXT(stat, const char *, struct stat *);
  if (numberIn("WATCHED_STALE") && isWatched(path) && strstr(path, "-of-")) {
    errno = ENOENT;
    return -1;
  }
  return next(path, status);
}

int fsync(int file) {
  NEXT(fsync, int);
  if (isWatched(pathOf(file)) && begin("fsync", pathOf(file), 1))
    return -1;
  return next(file);
}

int rename(const char *from, const char *to) {
  NEXT(rename, const char *, const char *);
  if (isWatched(to))
    begin("rename", to, 0);
  return next(from, to);
}

int unlink(const char *path) {
  NEXT(unlink, const char *);
  if (isWatched(path) && access(path, F_OK) == 0)
    begin("unlink", path, 0);
  return next(path);
}

int remove(const char *path) {
  NEXT(remove, const char *);
  if (isWatched(path) && access(path, F_OK) == 0)
    begin("unlink", path, 0);
  return next(path);
}
