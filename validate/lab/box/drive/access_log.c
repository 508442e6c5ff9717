#define _GNU_SOURCE
#include "access_log.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

static int file = -1;

static const char HEADER[] = "kind\toffset\tbytes\tarrival_ns\tstart_ns\tend_ns\tservice_ns\tcontinued\terror\tpath\tto\n";

int log_open(const char *path)
{
    file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0)
        return -1;
    if (lseek(file, 0, SEEK_END) == 0 && write(file, HEADER, sizeof HEADER - 1) < 0)
        return -1;
    return 0;
}

/* Append a path without its leading slash; what would end a column is written as %XX. */
static char *append_path(char *at, const char *end, const char *path)
{
    for (const char *c = *path == '/' ? path + 1 : path; *c != '\0' && at + 3 < end; c++) {
        if (*c == '%' || (unsigned char)*c < ' ')
            at += sprintf(at, "%%%02X", (unsigned char)*c);
        else
            *at++ = *c;
    }
    return at;
}

void log_access(const struct access *access, const char *path, const char *to, int64_t offset, bool continued,
                int error)
{
    char line[4 * PATH_MAX], *end = line + sizeof line - 2;
    int64_t shift_ns = realtime_shift_ns();
    char *at = line + sprintf(line, "%s\t%lld\t%lld\t%lld\t%lld\t%lld\t%lld\t%d\t%d\t", KIND_NAMES[access->kind],
                              (long long)offset, (long long)access->bytes, (long long)(access->arrival_ns + shift_ns),
                              (long long)(access->start_ns + shift_ns), (long long)realtime_ns(),
                              (long long)access->service_ns, continued, error);
    at = append_path(at, end, path);
    *at++ = '\t';
    if (to != NULL)
        at = append_path(at, end, to);
    *at++ = '\n';
    if (write(file, line, (size_t)(at - line)) < 0) {
        /* A full disk must not stop the drive. */
    }
}
