"""A deployment whose processes have the accounts that `deploy/make-accounts` makes, each its own, on real servers."""

import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import redis

from tests.e2e.deployment import Deployment
from tests.servers.redis_server import RedisServer, redis_program
from wangtimer.stack.child import ChildSpec, inherited_environment
from wangtimer.stack.ports import HOST, free_port
from wangtimer.stack.procfile import Command, read_commands
from wangtimer.stack.service import Service
from wangtimer.stack.supervisor import StopRequest

ROOT = Path(__file__).parents[2]
ACCOUNTS_SQL = ROOT / "deploy/mysql/accounts.sql"
# Of the test alone: it reads the servers' logs of refusals.
WATCHER = "user watcher on >watcher ~* &* +@all\n"


def made_accounts(directory: Path, units: Path | None = None) -> dict[str, str]:
    """Run `deploy/make-accounts`; return the variables of its `.env`. Files of systemd units go into `units`."""
    directory.mkdir(parents=True, exist_ok=True)
    argv = ["sh", str(ROOT / "deploy/make-accounts"), str(directory), *([str(units)] if units else [])]
    subprocess.run(argv, check=True, capture_output=True)
    return dict(line.split("=", 1) for line in (directory / ".env").read_text().splitlines())


class GuardedRedis(RedisServer):
    """A Redis with an ACL file; it is asked by an account that the file does not have."""

    def __init__(self, directory: Path, acl: Path, *options: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        own = directory / "users.acl"
        own.write_text(acl.read_text() + WATCHER)
        super().__init__(redis_program(), directory, "--aclfile", str(own), *options)

    def url_of(self, role: str, password: str) -> str:
        return f"redis://{role}:{password}@{HOST}:{self.port}/0"

    def refusals(self) -> list[dict[str, Any]]:
        """Return what it refused so far, as `ACL LOG` tells."""
        with closing(self.watcher()) as client:
            return [dict(one) for one in client.acl_log(100)]

    def watcher(self) -> "redis.Redis":
        """Return a client that may do everything."""
        return redis.Redis.from_url(
            self.url_of("watcher", "watcher"), socket_timeout=5, decode_responses=True
        )

    def _answers(self) -> bool:
        with closing(self.watcher()) as client:
            try:
                return bool(client.ping())
            except redis.RedisError:
                return False


class GuardedService(Service):
    """Starts each process with URLs of its own account."""

    def __init__(self, *arguments: Any, urls: "GuardedDeployment") -> None:
        super().__init__(*arguments)
        self._urls = urls

    def await_ready(self, api_url: str, stop: StopRequest, seconds: float = 150.0) -> None:
        super().await_ready(api_url, stop, seconds)

    def _spec(self, command: Command) -> ChildSpec:
        spec = super()._spec(command)
        return replace(
            spec, environment={**spec.environment, **self._urls.of_role(command.name.rstrip("0123456789"))}
        )


class GuardedDeployment(Deployment):
    """A deployment under the accounts of `deploy`; its tables are made by the account for the schema."""

    redis_options: tuple[str, ...] = ()

    def __init__(self, directory: Path, **variables: str | int) -> None:
        super().__init__(directory, {"stream": 1}, **variables)
        self.passwords = made_accounts(directory / "accounts")

    def of_role(self, role: str) -> dict[str, str]:
        """Return the variables that only a process of this role is given."""
        password = self.passwords[f"REDIS_{role.upper()}_PASSWORD"]
        return {
            "WANGTIMER_STORE_URL": self.store.url_of(role, password),
            "WANGTIMER_BROKER_URL": self.broker.url_of(role, password),
        }

    def sql_url(self, account: str, password: str) -> str:
        """Return the database's URL for an account."""
        return self.database_url.replace("root@", f"{account}:{password}@")

    def environment(self, port: int) -> dict[str, str]:
        self.flower_url = f"http://{HOST}:{free_port()}"
        self.rows_url = self.sql_url("wangtimer", self.passwords["MYSQL_PASSWORD"])
        return super().environment(port) | {
            "WANGTIMER_DATABASE_URL": self.rows_url,
            "FLOWER_PORT": self.flower_url.rpartition(":")[2],
            "FLOWER_BASIC_AUTH": self.passwords["FLOWER_BASIC_AUTH"],
        }

    def environment_of(self, role: str) -> dict[str, str]:
        """Return what a command is told that runs beside the process of a role."""
        return inherited_environment() | self.of_role(role) | {"WANGTIMER_DATABASE_URL": self.rows_url}

    def logs(self) -> list[Path]:
        """Return the log of each process."""
        return sorted(self._directory.glob("service/log/*.log"))

    def _commands(self) -> Iterator[Command]:
        yield from super()._commands()
        yield read_commands()["flower"]

    def _redis(self, directory: Path, name: str) -> GuardedRedis:
        acl = self._directory / f"accounts/accounts/{name}.acl"
        return GuardedRedis(directory, acl, *self.redis_options)

    def _store_server(self, directory: Path) -> GuardedRedis:
        return self._redis(directory, "store")

    def _broker_server(self, directory: Path) -> GuardedRedis:
        return self._redis(directory, "broker")

    def _service(self, directory: Path, environment: dict[str, str]) -> Service:
        return GuardedService(self.supervisor, directory, environment, urls=self)

    def _load_schema(self) -> None:
        for statement in statements_of(self.passwords):
            self.sql.run(statement)
        super()._load_schema()


def statements_of(passwords: dict[str, str]) -> Iterator[str]:
    """Yield the statements of `accounts.sql`, filled in as the image's script does."""
    text = "\n".join(line for line in ACCOUNTS_SQL.read_text().splitlines() if not line.startswith("--"))
    text = text.replace("{rows}", passwords["MYSQL_PASSWORD"])
    text = text.replace("{schema}", passwords["MYSQL_SCHEMA_PASSWORD"])
    yield from (one.strip() for one in text.split(";") if one.strip())
