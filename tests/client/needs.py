"""Tests of operations that the service may not have yet: they run as soon as openapi.json has them all."""

import pytest

from tests.client.test_agreement import OPERATIONS


def needs(*operation_ids: str) -> pytest.MarkDecorator:
    """Return the mark that leaves a test out while one of these operations is missing."""
    missing = sorted(set(operation_ids) - set(OPERATIONS))
    return pytest.mark.skipif(bool(missing), reason=f"openapi.json has no {', '.join(missing)} yet")
