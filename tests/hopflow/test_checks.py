"""Checks of numbers and choices: what is accepted, and messages that name what is not."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from hopflow.checks import (
    choice,
    dimensions,
    file_path,
    instance,
    listed,
    number,
    one_number,
    random_generator,
    seconds,
    shown,
    whole,
)
from responsefn import CUBIC

NOT_NUMBERS = ["0.5", b"0.5", "", True, [True], None, 1j, [None], [1.0, "2"], [[1.0], [1.0, 2.0]]]
NOT_NUMBERS += [{}, np.datetime64("2020-01-01"), 10**310]


class TestNumber:
    @pytest.mark.parametrize("value", NOT_NUMBERS, ids=str)
    def test_not_a_number(self, value):
        for check in (number, one_number, seconds):
            with pytest.raises(ValueError, match=r"^speed = .*: must be a finite number") as caught:
                check("speed", value)
            assert str(caught.value).startswith(f"speed = {shown(value)}: ")

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
        for value in ("", None, 1, np.array(["up", "up"]), ["up"]):
            with pytest.raises(ValueError, match="must be one of") as caught:
                choice("mode", value, ("up", "down"))
            assert str(caught.value) == f"mode = {value!r}: must be one of 'up', 'down'"
        with pytest.raises(ValueError, match=r"did you mean 'up'"):
            choice("mode", "UP", ("up", "down"))


def test_of_many_names_the_nearest_are_given():
    names = [f"paper{n}/case" for n in range(100)]
    with pytest.raises(ValueError, match=r"one of 100, such as 'paper77/case'"):
        choice("case", "paper77/cse", names)


def test_a_choice_suggests_what_was_probably_meant() -> None:
    with pytest.raises(ValueError, match=r"must be one of 'bic', 'reno'; did you mean 'reno'\?$"):
        choice("rule", "rno", ["bic", "reno"])


class TestObjects:
    def test_an_instance_is_returned(self):
        assert instance("flow", "a", (str, int)) == "a"

    def test_another_class_is_named(self):
        with pytest.raises(TypeError, match=r"^flow = 3.5: must be a str or a int$"):
            instance("flow", 3.5, (str, int))

    def test_each_entry_of_a_list_is_checked(self):
        assert listed("flows", iter(["a", "b"]), str) == ("a", "b")
        for given, said in (
            (["a", 1], r"flows\[1\] = 1"),
            ("ab", "flows = 'ab'"),
            (3, "flows = 3"),
        ):
            with pytest.raises(TypeError, match=f"^{said}: must be "):
                listed("flows", given, str)

    def test_a_class_in_place_of_a_list_of_its_objects_is_named(self):
        with pytest.raises(
            TypeError, match=r"^rules is the class str: must be .*; write \[str\(\)\]$"
        ):
            listed("rules", str, str)


class TestRandomGenerator:
    @pytest.mark.parametrize("seed", [7, np.int64(7), np.random.SeedSequence(7)], ids=type)
    def test_the_same_seed_gives_the_same_numbers(self, seed):
        expected = np.random.default_rng(7).random(3)
        assert random_generator("seed", seed).random(3).tolist() == expected.tolist()

    def test_a_generator_is_used_as_it_is(self):
        rng = np.random.default_rng(1)
        assert random_generator("seed", rng) is rng

    @pytest.mark.parametrize("seed", [-1, 0.5, math.nan, True, "7", [1, 2], {}], ids=repr)
    def test_no_seed(self, seed):
        with pytest.raises(
            (TypeError, ValueError), match=r"^seed = .*: must be a whole number >= 0"
        ):
            random_generator("seed", seed)


class TestFilePath:
    def test_texts_and_paths(self, tmp_path):
        assert file_path("path", str(tmp_path)) == file_path("path", tmp_path) == tmp_path

    @pytest.mark.parametrize("given", [3, None, b"x", "", []], ids=repr)
    def test_no_path(self, given):
        with pytest.raises((TypeError, ValueError), match=r"^path = .*: must be "):
            file_path("path", given)


@pytest.mark.parametrize("value", [10**5000, "x" * 500, np.zeros(1000), 0.5], ids=type)
def test_a_value_in_a_message_is_one_short_line(value):
    text = shown(value)
    assert len(text) <= 80
    assert "\n" not in text


@pytest.mark.parametrize(
    "value", [np.array(4), np.int64(4), np.float64(4.0), Fraction(4)], ids=type
)
def test_whole_numbers_of_other_types(value):
    found = whole("runs", value, 1, 10)
    assert (found, type(found)) == (4, int)


@pytest.mark.parametrize(
    ("value", "shape"),
    [(3, ()), ("ab", ()), ([1, 2], (2,)), (np.ones((2, 3)), (2, 3)), ([1.0, [2.0, 3.0]], None)],
)
def test_dimensions_are_none_for_rows_of_different_lengths(value, shape) -> None:
    assert dimensions(value) == shape


def test_an_array_is_no_name() -> None:
    for value in (np.array([]), np.array(["a"]), np.array(["a", "b"])):
        with pytest.raises(ValueError, match="kind = "):
            choice("kind", value, ("a", "b"))


def test_a_method_called_on_its_class_says_that_an_instance_is_needed():
    with pytest.raises(
        TypeError, match=r"rate takes p, rtt, .*; call rate on an instance, not on the class"
    ):
        CUBIC.rate(1e-3, 0.04)
    with pytest.raises(TypeError, match=r"rate takes p, rtt, bandwidth, unit_check$"):
        CUBIC().rate(1e-3)
