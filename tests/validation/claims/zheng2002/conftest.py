"""Changed copies of the bundled runs of zheng2002."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from validation.claims.zheng2002 import loss_sweeps


@pytest.fixture
def scale(doctor) -> Callable[..., None]:
    """Multiply the rates of one rule in one sweep by a factor, for k from low to high."""

    def change(sweep: str, rule: str, factor: float, low: int = 0, high: int = 10**9) -> None:
        def scaled(frame) -> None:
            k = frame["packets_per_loss"]
            frame.loc[(frame["rule"] == rule) & (k >= low) & (k <= high), "rate"] *= factor

        doctor(loss_sweeps.CASES[sweep][rule], scaled)

    return change
