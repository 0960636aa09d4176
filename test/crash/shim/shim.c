/*
 * Stands between the service and the C library (LD_PRELOAD), for the files below one folder:
 * it writes down what was written and what was flushed (INTENDANT_SHIM_TRACE), so that a test can build the image
 * that a power cut would have left, and it answers with errors when told to (INTENDANT_SHIM_CONTROL).
 * The order of the records is the order of the writes: a write and its record are made under one lock. A flush is
 * two records, so that what was written while it ran is known not to be covered by it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Read by test/crash/trace.ts. */
enum { CREATE = 1, MKDIR, RENAME, UNLINK, RMDIR, WRITE, WRITE_THROUGH, WRITTEN_THROUGH, FLUSH_BEGIN, FLUSH_END, TRUNCATE,
       DIRECTORY_FLUSH_BEGIN, DIRECTORY_FLUSH_END, UNSUPPORTED };

struct record {
  uint32_t magic, type;
  /* Of a write: where; of a truncation: to what length. The token ties an end to its beginning. */
  uint64_t at_ns, file, place, token;
  uint32_t path_bytes, data_bytes;
};
#define MAGIC 0x1d5117ec

/* Written by test/crash/shim.ts. */
enum { LOG = 1, VIEW = 2, OTHER = 4, PLAIN = 8, THROUGH = 16 };
struct control {
  _Atomic int32_t flush_errno, flush_left, write_errno, write_left, where, write_half;
  _Atomic int32_t flushes_failed, writes_failed;
  /* Bytes that files may still grow by; negative: no bound. statfs tells of them. */
  _Atomic int64_t room;
  /* How long the thread of a failed write waits before it tells another thread of it. */
  _Atomic int32_t late_ms;
  /* How long a write to a file among the others takes, and how many have begun to. */
  _Atomic int32_t slow_ms, writes_slowed;
};

#define FDS_MAX 4096
struct tracked {
  int kind; /* 0: not ours; else LOG, VIEW, OTHER, or -1 for a folder */
  int through;
  uint64_t inode;
  char *path;
};
static struct tracked fds[FDS_MAX];
static char home[PATH_MAX];
static size_t home_bytes;
static int trace = -1;
static struct control *control;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t tokens = 1;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread int tells_late_ms;

#define REAL(name) static __typeof__(&name) real_##name
REAL(open64); REAL(openat64); REAL(close); REAL(write); REAL(pwrite64); REAL(writev); REAL(pwritev64); REAL(ftruncate64);
REAL(fsync); REAL(fdatasync); REAL(mmap64); REAL(rename); REAL(unlink); REAL(unlinkat); REAL(mkdir); REAL(rmdir); REAL(statfs64);

