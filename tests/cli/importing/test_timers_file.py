"""A file that `import` writes is read by `apply` as it was meant."""

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from wangtimer.cli.as_code.core_yaml import CoreDumper, CoreLoader
from wangtimer.core.numbers_as_written import json_text, read_json

# What YAML can hold at all.
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]))


@example("1e3")
@example("12e5")
@example(".5e3")
@example("1E5")
@example("0o17")
@example("on")
@example("1:30")
@example("~")
@example("a\u2028b")
@given(TEXTS)
def test_any_text_is_read_as_it_was_written(text: str) -> None:
    written = yaml.dump({"body": text}, Dumper=CoreDumper, allow_unicode=True)
    assert yaml.load(written, Loader=CoreLoader) == {"body": text}


def test_numbers_are_read_with_the_digits_that_they_were_written_with() -> None:
    numbers = read_json("[1.10, 18446744073709551616, -0, 1e5, 7]")
    written = yaml.dump(numbers, Dumper=CoreDumper)
    assert json_text(yaml.load(written, Loader=CoreLoader)) == "[1.10,18446744073709551616,-0,1e5,7]"
