#define _GNU_SOURCE
#define FUSE_USE_VERSION 312
#include "file_system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "access_log.h"
#include "mechanism.h"
#include "page_cache.h"
#include "queue.h"

enum {
    PAGE_BYTES = 4096,
    MOST_THREADS = 1024, /* each access that waits has one */
};

struct file_system file_system;

/* Requests of one direction that follow each other on an open file. */
struct sequence {
    off_t next;
    pid_t thread;
    bool split; /* whether the kernel split the request, as its buffer does not begin at a page */
};

struct handle {
    int fd;
    char *path; /* when it was opened */
    uint64_t inode;
    double address;
    pthread_mutex_t mutex;
    struct sequence reads, writes;
};

struct backing_path {
    char text[PATH_MAX];
};

static const char *backed(const char *path, struct backing_path *buffer)
{
    snprintf(buffer->text, sizeof buffer->text, "%s%s", file_system.backing, path);
    return buffer->text;
}

static struct handle *handle_of(const struct fuse_file_info *info) { return (struct handle *)(uintptr_t)info->fh; }

static int result_of(int returned) { return returned < 0 ? -errno : 0; }

/* Wait for a metadata operation; 0 or a negative errno. */
static int wait_for(struct access *access, enum kind kind)
{
    *access = (struct access){.kind = kind};
    int failed = queue_begin(access);
    return failed ? failed : queue_end(access);
}

static int logged(const struct access *access, const char *path, const char *to, int result)
{
    log_access(access, path, to, 0, false, result < 0 ? -result : 0);
    return result;
}

/* A metadata operation: waits, then does what is given and logs it. */
#define OPERATION(kind, path, to, call) \
    do { \
        struct access access; \
        int failed = wait_for(&access, kind); \
        return logged(&access, path, to, failed ? failed : result_of(call)); \
    } while (0)

/* As OPERATION, for what needs room. */
#define GROWING_OPERATION(kind, path, to, call) \
    do { \
        if (queue_is_full()) \
            return -ENOSPC; \
        OPERATION(kind, path, to, call); \
    } while (0)

/* Names and attributes. They are not logged if they take no time: most come from the kernel's cache anyway. */

static int fs_getattr(const char *path, struct stat *attributes, struct fuse_file_info *info)
{
    struct backing_path buffer;
    struct access access;
    int failed = wait_for(&access, STAT);
    if (failed)
        return failed;
    int result = result_of(info ? fstat(handle_of(info)->fd, attributes) : lstat(backed(path, &buffer), attributes));
    return access.service_ns > 0 ? logged(&access, path ? path : handle_of(info)->path, NULL, result) : result;
}

static int fs_access(const char *path, int mode)
{
    struct backing_path buffer;
    struct access access;
    int failed = wait_for(&access, STAT);
    return failed ? failed : result_of(faccessat(AT_FDCWD, backed(path, &buffer), mode, 0));
}

static int fs_readlink(const char *path, char *target, size_t size)
{
    struct backing_path buffer;
    struct access access;
    int failed = wait_for(&access, STAT);
    if (failed)
        return failed;
    ssize_t length = readlink(backed(path, &buffer), target, size - 1);
    if (length < 0)
        return -errno;
    target[length] = '\0';
    return 0;
}

static int fs_statfs(const char *path, struct statvfs *found)
{
    struct backing_path buffer;
    struct access access;
    int failed = wait_for(&access, STAT);
    if (failed)
        return failed;
    int result = result_of(statvfs(backed(path, &buffer), found));
    if (queue_is_full())
        found->f_bfree = found->f_bavail = 0;
    return result;
}

struct folder {
    DIR *entries;
    char *path;
};

static struct folder *folder_of(const struct fuse_file_info *info) { return (struct folder *)(uintptr_t)info->fh; }

