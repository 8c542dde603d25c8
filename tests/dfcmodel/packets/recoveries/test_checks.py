"""Checks of recoveries: what a function may return, in samples and in a run, with the same words in both engines."""

from __future__ import annotations

from typing import Any

import pytest

from dfcmodel import LossRecovery, NewRenoRecovery, Packets, reduce_window, simulate
from dfcmodel.packets.recoveries.checks import check_recovery, check_sender
from responsefn import RuleError
from tests.dfcmodel.packets.conftest import recovering_sender
from tests.oracles.engines import plain_simulate


def with_duplicates(function: Any) -> type[LossRecovery]:
    """Return a recovery with a function for duplicate ACKs."""
    return type("Made", (LossRecovery,), {"on_duplicate_ack": staticmethod(function)})


def no_return(s: Any, e: Any) -> Any:
    """Forget to return."""


def no_number(s: Any, e: Any) -> Any:
    """Return what is no number."""
    return s._replace(pipe=s.pipe * float("nan"))


def moves(s: Any, e: Any) -> Any:
    """Set what the engine keeps."""
    return s._replace(snd_una=s.snd_una + 1.0)


@pytest.mark.parametrize(
    ("function", "said"),
    [(no_return, "Made.on_duplicate_ack returns None at snd_una = 1"), (no_number, "returns pipe = nan at"),
     (moves, "sets snd_una, which is read only")],
)  # fmt: skip
def test_wrong_results_are_found_in_samples(function: Any, said: str) -> None:
    with pytest.raises(RuleError, match=said) as raised:
        check_recovery(with_duplicates(function))
    assert str(raised.value.file).endswith("test_checks.py")


@pytest.mark.parametrize(
    ("fields", "said"),
    [({"snd_nxt": 31.0}, "snd_nxt = 31: must be from 10 to 30"), ({"cwnd": 0.0}, "cwnd = 0: must be above 0"),
     ({"resend": 30.0}, "resend = 30: must be from 10 to 29"), ({"backoff": 0.5}, "backoff = 0.5: must be at least 1"),
     ({"partial": float("nan")}, "partial = nan: must be a number"), ({"recover": 30.0}, "must be from -2 to 29")],
)  # fmt: skip
def test_fields_have_ranges(fields: dict[str, float], said: str) -> None:
    s = recovering_sender(NewRenoRecovery, **fields)
    with pytest.raises(RuleError, match=f"here: NewRenoRecovery.. returns .*{said}"):
        check_sender(NewRenoRecovery(), s, "here")


def beyond(s: Any, e: Any) -> Any:
    """Send what was never sent again."""
    if s.dupacks == 3.0:
        s = reduce_window(s)
        return s._replace(resend=s.snd_max + 7.0)
    return s


def divided(s: Any, e: Any) -> Any:
    """Divide by what is 0 in the run, and not in all samples."""
    return s._replace(pipe=(s.sacked - s.sacked) / s.sacked)


@pytest.mark.parametrize(
    ("function", "said"), [(beyond, "resend = "), (divided, "pipe = nan: must be from")]
)
def test_a_run_ends_at_the_first_wrong_result(one_link, function: Any, said: str) -> None:
    made = with_duplicates(function)()
    with pytest.raises(RuleError, match=said) as compiled:
        simulate(one_link, Packets(seed=1, recovery=made))
    assert "one link, t = 0" in str(compiled.value)
    assert "flow 'flow'" in str(compiled.value)
    expected = ZeroDivisionError if function is divided else RuleError
    with pytest.raises(expected) as plain:
        plain_simulate(one_link, Packets(seed=1, recovery=made))
    if expected is RuleError:
        assert str(plain.value) == str(compiled.value)
