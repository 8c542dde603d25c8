"""Parameters, checks, units, status and the display of results."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import hopflow
from hopflow import NotSolvedError, Status, gbps, maximum, mbps, minimum, ms, to_mbps, us, where
from hopflow.checks import choice, number, one_number, seconds, whole
from hopflow.parameters import Parametrized
from hopflow.results import Result, figure, png, table_html, table_text
from hopflow.status import deliver


class Point(Parametrized):
    class Params(NamedTuple):
        x: float
        y: float = 2.0
        rates: tuple[float, ...] = (1.0, 2.0)

    def check(self):
        one_number("x", self.params.x, above=0.0)

    def norm(self):
        return math.hypot(self.x, self.y)


class Sibling(Parametrized):
    Params = Point.Params


class Bare(Parametrized):
    pass


class TestParametrized:
    def test_fields_are_attributes(self):
        point = Point(3.0, y=4.0)
        assert (point.x, point.y, point.rates) == (3.0, 4.0, (1.0, 2.0))
        assert point.params == (3.0, 4.0, (1.0, 2.0))
        assert point.norm() == 5.0
        assert {"x", "y", "rates", "norm", "replace"} <= set(dir(point))
        assert list(inspect.signature(Point).parameters) == ["x", "y", "rates"]

    def test_nothing_changes(self):
        point = Point(3.0)
        for name in ("x", "params", "new"):
            with pytest.raises(AttributeError, match=rf"Point is immutable; use .replace\({name}="):
                setattr(point, name, 7.0)
        with pytest.raises(AttributeError, match="immutable"):
            del point.x
        assert point == Point(3.0)

    def test_lists_and_arrays_become_tuples(self):
        rates = [25.0, 1.0]
        point = Point(np.float64(3.0), rates=rates)
        rates.append(0.5)
        assert point.rates == (25.0, 1.0)
        assert type(point.x) is float
        other = Point(3.0, rates=np.array([25.0, 1.0]))
        assert point == other
        assert hash(point) == hash(other)
        nested = Point(1.0, rates=[[1, 2], np.array([[3, 4]])])
        assert nested.rates == ((1, 2), ((3, 4),))

    def test_replace_checks_again(self):
        point = Point(3.0, rates=(5.0,))
        assert point.replace(x=4.0) == Point(4.0, rates=(5.0,))
        assert point.x == 3.0
        with pytest.raises(ValueError, match="x = -1: must be a finite number > 0"):
            point.replace(x=-1.0)
        with pytest.raises(TypeError, match=r"Point: .*'z'.*; its parameters: x, y, rates"):
            point.replace(z=1.0)

    def test_equality_and_hash(self):
        assert Point(3.0) == Point(3.0, 2.0)
        assert hash(Point(3.0)) == hash(Point(3.0, 2.0))
        assert Point(3.0) != Point(3.5)
        assert Point(3.0) != Sibling(3.0)
        assert Point(3.0) != (3.0, 2.0, (1.0, 2.0))
        assert len({Point(1.0), Point(1.0), Sibling(1.0)}) == 2

    def test_repr_shows_what_was_chosen(self):
        assert repr(Point(3.0)) == "Point(x=3.0)"
        assert repr(Point(3.0, rates=(1.0,))) == "Point(x=3.0, rates=(1.0,))"
        assert repr(Bare()) == "Bare()"
        assert eval(repr(Point(3.0, 5.0))) == Point(3.0, 5.0)

    def test_copies_and_pickles(self):
        point = Point(3.0, rates=(7.0,))
        for twin in (pickle.loads(pickle.dumps(point)), copy.copy(point), copy.deepcopy(point)):
            assert twin == point
            assert twin.norm() == point.norm()

    def test_unknown_and_missing_names(self):
        with pytest.raises(TypeError, match=r"Point: .*'speed'.*; its parameters: x, y, rates"):
            Point(1.0, speed=2.0)
        with pytest.raises(TypeError, match=r"Point: missing 1 .*'x'; its parameters: x, y, rates"):
            Point()
        with pytest.raises(TypeError, match=r"Bare: .*; its parameters: none"):
            Bare(1)
        with pytest.raises(AttributeError, match="'Point' object has no attribute 'speed'"):
            Point(1.0).speed  # noqa: B018

    def test_a_parameter_never_hides_behind_a_method(self):
        with pytest.raises(TypeError, match="a parameter cannot be called 'norm'"):

            class Hidden(Point):
                class Params(NamedTuple):
                    norm: float = 1.0


NOT_NUMBERS = ["0.5", b"0.5", "", True, [True], None, 1j, [None], [1.0, "2"], [[1.0], [1.0, 2.0]]]
NOT_NUMBERS += [{}, np.datetime64("2020-01-01"), 10**310]


class TestNumber:
    @pytest.mark.parametrize("value", NOT_NUMBERS, ids=str)
    def test_not_a_number(self, value):
        shown = repr(value)
        for check in (number, one_number, seconds):
            with pytest.raises(ValueError, match=r"^speed = .*: must be a finite number") as caught:
                check("speed", value)
            assert str(caught.value).startswith(f"speed = {shown}: ")

    @pytest.mark.parametrize(
        ("value", "limits", "said"),
        [
            (math.nan, {}, "v = nan: must be a finite number"),
            (-math.inf, {}, "v = -inf: must be a finite number"),
            (0, {"above": 0}, "v = 0: must be a finite number > 0"),
            (-1e-9, {"at_least": 0.0}, "v = -1e-09: must be a finite number >= 0"),
            (1.0, {"above": 0.0, "below": 1.0}, "v = 1: must be a finite number > 0 and < 1"),
            (1.0000001, {"at_most": 1.0}, "v = 1.0000001: must be a finite number <= 1"),
            (2, {"at_most": 1.2345678}, "v = 2: must be a finite number <= 1.2345678"),
            ([0.5, 1.5, 2.5], {"at_most": 1.0}, "v = 1.5: must be a finite number <= 1"),
            ([[0.5], [math.nan]], {}, "v = nan: must be a finite number"),
        ],
    )
    def test_outside(self, value, limits, said):
        with pytest.raises(ValueError, match="must be") as caught:
            number("v", value, **limits)
        assert str(caught.value) == said
        with pytest.raises(ValueError, match="must be") as caught:
            number("v", value, **limits, hint="in metres")
        assert str(caught.value) == f"{said}; in metres"

    @pytest.mark.parametrize("value", [1, 0.5, np.int8(1), np.float32(0.5), Fraction(1, 2)])
    def test_a_number(self, value):
        array = number("v", value, above=0.0, at_least=0.5, below=2.0, at_most=1.0)
        assert array.dtype == np.float64
        assert array.shape == ()
        assert array == value
        assert type(one_number("v", value)) is float
        assert one_number("v", value) == value

    def test_arrays(self):
        given = np.arange(6).reshape(2, 3)
        array = number("v", given, at_least=0)
        np.testing.assert_array_equal(array, given)
        assert number("v", []).shape == (0,)
        for several in ([1.0], np.ones((1, 1)), (1.0, 2.0)):
            with pytest.raises(ValueError, match=r"^v = .*: one number is expected"):
                one_number("v", several)

    def test_seconds(self):
        assert seconds("rtt", 0.048) == 0.048
        for value in (0.0, -1.0, 48_000.0, math.nan):
            with pytest.raises(ValueError, match=r"^rtt = .* > 0 and <= 1000; in seconds: ms"):
                seconds("rtt", value)


class TestWholeAndChoice:
    @pytest.mark.parametrize("value", [1, 20, 7.0, np.int64(3), np.float64(4.0), np.uint8(5)])
    def test_whole(self, value):
        assert whole("n", value, 1, 20) == value
        assert type(whole("n", value, 1, 20)) is int

    @pytest.mark.parametrize(
        "value", [0, 21, 2.5, -3, math.nan, math.inf, "5", True, None, [5], np.array([5]), 5j]
    )
    def test_not_whole(self, value):
        with pytest.raises(ValueError, match=r"must be") as caught:
            whole("n", value, 1, 20, why="the buffer")
        said = f"n = {value!r}: must be a whole number in 1..20 (the buffer)"
        assert str(caught.value) == said

    def test_choice(self):
        assert choice("mode", "up", ("up", "down")) == "up"
        for value in ("UP", "", None, 1, np.array(["up", "up"]), ["up"]):
            with pytest.raises(ValueError, match="must be one of") as caught:
                choice("mode", value, ("up", "down"))
            assert str(caught.value) == f"mode = {value!r}: must be one of 'up', 'down'"


class TestUnits:
    def test_values(self):
        assert mbps(370) == 370e6 / 12000
        assert mbps(12, packet_size=1000) == 1500.0
        assert gbps(1) == mbps(1000)
        assert to_mbps(mbps(15.5)) == pytest.approx(15.5, rel=1e-15)
        assert to_mbps(100, packet_size=1526) == pytest.approx(1.2208, rel=1e-15)
        assert ms(48) == pytest.approx(0.048, rel=1e-15)
        assert us(20) == pytest.approx(2e-5, rel=1e-15)
        np.testing.assert_allclose(mbps(np.array([12.0, 24.0])), [1000.0, 2000.0], rtol=1e-15)
        np.testing.assert_allclose(ms(np.array([1.0, 2.0])), [0.001, 0.002], rtol=1e-15)

    @pytest.mark.parametrize("convert", [mbps, gbps, to_mbps, ms, us])
    @pytest.mark.parametrize("value", [-2.0, math.nan, math.inf, "3", None])
    def test_bad(self, convert, value):
        name = "time" if convert in (ms, us) else "rate"
        shown = "-2" if value == -2.0 else repr(value)
        with pytest.raises(ValueError, match=rf"^{name} = {shown}: must be a finite number >= 0"):
            convert(value)

    @pytest.mark.parametrize("convert", [mbps, gbps, to_mbps])
    def test_bad_packet_size(self, convert):
        with pytest.raises(ValueError, match="packet_size = 0: must be a finite number > 0"):
            convert(1.0, packet_size=0)


class Answer(Result):
    def __init__(self, status):
        self.status = status

    def summary(self):
        return {"status": self.status, "a <b>": "1 & 2"}

    def plot(self, ax=None):
        if ax is None:
            _, ax = figure()
        ax.plot([1, 2], [3, 4])
        return ax


class TestResults:
    def test_status(self):
        usable = [status for status in Status if status.ok]
        assert usable == [Status.CONVERGED, Status.SOLVED, Status.UNPROVED]
        assert str(Status.CONVERGED) == "converged"
        assert str(Status.SOLVED).startswith("solved, error unknown: ")
        for status in Status:
            assert status is Status.CONVERGED or status.remedy in str(status) != status.remedy
        assert len({status.label for status in Status}) == len(Status)

    def test_deliver(self):
        good, bad = Answer(Status.CONVERGED), Answer(Status.NEGATIVE)
        for on_failure in ("raise", "return"):
            assert deliver(good, on_failure) is good
        assert deliver(bad, "return") is bad
        with pytest.raises(NotSolvedError, match=r"Answer: negative entries: .*GTH") as caught:
            deliver(bad, "raise")
        assert caught.value.result is bad
        with pytest.raises(ValueError, match="on_failure = 'ignore': must be one of 'raise', 'ret"):
            deliver(good, "ignore")

    def test_display(self):
        answer = Answer(Status.CONVERGED)
        assert repr(answer) == "Answer\n  status  converged\n  a <b>   1 & 2"
        page = answer._repr_html_()
        assert "a &lt;b&gt;" in page
        assert "1 &amp; 2" in page
        assert '<img alt="plot of Answer" src="data:image/png;base64,iVBOR' in page
        assert table_text("empty", {}) == "empty"
        assert table_html("t", {}) == "<table><caption>t</caption></table>"

    def test_the_same_picture_twice(self):
        pictures = {
            png(Answer(Status.CONVERGED).plot().figure, 'a "quoted" text') for _ in range(2)
        }
        assert len(pictures) == 1
        assert 'alt="a &quot;quoted&quot; text"' in pictures.pop()

    def test_bases_ask_for_their_methods(self):
        for method in (Result.summary, Result.plot):
            with pytest.raises(NotImplementedError):
                method(Result())


def test_functions_of_rules():
    assert where(True, 1, 2) == 1
    assert where(False, 1, 2) == 2
    assert (maximum(1, 2), minimum(1, 2)) == (2, 1)
    assert (maximum(2.0, 1.0), minimum(2.0, 1.0)) == (2.0, 1.0)


LAZY = """
import sys
import hopflow
loaded = [m for m in ("dfcmodel", "markov", "responsefn", "numba", "jax", "scipy") if m in sys.modules]
print(loaded)
"""


def test_import_is_light_and_names_are_offered():
    out = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
    import markov
    import responsefn

    assert hopflow.PauseTandem is markov.PauseTandem
    assert hopflow.Reno is responsefn.Reno
    assert {*hopflow.__all__, "PauseTandem", "Reno", "takano2006"} <= set(dir(hopflow))
    with pytest.raises(AttributeError, match="module 'hopflow' has no attribute 'nonsense'"):
        hopflow.nonsense  # noqa: B018


def test_of_many_names_the_nearest_are_given():
    names = [f"paper{n}/case" for n in range(100)]
    with pytest.raises(ValueError, match=r"one of 100, such as 'paper77/case'"):
        choice("case", "paper77/cse", names)


def test_a_file_that_hides_a_package_is_named(tmp_path):
    """A user's script or module called markov.py comes before ours."""
    (tmp_path / "markov.py").write_text("x = 1\n", encoding="utf-8")
    root = Path(hopflow.__file__).parents[1]
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(root)!r}]; import hopflow; hopflow.PauseTandem"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    said = run.stderr.strip().splitlines()[-1]
    expected = "which hides hopflow's package of that name: rename that file"
    assert said == f"ImportError: markov is {tmp_path / 'markov.py'}, {expected}"
