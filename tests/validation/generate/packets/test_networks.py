"""Networks of the packet level: options of the script, and ns-2's rows."""

from __future__ import annotations

import pytest

from validation.generate.packets import networks


@pytest.mark.simulators
@pytest.mark.parametrize(
    "case", ["dumbbells-ns2", "parking-lots-ns2", "delayed-acks-ns2", "takano2006-ns2"]
)
def test_ns2_repeats_the_bundled_rows(repeats, case: str) -> None:
    size = 1 if case in ("parking-lots-ns2", "takano2006-ns2") else 2
    repeats(f"packets/{case}", recovery="sack", size=size, seed=2)


def test_every_link_has_its_mirror() -> None:
    run = {"topology": "dumbbell", "recovery": "sack", "size": 2, "seed": 1}
    ((*words,),) = networks.calls(run)
    options = dict(zip(words[::2], words[1::2], strict=True))
    links = options["links"].split()
    ends = {(int(a), int(b)) for a, b in zip(links[::5], links[1::5], strict=True)}
    assert len(ends) == 10
    assert {(b, a) for a, b in ends} == ends
    assert options["agent"] == "Agent/TCP/Sack1"
    assert len(options["flows"].split()) == 4 * 2


def test_receivers_that_delay_acks_have_the_sink_for_it() -> None:
    run = {"topology": "dumbbell", "recovery": "sack", "size": 2, "seed": 1, "delayed": True}
    ((*words,),) = networks.calls(run)
    assert "Agent/TCPSink/Sack1/DelAck" in words
    assert all(flow.delayed_acks for flow in networks.scenario_of(run).flows)
