/* A disk that is as full as a test says, so that nobody needs a small one.
 *
 * Preloaded into the server and its store. While the file TK_DISK_FREE exists, the number in it is how many bytes are free:
 * whoever asks for the room is told so, and at 0 nothing more can be written to files below TK_DISK. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* -1 when the disk is as it is. */
static long long free_bytes(void) {
  const char *path = getenv("TK_DISK_FREE");
  FILE *file = path ? fopen(path, "re") : NULL;
  long long bytes = -1;
  if (file) {
    if (fscanf(file, "%lld", &bytes) != 1) bytes = -1;
    fclose(file);
  }
  return bytes;
}

static int has_no_room(int fd) {
  const char *folder = getenv("TK_DISK");
  char link[64], path[4096];
  struct stat file;
  if (!folder || fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strncmp(path, folder, strlen(folder)) == 0 && free_bytes() == 0;
}

ssize_t write(int fd, const void *bytes, size_t length) {
  static ssize_t (*real)(int, const void *, size_t);
  if (!real) real = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
  int before = errno;
  if (has_no_room(fd)) {
    errno = ENOSPC;
    return -1;
  }
  errno = before;
  return real(fd, bytes, length);
}

static int told(const char *name, const char *path, struct statvfs *room) {
  int (*real)(const char *, struct statvfs *) = (int (*)(const char *, struct statvfs *))dlsym(RTLD_NEXT, name);
  int result = real(path, room);
  long long bytes = free_bytes();
  if (result == 0 && bytes >= 0 && room->f_frsize) {
    room->f_bavail = bytes / room->f_frsize;
    room->f_bfree = room->f_bavail;
  }
  return result;
}

int statvfs(const char *path, struct statvfs *room) { return told("statvfs", path, room); }
int statvfs64(const char *path, struct statvfs64 *room) { return told("statvfs64", path, (struct statvfs *)room); }
