"""Events at given times that cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from markov import transient
from markov.errors import FileError
from tests.markov.files.reactions.test_events import assigned, at, event, number, read

__all__ = ["read"]


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([event(at(0.0), assigned("X", number(3)))], "an event at time 0: must be > 0"),
        ([event(at(1.0), assigned("X", number(61)))], "assigns .61.* to 'X': must be a whole number"),
        ([event(at(1.0), assigned("X", "<cn>0.5</cn>"))], "from 0 to 60"),
        ([event(at(1.0), assigned("X", number(k))) for k in (1, 2)], "assign the same variable"),
    ],
)  # fmt: skip
def test_they_are_refused_before_any_work(events: list[str], said: str, read: Any) -> None:
    with pytest.raises(FileError, match=said):
        transient(read(*events), [2.0])
