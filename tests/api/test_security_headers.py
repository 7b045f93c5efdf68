"""Headers by which a browser does with an answer what was meant, and nothing else."""

import base64
import hashlib
import re

import pytest

from tests.api.world import World
from wangtimer.api.http.browser_rules import POLICY, SECURITY_HEADERS

PAGES = ("/docs", "/docs/errors")
ANSWERS = (
    "/healthz",
    "/readyz",
    "/metrics",
    "/openapi.json",
    "/v1/timers",
    "/v1/timers/1",
    "/api/timer/v1/defs?app=shop",
    "/api/timer/v1/defs",
    "/nothing",
    "/",
)


def directives(policy: str) -> dict[str, list[str]]:
    return {words[0]: words[1:] for words in (one.split() for one in policy.split(";"))}


@pytest.mark.parametrize("path", ANSWERS)
def test_every_answer_is_data_that_nobody_keeps_shows_in_a_frame_or_guesses_about(
    small_world: World, path: str
) -> None:
    headers = small_world.client.get(path).headers
    assert {name: headers[name] for name in SECURITY_HEADERS} == SECURITY_HEADERS
    assert headers.getlist("Content-Security-Policy") == [POLICY]


def test_what_is_refused_for_its_host_has_them_too(small_world: World) -> None:
    answered = small_world.client.get("/v1/timers", headers={"Host": "evil.example"})
    assert answered.status_code == 400
    assert answered.headers["Content-Security-Policy"] == POLICY


@pytest.mark.parametrize("path", PAGES)
def test_a_page_runs_no_script_and_uses_no_style_but_its_own(small_world: World, path: str) -> None:
    page = small_world.client.get(path)
    allowed = directives(page.headers["Content-Security-Policy"])
    assert allowed["default-src"] == ["'none'"]
    assert "'unsafe-inline'" not in allowed.get("script-src", [])
    for closed in ("base-uri", "form-action", "frame-ancestors"):
        assert allowed[closed] == ["'none'"]
    scripts = re.findall(r"<script>(.*?)</script>", page.text, re.DOTALL)
    assert [source_of(one) in allowed["script-src"] for one in scripts] == [True] * len(scripts)
    styles = re.findall(r"<style>(.*?)</style>", page.text, re.DOTALL)
    assert styles
    assert all({source_of(one), "'unsafe-inline'"} & set(allowed["style-src"]) for one in styles)
    # No handler, style or address of a script stands in an attribute.
    assert not re.search(r'<[^>]+ (on\w+|style)=|href="javascript:', page.text)


def source_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_a_file_of_the_page_may_be_kept_and_is_not_guessed_about(small_world: World) -> None:
    with small_world.client.get("/docs/assets/css/swagger-ui.css") as answered:
        assert "max-age=3600" in answered.headers["Cache-Control"]
        assert answered.headers["X-Content-Type-Options"] == "nosniff"
