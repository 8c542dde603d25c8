"""Parameters of the pause models, checked one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from markov import PauseTandem, stationary

NAN, INF = math.nan, math.inf
WHOLE = "must be a whole number in "
NUMBER = "must be a finite number "
RATES = "must be one rate per TCP state, at least one of them > 0"
BAD = [
    *(("high_threshold", v, f"{WHOLE}1..20") for v in (0, 21, -1, 2.5, NAN, INF, True, "15", None)),
    *(("low_threshold", v, f"{WHOLE}1..15") for v in (0, 16, 20, -1, 1.5, NAN, False, "3")),
    *(("link_rate", v, f"{NUMBER}> 0") for v in (0, -1, NAN, INF, "100", None, True)),
    *(("paused_rate", v, f"{NUMBER}>= 0") for v in (-1e-9, NAN, INF, "2", None)),
    *(("bottleneck_rate", v, f"{NUMBER}> 0") for v in (0.0, -15, NAN, -INF, "15")),
    *(("rtt", v, f"{NUMBER}> 0; in seconds") for v in (0, -0.1, NAN, INF, "soon", None)),
    *(("rtt", v, "one number is expected") for v in ((1.0, 2.0), (1.0,))),
    *(("arrival_rates", v, f"{NUMBER}>= 0") for v in (NAN, "25", None, True)),
    *(("arrival_rates", v, RATES) for v in ((), (0.0, 0.0), 25.0, ((25.0, 1.0),))),
    *(("buffers", v, "must be two numbers, (B1, B2)") for v in ((10,), (10, 20, 30), 10, None, "xy")),
    *(("recovery", v, "must be one of 'always', 'up'") for v in ("down", "", None, True)),
    *(
        ("pause_at_threshold", v, "must be one of 'exclusive', 'both'")
        for v in ("always", None, ("both",))
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "allowed"), BAD, ids=str)
def test_bad_parameter(name, value, allowed):
    with pytest.raises(ValueError, match=rf"^{name} = ") as caught:
        PauseTandem(**{name: value})
    message = str(caught.value)
    assert allowed in message
    shown = f"{value:g}" if isinstance(value, float) else repr(value)
    assert message.startswith((f"{name} = {value!r}: ", f"{name} = {shown}: "))


@pytest.mark.parametrize("value", [0, -1, 2.5, NAN, INF, "10", None, True])
@pytest.mark.parametrize("place", [0, 1])
def test_bad_buffer(place, value):
    buffers = (value, 20) if place == 0 else (10, value)
    with pytest.raises(ValueError, match=rf"^buffers\[{place}\] = .*{WHOLE}1\.\.1000000000") as e:
        PauseTandem(buffers=buffers)
    assert repr(value) in str(e.value)


@pytest.mark.parametrize(
    ("rates", "shown"), [((25.0, -1.0), "-1"), ([25, NAN], "nan"), (np.array([INF, 1.0]), "inf")]
)
def test_bad_rate_among_good_ones(rates, shown):
    with pytest.raises(ValueError, match=rf"^arrival_rates = {shown}: {NUMBER}>= 0"):
        PauseTandem(arrival_rates=rates)


def test_low_above_high():
    with pytest.raises(
        ValueError, match=r"^low_threshold = 8: .* 1\.\.7 \(at most the high thresh"
    ):
        PauseTandem(high_threshold=7, low_threshold=8)
    with pytest.raises(ValueError, match=r"^high_threshold = 15: .* 1\.\.12 \(B2 = buffers\[1\]\)"):
        PauseTandem(buffers=(10, 12))


def test_lists_arrays_and_whole_floats_are_welcome():
    model = PauseTandem(
        buffers=[10, np.int64(20)], high_threshold=15.0, arrival_rates=np.array([25.0, 1.0]), rtt=1
    )
    np.testing.assert_array_equal(stationary(model).pi, stationary(PauseTandem()).pi)
    assert hash(model) == hash(PauseTandem())
    assert model == PauseTandem()