static void begin(void) {
#define FIND(name) real_##name = (__typeof__(real_##name))dlsym(RTLD_NEXT, #name)
  FIND(open64); FIND(openat64); FIND(close); FIND(write); FIND(pwrite64); FIND(writev); FIND(pwritev64); FIND(ftruncate64);
  FIND(fsync); FIND(fdatasync); FIND(mmap64); FIND(rename); FIND(unlink); FIND(unlinkat); FIND(mkdir); FIND(rmdir); FIND(statfs64);
  const char *folder = getenv("INTENDANT_SHIM_HOME");
  if (folder != NULL && strlen(folder) < sizeof home) {
    strcpy(home, folder);
    home_bytes = strlen(home);
  }
  const char *to = getenv("INTENDANT_SHIM_TRACE");
  if (to != NULL) trace = real_open64(to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const char *orders = getenv("INTENDANT_SHIM_CONTROL");
  if (orders != NULL) {
    int fd = real_open64(orders, O_RDWR | O_CLOEXEC);
    void *at = fd < 0 ? MAP_FAILED : real_mmap64(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) control = at;
    if (fd >= 0) real_close(fd);
  }
}
static void ready(void) { pthread_once(&once, begin); }
__attribute__((constructor)) static void loaded(void) { ready(); }

/* The path below the home, or NULL. */
static const char *below(const char *path) {
  if (home_bytes == 0 || path == NULL || strncmp(path, home, home_bytes) != 0) return NULL;
  if (path[home_bytes] == '\0') return ".";
  return path[home_bytes] == '/' ? path + home_bytes + 1 : NULL;
}
static struct tracked *of(int fd) {
  return fd >= 0 && fd < FDS_MAX && fds[fd].kind != 0 ? &fds[fd] : NULL;
}
static int kind_of(const char *path) {
  size_t bytes = strlen(path), end = strlen(".segment");
  if (strncmp(path, "log/", 4) == 0 && bytes > end && strcmp(path + bytes - end, ".segment") == 0) return LOG;
  return strcmp(path, "view/data.mdb") == 0 ? VIEW : OTHER;
}

static uint64_t now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

/* Called with the lock held. */
static void note(uint32_t type, uint64_t file, uint64_t place, uint64_t token, const char *path, const struct iovec *data,
                 int count, size_t bytes) {
  if (trace < 0) return;
  struct record head = {MAGIC, type, now(), file, place, token, path == NULL ? 0 : (uint32_t)strlen(path), (uint32_t)bytes};
  struct iovec parts[1026];
  int used = 0;
  parts[used++] = (struct iovec){&head, sizeof head};
  if (head.path_bytes > 0) parts[used++] = (struct iovec){(void *)path, head.path_bytes};
  size_t left = bytes;
  for (int i = 0; i < count && left > 0; i++) {
    size_t take = data[i].iov_len < left ? data[i].iov_len : left;
    parts[used++] = (struct iovec){data[i].iov_base, take};
    left -= take;
  }
  ssize_t all = sizeof head + head.path_bytes + bytes;
  /* A trace with a hole proves nothing: better no process than that. */
  if (real_writev(trace, parts, used) != all) abort();
}
static void note_path(uint32_t type, const char *path, uint64_t file, const char *second) {
  struct iovec data = {(void *)second, second == NULL ? 0 : strlen(second)};
  note(type, file, 0, 0, path, &data, 1, data.iov_len);
}

static int ordered(_Atomic int32_t *error, _Atomic int32_t *left, _Atomic int32_t *count, int kind, int through) {
  if (control == NULL) return 0;
  int answer = atomic_load(error), where = atomic_load(&control->where);
  if (answer == 0 || (where & kind) == 0 || (where & (through ? THROUGH : PLAIN)) == 0) return 0;
  int more = atomic_load(left);
  if (more == 0) return 0;
  if (more > 0) atomic_fetch_sub(left, 1);
  atomic_fetch_add(count, 1);
  return answer;
}

/* What may be written of `bytes` at `place`, or -1 with errno: the disk is full, or the test said so. */
static ssize_t allowed(struct tracked *file, int fd, off64_t place, size_t bytes) {
  if (control == NULL) return (ssize_t)bytes;
  int fails = ordered(&control->write_errno, &control->write_left, &control->writes_failed, file->kind, file->through);
  if (fails != 0) {
    tells_late_ms = atomic_load(&control->late_ms);
    if (atomic_load(&control->write_half) && bytes > 512) return (ssize_t)(bytes / 2);
    errno = fails;
    return -1;
  }
  int64_t room = atomic_load(&control->room);
  if (room < 0) return (ssize_t)bytes;
  struct stat status;
  if (fstat(fd, &status) != 0) return (ssize_t)bytes;
  int64_t growth = place + (int64_t)bytes - status.st_size;
  if (growth <= 0) return (ssize_t)bytes;
  if (growth > room) {
    atomic_fetch_add(&control->writes_failed, 1);
    if (growth - room < (int64_t)bytes) {
      atomic_store(&control->room, 0);
      return (ssize_t)(bytes - (size_t)(growth - room));
    }
    errno = ENOSPC;
    return -1;
  }
  atomic_fetch_sub(&control->room, growth);
  return (ssize_t)bytes;
}

static size_t total(const struct iovec *data, int count) {
  size_t bytes = 0;
  for (int i = 0; i < count; i++) bytes += data[i].iov_len;
  return bytes;
}
/* The first `bytes` of the parts, in `cut`. */
static int shortened(const struct iovec *data, int count, size_t bytes, struct iovec *cut) {
  int used = 0;
  for (int i = 0; i < count && bytes > 0; i++) {
    size_t take = data[i].iov_len < bytes ? data[i].iov_len : bytes;
    cut[used++] = (struct iovec){data[i].iov_base, take};
    bytes -= take;
  }
  return used;
}

static void pass(int ms) {
  struct timespec time = {ms / 1000, ms % 1000 * 1000000l};
  nanosleep(&time, NULL);
}

static ssize_t put(int fd, struct tracked *file, const struct iovec *data, int count, off64_t place) {
  int slow_ms = control == NULL || file->kind != OTHER ? 0 : atomic_load(&control->slow_ms);
  if (slow_ms > 0) {
    atomic_fetch_add(&control->writes_slowed, 1);
    pass(slow_ms);
  }
  size_t bytes = total(data, count);
  ssize_t may = allowed(file, fd, place, bytes);
  if (may < 0) return -1;
  struct iovec cut[1024];
  if ((size_t)may < bytes) {
    count = shortened(data, count, (size_t)may, cut);
    data = cut;
    bytes = (size_t)may;
  }
  if (file->through) {
    uint64_t token = atomic_fetch_add(&tokens, 1);
    /* Announced first: cut short in between, it may be on disk or not. */
    pthread_mutex_lock(&lock);
    note(WRITE_THROUGH, file->inode, (uint64_t)place, token, NULL, data, count, bytes);
    pthread_mutex_unlock(&lock);
    ssize_t written = real_pwritev64(fd, data, count, place);
    pthread_mutex_lock(&lock);
    if (written == (ssize_t)bytes) note(WRITTEN_THROUGH, file->inode, 0, token, NULL, NULL, 0, 0);
    pthread_mutex_unlock(&lock);
    return written;
  }
  pthread_mutex_lock(&lock);
  ssize_t written = real_pwritev64(fd, data, count, place);
  int kept = errno;
  if (written > 0) note(WRITE, file->inode, (uint64_t)place, 0, NULL, data, count, (size_t)written);
  pthread_mutex_unlock(&lock);
  errno = kept;
  return written;
}
/* A write where the file stands: pwrite, and the place moved on. */
static ssize_t put_here(int fd, struct tracked *file, const struct iovec *data, int count) {
  off64_t place = lseek64(fd, 0, SEEK_CUR);
  int flags = fcntl(fd, F_GETFL);
  struct stat status;
  if ((flags & O_APPEND) && fstat(fd, &status) == 0) place = status.st_size;
  ssize_t written = put(fd, file, data, count, place);
  if (written > 0) lseek64(fd, place + written, SEEK_SET);
  return written;
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t place) {
  ready();
  struct tracked *file = of(fd);
  if (file == NULL) return real_pwrite64(fd, data, bytes, place);
  struct iovec part = {(void *)data, bytes};
  return put(fd, file, &part, 1, place);
}
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t place) { return pwrite64(fd, data, bytes, place); }
ssize_t pwritev64(int fd, const struct iovec *data, int count, off64_t place) {
  ready();
  struct tracked *file = of(fd);
  return file == NULL ? real_pwritev64(fd, data, count, place) : put(fd, file, data, count, place);
}
ssize_t pwritev(int fd, const struct iovec *data, int count, off_t place) { return pwritev64(fd, data, count, place); }
/* Threads wake one another by a write to no file of ours. */
static void tell_late(void) {
  if (tells_late_ms == 0) return;
  int ms = tells_late_ms;
  tells_late_ms = 0;
  pass(ms);
}
ssize_t write(int fd, const void *data, size_t bytes) {
  ready();
  struct tracked *file = of(fd);
  if (file == NULL) {
    tell_late();
    return real_write(fd, data, bytes);
  }
  struct iovec part = {(void *)data, bytes};
  return put_here(fd, file, &part, 1);
}
ssize_t writev(int fd, const struct iovec *data, int count) {
  ready();
  struct tracked *file = of(fd);
  return file == NULL ? real_writev(fd, data, count) : put_here(fd, file, data, count);
}

