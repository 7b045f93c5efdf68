"""How fast one delivery engine drains a burst, compared with a bare CurlMulti loop to the same nginx.

    .venv/bin/python benchmarks/engine_drain.py [--calls 100000] [--spread-calls 5000]

Starts an nginx of its own (one worker, `return 204`) on free loopback ports, plain and TLS, and prints one JSON
line with three parts. First: calls/s and CPU µs a call of the engine's thread for a burst due at one moment, plain and
TLS. Second: the same of a bare CurlMulti loop (perform and select, no engine), and of a requests.Session. Third:
lateness and CPU at 1,000 calls/s spread at random. Every call has its own id header, as real calls do.
"""

import argparse
import contextlib
import json
import os
import random
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pycurl
import requests
import trustme

from tests.callback.calls import PlainCall
from wangtimer.callback import Call, DeliveryEngine, Egress, Limits, Reply, Request, Tls
from wangtimer.core.egress.egress_rules import PUBLIC_AND_LOOPBACK, EgressRules, read_egress
from wangtimer.testing.doubles import NoLimits

NGINX = """
daemon off; worker_processes 1; pid {home}/pid; error_log {home}/errors;
events {{ worker_connections 4096; }}
http {{
    access_log off; keepalive_requests 1000000;
    client_body_temp_path {home}; proxy_temp_path {home}; fastcgi_temp_path {home};
    uwsgi_temp_path {home}; scgi_temp_path {home};
    server {{ listen 127.0.0.1:{port} backlog=4096; location / {{ return 204; }} }}
    server {{
        listen 127.0.0.1:{tls_port} ssl backlog=4096; ssl_certificate {home}/chain; ssl_certificate_key {home}/key;
        location / {{ return 204; }}
    }}
}}
"""
BODY = b'{"type":"timer.fired","timestamp":"2026-11-20T18:16:51Z","data":{"timerId":"tmr_1"}}'
CONNECTIONS = 64


class MachineClock:
    def now_ms(self) -> float:
        return time.time() * 1000

    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)


class Outcomes:
    """Collects replies, and tells when all are there."""

    def __init__(self, expected: int) -> None:
        self.late_ms: list[float] = []
        self.failed = 0
        self.engine_cpu_s = 0.0
        self.ended_at = 0.0
        self._expected = expected
        self._all_here = Event()

    def add(self, call: Call, reply: Reply) -> None:
        self.failed += not reply.succeeded
        self.late_ms.append(reply.sent_at_ms - call.due_at_ms)
        if len(self.late_ms) == self._expected:
            self.engine_cpu_s = time.thread_time()
            self.ended_at = time.time()
            self._all_here.set()

    def wait(self) -> None:
        if not self._all_here.wait(120):
            raise TimeoutError(f"only {len(self.late_ms)} of {self._expected} calls ended in 120 s")


@contextlib.contextmanager
def nginx() -> Iterator[tuple[str, str]]:
    """Run it; the URLs are plain and TLS, and this process trusts its certificate."""
    with socket.socket() as one, socket.socket() as other:
        ports = []
        for probe in (one, other):
            probe.bind(("127.0.0.1", 0))
            ports.append(probe.getsockname()[1])
    with tempfile.TemporaryDirectory() as home:
        write_certificate(Path(home))
        config = Path(home, "nginx.conf")
        config.write_text(NGINX.format(home=home, port=ports[0], tls_port=ports[1]))
        server = subprocess.Popen(["nginx", "-c", str(config)])
        try:
            wait_for_listener(ports[0])
            yield f"http://127.0.0.1:{ports[0]}/callback", f"https://127.0.0.1:{ports[1]}/callback"
        finally:
            server.terminate()
            server.wait()


def write_certificate(home: Path) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_pem.write_to_path(str(home / "key"))
    (home / "chain").write_bytes(b"".join(blob.bytes() for blob in certificate.cert_chain_pems))
    authority.cert_pem.write_to_path(str(home / "authority"))
    os.environ["SSL_CERT_FILE"] = str(home / "authority")


def wait_for_listener(port: int) -> None:
    give_up_at = time.monotonic() + 5
    while time.monotonic() < give_up_at:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise SystemExit("nginx did not start")


def calls_due(url: str, moments_ms: list[float], outcomes: Outcomes) -> list[Call]:
    return [
        PlainCall(
            Request(url, "POST", (*FIXED_HEADERS, ("webhook-id", f"msg_{number}")), BODY),
            due_at_ms,
            may_send=lambda: True,
            on_held_back=print,
            on_reply=outcomes.add,
        )
        for number, due_at_ms in enumerate(moments_ms)
    ]


