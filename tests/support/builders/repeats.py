"""Cases of a test that repeat what its other cases show."""

from __future__ import annotations

from typing import Any

import pytest


def repeats(*cases: Any) -> list[Any]:
    """Returns cases that only `make test-all` runs; a case of several arguments is a tuple."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for case in cases
    ]
