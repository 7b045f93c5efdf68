"""Every setting, with its default, unit and reason; the only reader of the environment."""

import os
import ssl
from collections.abc import Iterable
from functools import cached_property
from importlib import import_module
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from wangtimer.base.shown_url import shown_unread
from wangtimer.core.alerts.mail_server import MailServer, is_address, read_mail_server
from wangtimer.core.apps.described_limits import DESCRIBED, AppLimit
from wangtimer.core.egress.egress_rules import read_egress
from wangtimer.core.errors import BadSetting
from wangtimer.core.flow.queues import MOST_QUEUES, OwnQueues
from wangtimer.core.messages.named_broker import NamedBroker, read_brokers
from wangtimer.core.near_misses import near_miss
from wangtimer.core.retry import MOST_ATTEMPTS, RetryPolicy
from wangtimer.core.secret_keys import read_secret_keys
from wangtimer.core.timers.call_options import LEAST_TIMEOUT_MS, MOST_TIMEOUT_MS
from wangtimer.core.timers.timer import MOST_AHEAD_MS

ENV_PREFIX = "WANGTIMER_"
# Variables with our prefix that are no settings of the service: they belong to the command line, compose and tests.
NOT_SETTINGS = frozenset(
    f"{ENV_PREFIX}{name}" for name in ("URL", "APP", "KEY", "KEY_FILE", "VERSION", "TEST_MARK")
)
# What a misspelt prefix still begins with.
_MISSPELT_PREFIX = "WANG"

# s; how long a stopping callback process waits for its calls beyond their time-out, so that each ends by itself.
_DRAIN_MARGIN_S = 2.0

# Each database with the one driver that is installed, named or not.
_DRIVERS = ("mysql", "mysql+mysqldb", "mariadb", "mariadb+mysqldb", "sqlite", "sqlite+pysqlite")
# Other names that people use for our settings, too different to be found as misspellings.
_OTHER_NAMES = {
    f"{ENV_PREFIX}DB_URL": f"{ENV_PREFIX}DATABASE_URL",
    f"{ENV_PREFIX}REDIS_URL": f"{ENV_PREFIX}STORE_URL",
}


def _known_database(url: str) -> str:
    try:
        parsed = make_url(url)
        # SQLAlchemy takes an @ in the password for its end; the rest would become the host, which errors name.
        is_read = parsed.drivername in _DRIVERS and "@" not in (parsed.host or "")
    except (ArgumentError, ValueError):
        is_read = False
    if not is_read:
        raise ValueError(
            "write mysql+mysqldb://user:password@host/database, with @ : / ? # of the password as %40 %3A %2F %3F "
            "%23, or sqlite:///path/to/file.db"
        )
    if parsed.get_backend_name() != "sqlite":
        _require_driver()
    return url


def _require_driver() -> None:
    try:
        import_module("MySQLdb")
    except ImportError as error:
        raise ValueError(
            f"its driver cannot be loaded ({error}); install mysqlclient: pip install 'wangtimer[mysql]', with gcc, "
            "pkg-config and libmariadb-dev"
        ) from None


def _redis_url(url: str) -> str:
    if not url.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError("write redis://host:port/db, rediss://... or unix:///path.sock?db=0")
    return _with_readable_place(url)


def _broker_url(url: str) -> str:
    if "://" not in url:
        raise ValueError("write redis://host:port/db, redis+socket:///path.sock?virtual_host=1 or amqp://...")
    return _with_readable_place(url)


def _with_readable_place(url: str) -> str:
    """Return the URL if its user, host and port can be read; else a later error would show parts of the password."""
    try:
        parts = urlsplit(url)
        is_read = parts.port is None or parts.port >= 0
    except ValueError:
        is_read = False
    if not is_read or "@" in f"{parts.path}{parts.query}{parts.fragment}":
        raise ValueError(
            "its host or port cannot be read: write @ : / ? # of a password as %40 %3A %2F %3F %23"
        )
    return url


