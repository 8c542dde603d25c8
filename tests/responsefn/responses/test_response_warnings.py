"""Warnings point at the call outside of the package, and can be left out or collected."""

from __future__ import annotations

import warnings

import pytest

from responsefn import Illinois, SeveralAttractorsWarning
from responsefn.responses.response_warnings import collected, quiet, warns


def test_a_warning_names_the_line_that_asked():
    with pytest.warns(SeveralAttractorsWarning) as seen:
        Illinois().rate(0.02, 0.1)
    assert seen[0].filename == __file__


def test_quiet_and_collected_remarks():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with quiet():
            assert not warns()
            Illinois().rate(0.02, 0.1)
        with collected() as remarks:
            Illinois().rate(0.02, 0.1)
    assert warns()
    assert remarks[0].beside[0, 0] == pytest.approx(86.5, rel=0.01)  # Reno's law, sqrt(3/(2p))/R
