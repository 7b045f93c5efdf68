"""The bounds of one delivery engine."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call, one host and one engine may take; by default what the settings' defaults say.

    `timeout_ms`            a call ends this long after it came due (or was submitted, if later), whatever
                            happens: waiting for a place among its host's, connecting, sending, answering; a call's
                            own time-out may end it sooner
    `connect_timeout_ms`    the part of it that name look-up, TCP and TLS may take
    `connections_per_host`  calls under way to one host and port, in all and of one app; the rest of its calls wait;
                            of the app, halved when one fails, one more with each answer
    `connections_total`     calls under way in all, of one app as many as are free, to one host of it as many as are
                            free of these; as many connections are kept open at most: stay below half of
                            RLIMIT_NOFILE, because a connection that opens may try two addresses at a time
    `excerpt_bytes`         how much of an answer's body is kept
    `answer_bytes`          how much of it is read before the connection is closed: a short rest is read to
                            its end so that the connection can be kept
    `reuse_idle_s`          a connection idle for longer is not used again. Short, because a server that
                            closes an idle connection just as a request leaves makes a failed call (it is
                            not sent twice): uvicorn, Node and Apache close after 5 s, gunicorn after 2
    `connection_age_s`      a connection older than this is not used again, so that a host whose address
                            changed is found; each lives up to a quarter less, so that they do not all end at once
    """

    timeout_ms: int = 10_000
    connect_timeout_ms: int = 3_000
    connections_per_host: int = 200
    connections_total: int = 4_000
    excerpt_bytes: int = 1_024
    answer_bytes: int = 65_536
    reuse_idle_s: int = 4
    connection_age_s: int = 60
