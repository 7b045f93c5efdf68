"""The text below an attribute of a class is found by the attribute's name."""

import pytest

from wangtimer.base.attribute_docstrings import attribute_docstrings


class Base:
    """No attribute has a text."""

    before: int = 1


class OfAVeryLongName(
    Base,
):
    """Three attributes, two with a text."""

    short: int
    """one line"""
    silent: int
    long: tuple[
        int,
        str,
    ] = (1, "class Base:")
    """two
    lines"""

    def method(self) -> None:
        """Return: this text is of no attribute."""


def test_each_text_is_by_its_attribute_in_one_line() -> None:
    assert attribute_docstrings(OfAVeryLongName) == {"short": "one line", "long": "two lines"}


class WithAMargin:
    """Has a text that is written from the margin on."""

    here: int
    """first
second"""


def test_a_text_may_begin_at_the_margin() -> None:
    assert attribute_docstrings(WithAMargin) == {"here": "first second"}


def test_a_class_has_only_texts_of_its_own() -> None:
    assert attribute_docstrings(Base) == {}


def test_a_class_without_its_source_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wangtimer.base.attribute_docstrings.getlines", lambda *_: [])
    assert attribute_docstrings(OfAVeryLongName) == {}
