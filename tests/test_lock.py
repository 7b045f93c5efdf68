"""The lock has what pyproject.toml asks for, in allowed versions, each file by its hash; the image installs it."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.in_one import in_one

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# What has the packages of the lock in it, or says how they are installed.
DEPLOYS = ("deploy-with-compose.md", "deploy-on-kubernetes.md", "deploy-with-systemd.md")
SHIPPED = ("Dockerfile", *(f"{folder}/how-to/{page}" for folder in ("docs", "docs/zh") for page in DEPLOYS))
LOCKS = ("requirements.lock", "deploy/build-requirements.lock")
# `name==version ; marker \` and the lines with its hashes.
_ENTRY = re.compile(
    r"^([\w.-]+)==([\w.]+)( ; [^\\\n]+)?((?: \\\n {4}--hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE
)


def locked(name: str) -> dict[str, str]:
    """Return the version of each package of a lock."""
    return {entry[1]: entry[2] for entry in _ENTRY.finditer((ROOT / name).read_text())}


def asked() -> list[Requirement]:
    """Return what the image needs by pyproject.toml."""
    return [
        Requirement(text) for text in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["mysql"])
    ]


@in_one("requirement", asked())
def test_each_dependency_is_locked_in_a_version_that_is_allowed(requirement: Requirement) -> None:
    found = locked("requirements.lock")
    name = canonicalize_name(requirement.name)
    assert name in found, "run: make lock"
    assert requirement.specifier.contains(found[name], prereleases=True), "run: make lock"


def test_what_wheels_are_built_with_is_locked_too() -> None:
    build_system = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    lines = (ROOT / "deploy/build-requirements.in").read_text().splitlines()
    wanted = [Requirement(line) for line in (*lines, *build_system["requires"]) if not line.startswith("#")]
    found = locked("deploy/build-requirements.lock")
    assert [one for one in wanted if not one.specifier.contains(found[canonicalize_name(one.name)])] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_every_line_of_a_lock_is_a_version_with_its_hashes(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert re.sub(r"^#.*\n", "", _ENTRY.sub("", text), flags=re.MULTILINE).strip() == ""
    entries = list(_ENTRY.finditer(text))
    assert len({(entry[1], entry[3]) for entry in entries}) == len(entries) > 2
    for entry in entries:
        if entry[3]:
            Marker(entry[3].removeprefix(" ; "))


def test_the_image_fetches_nothing_but_what_is_locked() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    joined = dockerfile.replace("\\\n", " ")
    installs = re.findall(r"pip (?:install|wheel) ([^&\n]*)", joined)
    assert len(installs) == 4
    for words in installs:
        assert "--require-hashes" in words or "--no-deps" in words
        assert "--no-build-isolation" in words or "pip wheel" not in words
    assert all(lock in dockerfile for lock in LOCKS)


def licence_of(package: str) -> str:
    """Return what a package says of its licence, in each of the ways there are; "" where it is for another Python."""
    try:
        said = metadata.metadata(package)
    except metadata.PackageNotFoundError:
        return ""
    ways = [said.get("License-Expression", ""), said.get("License", ""), *said.get_all("Classifier", [])]
    return "\n".join(ways)


def test_a_package_under_the_gpl_is_named_with_it_wherever_it_is_shipped() -> None:
    bound = [name for name in locked("requirements.lock") if re.search(r"\bA?GPL", licence_of(name))]
    assert bound == ["mysqlclient"], "who passes the image on is bound by it: say so, or do without"
    for path in SHIPPED:
        lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
        assert [one for one in lines if "mysqlclient" in one and "GPL" in one], path
