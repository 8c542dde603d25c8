"""The queue of a real switch against the saw tooth, and at both levels."""

from __future__ import annotations

import pandas as pd
import pytest

from validation import Verdict
from validation.claims.hardware import levels
from validation.claims.hardware.switches import CUTS, Trough, judged_troughs, queue_depths, trough
from validation.records import rows

# The queue of a real switch against the saw tooth.


def test_a_buffer_of_a_product_is_what_reno_needs() -> None:
    """The rule of thumb: B = C keeps the link busy when the window is halved."""
    product = 10e9 * 1e-3 / 72000
    assert trough(product, 0.5) == pytest.approx(0.0, abs=1e-9)
    assert trough(2 * product, 0.5) == pytest.approx(product / 2)


def test_depths_grow_with_their_percentile_and_stay_about_the_buffer() -> None:
    for row in rows("spang2021_queue_depths.csv"):
        depths = [float(row[f"depth_p{n}"]) for n in ("01", "05", "10", "50", "95", "99")]
        assert depths == sorted(depths)
        assert depths[-1] <= float(row["buffer"]) + 12  # the switch drops on departure (README)


def test_both_rules_and_all_numbers_of_flows_are_there() -> None:
    assert {row["algorithm"] for row in rows("spang2021_queue_depths.csv")} == {"reno", "cubic"}
    assert len(queue_depths().values["raised"]) > 10  # noqa: PD011


def test_a_difference_counts_from_the_margin_and_the_fluctuation_together() -> None:
    found = [Trough(100.0, 60.0, 80.0)]
    assert judged_troughs(found, margin=0.1, fluctuation=5.0) is Verdict.CONTRADICTED
    assert judged_troughs(found, margin=0.1, fluctuation=15.0) is Verdict.INCONCLUSIVE
    assert judged_troughs(found, margin=0.4, fluctuation=15.0) is Verdict.HOLDS


# The queue of the switch at both levels.


@pytest.fixture(scope="module")
def found() -> list[levels.Queue]:
    return queue_depths().values["queues"]  # noqa: PD011


def test_the_settings_are_those_of_the_rule(found) -> None:
    sizes = sorted({float(row["buffer"]) for row in rows("spang2021_queue_depths.csv")})
    for queue in found:
        part = min(levels.PARTS, key=lambda part: abs(queue.buffer - part * levels.PRODUCT))
        nearest = min(abs(size - part * levels.PRODUCT) for size in sizes)
        assert abs(queue.buffer - part * levels.PRODUCT) == nearest
    settings = {(queue.rule, queue.flows, queue.buffer) for queue in found}
    assert len(settings) == len(found) == len(levels.RULES) * len(levels.FLOWS) * len(levels.PARTS)


def test_percentiles_grow_and_stay_within_the_buffer(found) -> None:
    for queue in found:
        for level in (queue.fluid, queue.packets):
            depths = [level[p].value for p in levels.PERCENTILES]
            assert depths == sorted(depths)
            assert 0.0 <= depths[0] <= depths[-1] <= round(queue.buffer) + 0.01  # of rounding


@pytest.mark.parametrize("level", levels.LEVELS)
def test_one_flow_keeps_the_trough_of_the_saw_tooth(found, level: str) -> None:
    """The window is cut when the loss is noticed, a round trip and thus at most a packet or two later."""
    for queue in found:
        if queue.flows == 1:
            low = getattr(queue, level)[1].value
            assert low == pytest.approx(trough(queue.buffer, CUTS[queue.rule]), abs=2.0)


def test_a_longer_delay_leaves_less_in_the_queue(found) -> None:
    delayed = {(q.rule, q.buffer): q for q in queue_depths().values["delayed"]}  # noqa: PD011
    for (rule, buffer), queue in delayed.items():
        (same,) = (q for q in found if (q.rule, q.flows, q.buffer) == (rule, 1, buffer))
        assert queue.switch == same.switch
        if trough(buffer, CUTS[rule]) > 0.0:
            assert queue.packets[1].value < same.packets[1].value


def test_differences_are_over_the_buffer_and_signed() -> None:
    deep = {p: levels.Estimate(10.0, 0.0) for p in levels.PERCENTILES}
    queue = levels.Queue("cubic", 64, 100.0, dict.fromkeys(levels.PERCENTILES, 30.0), deep, deep)
    assert set(queue.apart("fluid").values()) == {-0.2}


def test_another_table_gives_other_settings() -> None:
    """Rows are looked up by rule, number and buffer, and a missing one is no row of another setting."""
    table = pd.DataFrame(rows("spang2021_queue_depths.csv"))
    table = table.astype({name: float for name in table.columns if name != "algorithm"})
    with pytest.raises(ValueError, match="unpack"):
        levels.queues(table[table["flows"] != 1])
