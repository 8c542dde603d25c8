"""The decorators of a compiled package and those of its plain copy have the same names."""

from __future__ import annotations

from hopflow.kernels import jit, plain_jit


def test_both_offer_the_same_names() -> None:
    assert jit.__all__ == plain_jit.__all__


def test_sums_may_be_reordered_only_where_they_are_exact() -> None:
    """Rounding to the quantum needs strict arithmetic; sums of multiples of it do not."""
    assert jit.summing(lambda x: x).targetoptions["fastmath"] == {"reassoc"}
    assert "fastmath" not in jit.inlined(lambda x: x).targetoptions
