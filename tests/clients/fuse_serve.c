// SPDX-License-Identifier: GPL-2.0-or-later
// A FUSE file system of one file, spoken to the kernel directly (linux/fuse.h, Documentation/filesystems/fuse.rst):
// FILE as "program" in the folder where it is mounted. Says "ready" once it is mounted. After SIGUSR1 it answers
// nothing any more; SIGTERM ends it, and with it every request that waits.
//   fuse_serve FOLDER FILE
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kRoot = FUSE_ROOT_ID, kProgram = 2, kLargest = 1 << 17 };

static int device = -1;
static int program = -1;
static uint64_t size;
static volatile sig_atomic_t hangs;
static volatile sig_atomic_t ends;

static void on_signal(int number) {
    if (number == SIGUSR1) hangs = 1;
    if (number == SIGTERM) ends = 1;
}

static void answer(uint64_t request, int error, const void* data, size_t length) {
    static char bytes[sizeof(struct fuse_out_header) + kLargest];
    const struct fuse_out_header head = {.len = (uint32_t)(sizeof(head) + length), .error = -error, .unique = request};
    memcpy(bytes, &head, sizeof(head));
    if (length != 0) memcpy(bytes + sizeof(head), data, length);
    if (write(device, bytes, head.len) < 0 && errno != ENOENT) perror("write");
}

static struct fuse_attr attributes_of(uint64_t node) {
    struct fuse_attr attr = {.ino = node, .nlink = 1, .blksize = 4096};
    attr.mode = node == kRoot ? S_IFDIR | 0755 : S_IFREG | 0755;
    attr.size = node == kRoot ? 0 : size;
    attr.blocks = (attr.size + 511) / 512;
    return attr;
}

// Nothing is valid for any time: each look is a request.
static void lookup(uint64_t request, const char* name) {
    if (strcmp(name, "program") != 0) return answer(request, ENOENT, NULL, 0);
    const struct fuse_entry_out out = {.nodeid = kProgram, .attr = attributes_of(kProgram)};
    answer(request, 0, &out, sizeof(out));
}

static void read_file(uint64_t request, const struct fuse_read_in* in) {
    static char bytes[kLargest];
    const size_t wanted = in->size < sizeof(bytes) ? in->size : sizeof(bytes);
    const ssize_t got = pread(program, bytes, wanted, (off_t)in->offset);
    answer(request, got < 0 ? EIO : 0, bytes, got < 0 ? 0 : (size_t)got);
}

static void serve(const char* bytes) {
    const struct fuse_in_header* head = (const struct fuse_in_header*)bytes;
    const void* body = bytes + sizeof(*head);
    switch (head->opcode) {
        case FUSE_INIT: {
            const struct fuse_init_in* in = body;
            const struct fuse_init_out out = {
                .major = FUSE_KERNEL_VERSION,
                .minor = in->minor < FUSE_KERNEL_MINOR_VERSION ? in->minor : FUSE_KERNEL_MINOR_VERSION,
                .max_readahead = in->max_readahead,
                .max_background = 16,
                .congestion_threshold = 12,
                .max_write = 4096,
                .time_gran = 1};
            return answer(head->unique, 0, &out, sizeof(out));
        }
        case FUSE_LOOKUP: return lookup(head->unique, body);
        case FUSE_GETATTR: {
            const struct fuse_attr_out out = {.attr = attributes_of(head->nodeid)};
            return answer(head->unique, 0, &out, sizeof(out));
        }
        case FUSE_OPEN:
        case FUSE_OPENDIR: {
            const struct fuse_open_out out = {.open_flags = FOPEN_KEEP_CACHE};
            return answer(head->unique, 0, &out, sizeof(out));
        }
        case FUSE_READ: return read_file(head->unique, body);
        case FUSE_STATFS: {
            const struct fuse_statfs_out out = {.st = {.bsize = 4096, .namelen = 255}};
            return answer(head->unique, 0, &out, sizeof(out));
        }
        case FUSE_RELEASE:
        case FUSE_RELEASEDIR:
        case FUSE_FLUSH: return answer(head->unique, 0, NULL, 0);
        case FUSE_FORGET:
        case FUSE_BATCH_FORGET:
        case FUSE_INTERRUPT: return;  // none of them is answered
        default: return answer(head->unique, ENOSYS, NULL, 0);
    }
}

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    struct stat status;
    program = open(argv[2], O_RDONLY | O_CLOEXEC);
    device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (program < 0 || device < 0 || fstat(program, &status) != 0) return perror("open"), 3;
    size = (uint64_t)status.st_size;
    char options[128];
    (void)snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other", device);
    if (mount("fuse_serve", argv[1], "fuse.perfvigiltest", MS_NODEV, options) != 0) return perror("mount"), 3;
    const struct sigaction action = {.sa_handler = on_signal};  // without SA_RESTART: they end read(2)
    (void)sigaction(SIGUSR1, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)puts("ready");
    (void)fflush(stdout);
    static char bytes[sizeof(struct fuse_in_header) + kLargest + 4096];
    while (!ends) {
        if (hangs) {
            (void)pause();
            continue;
        }
        const ssize_t got = read(device, bytes, sizeof(bytes));
        if (got < 0 && errno == ENODEV) break;  // unmounted
        if (got > 0) serve(bytes);
    }
    (void)umount2(argv[1], MNT_DETACH);
    return 0;
}