static int fs_opendir(const char *path, struct fuse_file_info *info)
{
    struct backing_path buffer;
    struct access access;
    int failed = wait_for(&access, STAT);
    if (failed)
        return failed;
    DIR *entries = opendir(backed(path, &buffer));
    if (entries == NULL)
        return -errno;
    struct folder *folder = malloc(sizeof *folder);
    char *name = strdup(path);
    if (folder == NULL || name == NULL) {
        free(folder);
        free(name);
        closedir(entries);
        return -ENOMEM;
    }
    *folder = (struct folder){entries, name};
    info->fh = (uintptr_t)folder;
    return 0;
}

static int fs_readdir(const char *path, void *list, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *info,
                      enum fuse_readdir_flags flags)
{
    (void)path, (void)offset, (void)flags;
    struct folder *folder = folder_of(info);
    struct access access;
    int failed = wait_for(&access, READDIR);
    if (failed)
        return logged(&access, folder->path, NULL, failed);
    rewinddir(folder->entries);
    struct dirent *entry;
    while ((entry = readdir(folder->entries)) != NULL) {
        struct stat attributes = {.st_ino = entry->d_ino, .st_mode = DTTOIF(entry->d_type)};
        if (fill(list, entry->d_name, &attributes, 0, 0))
            break;
    }
    return logged(&access, folder->path, NULL, 0);
}

static int fs_releasedir(const char *path, struct fuse_file_info *info)
{
    (void)path;
    struct folder *folder = folder_of(info);
    closedir(folder->entries);
    free(folder->path);
    free(folder);
    return 0;
}

static int fs_mkdir(const char *path, mode_t mode)
{
    struct backing_path buffer;
    GROWING_OPERATION(MKDIR, path, NULL, mkdir(backed(path, &buffer), mode));
}

static int fs_rmdir(const char *path)
{
    struct backing_path buffer;
    OPERATION(RMDIR, path, NULL, rmdir(backed(path, &buffer)));
}

/* Drop what the page cache has of a file that loses its only name. */
static void forget(const char *path)
{
    struct backing_path buffer;
    struct stat attributes;
    if (lstat(backed(path, &buffer), &attributes) == 0 && S_ISREG(attributes.st_mode) && attributes.st_nlink == 1)
        page_cache_drop(attributes.st_ino, 0, attributes.st_size);
}

static int fs_unlink(const char *path)
{
    struct backing_path buffer;
    forget(path);
    OPERATION(UNLINK, path, NULL, unlink(backed(path, &buffer)));
}

static int fs_rename(const char *from, const char *to, unsigned flags)
{
    struct backing_path buffer, new_buffer;
    if (flags == 0)
        forget(to);
    OPERATION(RENAME, from, to,
              renameat2(AT_FDCWD, backed(from, &buffer), AT_FDCWD, backed(to, &new_buffer), flags));
}

static int fs_link(const char *from, const char *to)
{
    struct backing_path buffer, new_buffer;
    GROWING_OPERATION(LINK, from, to, link(backed(from, &buffer), backed(to, &new_buffer)));
}

static int fs_symlink(const char *target, const char *path)
{
    struct backing_path buffer;
    GROWING_OPERATION(LINK, path, target, symlink(target, backed(path, &buffer)));
}

static int fs_chmod(const char *path, mode_t mode, struct fuse_file_info *info)
{
    struct backing_path buffer;
    const char *name = path ? path : handle_of(info)->path;
    OPERATION(SETATTR, name, NULL, info ? fchmod(handle_of(info)->fd, mode) : chmod(backed(path, &buffer), mode));
}

static int fs_chown(const char *path, uid_t user, gid_t group, struct fuse_file_info *info)
{
    struct backing_path buffer;
    const char *name = path ? path : handle_of(info)->path;
    OPERATION(SETATTR, name, NULL,
              info ? fchown(handle_of(info)->fd, user, group) : lchown(backed(path, &buffer), user, group));
}