FIXED_HEADERS = (
    ("content-type", "application/json"),
    ("webhook-timestamp", "1795198611"),
    ("webhook-signature", "v1,YuA/8S0abA5s3xehIF3XqRMnF7s6x8tHCIpB6Or/Or4="),
)


def run_engine(url: str, moments_ms: list[float]) -> Outcomes:
    outcomes = Outcomes(len(moments_ms))
    limits = Limits(timeout_ms=60_000, connections_per_host=CONNECTIONS)
    egress = Egress(EgressRules(read_egress(PUBLIC_AND_LOOPBACK)))
    engine = DeliveryEngine(MachineClock(), egress, limits, (), NoLimits(), Tls(""))
    calls = calls_due(url, moments_ms, outcomes)
    engine.start()
    for first in range(0, len(calls), 200):
        engine.submit(calls[first : first + 200])
    outcomes.wait()
    engine.stop(1)
    return outcomes


def drain(url: str, calls: int) -> dict[str, float]:
    due_at_ms = time.time() * 1000 + 1000 + calls / 100  # after all are submitted
    outcomes = run_engine(url, [due_at_ms] * calls)
    return {
        "calls": calls,
        "failed": outcomes.failed,
        "calls_per_s": round(calls / (outcomes.ended_at - due_at_ms / 1000)),
        "engine_cpu_us_per_call": round(outcomes.engine_cpu_s / calls * 1e6, 1),
    }


def spread(url: str, calls: int, per_s: int) -> dict[str, float]:
    begin_ms = time.time() * 1000 + 500
    moments_ms = [begin_ms + random.random() * calls / per_s * 1000 for _ in range(calls)]
    outcomes = run_engine(url, moments_ms)
    late_ms = sorted(outcomes.late_ms)
    return {
        "calls_per_s": per_s,
        "failed": outcomes.failed,
        "earliest_ms": round(late_ms[0], 3),
        "late_p50_ms": round(late_ms[calls // 2], 2),
        "late_p99_ms": round(late_ms[calls * 99 // 100], 2),
        "late_max_ms": round(late_ms[-1], 2),
        "engine_cpu_us_per_call": round(outcomes.engine_cpu_s / calls * 1e6, 1),
    }


def bare_loop(url: str, calls: int) -> dict[str, float]:
    multi = pycurl.CurlMulti()
    for _ in range(CONNECTIONS):
        multi.add_handle(bare_handle(url))
    started, ended = CONNECTIONS, 0
    began_at, cpu = time.monotonic(), time.thread_time()
    while ended < calls:
        multi.perform()
        _, done, failed = multi.info_read()
        if failed:
            raise SystemExit(f"bare loop: {failed[0]}")
        for curl in done:
            multi.remove_handle(curl)
            if started < calls:
                multi.add_handle(curl)
                started += 1
        ended += len(done)
        multi.select(1.0)
    return {
        "calls_per_s": round(calls / (time.monotonic() - began_at)),
        "cpu_us_per_call": round((time.thread_time() - cpu) / calls * 1e6, 1),
    }


def bare_handle(url: str) -> pycurl.Curl:
    curl = pycurl.Curl()
    curl.setopt(pycurl.URL, url)
    if url.startswith("https:"):
        curl.setopt(pycurl.CAINFO, os.environ["SSL_CERT_FILE"])
    curl.setopt(pycurl.POSTFIELDS, BODY)
    curl.setopt(pycurl.HTTPHEADER, [f"{name}: {value}" for name, value in FIXED_HEADERS])
    return curl


def with_requests(url: str, calls: int) -> dict[str, float]:
    with requests.Session() as session:
        session.trust_env = False
        cpu = time.thread_time()
        for _ in range(calls):
            session.post(url, data=BODY, headers=dict(FIXED_HEADERS), timeout=10)
        return {"cpu_us_per_call": round((time.thread_time() - cpu) / calls * 1e6, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--spread-calls", type=int, default=5_000)
    chosen = parser.parse_args()
    with nginx() as (url, tls_url):
        report = {
            "requests": with_requests(url, 2_000),
            "bare": bare_loop(url, chosen.calls),
            "bare_tls": bare_loop(tls_url, chosen.calls),
            "drain": drain(url, chosen.calls),
            "drain_tls": drain(tls_url, chosen.calls),
            "spread": spread(url, chosen.spread_calls, per_s=1_000),
            "spread_tls": spread(tls_url, chosen.spread_calls, per_s=1_000),
        }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
