"""The documentation builds as a site: links lead somewhere, pages are in the navigation, nothing is fetched."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.blocks import ROOT

pytestmark = pytest.mark.processes

DOCS = ROOT / "docs"


def built(source: Path, out: Path) -> "subprocess.CompletedProcess[str]":
    """Build as `make docs` does: a warning is an error."""
    argv = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(source), str(out)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=110)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    done = built(DOCS, out)
    assert done.returncode == 0, done.stderr
    return out


def test_every_page_is_built(site: Path) -> None:
    pages = {path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md")}
    assert {path for path in pages if not (site / path).with_suffix(".html").exists()} == set()


def test_it_can_be_read_without_a_network(site: Path) -> None:
    fetched = re.compile(r'<(?:script|link|img)\b[^>]*(?:src|href)="(?:https?:)?//[^"]*"')
    assert [path.name for path in site.rglob("*.html") if fetched.search(path.read_text())] == []
    assert [path.name for path in site.rglob("*.css") if re.search(r"url\(.?https?:", path.read_text())] == []


def test_the_search_has_english_words_and_chinese_ones(site: Path) -> None:
    index = (site / "searchindex.js").read_text()
    words = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))["terms"]
    assert {"idempot", "幂等", "取消"} <= set(words)
    # What the browser cuts a query with, and the stems it looks for.
    script = (site / "_static/language_data.js").read_text()
    assert "function splitQuery" in script
    assert "window.Stemmer = EnglishStemmer;" in script


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("# A page\n\n[nowhere](nowhere.md)\n", "nowhere"),
        ("# A page\n\n[no such heading](#nothing)\n", "nothing"),
    ],
)
def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path, page: str, said: str) -> None:
    source = tmp_path / "docs"
    source.mkdir()
    shutil.copy(DOCS / "conf.py", source)
    shutil.copytree(DOCS / "_site", source / "_site")
    (source / "index.md").write_text(page)
    done = built(source, tmp_path / "out")
    assert done.returncode != 0
    assert said in done.stderr


@pytest.fixture
def chinese_search() -> ModuleType:
    spec = importlib.util.spec_from_file_location("chinese_search", DOCS / "_site/chinese_search.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("取消定时器", ["取消", "消定", "定时", "时器"]),
        ("用 curl 取消 42", ["用", "curl", "取消", "42"]),
        ("Redis里", ["Redis", "里"]),
    ],
)
def test_chinese_is_cut_into_pairs(chinese_search: ModuleType, text: str, words: list[str]) -> None:
    assert chinese_search.SearchBigrams({}).split(text) == words
