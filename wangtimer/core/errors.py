"""Every error WangTimer raises on purpose; the docstring is the start of what a user reads.

WangTimerError
├── InvalidInput            a request or a definition that cannot be taken: names the field and the mend
│   └── InvalidSchedule     a cron expression, moment or zone that cannot be read or never fires
├── UnknownTimer            no such timer in this app
├── UnknownFiring           this timer has no firing of this moment
├── UnknownSecret           this app has no signing secret of this id
├── UnknownTarget           this app has no target of this name
├── UnknownAlertRule        this app has no rule of alerts of this name
├── WrongToken              the token is none of this firing
├── NotOnRecord             the answer of a call that its target speaks of is not on record yet
├── Conflict                the request is well formed, but the timer's state does not allow it
│   ├── NameInUse           the app has a living timer of this name
│   └── VersionChanged      the timer is not at the version that the change was meant for
├── Unplannable             a timer whose moments cannot be worked out on this node; its log says why
├── Unreadable              a timer whose row this version cannot read
│   └── UnopenedSecrets     a timer, or a target, whose secrets this process has no key for
│       └── UnusableTls     a timer whose app's certificate or authorities this process cannot use
├── TooMuchWork             a request that takes more CPU than one may: nothing of it is done
├── LimitReached            an app has as much as it may have: its timers, planned firings, calendars
├── TooFast                 an app asks faster than it may: the error says when to ask again
├── TooManyAtOnce           as many requests of this kind are under way as this process serves at once
├── StoreAway               SQL or Redis did not answer in time; the write may or may not have happened
│   ├── TookTooLong         SQL answers, but ended a statement for its time
│   └── RowsLocked          SQL answers, but somebody else holds a row that is to be written; nothing was
└── BadSetting              a setting that cannot work: the start stops with one line
"""

from enum import Enum, auto


class Subject(Enum):
    """What an error may be about that different requests name in different ways: in a path, a header or a field."""

    TIMER = auto()
    VERSION = auto()
    FIRING = auto()
    CALENDAR = auto()
    APP = auto()
    KEY = auto()
    SECRET = auto()
    PAUSE = auto()
    TARGET = auto()
    ALERT_RULE = auto()


class WangTimerError(Exception):
    """Something WangTimer could not do. `about` says what it is about; None: a field, or the request as a whole."""

    about: Subject | None = None


class InvalidInput(WangTimerError):
    """Input that cannot be taken.

    `field` is the place of the field at fault in a timer of `/v1` (dotted when nested, "" for the whole body),
    `reason` what is wrong with it, `mend` what to write instead; `meant` is the word that was meant, where that can be
    told.
    """

    def __init__(self, field: str, reason: str, mend: str, meant: str | None = None) -> None:
        super().__init__(f"{field or 'request'}: {reason}; {mend}")
        self.field = field
        self.reason = reason
        self.mend = mend
        self.meant = meant


class InvalidSchedule(InvalidInput):
    """A schedule that cannot be read, or that has no moment at all."""


class UnknownTimer(WangTimerError):
    """No timer with this id in this app; a `timer_id` in text is a name, as it is to be shown."""

    about = Subject.TIMER

    def __init__(self, app: str, timer_id: int | str) -> None:
        super().__init__(
            f"app {app!r} has no timer {timer_id}; list them with GET /api/timer/v1/defs?app={app}"
        )
        self.app = app
        self.timer_id = timer_id


class UnknownFiring(WangTimerError):
    """No firing of this moment: the timer's schedule does not have it."""

    about = Subject.FIRING

    def __init__(self, timer_id: int) -> None:
        super().__init__(f"timer {timer_id} has no firing of this moment; GET /v1/firings lists those it has")


class UnknownSecret(WangTimerError):
    """No secret with this id signs callbacks of this app; a `secret_id` in text is as it is to be shown."""

    about = Subject.SECRET

    def __init__(self, app: str, secret_id: int | str) -> None:
        super().__init__(
            f"app {app!r} has no signing secret {secret_id}; GET /v1/signing-secrets lists those it has"
        )
        self.secret_id = secret_id


class UnknownTarget(WangTimerError):
    """No target of this name in this app."""

    about = Subject.TARGET

    def __init__(self, app: str, name: str) -> None:
        super().__init__(f"app {app!r} has no target {name!r}; GET /v1/targets lists those it has")
        self.app = app
        self.name = name


class UnknownAlertRule(WangTimerError):
    """No rule of alerts of this name in this app."""

    about = Subject.ALERT_RULE

    def __init__(self, app: str, name: str) -> None:
        super().__init__(f"app {app!r} has no alert rule {name!r}; GET /v1/alert-rules lists those it has")
        self.app = app
        self.name = name


class WrongToken(WangTimerError):
    """The token of a call is none of this firing, or there is no such firing: nobody is told which."""

    about = Subject.FIRING

    def __init__(self) -> None:
        super().__init__(
            "token: it is none of this firing; send X-WangTimer-Ack-Token of the call, and its webhook-id in the path"
        )


