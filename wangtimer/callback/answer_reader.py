"""Reads a target's answers."""

import re

import httptools

from wangtimer.core.retry import SAY_WHEN

# Far more than any service sends, and little enough for a thousand calls at once.
_MOST_HEAD_BYTES = 307_200
# So much of it is searched, for what the parser does not tell: of 300 KiB that took the engine's thread 5 ms. Servers
# send 8 or 16 KiB at most; a header that stands behind counts as not there.
_SEARCHED_BYTES = 32_768
# What one answer may cost, in steps of half a µs to 1 µs: each call of the parser is one step, each read with its
# wake-up `_STEPS_A_READ`. An answer of 64 KiB in chunks of one byte would be 11,000 steps.
_MOST_STEPS = 1_000
_STEPS_A_READ = 4
# Line breaks before a head: a few may be a target's mistake; more would be searched for nothing.
_MOST_BLANK_BYTES = 64
_BREAKS = b"\r\n"
_TOO_BLANK = b"\n" * (_MOST_BLANK_BYTES + 1)
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([2-9]\d\d)(?:\s|$)")
# A head begins at the very beginning, or after a blank line.
_FINAL_HEAD = re.compile(rb"(?:\A|\n\r?\n)(?=HTTP/1\.[01] [2-9]\d\d(?:\s|\Z))")
# Where a head ends, as the parser takes it: a bare CR may stand for a line's end.
_BLANK_LINE = re.compile(rb"\n\r?\n|\n\r(?!\n)|\r\r")
_SAYS_WHERE_IT_ENDS = re.compile(
    rb"\n(?:content-length[ \t]*:|transfer-encoding[ \t]*:(?![ \t]*identity))", re.IGNORECASE
)
_FINAL = 200  # statuses below announce another answer
# Of these answers a header counts: when to come again, where the target moved to, or what becomes of the timer.
_SUCCESSES = range(200, 300)
_REDIRECTS = range(300, 400)
_TELLING = frozenset((*SAY_WHEN, *_REDIRECTS, *_SUCCESSES))
# Nearly no answer has it: without the search for a line of the head.
_CONTROL_NAME = b"x-wangtimer-control"
# Each reads a line once, whatever stands in it: the blanks around a value are taken off afterwards.
_RETRY_AFTER = re.compile(rb"\nretry-after[ \t]*:([^\r\n]*)", re.IGNORECASE)
_CONTROL = re.compile(rb"\nx-wangtimer-control[ \t]*:([^\r\n]*)", re.IGNORECASE)
_IDLE = re.compile(rb"\nkeep-alive[ \t]*:[^\r\n]*?\btimeout[ \t]*=[ \t]*([0-9]{1,6})", re.IGNORECASE)
# An announced idle time is cut by so much, or by half: the target began to count before its answer was here, and the
# next request takes as long to get there.
_IDLE_MARGIN_S = 1.0
_LOCATION = re.compile(rb"\nlocation[ \t]*:([^\r\n]*)", re.IGNORECASE)
_MOST_TOLD_BYTES = 2_048


class NoHttp(ValueError):
    """The bytes that came can never be a whole HTTP/1.1 answer; says why."""


class _TooManySteps(Exception):
    """Ends the parser's work."""


