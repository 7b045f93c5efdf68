/* A wall clock that is off: loaded ahead of libc (LD_PRELOAD), it adds WALL_CLOCK_SHIFT_S seconds to whatever a
 * process reads as the time of day, or the milliseconds that stand in WALL_CLOCK_SHIFT_FILE (8 bytes, a number of this
 * machine's), which may be changed while it runs. Every other clock, and so every wait of Python's, is left as it is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int (*read_clock)(clockid_t, struct timespec *);
static int64_t fixed_ms;
static const volatile int64_t *shift_ms = &fixed_ms;

static void look_into(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    void *page;

    if (file < 0)
        return;
    page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (page != MAP_FAILED)
        shift_ms = page;
}

static void __attribute__((constructor)) set_up(void)
{
    const char *text = getenv("WALL_CLOCK_SHIFT_S"), *path = getenv("WALL_CLOCK_SHIFT_FILE");

    read_clock = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    fixed_ms = text ? 1000 * atol(text) : 0;
    if (path)
        look_into(path);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int64_t shift;
    int failed;

    /* Another library's start may come before ours. */
    if (!read_clock)
        set_up();
    failed = read_clock(clock, now);
    if (failed || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
        return failed;
    shift = now->tv_nsec + *shift_ms % 1000 * 1000000;
    now->tv_sec += *shift_ms / 1000 + (shift >= 1000000000) - (shift < 0);
    now->tv_nsec = shift + 1000000000 * ((shift < 0) - (shift >= 1000000000));
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec precise;
    int failed = clock_gettime(CLOCK_REALTIME, &precise);

    (void)zone;
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return failed;
}

time_t time(time_t *now)
{
    struct timespec precise;

    clock_gettime(CLOCK_REALTIME, &precise);
    if (now)
        *now = precise.tv_sec;
    return precise.tv_sec;
}
