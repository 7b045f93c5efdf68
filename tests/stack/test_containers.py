"""Services of docker-compose.yml start in real containers, with their user, mounts and rights."""

import os
import shlex
from pathlib import Path

import pytest

from tests.stack.accounts import made_accounts
from tests.stack.containers import run_in
from tests.stack.test_deployment import composed_argv, services

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(os.geteuid() != 0, reason="containers need root"),
]


def test_the_proxy_starts_with_its_user_and_mounts(tmp_path: Path) -> None:
    started = "nginx -t -e stderr && nginx -e stderr && test -s /tmp/nginx.pid && nginx -s quit -e stderr"
    done = run_in(services()["proxy"], ["sh", "-c", started], tmp_path, {})
    assert done.returncode == 0, done.stderr
    assert "syntax is ok" in done.stderr


@pytest.mark.parametrize("name", ["store", "broker"])
def test_a_redis_starts_with_its_accounts_and_its_health_is_seen(name: str, tmp_path: Path) -> None:
    passwords = made_accounts(tmp_path / "made")
    data = tmp_path / "data"
    data.mkdir()
    os.chown(data, 999, 999)
    service = services()[name]
    health = service["healthcheck"]["test"][1]
    until = f"for _ in $(seq 100); do {health} && break; sleep 0.1; done; {health}"
    # The image has its own folder at /data where Compose mounts none; here the first of /tmp serves.
    command = f"{shlex.join(composed_argv(service))} --dir {'/data' if name == 'store' else '/tmp'}"
    files = {"/accounts.acl": tmp_path / f"made/accounts/{name}.acl", "/data": data}
    done = run_in(
        service,
        ["sh", "-c", f"{command} & {until}"],
        tmp_path,
        files,
        REDISCLI_AUTH=passwords["REDIS_HEALTH_PASSWORD"],
    )
    assert done.returncode == 0, done.stdout + done.stderr


# It needs the environment where the container sees it: a checkout below /tmp lies behind the container's own.
@pytest.mark.e2e
def test_the_api_starts_and_its_health_is_seen(tmp_path: Path) -> None:
    service = services()["web"]
    health = shlex.join(service["healthcheck"]["test"][1:])
    command = shlex.join(composed_argv(service))
    until = f"for _ in $(seq 60); do {health} 2>/tmp/why && exit 0; sleep 0.5; done; cat /tmp/why >&2; exit 1"
    done = run_in(
        service,
        ["sh", "-c", f"{command} & {until}"],
        tmp_path,
        {},
        WANGTIMER_HTTP_BIND="0.0.0.0:5000",
        WANGTIMER_EGRESS="public",
        WANGTIMER_HTTP_HOSTS="proxy,web",
        WANGTIMER_DATABASE_URL="mysql+mysqldb://wangtimer:x@127.0.0.1/wangtimer",
    )
    assert done.returncode == 0, done.stdout + done.stderr
