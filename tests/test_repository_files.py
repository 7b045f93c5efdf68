"""What a stranger and the hosting site read first: licence, pages for contributors, templates, workflow."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
FORMS = ("bug.yml", "feature.yml")
PAGES = (
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    ".github/PULL_REQUEST_TEMPLATE.md",
)
# What a form of GitHub's may have: https://docs.github.com/en/communities/using-templates-to-encourage-useful-issues
ELEMENTS = {"markdown", "input", "textarea", "dropdown", "checkboxes"}
# Of https://keepachangelog.com/en/1.1.0/, behind what is to be done.
SECTIONS = ["Upgrading", "Added", "Changed", "Fixed", "Removed", "Security"]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def in_code(page: str) -> str:
    """Return what stands as code on a page: blocks and what is between backticks."""
    blocks = re.findall(r"(?:^ {4}.*\n)+|^```.*?^```$", page, re.MULTILINE | re.DOTALL)
    return "\n".join([*blocks, *re.findall(r"`([^`\n]+)`", page)])


def make_targets(text: str) -> set[str]:
    return set(re.findall(r"\bmake ([a-z0-9-]+)", text))


def own_targets() -> set[str]:
    return set(re.findall(r"^([a-z0-9-]+):.*## ", read("Makefile"), re.MULTILINE))


def links(page: str) -> set[str]:
    """Return where a page links to in the repository, without the part behind `#`."""
    found = re.findall(r"\]\(([^)\s]+)\)", read(page))
    return {link.partition("#")[0] for link in found if not re.match(r"https?:|#", link)}


def loaded(path: Path) -> dict[Any, Any]:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


def test_the_licence_goes_into_the_wheel() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    assert (project["license"], project["license-files"]) == ("MIT", ["LICENSE"])
    assert read("LICENSE").startswith("MIT License\n")


@pytest.mark.parametrize("path", sorted(GITHUB.rglob("*.yml")), ids=lambda path: path.name)
def test_every_yaml_file_for_the_hosting_site_can_be_read(path: Path) -> None:
    assert loaded(path)


def test_the_forms_and_the_workflow_are_among_them() -> None:
    names = {str(path.relative_to(GITHUB)) for path in GITHUB.rglob("*.yml")}
    assert names == {f"ISSUE_TEMPLATE/{name}" for name in (*FORMS, "config.yml")} | {"workflows/ci.yml"}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_asks_in_ways_that_the_hosting_site_knows(name: str) -> None:
    form = loaded(GITHUB / "ISSUE_TEMPLATE" / name)
    assert form["name"]
    assert form["description"]
    asked = [one for one in form["body"] if one["type"] != "markdown"]
    assert {one["type"] for one in form["body"]} <= ELEMENTS
    assert all(one["attributes"]["label"] for one in asked)
    assert len({one["id"] for one in asked}) == len(asked) > 1


def test_the_workflow_runs_what_everybody_runs() -> None:
    workflow = loaded(GITHUB / "workflows" / "ci.yml")
    # YAML 1.1 reads the key `on` as true.
    assert {"push", "pull_request"} <= set(workflow[True])
    (job,) = workflow["jobs"].values()
    assert job["container"]["image"] == "debian:12"
    steps = [step.get("run") or step["uses"] for step in job["steps"]]
    assert steps[-1] == "bash .ci/run"
    assert (ROOT / ".ci" / "run").exists()
    installed = {word for step in steps for word in shlex.split(step, comments=True)}
    assert {"make", "python3-venv", "git", "curl"} <= installed
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]) for step in job["steps"] if "uses" in step)


@pytest.mark.parametrize("page", PAGES)
def test_every_make_target_that_a_page_names_exists(page: str) -> None:
    assert make_targets(in_code(read(page))) <= own_targets()


def test_contributors_are_told_every_make_target() -> None:
    assert own_targets() - make_targets(in_code(read("CONTRIBUTING.md"))) == set()


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_links_to_exists(page: str) -> None:
    found = links(page)
    assert [link for link in found if not (ROOT / page).parent.joinpath(link).exists()] == []
    assert found or page == ".github/PULL_REQUEST_TEMPLATE.md"


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md"])
def test_the_readme_leads_to_them(page: str) -> None:
    assert {"LICENSE", "CONTRIBUTING.md", "SECURITY.md"} <= links(page)


def test_contributors_are_told_where_every_folder_is() -> None:
    told = in_code(read("CONTRIBUTING.md"))
    folders = [path for path in (ROOT / "wangtimer").iterdir() if (path / "__init__.py").exists()]
    assert [path.name for path in folders if f"wangtimer/{path.name}" not in told] == []
    named = set(re.findall(r"\b(?:wangtimer|tests|docs|benchmarks)/[\w./-]*[\w/]", told))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_changelog_has_the_sections_that_one_keeps() -> None:
    page = read("CHANGELOG.md")
    assert "https://keepachangelog.com/en/1.1.0/" in page
    releases = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert (releases[0], releases[-1]) == ("[Unreleased]", "[0.2.0] - 2026-11-30")
    for one in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        sections = re.findall(r"^### (.*)$", one, re.MULTILINE)
        assert sections == [name for name in SECTIONS if name in sections]
    assert sections == ["Added"], "the first release changes nothing"


def test_a_line_of_the_changelog_is_one_or_two_sentences() -> None:
    _, _, changes = re.sub(r"^#+ (?!Added$).*$", "", read("CHANGELOG.md"), flags=re.MULTILINE).partition(
        "### Added"
    )
    lines = [" ".join(one.split()) for one in re.split(r"^\* ", changes, flags=re.MULTILINE)[1:]]
    assert len(lines) > 50
    assert [line for line in lines if len(re.findall(r"[.!?](?= [A-Z`\[0-9]|$)", line)) > 2] == []


def test_no_page_has_the_marks_of_a_merge() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md")]
    marks = re.compile(r"^(<{7}|\|{7}|={7}|>{7})( |$)", re.MULTILINE)
    assert [str(page) for page in pages if marks.search(page.read_text(encoding="utf-8"))] == []