class NotOnRecord(WangTimerError):
    """The answer 202 of the call that a target speaks of is not on record yet: it is some 200 ms later."""

    about = Subject.FIRING

    def __init__(self) -> None:
        super().__init__("the answer 202 of its call is not on record yet; repeat it in a second")


class Conflict(WangTimerError):
    """The timer's state does not allow this; the message says which. `existing_id`: the timer in the way, if found."""

    def __init__(
        self,
        field: str,
        reason: str,
        mend: str,
        existing_id: int | None = None,
        about: Subject | None = None,
    ) -> None:
        super().__init__(f"{field}: {reason}; {mend}")
        self.about = about or self.about
        self.field = field
        self.reason = reason
        self.mend = mend
        self.existing_id = existing_id


class NameInUse(Conflict):
    """The app has a living timer of this name: `existing_id`, where it could be found."""


class VersionChanged(Conflict):
    """The timer is not at the version that the change was meant for: somebody changed it, or there is none."""

    about = Subject.VERSION


class Unplannable(WangTimerError):
    """The moments of a timer cannot be worked out on this node, say for a zone it does not know."""

    about = Subject.TIMER

    def __init__(self, timer_id: int) -> None:
        super().__init__(f"timer {timer_id} cannot be planned; the service's log says why")
        self.timer_id = timer_id


class Unreadable(WangTimerError):
    """A timer's row cannot be read by this version of the service: another one wrote it."""

    about = Subject.TIMER

    def __init__(self, timer_id: int, reason: str) -> None:
        super().__init__(
            f"timer {timer_id} cannot be read by this version of the service: {reason}; "
            "run the version that wrote it, and see `wangtimer doctor`"
        )
        self.timer_id = timer_id


class UnopenedSecrets(Unreadable):
    """No setting has the key of the secrets of a timer (`owner` is its id), or of a target (its name)."""

    def __init__(self, owner: int | str, reason: str) -> None:
        kind = "timer" if isinstance(owner, int) else "target"
        WangTimerError.__init__(
            self,
            f"the secrets of {kind} {owner} cannot be opened: {reason}; add their key to the keys of every process "
            f"(WANGTIMER_SECRET_KEYS_FILE), or give the {kind} its secrets anew",
        )
        self.about = Subject.TIMER if isinstance(owner, int) else Subject.TARGET


class UnusableTls(UnopenedSecrets):
    """This process can make no call with TLS for a timer: what is set for its app's TLS cannot be used here."""

    def __init__(self, timer_id: int, reason: str) -> None:
        WangTimerError.__init__(
            self,
            f"timer {timer_id} cannot be called with TLS: {reason}; give every process the same keys "
            "(WANGTIMER_SECRET_KEYS_FILE), or set the app's client certificate anew",
        )
        self.timer_id = timer_id


class TooMuchWork(WangTimerError):
    """A request takes more of the service's time than one may; nothing of it was done."""

    def __init__(self) -> None:
        super().__init__("request: it takes more CPU than one request may; ask for less at once")


class Limited(Enum):
    """What an app may have no more of."""

    TIMERS = auto()
    FIRINGS = auto()
    CALENDARS = auto()
    REQUESTS = auto()
    REPLAYS = auto()


class LimitReached(WangTimerError):
    """An app may have no more of something: the message has the figure that it would be, and the limit."""

    def __init__(self, of: Limited, reason: str, mend: str) -> None:
        super().__init__(f"{reason}; {mend}")
        self.of = of


class TooFast(WangTimerError):
    """An app asked for more than it may; nothing was done. It may ask again in `retry_after_s` whole seconds."""

    def __init__(self, of: Limited, reason: str, retry_after_s: int) -> None:
        super().__init__(f"{reason}; repeat it in {retry_after_s} s")
        self.of = of
        self.retry_after_s = retry_after_s


class TooManyAtOnce(WangTimerError):
    """As many requests of this kind are under way as this process serves at once."""

    def __init__(self) -> None:
        super().__init__("request: too many of its kind are under way; repeat it in a few seconds")


class StoreAway(WangTimerError):
    """SQL or Redis did not answer; whatever was being written may or may not have been applied."""

    def __init__(self, store: str, cause: str) -> None:
        super().__init__(f"{store} is away: {cause}")
        self.store = store


class TookTooLong(StoreAway):
    """SQL ended a statement for its time: too many rows were asked for, or the server has too much to do."""

    def __init__(self, store: str, cause: str) -> None:
        WangTimerError.__init__(self, f"{store} ended a statement that took too long: {cause}")
        self.store = store


class RowsLocked(StoreAway):
    """Somebody else held a row for longer than a write waits for it; nothing was written."""

    def __init__(self, cause: str) -> None:
        super().__init__("SQL", cause)


class BadSetting(WangTimerError):
    """A setting that cannot work; the message names it, what is wrong, and what to write."""