def _address(bind: str) -> str:
    """Return where to listen: host:port, unix: or fd:// as gunicorn takes them; several with commas between."""
    if not all(address.startswith(("unix:", "fd://")) or _has_port(address) for address in bind.split(",")):
        raise ValueError("write host:port, as 127.0.0.1:5000 or [::1]:5000")
    return bind


def _one_address(bind: str) -> str:
    if "," in bind:
        raise ValueError("write one address, as 127.0.0.1:5001: the stream listens at one")
    return _address(bind)


def _is_private(address: str) -> bool:
    """Tell whether only processes of this machine reach an address of `http_bind`."""
    if address.startswith("unix:"):
        return True
    if address.startswith("fd://"):
        return False
    host = urlsplit(f"//{address}").hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _has_port(address: str) -> bool:
    try:
        return urlsplit(f"//{address.strip()}").port is not None
    except ValueError:
        return False


def _networks(text: str) -> str:
    for network in filter(None, (network.strip() for network in text.split(","))):
        try:
            ip_network(network)
        except ValueError as error:
            raise ValueError(f"{error}; write networks as 10.1.0.0/16,fd00:1::/48") from None
    return text


def _egress(text: str) -> str:
    if text.strip():
        read_egress(text)
    return text.strip()


def _queues(text: str) -> str:
    OwnQueues.read(text)
    return text.strip()


def _servers(text: str) -> str:
    for server in filter(None, (server.strip() for server in text.split(","))):
        try:
            parts = urlsplit(f"//{server}")
            is_whole = bool(parts.hostname and parts.port) and parts.netloc == server and "@" not in server
        except ValueError:
            is_whole = False
        if not is_whole:
            raise ValueError(f"{server}: write servers as flower:5555,10.0.0.7:33060,[fd00::7]:33060")
    return text.strip()


def _name_servers(text: str) -> str:
    """Return addresses of name servers with commas between, each with a port behind it or not."""
    written = [item.strip() for item in text.split(",") if item.strip()]
    for item in written:
        address, port = item, "53"
        if item.startswith("["):
            address, _, port = item[1:].partition("]:")
        elif item.count(":") == 1:
            address, _, port = item.partition(":")
        try:
            ip_address(address)
            is_whole = port.isascii() and port.isdecimal() and 0 < int(port) < 65_536
        except ValueError:
            is_whole = False
        if not is_whole:
            raise ValueError(f"{item}: write addresses as 10.0.0.2,10.0.0.3:5353,[fd00::2]:53")
    return ",".join(written)


def _default_limit(limit: AppLimit) -> Any:
    """Return the setting of a limit of all apps without an own one."""
    described = DESCRIBED[limit]
    return Field(
        default=0, ge=0, le=described.most, description=f"of one app: {described.words}; 0: no limit"
    )


