"""Properties that cannot be evaluated say why."""

from __future__ import annotations

from typing import Any

import pytest

from markov.files import FileError


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("S=? [ m = 1 ]", "'m'"),
        ("P=? [ F<=-1 n=0 ]", "times"),
        ('P=? [ F "empty" ]', "empty"),
        ("Q=? [ n=0 ]", "line 1"),
        ('R{"none"}=? [ S ]', "'none'"),
        ("S=? [ n ]", "truth value"),
        ("S>2 [ n=0 ]", "S>2: must be a probability"),
        ("P<-0.1 [ F n=3 ]", "P<-0.1: must be a probability"),
    ],
)
def test_properties_that_cannot_be_evaluated_say_why(queue: Any, text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        queue.property(text)
