"""The sections of `docs/promises.md`: the promises that users are given, where each does not hold, what faults try it.

A module of `tests/broken/mutations` names its section: `SECTION = "Nothing is lost"`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Section:
    """Promises of one kind.

    `promised`: the words of `docs/explanation/guarantees.md` for them, as they stand there; "" where it has none.
    `unless`: where they do not hold. `rows`: the rows of `make chaos` that try them under load.
    """

    name: str
    promised: str
    unless: tuple[str, ...]
    rows: tuple[str, ...] = ()


SECTIONS = (
    Section(
        "Stored",
        "A 2xx of the API means that SQL has committed the change.",
        (
            "A 5xx, or no answer, says nothing: the change may be made.",
            "What SQL loses of its commits (an asynchronous failover, a copy restored, "
            "`innodb_flush_log_at_trx_commit` other than 1) is lost here too. Nothing of one app is then done for"
            " another's timer ([why](decisions/0016-ids-never-come-again.md)).",
            "As long as processes of a version that counted ids make timers, ids may come again.",
        ),
        (
            "kill API under 1,000 creates",
            "kill API between commit and Redis",
        ),
    ),
    Section(
        "Nothing is lost",
        "Every planned firing of an enabled timer is called, or its record says why not",
        (
            "SQL must keep what it has committed.",
            "A timer that no process can plan has no firings and no records until that is mended: `wangtimer "
            "doctor` shows it ([why](decisions/0017-what-is-bad-stops-itself-only.md)).",
            "What is found long after its moment goes by the timer's `misfire`, `misfireGraceMs` and "
            "`catchupWindowMs`.",
            "After an edit of `jitterMs`, a moment that is overdue by more than a day, or by 50 such edits, may "
            "be left out.",
            "Records are kept for `WANGTIMER_RETENTION_DAYS`.",
        ),
        (
            "kill everything 5 min",
            "flush store",
            "delete a tenth of due",
            "roll store back 5 s",
            "kill broker 10 s",
            "every fail point of migrate",
            "every fail point of purging",
            "every fail point of judging alerts",
            "every fail point of telling alerts",
            "freeze MariaDB 20 s, a target fails",
        ),
    ),
    Section(
        "One outcome",
        "its record says why not",
        (
            "A success may still come of an attempt that was taken for dead: it then counts, if the firing has no"
            " outcome yet.",
            "A replay gives a failed or skipped firing further attempts, and another outcome.",
            "While SQL and Redis are both away, outcomes wait in the callback process. If it dies too, their "
            "calls are made again.",
            "A firing that three executors died on, the last of them while it ran alone, has failed. It may have been "
            "called each time ([why](decisions/0024-suspects-are-tried-alone.md)).",
            "A timer that nobody can judge has its firings recorded as failed ten minutes after their moment.",
            "Firings whose secrets no process can open wait until one has the key.",
        ),
        (
            "freeze MariaDB 10 min, 20 MB for outcomes",
            "cut executor off MariaDB 15 s",
            "every fail point of writing parked outcomes",
            "every fail point of trying apart",
        ),
    ),
    Section(
        "No undue second call",
        "When a second call can happen",
        (
            "An attempt that failed is tried again. One that was not answered in time may have been acted on.",
            "An operator's replay calls again.",
            "A GET, PUT or DELETE is sent again in the same attempt if its target closes a kept connection without a "
            "byte of an answer ([why](decisions/0068-a-dead-kept-connection-costs-no-attempt.md)).",
            "A process that made a call died, froze or was cut off beyond its lease (6 s) before that was "
            "recorded. Or it stopped, and the call had a time-out longer than the deployment's.",
            "Redis lost or rolled back the claim, or an outcome that waited there for SQL. Or SQL lost the "
            "outcome.",
        ),
        (
            "every message twice",
            "two of everything",
            "kill one beat of two",
            "kill executor",
            "freeze executor 30 s",
            "switch SQL over, old connections kept",
            "cut executor off Redis 15 s",
            "store clock put ahead 20 s",
        ),
    ),
    Section(
        "Nothing is early",
        "Nothing fires early, by the clock of the Redis node that holds the agenda.",
        (
            "If that clock is put back, or a node whose clock is behind takes over, what was claimed before goes "
            "by the clock before, for 1.25 s ([why](decisions/0014-a-clock-that-is-put.md)).",
            "A process that was frozen or cut off meanwhile learns of it when it is back. Until then it sends "
            "what it holds, for as long as its lease lasts.",
        ),
        (
            "a clock an hour ahead",
            "a clock an hour behind",
            "store clock put back 10 s",
        ),
    ),
    Section(
        "A change counts",
        "counts for every moment later than `countsWithinMs` after its answer",
        (
            "A moment that an enable or edit made less than 1.5 s (`lead_ms` and `turn_ms`) ahead goes out.",
            "Where Redis could not be told, and SQL goes away too within some 7 s after the change, it may count "
            "only when SQL is back. What was called `cancelled` may be called then "
            "([why](decisions/0015-executors-believe-redis-for-seconds.md)).",
            "A single firing that is cancelled while SQL or Redis is slow may be sent all the same. Its record "
            "says what became of it.",
            "Where Redis could not be told of a pause, it counts from 5 s after a sweep has told it.",
            "After two edits within two steps (`WANGTIMER_STEP_S`), what came due before and no process had taken up "
            "is made only if the newest schedule has its moment. A calendar, new zone rules and an answer that puts a "
            "timer off count as edits of the timers whose moments they move.",
            "A calendar uploaded anew counts within seconds, not within `countsWithinMs` "
            "([why](decisions/0018-timers-follow-a-calendar-later.md)).",
        ),
        ("every fail point of web",),
    ),
    Section(
        "A death costs seconds",
        "A process that dies delays what it held by a lease",
        (
            "Another process of its role must run, or it must be started again. While there is no beat, for one, "
            "new minutes wait.",
            "What two executors die on waits for as many leases, and is then tried alone, behind others of which that "
            "is so. Those of a target that is slow come last, and may take a time-out each.",
            "While Redis or the broker is away nothing new is sent: it costs that time, and some seconds more.",
            "While SQL is away, callbacks go on for as far as Redis holds firings (`wangtimer_window_seconds`) "
            "and has room for outcomes (`wangtimer_parked_share`). After that they are late.",
            "A process that froze, or lost its host, within a transaction holds its rows for 6 s more (MariaDB), on "
            "MySQL for 70 s. So long retries, queued firings and changes of just these timers wait.",
            "The figures are those of the shipped settings. Longer leases cost more.",
        ),
        (
            "kill executor",
            "kill trigger",
            "kill store 3 s",
            "kill both beats 30 s",
            "freeze store 10 s",
            "freeze trigger 30 s",
            "freeze migrate 120 s in a transaction",
            "freeze web 120 s in a transaction",
            "freeze callback 120 s in a transaction",
            "kill broker 10 s",
            "freeze broker 10 s",
            "freeze MariaDB 20 s",
            "rolling restart",
        ),
    ),
    Section(
        "Bad neighbours",
        "a target that hangs, hold up no other app",
        (
            "Where over a thousand targets of an app hang at once, its other targets may wait for a connection "
            "([why](decisions/0020-what-has-no-room-waits-in-a-lane.md)).",
            "While firings of an app wait for a part of a host (a named target, or a first segment of its paths), what "
            "comes due for that part stands behind them, as long as the hang lasts. Firings for other parts and of "
            "other apps do not. Beyond 16 parts of a host that are busy or failed within 10 minutes, an app's others "
            "are one ([why](decisions/0069-each-part-of-a-host-is-failing-by-itself.md)).",
            "Apps that call the same host share 200 calls at once of a process there. Where one app or part has them "
            "all, another waits for a second, then has one call at a time until some of them end.",
            "Large bodies to targets that hang fill a callback process' room for bodies "
            "(`WANGTIMER_CALLBACK_MOST_MB`). With 60 KB each, other apps were up to 15 s late in the first 20 s.",
            "What waits in a lane neither fails nor expires while its target hangs, unless the timer's "
            "`catchupWindowMs` bounds it.",
            "After a target has recovered, its new firings are on time only when its backlog is gone.",
            "While SQL hangs, firings that it must be asked about wait: retries, what was put back, what seems "
            "unwanted. In a chunk with large bodies the parts behind the first may wait 8 s with them.",
            "On a machine without CPU to spare all are late together.",
            "After a loss of Redis the calls under way are not counted: for a time-out and 2 s a limited app may have "
            "up to twice as many at once ([why](decisions/0035-limits-of-callbacks.md)).",
        ),
        ("a fifth of the targets misbehave",),
    ),
    Section(
        "Calls",
        "",
        (
            "A moved target is found within `WANGTIMER_CALLBACK_CONNECTION_AGE_S` (60 s) and what its name may "
            "still be kept (30 s at most).",
            "Whether a certificate was revoked is not looked up. Its dates are judged by the clock of the node that "
            "calls.",
        ),
    ),
    Section(
        "Signed calls",
        "A call is signed with a secret of its app",
        (
            "An app that switched signing off is called without a signature.",
            "A change of secrets counts as a change of a timer does, within `countsWithin`.",
            "Where SQL lost the commit of a rotation, Redis' copy of it counts until the next change.",
            "Without `WANGTIMER_SECRET_KEYS`, whoever can read SQL or Redis can sign.",
        ),
    ),
    Section(
        "Schedules",
        "",
        ("Moments after 2199 are not found.",),
    ),
    Section(
        "The API",
        "",
        (
            "A second of CPU is meant on a machine such as the one it was measured on; `WANGTIMER_HTTP_CPU_MS` "
            "bounds the work.",
            "With `WANGTIMER_AUTH=off` whoever reaches it is an operator, and from "
            "`WANGTIMER_COMPAT_TRUSTED_NETWORKS` the compatible paths need no key.",
            "With `WANGTIMER_HTTP_HOSTS=*` a web page can reach it.",
            "What the service does by itself, and what a DBA does in SQL, is not in the audit. Its entries are kept "
            "for `WANGTIMER_AUDIT_DAYS`. Behind a proxy they have the proxy's address, unless "
            "`WANGTIMER_TRUSTED_PROXIES` names it.",
        ),
    ),
    Section(
        "The deployment",
        "",
        (
            "Who can write to the store or the broker can make workers call: a message is an order "
            "([why](decisions/0037-a-deployment-with-few-rights.md)).",
        ),
    ),
    Section(
        "Costs",
        "The cost of idling does not grow with the number of timers",
        (
            "A timer with moments within two hours is planned again each hour, a dense one after some 750 "
            "moments.",
            "MySQL ends only statements that read; MariaDB all.",
            "The window takes what comes due within `WANGTIMER_WINDOW_S`, however much memory that is.",
        ),
    ),
)