class AnswerReader:
    """Reads the answers on one connection, one after another: `begin`, then `feed` until it says that one is whole.

    `status`      of the answer, None before it is known
    `excerpt`     the first `excerpt_bytes` of its body
    `keeps_open`  whether the connection may carry another call, once the answer is whole
    `idle_s`      how long the connection may idle between two answers: `reuse_idle_s`, or less if the first answer has
                  `Keep-Alive: timeout=` (RFC 2068, 19.7.1.1)
    `told`        of a 429 or 503 its Retry-After, of a redirect its Location, of a success its X-WangTimer-Control,
                  as written; "" where there is none

    An answer that breaks RFC 9112 is read if its meaning is clear, because only the status and an excerpt are taken
    from it. If only the status line can be read, that is the answer. A body longer than `answer_bytes` counts as whole
    once so much has been read; so does one whose frame (chunks, trailers) has no end, and one in so many pieces that
    other calls would wait for it.
    """

    __slots__ = (
        "_answer_bytes",
        "_blank_bytes",
        "_body_bytes",
        "_came",
        "_excerpt_bytes",
        "_is_first",
        "_is_out_of_step",
        "_parser",
        "_read_bytes",
        "_steps",
        "_usual_excerpt_bytes",
        "excerpt",
        "idle_s",
        "is_whole",
        "keeps_open",
        "status",
        "told",
    )

    def __init__(self, excerpt_bytes: int, answer_bytes: int, reuse_idle_s: float) -> None:
        self._usual_excerpt_bytes = self._excerpt_bytes = excerpt_bytes
        self._answer_bytes = answer_bytes
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_chunked_length=True,
            lenient_transfer_encoding=True,
            lenient_version=True,
            lenient_data_after_close=True,
            lenient_optional_lf_after_cr=True,
            lenient_optional_cr_before_lf=True,
            lenient_optional_crlf_after_chunk=True,
            lenient_spaces_after_chunk_size=True,
        )
        self._is_out_of_step = False
        self._is_first = True
        self.idle_s = reuse_idle_s
        self.begin()

    def begin(self, excerpt_bytes: int | None = None) -> None:
        """Forget the last answer; the next one belongs to the next call, which may keep more or less of its body."""
        self._excerpt_bytes = self._usual_excerpt_bytes if excerpt_bytes is None else excerpt_bytes
        self.status: int | None = None
        self.excerpt = b""
        self.told = ""
        self.keeps_open = False
        self.is_whole = False
        self._blank_bytes = 0
        self._body_bytes = 0
        self._read_bytes = 0
        self._steps = 0
        self._came = bytearray()  # until the head has ended, for what the parser does not tell

    def feed(self, data: bytes) -> bool:
        """Read on; True when the answer is whole. Raises NoHttp if it can never be."""
        had_status = self.status is not None
        self._steps += _STEPS_A_READ
        if self._steps > _MOST_STEPS and not self.is_whole:
            self._settle_for_less()
            return True
        if data[:1] in _BREAKS and not self._came and not had_status and not self.is_whole:
            data = self._without_blanks(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._is_out_of_step = True
            if not self.is_whole:
                raise NoHttp("the target changed the protocol, which nobody asked it to") from None
        except httptools.HttpParserCallbackError:  # the one there is: too many steps
            self._settle_for_less()
        except httptools.HttpParserError as error:
            self._make_do(data, error)
        if not had_status and self.status is not None and self.status in _TELLING:
            came = self._came + data[: _SEARCHED_BYTES + 1]
            if self.status not in _SUCCESSES or _CONTROL_NAME in came[:_SEARCHED_BYTES].lower():
                self.told = _told(self.status, _final_head(came))
        if self._is_first and self.status is not None:
            self._is_first = False
            announced = _IDLE.search(_final_head(self._came + data))
            if announced is not None:
                idle_s = int(announced[1])
                self.idle_s = min(self.idle_s, idle_s - min(_IDLE_MARGIN_S, idle_s / 2))
        if self.is_whole:
            self.keeps_open = self.keeps_open and not self._is_out_of_step
            return True
        if not had_status:
            if self.status is None and _is_too_blank(self._came[-_MOST_BLANK_BYTES:] + data):
                raise _too_blank()
            self._came += data
        self._read_bytes += len(data)
        self.is_whole = self._is_enough()
        return self.is_whole

    def feed_end(self) -> bool:
        """Note that the target closed the connection; True if that ended the answer."""
        if self.status is not None:
            head = _final_head(self._came)
            # Behind what is searched the head may go on, and say where the answer ends.
            is_cut_off = len(self._came) > _SEARCHED_BYTES and (not head or head.endswith(b"\n"))
            self.is_whole = not is_cut_off and not _SAYS_WHERE_IT_ENDS.search(head)
        return self.is_whole

    def release(self) -> None:
        """Drop the parser, which refers back to this object."""
        del self._parser

    # What the parser calls.

    def on_message_begin(self) -> None:
        """Notice that more than one answer came: then it is unknown to which call the next one belongs."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise _TooManySteps
        if self.is_whole:
            self._is_out_of_step = True

    def on_headers_complete(self) -> None:
        """Take the status."""
        status = self._parser.get_status_code()
        if status >= _FINAL and not self.is_whole:
            self.status = status

    def on_body(self, piece: bytes) -> None:
        """Keep the beginning of the body."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise _TooManySteps
        if self.is_whole:
            return
        self._body_bytes += len(piece)
        room = self._excerpt_bytes - len(self.excerpt)
        if room > 0 and self.status is not None:
            self.excerpt += piece[:room]

    def on_message_complete(self) -> None:
        """Note that the answer is whole, unless it announces another."""
        if self.status is not None and not self.is_whole:
            self.is_whole = True
            self.keeps_open = self._parser.should_keep_alive()

    def _without_blanks(self, data: bytes) -> bytes:
        """Return the data after the line breaks before a head; NoHttp if they are too many."""
        found = data.lstrip(_BREAKS)
        self._blank_bytes += len(data) - len(found)
        if self._blank_bytes > _MOST_BLANK_BYTES:
            raise _too_blank()
        return found

    def _is_enough(self) -> bool:
        """Tell whether so much has been read that the rest need not come; NoHttp if it had no status."""
        most_bytes = _MOST_HEAD_BYTES + (2 * self._answer_bytes if self.status is not None else 0)
        is_so = self._body_bytes > self._answer_bytes or self._read_bytes > most_bytes
        if is_so and self.status is None:
            raise NoHttp(
                f"no status of {_FINAL} or above came before {self._read_bytes} bytes of headers and others"
            )
        return is_so

    def _settle_for_less(self) -> None:
        """Accept what came so far as the answer, since reading on would delay other calls."""
        self._is_out_of_step = True
        if self.status is None:
            raise NoHttp(f"no status of {_FINAL} or above came in {_MOST_STEPS // _STEPS_A_READ} pieces")
        self.is_whole = True

    def _make_do(self, data: bytes, error: httptools.HttpParserError) -> None:
        """Accept the status line as the answer, because the parser cannot read the rest of the head."""
        self._is_out_of_step = True
        if self.is_whole:
            return
        line = _STATUS_LINE.match(_final_head(self._came + data)) if self.status is None else None
        if line is None:
            raise NoHttp(f"the answer cannot be read as HTTP/1.1: {error}") from error
        self.status = int(line[1])
        self.is_whole = True


def _told(status: int, head: bytes) -> str:
    line = _LOCATION if status in _REDIRECTS else _CONTROL if status in _SUCCESSES else _RETRY_AFTER
    found = line.search(head)
    told = b"" if found is None else found[1].strip(b" \t")
    return told.decode("latin-1") if len(told) <= _MOST_TOLD_BYTES else ""


def _is_too_blank(data: bytes | bytearray) -> bool:
    """Tell whether more than `_MOST_BLANK_BYTES` line breaks follow each other."""
    return _TOO_BLANK in data.replace(b"\r", b"\n")


def _too_blank() -> NoHttp:
    return NoHttp(f"more than {_MOST_BLANK_BYTES} bytes of blank lines came before a head")


def _final_head(came: bytearray) -> bytes:
    """Return the first head with a final status, and nothing around it; b"" if there is none in what is searched."""
    if len(came) > _SEARCHED_BYTES:
        # Without its last line, of which a part may be missing.
        came = came[: came.rfind(b"\n", 0, _SEARCHED_BYTES) + 1]
    begin = _FINAL_HEAD.search(came)
    if begin is None:
        return b""
    end = _BLANK_LINE.search(came, begin.end())
    return bytes(came[begin.end() : None if end is None else end.start()])
