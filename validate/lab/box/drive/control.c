#define _GNU_SOURCE
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "queue.h"

enum { LINE_BYTES = 200 };

static int listening = -1, signals = -1;
static const char *mounted_at, *listening_at;

static void end(void)
{
    if (umount2(mounted_at, MNT_DETACH) != 0) { /* not root */
        pid_t child = fork();
        if (child == 0) {
            execlp("fusermount3", "fusermount3", "-u", "-z", "-q", mounted_at, (char *)NULL);
            _exit(127);
        }
        if (child > 0)
            waitpid(child, NULL, 0);
    }
    unlink(listening_at);
    _exit(0); /* the kernel ends what still waits, with ENOTCONN */
}

static int report(char *text, size_t size, struct queue_status status)
{
    return snprintf(text, size,
                    "{\"monotonic_ns\": %lld, \"realtime_ns\": %lld, \"slower\": %.17g, \"frozen\": %s, "
                    "\"errors\": %s, \"full\": %s, \"waiting\": %d, \"in_service\": %d, \"served\": %llu}\n",
                    (long long)status.monotonic_ns, (long long)status.realtime_ns, status.faults.slower,
                    status.faults.frozen ? "true" : "false", status.faults.errors ? "true" : "false",
                    status.faults.full ? "true" : "false", status.waiting, status.in_service,
                    (unsigned long long)status.served);
}

/* Change what a command changes; whether there is such a command. */
static bool change(const char *name, const char *value, struct faults *faults)
{
    bool on = value == NULL;
    if (!on && strcmp(name, "slower") != 0 && strcmp(value, "off") != 0)
        return false;
    if (strcmp(name, "frozen") == 0)
        faults->frozen = on;
    else if (strcmp(name, "errors") == 0)
        faults->errors = on;
    else if (strcmp(name, "full") == 0)
        faults->full = on;
    else if (strcmp(name, "normal") == 0 && on)
        *faults = (struct faults){.slower = 1};
    else if (strcmp(name, "slower") == 0 && !on) {
        char *rest;
        faults->slower = strtod(value, &rest);
        return *rest == '\0' && faults->slower > 0 && faults->slower < 1e9;
    } else
        return false;
    return true;
}

/* Carry out a line; the length of the response. Sets `ends` if the drive is to end. */
static int carry_out(char *line, char *response, size_t size, bool *ends)
{
    char *rest = NULL, *name = strtok_r(line, " \r\n", &rest), *value = strtok_r(NULL, " \r\n", &rest);
    struct queue_status status = queue_now();
    *ends = name != NULL && strcmp(name, "end") == 0;
    if (*ends || (name != NULL && strcmp(name, "status") == 0))
        return report(response, size, status);
    if (name == NULL || strtok_r(NULL, " \r\n", &rest) != NULL || !change(name, value, &status.faults))
        return snprintf(response, size,
                        "{\"error\": \"allowed are slower FACTOR, frozen, errors, full (each with off), normal, "
                        "status, end\"}\n");
    return report(response, size, queue_change(status.faults));
}

static void talk(int connection)
{
    struct timeval limit = {.tv_sec = 1};
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    char line[LINE_BYTES] = "", response[2 * LINE_BYTES + 200];
    size_t length = 0;
    while (length < sizeof line - 1 && memchr(line, '\n', length) == NULL) {
        ssize_t received = recv(connection, line + length, sizeof line - 1 - length, 0);
        if (received <= 0)
            break;
        length += (size_t)received;
    }
    line[length] = '\0';
    bool ends = false;
    int size = carry_out(line, response, sizeof response, &ends);
    ssize_t sent = send(connection, response, (size_t)size, MSG_NOSIGNAL);
    (void)sent; /* who asked may be gone */
    close(connection);
    if (ends)
        end();
}

static void *control(void *unused)
{
    (void)unused;
    struct pollfd sources[2] = {{.fd = listening, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    for (;;) {
        if (poll(sources, 2, -1) < 0 && errno != EINTR)
            return NULL;
        if (sources[1].revents & POLLIN)
            end();
        if (sources[0].revents & POLLIN) {
            int connection = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
            if (connection >= 0)
                talk(connection);
        }
    }
}

/* Listen at a path, also one that is longer than the address of a socket may be. */
static bool listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char folder_path[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (slash == NULL || snprintf(folder_path, sizeof folder_path, "%.*s/", (int)(slash - path), path) < 0)
        return false;
    int folder = open(folder_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int length = snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d%s", folder, slash);
    if (folder < 0 || length >= (int)sizeof address.sun_path)
        return false;
    unlink(path); /* of a drive that was killed */
    listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool listens = listening >= 0 && bind(listening, (struct sockaddr *)&address, sizeof address) == 0 &&
                   listen(listening, 16) == 0;
    close(folder);
    return listens;
}

int control_start(const char *socket_path, const char *mount_point)
{
    mounted_at = mount_point;
    listening_at = socket_path;
    if (!listen_at(socket_path))
        return -1;
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ending, NULL);
    signals = signalfd(-1, &ending, SFD_CLOEXEC);
    pthread_t thread;
    return signals < 0 || pthread_create(&thread, NULL, control, NULL) != 0 ? -1 : 0;
}
