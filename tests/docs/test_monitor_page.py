"""docs/how-to/monitor.md and docs/reference/metrics.md name the figures that `/metrics` tells."""

import re
from typing import Any

import yaml

from tests.docs.blocks import ROOT, blocks

PAGE = ROOT / "docs/how-to/monitor.md"
REFERENCE = (ROOT / "docs/reference/metrics.md").read_text()
FILES = (ROOT / "wangtimer/api/operations/metrics.py", *(ROOT / "wangtimer/features").glob("*/metrics.py"))
SOURCE = "".join(file.read_text() for file in FILES)
# A counter's name ends so in what a Prometheus reads.
TOLD = {
    f"{name}_total" if name.endswith(("_notes", "_refusals")) else name
    for name in re.findall(r'"(wangtimer_\w+)"', SOURCE)
}


def files() -> list[dict[str, Any]]:
    return [yaml.safe_load(block.text) for block in blocks(PAGE) if block.language == "yaml"]


def rules() -> list[dict[str, Any]]:
    (groups,) = [file["groups"] for file in files() if "groups" in file]
    return [rule for group in groups for rule in group["rules"]]


def test_the_table_of_figures_has_each_once_and_no_other() -> None:
    rows = re.findall(r"^\| `(wangtimer_\w+)` \| (?:gauge|counter) \|", REFERENCE, re.M)
    assert sorted(rows) == sorted(TOLD)


def test_every_alarm_asks_for_figures_that_there_are() -> None:
    asked = {name for rule in rules() for name in re.findall(r"wangtimer_\w+", rule["expr"])}
    assert asked
    assert asked <= TOLD


def test_every_alarm_says_what_it_means() -> None:
    assert all(rule["annotations"]["summary"].endswith(".") for rule in rules())
    assert len({rule["alert"] for rule in rules()}) == len(rules()) > 5


def test_prometheus_is_told_where_to_ask() -> None:
    (jobs,) = [file["scrape_configs"] for file in files() if "scrape_configs" in file]
    assert [job["job_name"] for job in jobs] == ["wangtimer"]
