"""The bounds of one delivery engine."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call, one host and one engine may take; the defaults are those of the settings.

    `timeout_ms`            a call ends this long after it came due (or was submitted, if later), whatever
                            happens: waiting for a place among its host's, connecting, sending, answering. For a call
                            with time-outs of its own this bounds the waiting, and from when it is sent the answer
    `connect_timeout_ms`    what name look-up, TCP and TLS may take, unless the call says otherwise
    `connections_per_host`  calls under way to one host and port, in all and of one app; further calls wait. The app's
                            number is halved when a call fails, and grows by one with each answer
    `connections_total`     calls under way in all. One app has as many as are free, and one host of it as many as are
                            free of the app's. So many connections are kept open at most: stay below half of
                            RLIMIT_NOFILE, because a connection that opens may try two addresses at a time
    `excerpt_bytes`         how much of an answer's body is kept
    `answer_bytes`          how much of it is read before the connection is closed: a short body is read to
                            its end so that the connection can be kept
    `reuse_idle_s`          a connection idle for longer is not used again. It is short, because a call may
                            fail if the server closes an idle connection just as the request leaves: uvicorn, Node
                            and Apache close after 5 s, gunicorn after 2
    `connection_age_s`      a connection older than this is not used again, so that a host's new address is
                            found; each lives up to a quarter less, so that they do not all end at once
    """

    timeout_ms: int = 10_000
    connect_timeout_ms: int = 3_000
    connections_per_host: int = 200
    connections_total: int = 4_000
    excerpt_bytes: int = 1_024
    answer_bytes: int = 65_536
    reuse_idle_s: int = 4
    connection_age_s: int = 60
