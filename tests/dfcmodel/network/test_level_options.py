"""Which disciplines each level runs, and what a refusal says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dfcmodel import (
    DFC,
    FIFO,
    PFC,
    RED,
    CoDel,
    DualPI2,
    Fair,
    Link,
    Pause,
    Priority,
    QueueManager,
)
from dfcmodel.network.level_options import LEVELS, check_known

LINK = Link("a", "b", 1000.0, 0.01, 50)
BOTH = DFC(), FIFO(), Fair(), Pause(high=20, low=10), PFC((0,), 20, 10), Priority(), RED(), CoDel()


class Trim(FIFO):
    """A discipline of a user."""


class Own(QueueManager):
    """A queue manager of a user."""


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("discipline", [*BOTH, Own()], ids=lambda each: type(each).__name__)
def test_both_levels_run_these(level: str, discipline) -> None:
    check_known(replace(LINK, discipline=discipline), level)


def test_a_discipline_of_one_level_names_it() -> None:
    link = replace(LINK, discipline=DualPI2())
    check_known(link, "Packets()")
    with pytest.raises(ValueError, match=r"link a->b: .* not DualPI2; use method=Packets\(\)"):
        check_known(link, "Fluid()")


@pytest.mark.parametrize("level", LEVELS)
def test_a_discipline_of_no_level_is_not_sent_on(level: str) -> None:
    with pytest.raises(ValueError, match=r"not Trim; no level runs it") as refused:
        check_known(replace(LINK, discipline=Trim()), level)
    assert "use method" not in str(refused.value)
