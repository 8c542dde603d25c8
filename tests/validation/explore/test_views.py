"""Knobs and views: what may be chosen, and that the code of every view runs and gives its numbers."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
import pytest

from validation.explore import VIEWS
from validation.explore.views import Drawing, Knob, View, fraction


def run(code: str) -> tuple[dict[str, Any], str]:
    """Run the code of a view; return its names and what it prints."""
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "view.py", "exec"), names)  # noqa: S102
    return names, printed.getvalue()


def drawn(view: View, **texts: str) -> tuple[Drawing, dict[str, Any]]:
    """Return what a view draws for some knobs, and the names that its code leaves."""
    values = view.values(**texts)
    return view.draw(**values), run(view.code(**values))[0]


def test_a_knob_starts_at_one_of_its_options() -> None:
    with pytest.raises(ValueError, match=r"start of rtt = '3ms': must be one of '1ms'"):
        Knob("rtt", "Round-trip time", {"1ms": "1ms"}, "3ms")


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_values_are_those_of_the_texts(view: View) -> None:
    first = view.knobs[0]
    text = list(first.options)[-1]
    assert view.values(**{first.name: text})[first.name] == first.options[text]
    assert set(view.values()) == {knob.name for knob in view.knobs}
    for knob in view.knobs:
        if knob.free is None:
            with pytest.raises(ValueError, match=f"{knob.label} = 'much'"):
                view.values(**{knob.name: "much"})


def test_a_fraction_is_read_in_per_cent_or_alone() -> None:
    assert fraction("load", "140 %", 0.1, 5.0) == fraction("load", "1.4", 0.1, 5.0) == 1.4
    for text in ("600 %", "nan", "-1", "1.4x"):
        with pytest.raises(ValueError, match=f"load = '{text}': must be"):
            fraction("load", text, 0.1, 5.0)


def test_a_knob_with_a_text_field_takes_other_texts() -> None:
    knob = Knob("rtt", "Round-trip time", {"1 ms": 0.001}, "1 ms", free=float)
    assert knob.value("1 ms") == 0.001
    assert knob.value("0.5") == 0.5


def test_names_of_views_differ() -> None:
    assert len({view.name for view in VIEWS}) == len(VIEWS)


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_both_ends_of_every_knob_can_be_drawn(view: View) -> None:
    for knob in view.knobs:
        texts = list(knob.options)
        for text in (texts[0], texts[-1]):
            found = view.draw(**view.values(**{knob.name: text}))
            assert found.finding.endswith(".")
            for line in (line for chart in found.charts for line in chart.lines):
                assert line.x.shape == line.y.shape
                assert np.isfinite(line.y).all(), (knob.name, text, line.label)
            if found.bars is not None:
                assert np.isfinite(found.bars.lengths).all(), (knob.name, text)
                assert len(found.bars.names) == len(found.bars.texts) == len(found.bars.lengths)
