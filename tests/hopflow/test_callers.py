"""Warnings point to the caller outside of the packages that raise them."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from hopflow.callers import calling_frame, warn_caller
from markov import fit_phase_type
from responsefn import Illinois


def test_the_distance_is_a_stacklevel() -> None:
    def inner() -> tuple[str, int]:
        frame, distance = calling_frame(lambda frame: frame.f_code.co_name in ("inner", "middle"))
        return frame.f_code.co_name, distance

    def middle() -> tuple[str, int]:
        return inner()

    assert middle() == ("test_the_distance_is_a_stacklevel", 3)


def rates_with_several_attractors() -> None:
    Illinois().rate(0.02, 0.1)


def remark_of_the_core() -> None:
    warn_caller(UserWarning("two rates"))


def fit_that_differs() -> None:
    fit_phase_type([1.0, 1.0, 1.0], phases=4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (rates_with_several_attractors, "from different windows"),
        (remark_of_the_core, "two rates"),
        (fit_that_differs, "scv of the fit"),
    ],
)
def test_a_warning_names_the_line_of_the_caller(call: Callable[[], None], message: str) -> None:
    with pytest.warns(UserWarning, match=message) as warnings:
        call()
    lines, start = inspect.getsourcelines(call)
    assert {(warning.filename, warning.lineno) for warning in warnings} == {(__file__, start + len(lines) - 1)}