int ftruncate64(int fd, off64_t bytes) {
  ready();
  struct tracked *file = of(fd);
  if (file == NULL) return real_ftruncate64(fd, bytes);
  pthread_mutex_lock(&lock);
  int answer = real_ftruncate64(fd, bytes);
  if (answer == 0) note(TRUNCATE, file->inode, (uint64_t)bytes, 0, NULL, NULL, 0, 0);
  pthread_mutex_unlock(&lock);
  return answer;
}
int ftruncate(int fd, off_t bytes) { return ftruncate64(fd, bytes); }

static int flush(int fd, int (*real)(int)) {
  struct tracked *file = of(fd);
  if (file == NULL) return real(fd);
  int folder = file->kind < 0;
  int fails = control == NULL
    ? 0 : ordered(&control->flush_errno, &control->flush_left, &control->flushes_failed, folder ? OTHER : file->kind, 0);
  if (fails != 0) {
    errno = fails;
    return -1;
  }
  uint64_t token = atomic_fetch_add(&tokens, 1);
  pthread_mutex_lock(&lock);
  note(folder ? DIRECTORY_FLUSH_BEGIN : FLUSH_BEGIN, file->inode, 0, token, folder ? file->path : NULL, NULL, 0, 0);
  pthread_mutex_unlock(&lock);
  int answer = real(fd);
  pthread_mutex_lock(&lock);
  if (answer == 0) note(folder ? DIRECTORY_FLUSH_END : FLUSH_END, file->inode, 0, token, NULL, NULL, 0, 0);
  pthread_mutex_unlock(&lock);
  return answer;
}
int fsync(int fd) { ready(); return flush(fd, real_fsync); }
int fdatasync(int fd) { ready(); return flush(fd, real_fdatasync); }

void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off64_t place) {
  ready();
  struct tracked *file = of(fd);
  if (file != NULL && (protection & PROT_WRITE) && (flags & MAP_SHARED) && strstr(file->path, "lock.mdb") == NULL) {
    pthread_mutex_lock(&lock);
    note_path(UNSUPPORTED, file->path, file->inode, "writes through a memory map are not seen");
    pthread_mutex_unlock(&lock);
  }
  return real_mmap64(at, bytes, protection, flags, fd, place);
}
void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t place) {
  return mmap64(at, bytes, protection, flags, fd, place);
}

