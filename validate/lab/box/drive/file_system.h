/* The pass-through file system: each operation waits for the drive, then goes to the backing folder. */
#ifndef FILE_SYSTEM_H
#define FILE_SYSTEM_H

#include <stdint.h>

struct file_system {
    char *backing;               /* absolute path of the folder that has the data */
    unsigned max_read, max_write; /* bytes in one access */
    uint64_t seed;               /* of the places of files on a hard disk */
};

extern struct file_system file_system;

/* Mount it and serve until it is unmounted; the exit status. */
int file_system_run(const char *mount_point);

#endif