class Settings(BaseSettings):
    """Read from `WANGTIMER_<NAME>` variables; a wrong one stops the start."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, frozen=True, extra="ignore")

    # Where things are
    database_url: Annotated[str, AfterValidator(_known_database)] = "sqlite:///wangtimer.db"
    """SQL database, the truth: mysql+mysqldb://... (MariaDB 10.11 or MySQL 8.0, or later) or sqlite:///..."""
    store_url: Annotated[str, AfterValidator(_redis_url)] = "redis://127.0.0.1:6379/0"
    """Redis 7 or Valkey for slices and definitions. What it loses is loaded again from SQL within seconds; while it is
    away nothing new is fired"""
    broker_url: Annotated[str, AfterValidator(_broker_url)] = "redis://127.0.0.1:6379/1"
    """Celery broker; another database or server than the store, so that each can be scaled"""
    key_prefix: str = Field(default="wt", pattern=r"^[a-z0-9_-]{1,20}$")
    """start of every Redis key of the store; deployments sharing a Redis need different ones"""

    # Planning
    step_s: int = Field(default=3600, ge=60, le=MOST_AHEAD_MS // 2_000)
    """s; a time step. Firings are planned up to two steps ahead, and again when one step is left"""
    plan_every_s: int = Field(default=2, ge=1, le=600)
    """s; how often the migrator looks for timers to plan: often, so that each look finds little"""
    plan_page_timers: int = Field(default=2_000, ge=1, le=10_000)
    """timers the migrator reads at once"""
    plan_threads: int = Field(default=2, ge=1, le=8)
    """threads that plan at once: one expands schedules while another waits for SQL and Redis"""
    plan_most_moments: int = Field(default=600, ge=60, le=100_000)
    """moments planned at once for one timer, so that an every-second timer cannot fill a page"""
    plan_dense_moments: int = Field(default=1_500, ge=60, le=100_000)
    """moments a dense timer is planned ahead, if two steps would be more; it is planned again when half is left. Never
    less than twice window_s: 10,000 every-second timers would otherwise be 72 million rows"""
    near_s: int = Field(default=60, ge=10, le=3_600)
    """s; how far enabling plans within the request; the migrator plans the rest. At least three times plan_every_s, so
    that a slow migrator is not felt"""
    firings_per_bucket: int = Field(default=15_000, ge=1)
    """firings a minute that one bucket takes before the next is opened: about 250 a second, so that chunks are full
    enough to be cheap"""
    most_buckets: int = Field(default=16, ge=1, le=256)
    """buckets a minute is cut into at most"""

    # What Redis holds
    window_s: int = Field(default=300, ge=120, le=86_400)
    """s; Redis holds at least the firings due within this, whatever memory they take: callbacks go on so long while SQL
    is away"""
    window_memory_mb: int = Field(default=200, ge=1)
    """MB of firings that Redis holds in all, 150 bytes each, up to two steps ahead. Firings due within window_s are
    held even if they take more"""

    lanes_memory_mb: int = Field(default=100, ge=0)
    """MB of firings that wait in lanes in Redis, 250 bytes each. A lane holds at most as many as are free, but always
    up to 100; later ones wait in SQL alone until the lane has room"""
    outbox_mb: int = Field(default=256, ge=1)
    """MB of outcomes that wait in Redis while SQL is away. From half of it on arming slows down; at all of it arming
    stops: firings are then late, and none is lost"""

    # Arming
    lead_ms: int = Field(default=1_000, ge=200, le=2_000)
    """ms; how long before its moment a firing is armed. A change that Redis was told of at once takes effect for
    moments further away than this. Exception: moments that an enable or edit created less than lead_ms + turn_ms ahead.
    Shorter costs CPU: 158 µs a firing at 1,000, 232 at 500"""
    turn_ms: int = Field(default=500, ge=50, le=1_000)
    """ms; the longest pause between two turns of a trigger"""
    chunk_size: int = Field(default=1_000, ge=1, le=1_000)
    """firings one executor message carries at most: each message costs a callback process some 2 ms"""
    arm_credit: int = Field(default=20_000, ge=1)
    """firings of one minute that are armed and not yet claimed, at most: about a second of drain, so that a backlog
    waits in its slice and not in the broker"""
    catch_up_per_s: int = Field(default=2_000, ge=1)
    """firings a second at which minutes long past are worked off after an outage, so that firings due now stay on time.
    Several times the usual load, and well under what the callback processes can do"""
    callback_queue_most: int = Field(default=40, ge=1)
    """chunks in the callback queue above which nothing more is armed, so that chunks are claimed well within
    armed_lease_ms"""
    lock_ms: int = Field(default=5_000, ge=1_000)
    """ms; how long a slice's lock lasts unless its trigger renews it"""
    armed_lease_ms: int = Field(default=8_000, ge=2_000)
    """ms; an armed firing that nobody claimed is armed again after this"""
    running_lease_ms: int = Field(default=6_000, ge=3_000)
    """ms; a claimed firing whose executor died is armed again after this"""
    renew_every_ms: int = Field(default=2_000, ge=100)
    """ms; how often an executor renews its leases; two tries must fit into running_lease_ms"""

    # Calling back
    callback_queues: Annotated[str, AfterValidator(_queues)] = Field(
        default="",
        max_length=2_048,
        description="names of queues of their own that apps may be given, with commas between: `reports,mail`. "
        f"{MOST_QUEUES} at most; the same for all processes. A firing knows its queue by its place here: add names at "
        "the end, and take none out while firings of it or of later ones are planned",
    )
    callback_most_held: int = Field(default=10_000, ge=1_000)
    """late firings one callback process holds at most, and as many again on time; the next chunk waits until some are
    settled. More would wait for a connection past their time-out, and cost 1.1 KB each beside their requests"""
    callback_most_mb: int = Field(default=64, ge=8)
    """MB of requests (URL, headers, body) that one callback process holds at most, half of it for late ones. Firings
    without room stay, or go back, where they stood. A larger request goes alone"""
    callback_timeout_ms: int = Field(default=10_000, ge=LEAST_TIMEOUT_MS, le=MOST_TIMEOUT_MS)
    """ms; total time one callback may take, connect included, where neither its timer nor its target says otherwise
    (`target.timeout`). A callback process that stops waits for its calls for 2 s more than this, and leaves longer ones
    to another process, which makes them anew: above 10,000, raise the stop limit of whatever supervises it, to this and
    10 s more"""
    callback_connect_timeout_ms: int = Field(default=3_000, ge=100, le=60_000)
    """ms; time to connect to a target, where neither timer nor target says otherwise (`target.connectTimeout`)"""
    callback_longest_timeout_ms: int = Field(default=MOST_TIMEOUT_MS, ge=LEAST_TIMEOUT_MS, le=MOST_TIMEOUT_MS)
    """ms; the longest time-out that a timer or a target may have of its own. A call that hangs holds a connection of
    its app for as long, and after the death of its process a permit of its app's calls at once"""
    callback_connections: int = Field(default=4_000, ge=1)
    """open connections of one callback process. One app has as many as are free, so half of them if it is alone; one
    target of an app has as many as are free of the app's"""
    callback_connections_per_host: int = Field(default=200, ge=1)
    """open connections to one target host. Of several apps that call it, each has as many as are free; a named target
    or first segment of a path has fewer after its calls fail, and one more with each answer"""
    callback_idle_s: int = Field(default=4, ge=1, le=60)
    """s; a connection idle for longer is not used again. Connections of every-second timers stay open. Most servers
    close after 5 s, and a request that crosses such a closing may cost an attempt; after less where the target
    announces so by Keep-Alive"""
    callback_connection_age_s: int = Field(default=60, ge=1, le=86_400)
    """s; a connection older than this is not used again, so that a target whose address changed is called at the new
    one"""
    callback_excerpt_bytes: int = Field(default=1_024, ge=0, le=4_096)
    """bytes of a target's answer that are kept"""
    egress: Annotated[str, AfterValidator(_egress)] = Field(default="", max_length=8_192)
    """what callbacks may connect to, and nothing else; the API and callback processes do not start without it.
    `public`, networks (`10.0.0.0/8`), names (`app.corp.example`, `*.corp.example`), with commas between, each with
    ports behind it or not (`:443`, `:8000-8999`). Addresses of a cloud's metadata and our own servers are never
    allowed"""
    callback_ca_file: Path | None = None
    """file with certificates of authorities (PEM) that vouch for targets, beside those that the system trusts; read
    when a callback process starts. `SSL_CERT_FILE` names another list in place of the system's"""
    callback_name_servers: Annotated[str, AfterValidator(_name_servers)] = Field(default="", max_length=1_024)
    """name servers that callback processes ask for the names of targets, with commas between: `10.0.0.2`,
    `10.0.0.3:5353`. Empty: those of the machine"""
    brokers_file: Path | None = None
    """file (TOML) with the message brokers that apps may send to, and what each app may send where; see the guide to
    message queues. Read when the API and a callback process start"""
    consumers_most_waiting: int = Field(default=10_000, ge=1, le=1_000_000)
    """firings that wait in Redis for the consumers of one group; a further one is tried again later, as after any
    failed attempt"""
    consumers_waiting_mb: int = Field(default=64, ge=1, le=10_000)
    """MB of firings that wait in Redis for consumers of all groups; one app has a quarter of it"""
    own_servers: Annotated[str, AfterValidator(_servers)] = Field(default="", max_length=8_192)
    """further servers of ours that no callback may reach, whatever egress allows: `flower:5555`, `10.0.0.7:33060`, with
    commas between. SQL, both Redis servers and the API are known from the other settings"""
    most_attempts: int = Field(default=RetryPolicy().attempts, ge=1, le=MOST_ATTEMPTS)
    """attempts of a firing of which timer, target and app do not say how often; pauses of 1, 2, 4, 8 s ... at most 5
    min, ±20 %, between them. With 11 it outlasts ten minutes"""
    settle_every_ms: int = Field(default=200, ge=10, le=2_000)
    """ms; how often finished firings are written to SQL, together"""

    # Repair
    sweep_every_s: int = Field(default=5, ge=1, le=60)
    """s; how often firings that have been due for 5 s without an outcome are looked up in SQL and added again"""

    retention_days: int = Field(default=30, ge=1, le=3_650)
    """days; settled firings are kept this long after their moment, and finished timers after their last one, unless a
    timer says otherwise"""

    host_disabled_after_days: int = Field(default=5, ge=0, le=365)
    """days; a part of a host (a named target, or the first segment of a path) that fails each call of an app for so
    long is disabled: the app's firings for it fail without a call, but for one a minute and callback process, until one
    is answered, or somebody enables it; 0: never"""

    smtp_url: SecretStr = SecretStr("")
    """the server that mail of alerts goes through, as smtp://, smtp+starttls:// or smtps://[user:password@]host[:port];
    only callback processes need it. Without one, alert rules with mail fail"""
    smtp_sender: str = Field(default="", max_length=320)
    """the address that mail of alerts comes from; the API needs it too: without it, it refuses alert rules with mail"""

    audit_days: int = Field(default=400, ge=1, le=3_650)
    """days; who changed what is kept this long: a year and some weeks by default, for yearly reviews"""

    # Secrets of timers
    secret_keys_file: Path | None = None
    """file with the keys that secrets of timers (Authorization headers, ...) are encrypted with: a line each, as
    `wangtimer secrets key` prints one. The first key encrypts, each decrypts. Without any, a timer with a secret is
    refused. `wangtimer up` makes one in its data directory"""
    secret_keys: SecretStr = SecretStr("")
    """the same keys without a file, with commas between; one of both is set"""

    # API
    http_bind: Annotated[str, AfterValidator(_address)] = "127.0.0.1:5000"
    """address the API listens on"""
    http_hosts: str = Field(default="", max_length=4_096)
    """names by which clients may call the API (their Host header), separated by commas, beside localhost and the
    address it is bound to. If it is bound to all addresses, any IP address is allowed too. `*` allows any name, and
    lets web pages reach the API by DNS rebinding"""
    auth: Literal["keys", "off"] = "keys"
    """`keys`: each request needs an API key. `off`: whoever reaches the API is an operator; only if the API listens on
    the loopback or a Unix socket, and WANGTIMER_HTTP_HOSTS does not allow any name"""
    compat_trusted_networks: Annotated[str, AfterValidator(_networks)] = Field(default="", max_length=4_096)
    """networks, separated by commas, from which the paths compatible with xTimer may be called without a key, for the
    app that the request names: whoever sends from there can act as every app. Behind a proxy name both its network and
    those of the clients, and set WANGTIMER_TRUSTED_PROXIES: without that the proxy's address alone counts"""
    trusted_proxies: Annotated[str, AfterValidator(_networks)] = Field(default="", max_length=4_096)
    """networks, separated by commas, of the proxies in front of the API: from these X-Forwarded-For is believed, so
    that the audit has the client's address, and X-Forwarded-Prefix, so that `Location` has the path that a proxy took
    off. Without it the audit has the proxy's address"""
    # Limits of apps without own ones, which `wangtimer apps limit` gives. None by default, so that nobody is surprised.
    app_most_timers: int = _default_limit(AppLimit.TIMERS)
    app_most_firings_per_s: int = _default_limit(AppLimit.FIRINGS_PER_SECOND)
    app_most_requests_per_s: int = _default_limit(AppLimit.REQUESTS_PER_SECOND)
    app_most_requests_at_once: int = _default_limit(AppLimit.REQUESTS_AT_ONCE)
    app_most_replays_per_h: int = _default_limit(AppLimit.REPLAYS_PER_HOUR)
    app_most_calendar_bytes: int = _default_limit(AppLimit.CALENDAR_BYTES)
    app_most_timer_bytes: int = _default_limit(AppLimit.TIMER_BYTES)
    http_head_timeout_s: int = Field(default=5, ge=1, le=60)
    """s within which the first byte of a connection must come, and then the head of a request, or it is closed"""
    http_body_timeout_s: int = Field(default=20, ge=1, le=600)
    """s within which the body of a request must come, or its thread is freed"""
    http_cpu_ms: int = Field(default=500, ge=50, le=60_000)
    """ms of CPU after which a request that asks for more work is refused (40012) before it has changed anything; 1,000
    timers with crons of their own take some 350 on the machine this was measured on"""
    http_workers: int = Field(default=2, ge=1, le=64)
    """API processes"""
    http_threads: int = Field(default=8, ge=1, le=256)
    """threads of each API process"""
    # The stream, for consumers that connect to us
    stream_bind: Annotated[str, AfterValidator(_one_address)] = "127.0.0.1:5001"
    """address that consumers connect to; one, or `unix:` and a path"""
    stream_connections: int = Field(default=10_000, ge=1, le=100_000)
    """consumers that one stream process has at most"""
    stream_connections_per_app: int = Field(default=5_000, ge=1, le=100_000)
    """of them those of one app"""
    stream_held_mb: int = Field(default=64, ge=1, le=10_000)
    """MB of firings that one stream process has given to consumers, and keeps until they are acknowledged; an app has
    half of it. More wait in Redis"""
    stream_slow_s: int = Field(default=10, ge=1, le=600)
    """s; a consumer that reads nothing for so long while there is something for it is cut off, and others get its
    firings"""
    fail_point: str = ""
    """for tests of outages: a step at which this process dies or fails, such as claim.after:kill:3"""
    ready_file: Path | None = None
    """file that a worker writes once it takes work; the supervisor waits for it"""

    @property
    def store_planned_mb(self) -> int:
        """MB that the store's Redis may come to hold by these settings; definitions come on top."""
        return self.window_memory_mb + self.lanes_memory_mb + self.outbox_mb + self.consumers_waiting_mb

    @property
    def app_limits(self) -> dict[AppLimit, int]:
        """The limits of an app that has none of its own."""
        defaults = {
            AppLimit.TIMERS: self.app_most_timers,
            AppLimit.FIRINGS_PER_SECOND: self.app_most_firings_per_s,
            AppLimit.REQUESTS_PER_SECOND: self.app_most_requests_per_s,
            AppLimit.REQUESTS_AT_ONCE: self.app_most_requests_at_once,
            AppLimit.REPLAYS_PER_HOUR: self.app_most_replays_per_h,
            AppLimit.CALENDAR_BYTES: self.app_most_calendar_bytes,
            AppLimit.TIMER_BYTES: self.app_most_timer_bytes,
        }
        return {limit: most for limit, most in defaults.items() if most}

    @property
    def is_private(self) -> bool:
        """Whether only processes of this machine reach the API."""
        return all(_is_private(address.strip()) for address in self.http_bind.split(","))

    @property
    def unset_database(self) -> Path | None:
        """The SQLite file in the working directory that serves if no database is set; None if one is set."""
        if "database_url" in self.model_fields_set:
            return None
        return Path(make_url(self.database_url).database or "").absolute()

    @cached_property
    def secret_key_ring(self) -> dict[str, bytes]:
        """The keys of secrets by id, the one that encrypts first; raises `BadSetting`."""
        name, text = f"{ENV_PREFIX}SECRET_KEYS", self.secret_keys.get_secret_value()
        if self.secret_keys_file is not None:
            if text:
                raise BadSetting(f"{name} and {name}_FILE are both set; take one of them out")
            name = f"{name}_FILE={self.secret_keys_file}"
            text = _text_of(self.secret_keys_file, name, "write a file there with `wangtimer secrets key`")
        try:
            return read_secret_keys(text)
        except ValueError as error:
            raise BadSetting(f"{name}: {error}") from None

    @cached_property
    def own_queues(self) -> OwnQueues:
        """The queues of their own that apps may be given."""
        return OwnQueues.read(self.callback_queues)

    @cached_property
    def callback_authorities(self) -> str:
        """Certificates (PEM) of those that vouch for targets, beside the system's; raises `BadSetting`."""
        if self.callback_ca_file is None:
            return ""
        name = f"{ENV_PREFIX}CALLBACK_CA_FILE={self.callback_ca_file}"
        text = _text_of(self.callback_ca_file, name, "put the certificates there, or take the setting out")
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
        except (ssl.SSLError, ValueError):
            raise BadSetting(
                f"{name}: it has no certificates, or one that cannot be read; write PEM"
            ) from None
        return text

    @cached_property
    def named_brokers(self) -> dict[str, NamedBroker]:
        """The message brokers that apps may send to, by name; raises `BadSetting`."""
        if self.brokers_file is None:
            return {}
        name = f"{ENV_PREFIX}BROKERS_FILE={self.brokers_file}"
        text = _text_of(self.brokers_file, name, "put the brokers there, or take the setting out")
        try:
            return read_brokers(text)
        except ValueError as error:
            raise BadSetting(f"{name}: {error}") from None

    @cached_property
    def mail_server(self) -> MailServer | None:
        """The server that mail of alerts goes through; None: there is none. Raises `BadSetting`."""
        url = self.smtp_url.get_secret_value()
        if not url:
            return None
        try:
            return read_mail_server(url, self.smtp_sender)
        except ValueError as error:
            raise BadSetting(f"{ENV_PREFIX}SMTP_URL: {error}") from None

    @property
    def drain_s(self) -> float:
        """How long a stopping callback process waits for its calls: none is cut off before its time-out."""
        return self.callback_timeout_ms / 1_000 + _DRAIN_MARGIN_S

    @property
    def window_ms(self) -> int:
        """How far ahead Redis holds at least every firing: never further than the horizon."""
        return min(self.window_s * 1_000, self.horizon_ms)

    @property
    def horizon_ms(self) -> int:
        """How far ahead firings are planned: two steps."""
        return 2 * self.step_s * 1_000


def read_settings() -> Settings:
    """Read the settings from the environment. Raises `BadSetting` with one line for each bad or misspelt variable."""
    _refuse_misspelt(os.environ)
    try:
        settings = Settings()
    except ValidationError as error:
        raise BadSetting("; ".join(_complaint(problem) for problem in error.errors())) from None
    _check_together(settings)
    return settings


def require_mail_server(settings: Settings) -> None:
    """Raise `BadSetting` where mail has a sender and no server: processes that send mail need both."""
    if settings.smtp_sender and settings.mail_server is None:
        raise BadSetting(
            f"{ENV_PREFIX}SMTP_SENDER is set and {ENV_PREFIX}SMTP_URL is not, so alert rules with mail would be taken "
            "and no mail sent; set both for callback processes, or take the sender out of the API's settings too"
        )


def _text_of(file: Path, name: str, mend: str) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise BadSetting(f"{name}: {reason}; {mend}") from None


def unknown_variables() -> list[str]:
    """Return the environment variables that look like settings, but are no settings of this version."""
    known = _known_variables()
    return sorted(
        name for name in os.environ if name.upper().startswith(ENV_PREFIX) and name.upper() not in known
    )


def _known_variables() -> frozenset[str]:
    return NOT_SETTINGS | {f"{ENV_PREFIX}{name.upper()}" for name in Settings.model_fields}


def _refuse_misspelt(variables: Iterable[str]) -> None:
    """Raise `BadSetting` for a variable that is nearly a known one, be it by its prefix; others may be newer."""
    known = _known_variables()
    strange = (
        name for name in variables if name.upper().startswith(_MISSPELT_PREFIX) and name.upper() not in known
    )
    settings = known - NOT_SETTINGS
    meant = {name: _OTHER_NAMES.get(name.upper()) or near_miss(name, settings) for name in sorted(strange)}
    complaints = [
        f"{name} is no setting; write {near}, or take it out" for name, near in meant.items() if near
    ]
    if complaints:
        raise BadSetting("; ".join(complaints))


def _complaint(problem: object) -> str:
    assert isinstance(problem, dict)
    name = ENV_PREFIX + "_".join(str(part) for part in problem["loc"]).upper()
    given = shown_unread(problem["input"]) if name.endswith("_URL") else problem["input"]
    return f"{name}={given!r}: {problem['msg'].removeprefix('Value error, ')}"


def _check_together(settings: Settings) -> None:
    if settings.auth == "off" and not settings.is_private:
        raise BadSetting(
            f"{ENV_PREFIX}AUTH=off with {ENV_PREFIX}HTTP_BIND={settings.http_bind}: whoever reaches that address could "
            "act as every app; bind to 127.0.0.1 or a Unix socket, or use keys"
        )
    if settings.auth == "off" and not _is_private(settings.stream_bind):
        raise BadSetting(
            f"{ENV_PREFIX}AUTH=off with {ENV_PREFIX}STREAM_BIND={settings.stream_bind}: whoever reaches that address "
            "could take every app's firings; bind to 127.0.0.1 or a Unix socket, or use keys"
        )
    if settings.auth == "off" and "*" in settings.http_hosts.replace(",", " ").split():
        raise BadSetting(
            f"{ENV_PREFIX}AUTH=off with {ENV_PREFIX}HTTP_HOSTS={settings.http_hosts}: a web page could reach the API "
            "by DNS rebinding; name the hosts, or use keys"
        )
    # Read here, so that bad keys stop the start.
    _ = settings.secret_key_ring
    _ = settings.mail_server
    if settings.smtp_sender and not is_address(settings.smtp_sender):
        raise BadSetting(
            f"{ENV_PREFIX}SMTP_SENDER={settings.smtp_sender}: it is no mail address; write one as in "
            "alerts@corp.example"
        )
    if settings.renew_every_ms * 2 > settings.running_lease_ms:
        raise BadSetting(
            f"{ENV_PREFIX}RENEW_EVERY_MS={settings.renew_every_ms} is over half of {ENV_PREFIX}RUNNING_LEASE_MS="
            f"{settings.running_lease_ms}: a single failed renewal would cost the lease; lower it"
        )
    if settings.near_s < 3 * settings.plan_every_s:
        raise BadSetting(
            f"{ENV_PREFIX}NEAR_S={settings.near_s} is under three times {ENV_PREFIX}PLAN_EVERY_S="
            f"{settings.plan_every_s}: a newly enabled timer could run out of planned moments; raise it"
        )
    if settings.turn_ms > settings.lead_ms / 2:
        raise BadSetting(
            f"{ENV_PREFIX}TURN_MS={settings.turn_ms} is over half of {ENV_PREFIX}LEAD_MS={settings.lead_ms}: firings "
            "would be armed too close to their moment; lower it"
        )
    if settings.step_s < settings.near_s:
        raise BadSetting(
            f"{ENV_PREFIX}STEP_S={settings.step_s} is under {ENV_PREFIX}NEAR_S={settings.near_s}; raise it"
        )
