/* Writes checkpoints as a simulation does: under a temporary name, then renamed. POSIX only.
 * Build: cc -O2 checkpoint.c -o checkpoint */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "usage: checkpoint [--help] COUNT MIBYTES DIR\n"
    "\n"
    "Writes COUNT checkpoints of MIBYTES MiB as DIR/ckpt_0000.dat, DIR/ckpt_0001.dat, ...\n"
    "\n"
    "example:\n"
    "  ./checkpoint 3 16 /tmp/checkpoints\n";

static int fail(const char *what, const char *path) {
    fprintf(stderr, "checkpoint: %s %s: %s\n", what, path, strerror(errno));
    return 1;
}

static int write_checkpoint(const char *directory, int step, long mibytes) {
    static char block[1 << 20];
    char temporary[4096], final[4096];
    snprintf(final, sizeof final, "%s/ckpt_%04d.dat", directory, step);
    snprintf(temporary, sizeof temporary, "%s/ckpt_%04d.dat.tmp", directory, step);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0)
        return fail("cannot create", temporary);
    memset(block, step, sizeof block);
    for (long i = 0; i < mibytes; i++) {
        for (size_t done = 0; done < sizeof block;) {
            ssize_t n = write(fd, block + done, sizeof block - done);
            if (n < 0)
                return fail("cannot write", temporary);
            done += (size_t)n;
        }
    }
    if (close(fd) != 0)
        return fail("cannot close", temporary);
    return rename(temporary, final) == 0 ? 0 : fail("cannot rename", temporary);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(help, stdout);
        return 0;
    }
    char *end_of_count = "?", *end_of_size = "?";
    long count = argc == 4 ? strtol(argv[1], &end_of_count, 10) : 0;
    long mibytes = argc == 4 ? strtol(argv[2], &end_of_size, 10) : 0;
    if (*end_of_count || *end_of_size || count < 0 || count > 9999 || mibytes < 0) {
        fputs(help, stderr);
        return 2;
    }
    if (mkdir(argv[3], 0755) != 0 && errno != EEXIST)
        return fail("cannot make", argv[3]);
    for (int step = 0; step < count; step++)
        if (write_checkpoint(argv[3], step, mibytes) != 0)
            return 1;
    printf("bytes %ld files %ld\n", count * mibytes * (1L << 20), count);
    return 0;
}
