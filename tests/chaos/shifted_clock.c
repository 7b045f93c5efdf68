/* A wall clock that is off: loaded ahead of libc (LD_PRELOAD), it adds WALL_CLOCK_SHIFT_S seconds to whatever a
 * process reads as the time of day. Every other clock, and so every wait of Python's, is left as it is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static int (*read_clock)(clockid_t, struct timespec *);
static time_t shift_s;

static void __attribute__((constructor)) set_up(void)
{
    const char *text = getenv("WALL_CLOCK_SHIFT_S");

    read_clock = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    shift_s = text ? atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed;

    /* Another library's start may come before ours. */
    if (!read_clock)
        set_up();
    failed = read_clock(clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += shift_s;
    return failed;
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
