"""Decorators of kernels: compiled, and plain."""

from __future__ import annotations

import pytest

from hopflow.kernels import jit, plain_jit

# As plain Python, functions of a kernel package are what they were, and events are called.


@pytest.mark.parametrize(
    "name",
    [
        "compiled",
        "inlined",
        "summing",
        "entry",
        "counting_entry",
        "calling_entry",
        "unaliased_entry",
    ],
)
def test_a_function_stays_as_it_is(name: str) -> None:
    def double(x: float) -> float:
        return 2.0 * x

    assert getattr(plain_jit, name)(double) is double


def test_events_get_what_they_are_called_with() -> None:
    called: list[tuple[object, ...]] = []

    def event(*given: object) -> None:
        called.append(given)

    plain_jit.call_event(event, "flow", 1.0, 0.1, 2.0, 3.0)
    plain_jit.call_manager(event, "link")
    assert called == [("flow", 1.0, 0.1, 2.0, 3.0), ("link",)]


# The decorators of a compiled package and those of its plain copy have the same names.


def test_both_offer_the_same_names() -> None:
    assert jit.__all__ == plain_jit.__all__


def test_sums_may_be_reordered_only_where_they_are_exact() -> None:
    """Rounding to the quantum needs strict arithmetic; sums of multiples of it do not."""
    assert jit.summing(lambda x: x).targetoptions["fastmath"] == {"reassoc"}
    assert "fastmath" not in jit.inlined(lambda x: x).targetoptions