static int opened(int fd, const char *name, int flags, int existed) {
  if (fd < 0 || fd >= FDS_MAX) return fd;
  struct stat status;
  if (fstat(fd, &status) != 0) return fd;
  free(fds[fd].path);
  fds[fd].path = strdup(name);
  fds[fd].inode = status.st_ino;
  fds[fd].through = (flags & (O_DSYNC | O_SYNC)) != 0;
  fds[fd].kind = S_ISDIR(status.st_mode) ? -1 : kind_of(name);
  if ((flags & O_CREAT) && !existed) note_path(CREATE, name, status.st_ino, NULL);
  else if ((flags & O_TRUNC) && existed) note(TRUNCATE, status.st_ino, 0, 0, NULL, NULL, 0, 0);
  return fd;
}
static int open_below(const char *path, const char *name, int flags, mode_t mode) {
  pthread_mutex_lock(&lock);
  int existed = access(path, F_OK) == 0;
  int fd = opened(real_open64(path, flags, mode), name, flags, existed);
  int kept = errno;
  pthread_mutex_unlock(&lock);
  errno = kept;
  return fd;
}
int open64(const char *path, int flags, ...) {
  ready();
  va_list rest;
  va_start(rest, flags);
  mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  const char *name = below(path);
  return name == NULL ? real_open64(path, flags, mode) : open_below(path, name, flags, mode);
}
int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open64(path, flags, mode);
}
int openat64(int at, const char *path, int flags, ...) {
  ready();
  va_list rest;
  va_start(rest, flags);
  mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  const char *name = below(path);
  return name == NULL ? real_openat64(at, path, flags, mode) : open_below(path, name, flags, mode);
}
int openat(int at, const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return openat64(at, path, flags, mode);
}
int close(int fd) {
  ready();
  if (of(fd) != NULL) {
    pthread_mutex_lock(&lock);
    fds[fd].kind = 0;
    pthread_mutex_unlock(&lock);
  }
  return real_close(fd);
}

static int changed(int answer, uint32_t type, const char *name, const char *second) {
  int kept = errno;
  if (answer == 0) note_path(type, name, 0, second);
  errno = kept;
  return answer;
}
#define ON_NAMES(type, name, second, call)                    \
  do {                                                        \
    ready();                                                  \
    const char *known = name;                                 \
    if (known == NULL) return call;                           \
    pthread_mutex_lock(&lock);                                \
    int answer = changed(call, type, known, second);          \
    pthread_mutex_unlock(&lock);                              \
    return answer;                                            \
  } while (0)
int mkdir(const char *path, mode_t mode) { ON_NAMES(MKDIR, below(path), NULL, real_mkdir(path, mode)); }
int rmdir(const char *path) { ON_NAMES(RMDIR, below(path), NULL, real_rmdir(path)); }
int unlink(const char *path) { ON_NAMES(UNLINK, below(path), NULL, real_unlink(path)); }
/* The whole path of a name in an open folder, or the name as it is. Node.js 24 removes files and folders by such names. */
static const char *within(int at, const char *name, char *path) {
  if (at == AT_FDCWD || name[0] == '/') return name;
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", at);
  ssize_t bytes = readlink(link, path, PATH_MAX);
  if (bytes <= 0 || bytes + 1 + strlen(name) >= PATH_MAX) return name;
  path[bytes] = '/';
  strcpy(path + bytes + 1, name);
  return path;
}
int unlinkat(int at, const char *name, int flags) {
  char path[PATH_MAX];
  ON_NAMES((flags & AT_REMOVEDIR) ? RMDIR : UNLINK, below(within(at, name, path)), NULL, real_unlinkat(at, name, flags));
}
/* The C library's own calls the system without asking us. */
int remove(const char *path) {
  if (unlink(path) == 0) return 0;
  return errno == EISDIR || errno == EPERM ? rmdir(path) : -1;
}
int rename(const char *from, const char *to) { ON_NAMES(RENAME, below(from), below(to), real_rename(from, to)); }

static long statfs_below(const char *path, struct statfs64 *out) {
  int answer = real_statfs64(path, out);
  int64_t room = control == NULL ? -1 : atomic_load(&control->room);
  if (answer == 0 && room >= 0 && below(path) != NULL) out->f_bavail = out->f_bfree = (uint64_t)room / out->f_bsize;
  return answer;
}
int statfs64(const char *path, struct statfs64 *out) { ready(); return statfs_below(path, out); }
int statfs(const char *path, struct statfs *out) { ready(); return statfs_below(path, (struct statfs64 *)out); }
