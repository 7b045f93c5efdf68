"""Files of timers: what may be in them, and where each fault stands."""

from pathlib import Path

import pytest

from wangtimer.cli.as_code.timer_files import BadFiles, read_timer_files


def read(path: Path, text: str) -> list[tuple[int, object]]:
    path.write_text(text)
    return [(one.line, one.document) for one in read_timer_files([str(path)])]


def fault_of(path: Path, text: str) -> str:
    with pytest.raises(BadFiles) as caught:
        read(path, text)
    return str(caught.value).removeprefix(f"{path}:")


@pytest.mark.parametrize(
    "text",
    [
        "- key: a\n- key: b\n",
        "timers:\n- key: a\n- key: b\n",
        "key: a\n---\nkey: b\n",
        "# nothing\n---\nkey: a\n---\n- key: b\n",
    ],
)
def test_yaml_has_timers_as_a_list_or_as_documents(tmp_path: Path, text: str) -> None:
    found = read(tmp_path / "a.yaml", text)
    assert [document for _, document in found] == [{"key": "a"}, {"key": "b"}]


def test_a_moment_an_off_and_a_version_are_read_as_they_are_written(tmp_path: Path) -> None:
    text = (
        "at: 2027-01-01T08:00:00+08:00\nday: 2027-01-01\noff: off\nclock: 1:30\nno: 012\nfive: 5\nyes: true\n"
    )
    ((_, document),) = read(tmp_path / "a.yaml", text)
    assert document == {
        "at": "2027-01-01T08:00:00+08:00",
        "day": "2027-01-01",
        "off": "off",
        "clock": "1:30",
        "no": "012",
        "five": 5,
        "yes": True,
    }


def test_anchors_and_merges_are_followed(tmp_path: Path) -> None:
    text = "- &a\n  key: a\n  enabled: false\n- <<: *a\n  key: b\n"
    found = read(tmp_path / "a.yaml", text)
    assert found == [(1, {"key": "a", "enabled": False}), (4, {"key": "b", "enabled": False})]


@pytest.mark.parametrize(
    "text", ['[\n{"key": "a"},\n\n{"key": "b"}]', '{"timers":\n [{"key": "a"},\n\n {"key": "b"}]}']
)
def test_json_has_timers_as_a_list(tmp_path: Path, text: str) -> None:
    assert read(tmp_path / "a.json", text) == [(2, {"key": "a"}), (4, {"key": "b"})]


def test_json_may_be_one_timer(tmp_path: Path) -> None:
    assert read(tmp_path / "a.json", '{"key": "a", "tags": ["\\ud83d\\ude00"]}') == [
        (1, {"key": "a", "tags": ["😀"]})
    ]


def test_a_folder_has_its_yaml_and_json_files_in_order(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.yml").write_text("key: b")
    (tmp_path / "a.yaml").write_text("key: a")
    (tmp_path / "c.json").write_text('{"key": "c"}')
    (tmp_path / "notes.txt").write_text("key: d")
    assert [one.key for one in read_timer_files([str(tmp_path)])] == ["a", "c", "b"]


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("a.yaml", "- key: a\n  key: b\n", "2: 'key' is given twice"),
        ("a.yaml", "- key: a\n- 5\n", "2: it is no timer"),
        ("a.yaml", "- key: [a\n", "2: "),
        ("a.yaml", "- key: *no\n", "1: found undefined alias"),
        ("a.json", '[\n{"key": "a", "key": "b"}]', "1: 'key' is given twice"),
        ("a.json", '[\n{"key": }]', "2: Expecting value"),
        ("a.json", "[\n5]", "2: it is no timer"),
    ],
)
def test_what_is_no_timer_is_a_fault_with_its_line(tmp_path: Path, name: str, text: str, fault: str) -> None:
    assert fault_of(tmp_path / name, text).startswith(fault)


def test_what_is_missing_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(BadFiles, match=r"no.yaml:1: it cannot be read: No such file"):
        read_timer_files([str(tmp_path / "no.yaml")])
    with pytest.raises(BadFiles, match=r"the folder has no file that ends in \.yaml"):
        read_timer_files([str(tmp_path)])


def test_a_field_is_found_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("- key: a\n  target:\n    url: x\n    headers:\n      A b: c\n")
    (found,) = read_timer_files([str(path)])
    lines = [
        found.line_of(name)
        for name in ("key", "target.url", "target.headers.A b", "target.body", "misfire", "")
    ]
    assert lines == [1, 3, 5, 2, 1, 1]
