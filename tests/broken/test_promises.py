"""The mutations keep up with the code: each is found, can be compiled, and names tests that exist."""

from collections import Counter
from pathlib import Path

import pytest

from tests.broken.mutation import Mutation, NotOnePlace, Product
from tests.broken.promises import Promise, promises
from tests.broken.session import not_found
from tests.broken.tree import ROOT


@pytest.fixture(scope="module")
def product() -> Product:
    return Product(ROOT)


def wrong_with(mutation: Mutation, product: Product) -> str:
    """Return why it breaks nothing in the code as it is; "" where it can."""
    try:
        path, text = mutation.written_into(product)
        if path.suffix == ".py":
            compile(text, path, "exec", dont_inherit=True)
    except (NotOnePlace, SyntaxError) as error:
        return str(error)
    return "it changes nothing" if text == "\n".join(product.lines[path]) else ""


def test_each_mutation_is_found_in_one_place_and_compiles(product: Product) -> None:
    wrong = [
        f"{promise.name}: {complaint}"
        for promise in promises()
        for mutation in promise.mutations
        if (complaint := wrong_with(mutation, product))
    ]
    assert not wrong, "\n".join(wrong)


def wrong_together(promise: Promise, product: Product, tree: Path) -> str:
    """Return why its mutations cannot be written one after another, as `make broken` does; "" where they can."""
    paths = {mutation.written_into(product)[0] for mutation in promise.mutations}
    for path in paths:
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text("\n".join(product.lines[path]))
    try:
        for mutation in promise.mutations:
            mutation.apply(tree)
        for path in paths:
            if path.suffix == ".py":
                compile((tree / path).read_text(), path, "exec", dont_inherit=True)
    except (NotOnePlace, SyntaxError) as error:
        return str(error)
    return ""


def test_several_mutations_of_a_promise_are_found_one_after_another(product: Product, tmp_path: Path) -> None:
    wrong = [
        f"{promise.name}: {complaint}"
        for promise in promises()
        if len(promise.mutations) > 1
        if (complaint := wrong_together(promise, product, tmp_path / promise.name))
    ]
    assert not wrong, "\n".join(wrong)


def test_mutations_of_the_same_line_are_wrong_together(product: Product, tmp_path: Path) -> None:
    line = "return max(LEAST_SHARE, connections - running)"
    both = (Mutation("share_of", line, "return 0"), Mutation("share_of", line, "return 1"))
    assert "is not found" in wrong_together(Promise("a", "b", "c", both, "d"), product, tmp_path)


def test_one_that_is_not_found_changes_nothing_or_cannot_be_compiled_is_wrong(product: Product) -> None:
    line = "return max(LEAST_SHARE, connections - running)"
    assert not wrong_with(Mutation("share_of", line, "return connections"), product)
    assert wrong_with(Mutation("share_of", "return 0", "return 1"), product)
    assert wrong_with(Mutation("share_of", line, line), product)
    assert wrong_with(Mutation("share_of", line, "return ("), product)


def test_no_two_promises_have_the_same_name_and_each_is_complete() -> None:
    assert [name for name, times in Counter(one.name for one in promises()).items() if times > 1] == []
    assert [one.name for one in promises() if not is_complete(one)] == []


def is_complete(promise: Promise) -> bool:
    return bool(promise.words and promise.breaks and promise.mutations and promise.tests)


@pytest.mark.processes
def test_every_named_test_exists() -> None:
    assert not not_found(ROOT, sorted({test for promise in promises() for test in promise.tests}))
