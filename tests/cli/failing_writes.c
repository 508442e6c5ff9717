/* Makes one operation on files below a folder fail, for tests: preloaded into a program (LD_PRELOAD).
 *
 * FAIL_BELOW is the folder, FAIL_AT the number of the operation from 1, FAIL_ERRNO its error. All later writes fail too,
 * as on a disk that stays full. FAIL_COUNT is a file that has the number of operations, so that a first run without
 * FAIL_AT tells how many there are.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long operations;

static int is_below(const char *path) {
    const char *folder = getenv("FAIL_BELOW");
    return folder != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

static void tell(long number) {
    const char *path = getenv("FAIL_COUNT");
    FILE *file = path == NULL ? NULL : fopen(path, "w");
    if (file == NULL) return;
    fprintf(file, "%ld\n", number);
    fclose(file);
}

static int fails(void) {
    const char *at = getenv("FAIL_AT"), *error = getenv("FAIL_ERRNO");
    long number = atomic_fetch_add(&operations, 1) + 1;
    tell(number);
    if (at == NULL || error == NULL || number < atol(at)) return 0;
    errno = atoi(error);
    return 1;
}

static int fails_on(int file) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_below(path) && fails();
}

#define REAL(name) ((typeof(&name)) dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void *data, size_t size) {
    return fails_on(file) ? -1 : REAL(write)(file, data, size);
}

ssize_t pwrite(int file, const void *data, size_t size, off_t at) {
    return fails_on(file) ? -1 : REAL(pwrite)(file, data, size, at);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    return fails_on(file) ? -1 : REAL(writev)(file, parts, count);
}

int fsync(int file) {
    return fails_on(file) ? -1 : REAL(fsync)(file);
}

int rename(const char *from, const char *to) {
    return is_below(to) && fails() ? -1 : REAL(rename)(from, to);
}