static int fs_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *info)
{
    struct backing_path buffer;
    const char *name = path ? path : handle_of(info)->path;
    OPERATION(SETATTR, name, NULL,
              info ? futimens(handle_of(info)->fd, times)
                   : utimensat(AT_FDCWD, backed(path, &buffer), times, AT_SYMLINK_NOFOLLOW));
}

static int fs_truncate(const char *path, off_t size, struct fuse_file_info *info)
{
    struct backing_path buffer;
    const char *name = path ? path : handle_of(info)->path;
    OPERATION(TRUNCATE, name, NULL,
              info ? ftruncate(handle_of(info)->fd, size) : truncate(backed(path, &buffer), size));
}

static int fs_fallocate(const char *path, int mode, off_t offset, off_t length, struct fuse_file_info *info)
{
    (void)path;
    struct handle *handle = handle_of(info);
    GROWING_OPERATION(ALLOCATE, handle->path, NULL, fallocate(handle->fd, mode, offset, length));
}

/* Extended attributes. The kernel looks for security.capability before each write of some programs; that is free. */

static int fs_getxattr(const char *path, const char *name, char *value, size_t size)
{
    struct backing_path buffer;
    struct access access = {.kind = GETXATTR};
    bool costs = strncmp(name, "security.", 9) != 0;
    int failed = costs ? wait_for(&access, GETXATTR) : 0;
    if (failed)
        return logged(&access, path, NULL, failed);
    ssize_t length = lgetxattr(backed(path, &buffer), name, value, size);
    int result = length < 0 ? -errno : (int)length;
    return costs ? logged(&access, path, NULL, result) : result;
}

static int fs_listxattr(const char *path, char *names, size_t size)
{
    struct backing_path buffer;
    struct access access;
    int failed = wait_for(&access, GETXATTR);
    if (failed)
        return logged(&access, path, NULL, failed);
    ssize_t length = llistxattr(backed(path, &buffer), names, size);
    return logged(&access, path, NULL, length < 0 ? -errno : (int)length);
}

static int fs_setxattr(const char *path, const char *name, const char *value, size_t size, int flags)
{
    struct backing_path buffer;
    GROWING_OPERATION(SETXATTR, path, NULL, lsetxattr(backed(path, &buffer), name, value, size, flags));
}

static int fs_removexattr(const char *path, const char *name)
{
    struct backing_path buffer;
    OPERATION(SETXATTR, path, NULL, lremovexattr(backed(path, &buffer), name));
}

/* Files and their data. Durability is only a matter of time here: nothing is synced in the backing folder. */

static int opened(const char *path, int flags, mode_t mode, struct fuse_file_info *info)
{
    struct backing_path buffer;
    int fd = open(backed(path, &buffer), (flags & ~(O_DIRECT | O_SYNC | O_DSYNC | O_APPEND)) | O_CLOEXEC, mode);
    if (fd < 0)
        return -errno;
    struct handle *handle = calloc(1, sizeof *handle);
    char *name = strdup(path);
    struct stat attributes = {0};
    if (handle == NULL || name == NULL || fstat(fd, &attributes) < 0) {
        free(handle);
        free(name);
        close(fd);
        return -ENOMEM;
    }
    handle->path = name;
    handle->fd = fd;
    handle->inode = attributes.st_ino;
    handle->address = disk.present ? place_of(attributes.st_ino, file_system.seed) : 0;
    pthread_mutex_init(&handle->mutex, NULL);
    info->fh = (uintptr_t)handle;
    info->direct_io = 1;
    return 0;
}

static int fs_create(const char *path, mode_t mode, struct fuse_file_info *info)
{
    struct access access;
    if (queue_is_full())
        return -ENOSPC;
    int failed = wait_for(&access, CREATE);
    return logged(&access, path, NULL, failed ? failed : opened(path, info->flags | O_CREAT, mode, info));
}

static int fs_open(const char *path, struct fuse_file_info *info)
{
    struct access access;
    int failed = wait_for(&access, OPEN);
    return logged(&access, path, NULL, failed ? failed : opened(path, info->flags, 0, info));
}

