"""The marks of the tests of an installed hopflow, where no pyproject.toml names them."""

from __future__ import annotations

from typing import Any


def pytest_configure(config: Any) -> None:
    """Name the mark of the claims that take longest: ``-m "not slow"`` leaves them out."""
    config.addinivalue_line("markers", "slow: takes more than two seconds")
