"""A file that `import` writes is read by `apply` as it was meant."""

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from wangtimer.cli.as_code.core_yaml import CoreDumper, CoreLoader

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
