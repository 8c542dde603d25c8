"""Bars appear on terminals and in notebooks only."""

from __future__ import annotations

import sys
import warnings
from types import SimpleNamespace

import pytest

from hopflow import progress


@pytest.fixture
def switched_on(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    monkeypatch.setattr(progress, "DELAY", 0.0)
    return monkeypatch


def test_a_terminal_shows_a_bar(switched_on, capsys) -> None:
    switched_on.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert list(progress.progress_bar(range(3), desc="runs", leave=True)) == [0, 1, 2]
    assert "runs: 100%" in capsys.readouterr().err


def test_a_file_has_none(switched_on, capsys) -> None:
    switched_on.setattr("sys.stderr.isatty", lambda: False, raising=False)
    assert not progress.is_visible()
    list(progress.progress_bar(range(3)))
    assert not capsys.readouterr().err


def test_bars_can_be_switched_off(switched_on, capsys) -> None:
    switched_on.setattr("sys.stderr.isatty", lambda: True, raising=False)
    switched_on.setenv("TQDM_DISABLE", "1")
    list(progress.progress_bar(range(3)))
    assert not capsys.readouterr().err


def test_a_notebook_shows_a_bar_although_it_is_no_terminal(switched_on) -> None:
    switched_on.setattr("sys.stderr.isatty", lambda: False, raising=False)
    for config, known in (({"IPKernelApp": {}}, True), ({"TerminalIPythonApp": {}}, False)):
        shell = SimpleNamespace(config=config)
        switched_on.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda s=shell: s))
        assert progress.is_visible() is known


def test_filters_of_warnings_are_changed_for_the_first_import_only(monkeypatch):
    """They are those of all threads."""
    list(progress.progress_bar(range(2)))
    monkeypatch.setattr(warnings, "catch_warnings", None)
    assert list(progress.progress_bar(range(2))) == [0, 1]