static int fs_release(const char *path, struct fuse_file_info *info)
{
    (void)path;
    struct handle *handle = handle_of(info);
    close(handle->fd);
    pthread_mutex_destroy(&handle->mutex);
    free(handle->path);
    free(handle);
    return 0;
}

/* The kernel has one limit, in pages, for reads and writes; a smaller one of writes is kept by `fs_write`. */
static unsigned largest_request(void)
{
    return file_system.max_read > file_system.max_write ? file_system.max_read : file_system.max_write;
}

/* Whether a part of a request is the rest of one that the kernel split, as its buffer does not begin at a page: then
 * a first part that lacks some bytes of the largest is followed by parts of the largest size and one below a page. */
static bool is_rest(struct handle *handle, struct sequence *sequence, off_t offset, size_t size)
{
    size_t largest = largest_request();
    pid_t thread = fuse_get_context()->pid;
    pthread_mutex_lock(&handle->mutex);
    bool follows = sequence->split && sequence->next == offset && sequence->thread == thread;
    bool rest = follows && size < PAGE_BYTES;
    bool cut = size > largest - PAGE_BYTES && size < largest;
    *sequence = (struct sequence){offset + (off_t)size, thread, cut || (follows && size == largest)};
    pthread_mutex_unlock(&handle->mutex);
    return rest;
}

/* Read or write in one access; the bytes or a negative errno. Data move while the access is served, so that the time
 * which that takes does not add up. `rest`: it is paid for already. */
static int moved(struct handle *handle, enum kind kind, void *data, size_t size, off_t offset, bool rest)
{
    struct access access = {.kind = kind, .bytes = (int64_t)size, .address = handle->address + (double)offset};
    int result = 0;
    if (rest)
        queue_pass(&access);
    else
        result = queue_begin(&access);
    if (result == 0) {
        ssize_t length = kind == READ ? pread(handle->fd, data, size, offset) : pwrite(handle->fd, data, size, offset);
        result = length < 0 ? -errno : (int)length;
        int failed = queue_end(&access);
        result = failed ? failed : result;
    }
    log_access(&access, handle->path, NULL, offset, rest, result < 0 ? -result : 0);
    return result;
}

/* Read what the page cache has, which takes no time. */
static int found(struct handle *handle, void *data, size_t size, off_t offset)
{
    struct access access = {.kind = CACHED_READ, .bytes = (int64_t)size};
    queue_pass(&access);
    ssize_t length = pread(handle->fd, data, size, offset);
    int result = length < 0 ? -errno : (int)length;
    log_access(&access, handle->path, NULL, offset, false, result < 0 ? -result : 0);
    return result;
}

static int fs_read(const char *path, char *data, size_t size, off_t offset, struct fuse_file_info *info)
{
    (void)path;
    struct handle *handle = handle_of(info);
    struct stat attributes;
    if (fstat(handle->fd, &attributes) < 0)
        return -errno;
    off_t left = attributes.st_size - offset;
    bool rest = is_rest(handle, &handle->reads, offset, size);
    struct access access;
    if (left <= 0) /* the end of the file is known to the file system: free, and not logged */
        return wait_for(&access, READ);
    size_t length = left < (off_t)size ? (size_t)left : size;
    if (info->flags & O_DIRECT)
        return moved(handle, READ, data, length, offset, rest);
    if (page_cache_has(handle->inode, offset, (int64_t)length))
        return found(handle, data, length, offset);
    int result = moved(handle, READ, data, length, offset, rest);
    if (result > 0)
        page_cache_load(handle->inode, offset, result);
    return result;
}

static int synced(struct handle *handle)
{
    struct access access;
    int result = wait_for(&access, FSYNC);
    return logged(&access, handle->path, NULL, result);
}

