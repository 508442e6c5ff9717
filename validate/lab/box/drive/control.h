/* The control socket: a command in a line, and a line of JSON in return, which says when the command took effect.
 *
 *   slower F     services that begin from now on take F times as long (1: as usual)
 *   frozen [off] nothing is served; what is in service goes on afterwards
 *   errors [off] everything fails with EIO at once, also what waits
 *   full [off]   new data fail with ENOSPC
 *   normal       none of these
 *   status       nothing changes
 *   end          the drive is unmounted, and the process ends; SIGTERM does the same
 */
#ifndef CONTROL_H
#define CONTROL_H

/* Listen on a UNIX socket in a thread of its own. Returns 0, or -1 with errno. */
int control_start(const char *socket_path, const char *mount_point);

#endif