static int fs_write(const char *path, const char *data, size_t size, off_t offset, struct fuse_file_info *info)
{
    (void)path;
    struct handle *handle = handle_of(info);
    bool rest = is_rest(handle, &handle->writes, offset, size);
    if (queue_is_full())
        return -ENOSPC;
    size_t written = 0;
    while (written < size) {
        size_t part = size - written < file_system.max_write ? size - written : file_system.max_write;
        int result = moved(handle, WRITE, (char *)data + written, part, offset + (off_t)written, rest);
        if (result < 0)
            return result;
        written += (size_t)result;
    }
    if (info->flags & O_DIRECT)
        page_cache_drop(handle->inode, offset, (int64_t)written);
    else
        page_cache_load(handle->inode, offset, (int64_t)written);
    if (info->flags & (O_SYNC | O_DSYNC)) { /* flags of the file or of this write */
        int failed = synced(handle);
        if (failed)
            return failed;
    }
    return (int)written;
}

static int fs_fsync(const char *path, int only_data, struct fuse_file_info *info)
{
    (void)path, (void)only_data;
    return synced(handle_of(info));
}

static int fs_fsyncdir(const char *path, int only_data, struct fuse_file_info *info)
{
    (void)path, (void)only_data;
    struct access access;
    int result = wait_for(&access, FSYNC);
    return logged(&access, folder_of(info)->path, NULL, result);
}

static off_t fs_lseek(const char *path, off_t offset, int whence, struct fuse_file_info *info)
{
    (void)path;
    off_t found = lseek(handle_of(info)->fd, offset, whence);
    return found < 0 ? -errno : found;
}

static void *fs_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
    connection->max_write = largest_request();
    connection->max_read = file_system.max_read;
    config->use_ino = 1;
    config->nullpath_ok = 1; /* operations on open files wait without a lock on their path */
    config->hard_remove = 1; /* an open file may be unlinked: it is reached by its descriptor */
    config->entry_timeout = config->attr_timeout = 60; /* no one else changes the backing folder */
    return NULL;
}

static const struct fuse_operations OPERATIONS = {
    .init = fs_init, .getattr = fs_getattr, .access = fs_access, .readlink = fs_readlink, .statfs = fs_statfs,
    .opendir = fs_opendir, .readdir = fs_readdir, .releasedir = fs_releasedir, .mkdir = fs_mkdir, .rmdir = fs_rmdir, .unlink = fs_unlink, .rename = fs_rename,
    .link = fs_link, .symlink = fs_symlink, .chmod = fs_chmod, .chown = fs_chown, .utimens = fs_utimens,
    .truncate = fs_truncate, .fallocate = fs_fallocate, .getxattr = fs_getxattr, .listxattr = fs_listxattr,
    .setxattr = fs_setxattr, .removexattr = fs_removexattr, .create = fs_create, .open = fs_open,
    .release = fs_release, .read = fs_read, .write = fs_write, .fsync = fs_fsync, .fsyncdir = fs_fsyncdir,
    .lseek = fs_lseek,
};

static int serve(struct fuse *fuse)
{
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 12)
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    fuse_loop_cfg_set_max_threads(config, MOST_THREADS);
    int result = fuse_loop_mt(fuse, config);
    fuse_loop_cfg_destroy(config);
    return result;
#else
    struct fuse_loop_config config = {.max_idle_threads = MOST_THREADS};
    return fuse_loop_mt(fuse, &config);
#endif
}

int file_system_run(const char *mount_point)
{
    char options[200];
    snprintf(options, sizeof options, "fsname=tailcast-drive,subtype=tailcast-drive,max_read=%u",
             file_system.max_read);
    char *arguments[] = {"drive", "-o", options, NULL};
    struct fuse_args given = FUSE_ARGS_INIT(3, arguments);
    struct fuse *fuse = fuse_new(&given, &OPERATIONS, sizeof OPERATIONS, NULL);
    if (fuse == NULL || fuse_mount(fuse, mount_point) != 0)
        return 1;
    int result = serve(fuse);
    fuse_unmount(fuse);
    return result != 0;
}
