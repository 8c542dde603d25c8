"""qlog files in the forms of five programs, each with a connection whose numbers are known, and what is refused."""

from __future__ import annotations

import gzip
import json
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from dfcmodel import read_qlog_trace
from responsefn import read_qlog
from tests.surface import for_each

PACKETS, GAP, LOST, RTT = 101, 10.0, 50, 40.0
"""Packets sent, ms between them, number of the lost one, smoothed round-trip time in ms."""
RATE, LOSS = 101.0, 1.0 / 101
"""101 packets in 100 gaps of 10 ms; one loss event."""


def history(*, gap: float = GAP, lost: int = LOST, rtt: float = RTT) -> list[tuple[float, str, int]]:
    """Return times in ms, kinds and packet numbers of a connection."""
    events = [(gap * n, "sent", n) for n in range(PACKETS)]
    events += [(gap * lost + 2.0 * rtt, "lost", lost), (5.0, "rtt", 0), (105.0, "rtt", 0)]
    return sorted(events)


def aioquic() -> str:
    """Return the form of aioquic: JSON of 0.3, times since 1970, the connection in the common fields."""
    data = {
        "sent": lambda n: ("transport:packet_sent", {"frames": [{"frame_type": "ping"}],
            "header": {"packet_number": n, "packet_type": "1RTT", "scid": "", "dcid": "ab"}, "raw": {"length": 1200}}),
        "lost": lambda n: ("recovery:packet_lost", {"type": "1RTT", "packet_number": n}),
        "rtt": lambda _: ("recovery:metrics_updated", {"latest_rtt": 39.0, "min_rtt": 38.0, "smoothed_rtt": RTT}),
    }  # fmt: skip
    events = []
    for time, kind, number in history():
        name, content = data[kind](number)
        content.pop("type", None)
        events.append({"data": content, "name": name, "time": 1.6e12 + time})
    trace = {"common_fields": {"ODCID": "b0bf29d0abe27b8b"}, "events": events, "vantage_point": {"name": "x", "type": "client"}}  # fmt: skip
    return json.dumps({"qlog_format": "JSON", "qlog_version": "0.3", "traces": [trace]})


def quic_go() -> str:
    """Return the form of quic-go: a sequence of JSON texts of 0.3, relative times, number and type of a lost packet outside of a header."""
    head = {
        "qlog_format": "JSON-SEQ", "qlog_version": "0.3", "title": "quic-go qlog", "configuration": {"code_version": "v0.40"},
        "trace": {"vantage_point": {"type": "server"}, "common_fields": {
            "ODCID": "0a", "group_id": "0a", "reference_time": 1.7e12, "time_format": "relative"}},
    }  # fmt: skip
    records: list[dict[str, Any]] = [head]
    for time, kind, number in history():
        name, data = {
            "sent": ("transport:packet_sent", {"header": {"packet_type": "1RTT", "packet_number": number, "key_phase_bit": "0"}, "raw": {"length": 1252, "payload_length": 1231}, "frames": []}),
            "lost": ("recovery:packet_lost", {"header": {"packet_type": "1RTT", "packet_number": number}, "trigger": "reordering_threshold"}),
            "rtt": ("recovery:metrics_updated", {"smoothed_rtt": RTT, "congestion_window": 40_000, "packets_in_flight": 3}),
        }[kind]  # fmt: skip
        records.append({"time": time, "name": name, "data": data})
    return "".join(f"\x1e{json.dumps(record)}\n" for record in records)


def picoquic() -> str:
    """Return the form of picoquic: draft-00, events as lists, microseconds for all times."""
    events = []
    for time, kind, number in history():
        name, data = {
            "sent": ("transport", {"packet_type": "1RTT", "header": {"packet_size": 1440, "packet_number": number}}),
            "lost": ("recovery", {"packet_type": "1RTT", "packet_number": number, "trigger": "reordering_threshold"}),
            "rtt": ("recovery", {"smoothed_rtt": 1e3 * RTT, "cwnd": 15_360}),
        }[kind]  # fmt: skip
        word = {"sent": "packet_sent", "lost": "packet_lost", "rtt": "metrics_updated"}[kind]
        events.append([int(1e3 * time), 0, name, word, data])
    columns = ["relative_time", "path_id", "category", "event", "data"]
    trace = {"vantage_point": {"name": "x", "type": "server"}, "title": "x", "configuration": {"time_units": "us"},
             "common_fields": {"protocol_type": "QUIC_HTTP3", "reference_time": "1600000000"}, "event_fields": columns,
             "events": events}  # fmt: skip
    return json.dumps({"qlog_version": "draft-00", "title": "x", "traces": [trace]})


def quictrace() -> str:
    """Return the form of the converter of quic-trace: upper case, numbers as strings, lost packets without a type, an empty event last."""
    events: list[list[Any]] = []
    for time, kind, number in history():
        row = {
            "sent": ["TRANSPORT", "PACKET_SENT", "DEFAULT", {"packet_type": "1RTT", "header": {"packet_number": str(number), "packet_size": 1350}}],
            "lost": ["RECOVERY", "PACKET_LOST", "UNKNOWN", {"packet_number": str(number)}],
            "rtt": ["RECOVERY", "METRIC_UPDATE", "DEFAULT", {"smoothed_rtt": 1e3 * RTT, "cwnd": 17_300, "pacing_rate": 923_056}],
        }[kind]  # fmt: skip
        events.append([f"{1e3 * time:.0f}", *row])
    trace = {"vantage_point": {"type": "SERVER"}, "configuration": {"time_offset": 0, "time_units": "us"},
             "common_fields": {"group_id": "AA=", "dcid": "AA=", "scid": "", "reference_time": 0},
             "event_fields": ["relative_time", "CATEGORY", "EVENT_TYPE", "TRIGGER", "DATA"], "events": [*events, []]}  # fmt: skip
    return json.dumps({"qlog_version": "draft-00", "summary": {"trace_count": 1}, "traces": [trace]})


def mvfst() -> str:
    """Return the form of mvfst: categories of its own, strings as times, and of packets lost together the largest number."""
    events: list[list[Any]] = [["0", "transport", "transport_state_update", {"update": "transport ready"}]]
    for time, kind, number in history():
        row = {
            "sent": ["transport", "packet_sent", {"frames": [], "header": {"packet_number": number, "packet_size": 1252}, "packet_type": "1RTT"}],
            "lost": ["loss", "packets_lost", {"largest_lost_packet_num": number, "lost_bytes": 2504, "lost_packets": 2}],
            "rtt": ["recovery", "metric_update", {"latest_rtt": 1e3 * RTT, "min_rtt": 1e3 * RTT, "smoothed_rtt": 1e3 * RTT, "ack_delay": 0}],
        }[kind]  # fmt: skip
        events.append([f"{1e3 * time:.0f}", *row])
    events.append(
        [
            "990000",
            "metric_update",
            "congestion_metric_update",
            {
                "bytes_in_flight": 20,
                "current_cwnd": 30,
                "congestion_event": "",
                "state": "Steady",
                "recovery_state": "",
            },
        ]
    )
    trace = {"vantage_point": {"type": "server", "name": "server"}, "configuration": {"time_offset": 0, "time_units": "us"},
             "common_fields": {"reference_time": "0", "dcid": "", "scid": "", "protocol_type": "QUIC_HTTP3"},
             "event_fields": ["relative_time", "category", "event", "data"], "events": events}  # fmt: skip
    return json.dumps({"qlog_version": "draft-00", "summary": {"trace_count": 1}, "traces": [trace]})


def current() -> str:
    """Return the form of draft-ietf-quic-qlog-main-schema-12: names of one namespace, times since the event before."""
    head = {
        "file_schema": "urn:ietf:params:qlog:file:sequential", "serialization_format": "application/qlog+json-seq",
        "trace": {"event_schemas": ["urn:ietf:params:qlog:events:quic"], "common_fields": {
            "time_format": "relative_to_previous_event",
            "reference_time": {"clock_type": "monotonic", "epoch": "unknown"}}},
    }  # fmt: skip
    records, before = [json.dumps(head)], 0.0
    for time, kind, number in history():
        name, data = {
            "sent": ("packet_sent", {"header": {"packet_type": "1RTT", "packet_number": number}, "datagram_payload_checksum": 7}),
            "lost": ("packet_lost", {"header": {"packet_type": "1RTT", "packet_number": number}, "trigger": "time_threshold"}),
            "rtt": ("recovery_metrics_updated", {"smoothed_rtt": RTT, "pto_count": 0}),
        }[kind]  # fmt: skip
        records.append(json.dumps({"time": time - before, "name": f"quic:{name}", "data": data}))
        before = time
    return "\n".join(records)


def mvfst_2026() -> str:
    """Return the form of mvfst since 2026: names of the drafts, `odcid` in lower case, and events of its own."""
    events: list[dict[str, Any]] = [
        {"time": 5e6, "name": "quic:connection_state_updated", "data": {"new": "transport ready"}},
        {"time": 5e6, "name": "quic:congestion_state_updated", "data": {"new": "Hystart", "trigger": "cubic init", "resumption": 0}},
        {"time": 5e6, "name": "quic:congestion_state_updated", "data": {"idle_event": "app idle", "idle": False}},
        {"time": 5e6, "name": "quic:congestion_state_updated", "data": {"app_limited": "app unlimited"}},
    ]  # fmt: skip
    for time, kind, number in history():
        name, data = {
            "sent": ("packet_sent", {"frames": [{"frame_type": "stream", "stream_id": "0", "raw": {"length": 1200}}],
                                     "header": {"packet_number": number, "packet_type": "1RTT"}, "raw": {"length": 1252}}),
            "lost": ("packet_lost", {"largest_lost_packet_num": number, "lost_bytes": 2504, "lost_packets": 2}),
            "rtt": ("recovery_metrics_updated", {"latest_rtt": RTT, "min_rtt": RTT, "smoothed_rtt": RTT, "ack_delay": 0.1}),
        }[kind]  # fmt: skip
        events.append({"time": 5e6 + time, "name": f"quic:{name}", "data": data})
    own = ("mvfst:transport_summary", "mvfst:pacing_metric_update", "mvfst:l4s_weight_update", "quic:path_validated")
    own += ("mvfst:network_path_model_update", "quic:connection_migrated", "quic:stream_priority_updated")
    events += [{"time": 5.002e6, "name": name, "data": {"weight": 0.1}} for name in own]
    common = {"odcid": "0102", "scid": "03", "time_format": "relative_to_epoch",
              "reference_time": {"clock_type": "monotonic", "epoch": "unknown"}}  # fmt: skip
    trace = {"title": "x", "vantage_point": {"type": "server"}, "common_fields": common, "events": events,
             "event_schemas": ["urn:ietf:params:qlog:events:quic", "urn:ietf:params:qlog:events:mvfst"]}  # fmt: skip
    top = {"file_schema": "urn:ietf:params:qlog:file:contained", "serialization_format": "application/qlog+json"}
    return json.dumps({**top, "traces": [trace]})


@pytest.mark.parametrize("form", [aioquic, quic_go, picoquic, quictrace, mvfst, mvfst_2026, current])
def test_the_forms_of_programs(form: Any) -> None:
    found = read_qlog(form())
    np.testing.assert_allclose(found.p, [LOSS], rtol=1e-12)
    np.testing.assert_allclose(found.rtt, [1e-3 * RTT], rtol=1e-12)
    np.testing.assert_allclose(found.rate, [RATE], rtol=1e-6)  # absolute times in ms have 13 digits
    assert found.packets.tolist() == [PACKETS]


def event(name: str, time: float, data: Any, **fields: Any) -> dict[str, Any]:
    return {"name": name, "time": time, "data": data, **fields}


def plain(*others: dict[str, Any], packets: int = 11, **fields: Any) -> list[dict[str, Any]]:
    """Return events of a connection: packets each 10 ms, a round trip of 40 ms, and further ones."""
    sent = [
        event("quic:packet_sent", 10.0 * n, {"header": {"packet_number": n, "packet_type": "1RTT"}, "raw": {"length": 1200}}, **fields)
        for n in range(packets)
    ]  # fmt: skip
    return [event("quic:recovery_metrics_updated", 0.0, {"smoothed_rtt": 40.0}, **fields), *sent, *others]  # fmt: skip


def lost(number: int, kind: str = "1RTT", **data: Any) -> dict[str, Any]:
    header = {"packet_number": number, "packet_type": kind}
    return event("quic:packet_lost", 200.0, {"header": header, **data})


def written(events: Any, top: Any = (), configuration: Any = (), **trace: Any) -> str:
    """Return a contained file."""
    content = {"events": events, **trace}
    if configuration:
        content["configuration"] = configuration
    return json.dumps({"traces": [content], **dict(top)})


def test_each_connection_of_a_trace_is_a_sample() -> None:
    """Groups "a" with 11 packets in 0.1 s, one lost, and "b" with 21 in 0.2 s; packet numbers are those of each."""
    a = [*plain(group_id="a"), lost(3) | {"group_id": "a"}]
    found = read_qlog(written(a + plain(packets=21, group_id="b")))
    assert found.names == ("trace 1, connection a", "trace 1, connection b")
    np.testing.assert_allclose(found.p, [1.0 / 11, 0.0])
    np.testing.assert_allclose(found.rate, [110.0, 105.0])


def test_two_losses_within_a_round_trip_are_one_event_by_the_units_of_the_trace() -> None:
    """Packets 2 and 5 are sent 30 ms apart: one event for a round trip of 40 ms, two for one of 20 ms."""
    pair = plain(lost(2), lost(5))
    assert read_qlog(written(pair)).p[0] == pytest.approx(1 / 11)
    found = read_qlog(written(pair, configuration={"time_units": "us"}))
    assert (found.rtt[0], found.p[0]) == pytest.approx((4e-5, 1 / 11))
    assert found.rate[0] == pytest.approx(110e3)
    pair[0]["data"]["smoothed_rtt"] = 20.0
    assert read_qlog(written(pair)).p[0] == pytest.approx(2 / 11)


def test_packets_that_are_not_counted() -> None:
    """Retry packets, lost probes of the path MTU, losses from before the trace; 0-RTT and 1-RTT share their numbers."""
    late = plain(lost(0, is_mtu_probe_packet=True), lost(4, "0RTT"), packets=11)
    for one in late[1:12]:
        one["data"]["header"]["packet_number"] += 2
    late[1]["data"]["header"]["packet_type"] = "0RTT"
    retry = event("quic:packet_sent", 1.0, {"header": {"packet_type": "retry"}})
    before = lost(1)
    found = read_qlog(written([*late, retry, before, lost(12, is_mtu_probe_packet=True)]))
    assert (found.packets[0], found.p[0]) == pytest.approx((11, 1 / 11))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("recovery:spurious_loss", {"packet_number_space": "application_data", "packet_number": 3, "reordering_packets": 3, "reordering_time": 5.0}),
        ("quic:packets_acked", {"packet_number_space": "application_data", "packet_numbers": [2, 3]}),
        ("quic:packets_acked", {"packet_numbers": [3]}),
        ("quic:packet_received", {"header": {"packet_type": "1RTT"}, "frames": [{"frame_type": "ack", "acked_ranges": [[10, 13], [0, 3]]}]}),
        ("quic:packet_received", {"header": {"packet_type": "1RTT"}, "frames": [{"frame_type": "ack_extended", "acked_ranges": [[3, 4]]}]}),  # mvfst
        ("quic:packet_received", {"packet_type": "1RTT", "header": {}, "frames": [{"frame_type": "ACK", "acked_ranges": [["3"], {}, None]}]}),
    ],
)  # fmt: skip
def test_lost_packets_that_arrived_are_named_with_p_without_them(name: str, data: dict[str, Any]) -> None:
    """Three losses more than a round trip apart, of which the first arrived later (quic-go's form, and the draft's)."""
    losses = [lost(3), lost(9), lost(14)]
    with pytest.warns(UserWarning, match=r"trace 1: 1 of 3 lost packets arrived .* without them p is 0\.1$") as caught:
        found = read_qlog(written(plain(*losses, event(name, 210.0, data), packets=20)))
    assert caught[0].filename == __file__
    assert found.p.tolist() == [pytest.approx(0.15)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = {"packet_number_space": "initial", "packet_numbers": [3]}
        assert read_qlog(written(plain(*losses, event("quic:packets_acked", 210.0, other), packets=20))).p.tolist() == [
            pytest.approx(0.15)
        ]


@pytest.mark.parametrize(
    ("frames", "is_named"),
    [
        ([{"frame_type": "ack"}, {"frame_type": "padding"}], True),
        ([{"frame_type": "ACK"}], True),
        ([{"frame_type": "ack"}, {"frame_type": "stream"}], False),
        ([], False),
        (None, False),
    ],
)
def test_a_receiver_is_named_whose_packets_hold_acks_alone(frames: Any, is_named: bool) -> None:
    """Six of eleven packets; RFC 9002, 2: ACKs, padding and the end of a connection elicit no ACK."""
    events = plain()
    for item in events[1:7]:
        item["data"]["frames"] = frames
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert read_qlog(written(events)).packets.tolist() == [11.0]
    assert ["6 of 11 packets sent hold ACKs alone" in str(warning.message) for warning in caught] == [True] * is_named


@pytest.mark.parametrize(
    ("name", "data", "counts"),
    [
        ("packet_received", {"frames": [{"frame_type": "ack", "acked_ranges": [[0, 4]], "ect0": 4, "ce": 2}], "other": 1}, "2 in an ACK (ce), 0 as"),
        ("packet_received", {"frames": [{"frame_type": "ACK", "ce": "2"}]}, "2 in an ACK (ce), 0 as"),
        ("packet_received", {"frames": [{"frame_type": "ack", "ce": 0}, {"frame_type": "stream", "ce": 9}, 3]}, ""),
        # of mvfst
        ("packet_received", {"frames": [{"frame_type": "ack_ecn", "ecn_ect0": 4, "ecn_ce": 2}]}, "2 in an ACK (ce), 0 as"),
        ("packet_received", {"frames": [{"frame_type": "ack_extended", "ecn_ce": 2}, {"frame_type": "ack"}]}, "2 in an ACK (ce), 0 as"),
        ("packet_received", {"frames": [{"frame_type": "ack_frequency", "ecn_ce": 2}]}, ""),
        ("packet_received", {}, ""),
        ("congestion_state_updated", {"new": "recovery", "trigger": "ECN"}, "0 in an ACK (ce), 1 as"),
        ("congestion_state_updated", {"new": "recovery", "trigger": "persistent_congestion"}, ""),
    ],
)  # fmt: skip
def test_marks_are_named(name: str, data: dict[str, Any], counts: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert read_qlog(written(plain(event(f"quic:{name}", 210.0, data)))).p.tolist() == [0.0]
    assert [counts in str(warning.message) for warning in caught] == [True] * (counts != "")


def quiche(ranges: list[list[int]], **metrics: Any) -> str:
    """Return the form of quiche: no event says which of 20 packets are lost."""
    acks = {"header": {"packet_type": "1RTT"}, "frames": [{"frame_type": "ack", "acked_ranges": ranges}]}
    events = plain(event("quic:packet_received", 230.0, acks), packets=20)
    for one in events[1:21]:
        one["data"] |= {"send_at_time": one["time"], "ecn": "ECT(0)"}  # of quiche, and of quic-go
    events.append(event("quic:recovery_metrics_updated", 240.0, {"cf_send_rate": 9, "cf_ack_rate": 8, **metrics}))
    return written(events)


@pytest.mark.parametrize(
    ("ranges", "p", "message"),
    [
        (
            [[0, 2], [4, 8], [11, 19]],
            2 / 20,
            "no loss is logged; packets that were never acknowledged, of which p is: 3",
        ),
        ([[0, 2], [4, 19]], 1 / 20, "no loss is logged; packets that were never acknowledged, of which p is: 1"),
        ([[0, 15], [17, 19]], 1 / 20, "of which p is: 1"),
        ([[0, 16], [18, 19]], 0.0, None),  # two later ones are acknowledged
        ([[0, 19]], 0.0, None),
        ([[15, 19]], 0.0, None),  # a part of the ACK frames
        ([], 0.0, "4 packets were lost, and neither losses nor ACK frames are logged: p is 0, and too small"),
    ],
)
def test_packets_that_are_never_acknowledged_are_lost_where_no_loss_is_logged(
    ranges: list[list[int]], p: float, message: str | None
) -> None:
    """A trace of quiche had p = 0, with the fields skipped that the error proposed."""
    metrics = {} if ranges else {"cf_lost_packets": {"total": 4, "delta": 1}}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert read_qlog(quiche(ranges, **metrics)).p.tolist() == [pytest.approx(p)]
    assert [(message or "") in str(warning.message) for warning in caught] == [True] * (message is not None)


def test_the_path_may_be_that_of_packets_alone() -> None:
    """noq names it in packets and, as a number, in metrics; packets of a second path are refused, also without a name."""
    events = plain(lost(3))
    for one in events[1:12]:
        one["tuple"] = "p0"
        one["data"]["header"]["path_id"] = 0
    events[0]["data"]["path_id"] = 0
    assert read_qlog(written(events)).p.tolist() == [pytest.approx(1 / 11)]
    for other in ("p1", None):
        events[5]["tuple"] = other or ""
        with pytest.raises(ValueError, match=r"packets of a connection on more than one path are not read"):
            read_qlog(written(events))


def test_fields_of_lost_packets_are_not_skipped() -> None:
    with pytest.raises(
        ValueError, match=r"unknown: 'metrics_updated.lost'; .* may be of packets sent or lost, which p"
    ):
        read_qlog(quiche([[0, 19]], lost=4))
    with pytest.raises(ValueError, match=r"^skip = 'metrics_updated.lost': must not be of packets sent or lost"):
        read_qlog(quiche([[0, 19]], lost=4), skip=["metrics_updated.lost"])


@for_each([
    ([(40.0, "application_limited")], 0.6),
    ([(40.0, "ApplicationLimited"), (60.0, "congestion_avoidance"), (90.0, "application_limited")], 0.3),
    ([(95.0, "application_limited")], None),
    ([(40.0, "application_limited"), (49.0, "slow_start")], None),
])  # fmt: skip
def test_rates_that_the_application_limits_are_named(states: list[tuple[float, str]], share: float | None) -> None:
    events = plain(*(event("quic:congestion_state_updated", time, {"new": name}) for time, name in states))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert read_qlog(written(sorted(events, key=lambda one: one["time"]))).rate.tolist() == pytest.approx([110.0])
    messages = [
        f"trace 1: application_limited in {share:.0%} of the time" in str(one.message) for one in caught if share
    ]
    assert messages == [True] * (share is not None)
    assert len(caught) == len(messages)


@for_each([
    ("recovery:metrics_updated", [(40.0, 1)], 0.6),  # picoquic
    ("recovery:metrics_updated", [(0.0, True), (30.0, False), (90.0, True)], 0.4),
    ("app_limited_update:app_limited_update", [(40.0, "app limited"), (60.0, "app unlimited")], 0.2),  # mvfst
    ("app_limited_update:app_limited_update", [(95.0, "app limited")], None),
    ("quic:congestion_state_updated", [(40.0, "app limited"), (60.0, "app unlimited")], 0.2),  # mvfst since 2026
])  # fmt: skip
def test_rates_that_the_application_limits_are_named_by_a_field(
    name: str, values: list[tuple[float, Any]], share: float | None
) -> None:
    """States beside them, of another meaning, leave what the field says."""
    events = plain(*(event(name, time, {"app_limited": value}) for time, value in values))
    events += [event("quic:congestion_state_updated", 45.0, {"old": "0", "new": "1", "cc_param": 7680})]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert read_qlog(written(sorted(events, key=lambda one: one["time"]))).rate.tolist() == pytest.approx([110.0])
    assert [str(one.message)[:70] for one in caught] == [
        f"source: trace 1: application_limited in {share:.0%} of the time: the rate may n"[:70]
        for _ in range(share is not None)
    ]
    with pytest.raises(ValueError, match=r"data\.app_limited: 'perhaps': must be one of 0, 1, app limited,"):
        read_qlog(written([*events, event(name, 99.0, {"app_limited": "perhaps"})]))


@for_each(["moqt:packet_lost", "loss:lost", "LOSS:PACKETS_LOST_2", "lost_packet", "own:packet_sent"])
def test_events_of_other_packets_are_not_skipped(name: str) -> None:
    """Without them p would be too small, or 0: the reader does not offer it, and refuses it."""
    text = written(plain(event(name, 90.0, {"packet_number": 4})))
    with pytest.raises(ValueError, match=rf"unknown: '{name}'; '{name}' may be of packets sent or lost, which p"):
        read_qlog(text)
    with pytest.raises(ValueError, match=rf"^skip = '{name}': must not be of packets sent or lost"):
        read_qlog(text, skip=[name])


ANSWERS = {
    "packet_received": {"header": {"packet_type": "1RTT"}, "frames": [{"frame_type": "ack", "acked_ranges": [[0, 3], [5, 6]]}]},
    "packets_acked": {"packet_number_space": "application_data", "packet_numbers": [5, 6]},
    "packet_lost": {"header": {"packet_type": "1RTT", "packet_number": 6}},
}  # fmt: skip
"""Events 40 ms after packet 6."""


@for_each([
    *((answer, rtt, unit) for answer in ANSWERS for rtt, unit in ((0.04, "s"), (40e3, "us"), (40.0, None), (3.0, None))),
    ("packet_buffered", 0.04, None),
])  # fmt: skip
def test_round_trips_in_another_unit_are_named(answer: str, rtt: float, unit: str | None) -> None:
    """Programs wrote them in s or us, against the schema: `quinn-rs/quinn` until its pull request 2631."""
    times = [(10.0 * n, "packet_sent", {"header": {"packet_type": "1RTT", "packet_number": n}}) for n in range(11)]
    events = [*times, (100.0, answer, ANSWERS.get(answer, {})), (100.0, "metrics_updated", {"smoothed_rtt": rtt})]
    state = {"time": 0.0, "name": "congestion_state_updated", "data": {"new": "startup"}}
    text = json.dumps({"traces": [{"events": [state] + [{"time": t, "name": n, "data": d} for t, n, d in events]}]})
    for read in (read_qlog, read_qlog_trace):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            read(text)
        remarks = [str(warning.message) for warning in caught if "perhaps in" in str(warning.message)]
        assert [remark.endswith(f"acknowledged or lost after 0.04 s; qlog has them in ms, and this trace perhaps in {unit}")
                for remark in remarks] == [True] * (unit is not None)  # fmt: skip


@pytest.mark.parametrize(("pause", "share"), [(150.0, None), (300.0, 0.81), (60e3, 1.0)])
@pytest.mark.parametrize("logs_in_flight", [True, False])
def test_pauses_of_the_application_are_named(pause: float, share: float | None, logs_in_flight: bool) -> None:
    """Ten answers of four packets: the rate is that of the requests, whether the program logs ``application_limited``."""
    events = [{"time": 0.0, "name": "metrics_updated", "data": {"smoothed_rtt": 40.0}}]
    for n in range(40):
        time = 10.0 * n + (n // 4) * (pause + 40.0)
        events.append(
            {"time": time, "name": "packet_sent", "data": {"header": {"packet_type": "1RTT", "packet_number": n}}}
        )
        if logs_in_flight:
            at = time + 39.0 * (n % 4 == 3)
            events.append({"time": at, "name": "metrics_updated", "data": {"bytes_in_flight": 1200 * ((n + 1) % 4)}})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_qlog(json.dumps({"traces": [{"events": events}]}))
    named = [str(warning.message).partition("trace 1: ")[2] for warning in caught]
    expected = f"nothing was in flight in {share or 0:.0%} of the time: the rate is that of the application"
    assert named == [expected] * (logs_in_flight and share is not None)


@for_each([
    ({"bytes_in_flight": 5000}, 0.04, 1200, True),  # at least packets 7 to 10: the first was sent 40 ms before
    ({"bytes_in_flight": 5000}, 0.41, 1200, False),
    ({"bytes_in_flight": 5000}, 200e3, 1200, False),  # it may wait longer than that
    ({"bytes_in_flight": 0}, 0.04, 1200, False),
    ({"bytes_in_flight": 10**6}, 0.04, 1200, False),  # packets from before the trace
    ({}, 0.04, 1200, False),
    ({"bytes_in_flight": 5000}, 0.04, None, False),
])  # fmt: skip
def test_bytes_in_flight_tell_the_unit_of_round_trips_without_answers(
    metrics: dict[str, Any], rtt: float, length: int | None, is_named: bool
) -> None:
    """A trace of a transfer without losses whose program logs no ACKs, such as one of moq-rs with an RTT in s."""
    raw = {"raw": {"length": length}} if length else {}
    times = [
        (10.0 * n, "packet_sent", {"header": {"packet_type": "1RTT", "packet_number": n}, **raw}) for n in range(11)
    ]
    events = [*times, (100.0, "metrics_updated", {"smoothed_rtt": rtt, **metrics})]
    text = json.dumps({"traces": [{"events": [{"time": t, "name": n, "data": d} for t, n, d in events]}]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert read_qlog(text).rtt.item() == pytest.approx(1e-3 * rtt)
    message = "packets in flight for at least 0.04 s; qlog has them in ms, and this trace perhaps in s"
    remarks = [str(warning.message) for warning in caught if "less than a round trip" not in str(warning.message)]
    assert [remark.endswith(message) for remark in remarks] == [True] * is_named


@for_each([(0.02, True), (3.0, True), (4.1, False), (40.0, False)])
def test_rates_of_bursts_are_named(gap: float, is_named: bool) -> None:
    """Ten packets of a server within 0.18 ms of a round trip of 36 ms are no rate of 55,000 packets/s."""
    sent = [(gap * n, "packet_sent", {"header": {"packet_type": "1RTT", "packet_number": n}}) for n in range(10)]
    events = [*sent, (9.0 * gap + 36.0, "metrics_updated", {"smoothed_rtt": 36.0})]
    text = json.dumps({"traces": [{"events": [{"time": t, "name": n, "data": d} for t, n, d in events]}]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_qlog(text)
    span = (
        f"trace 1: 10 packets in {9e-3 * gap:.3g} s, rtt 0.036 s: all packets were sent within less than a round trip"
    )
    assert [span in str(warning.message) for warning in caught] == [True] * is_named
    assert all(warning.filename == __file__ for warning in caught)


@pytest.mark.parametrize(
    ("kept", "missing"),
    [(range(200), None), (range(100, 300), None), (range(0, 400, 2), "199 of 399"), ([*range(196), 200], None)],
)
def test_traces_with_a_part_of_their_packets_are_named(kept: Iterable[int], missing: str | None) -> None:
    """By gaps of packet numbers; senders skip a few themselves. A trace of each 10th packet had a tenth of the rate."""
    sent = [
        event("quic:packet_sent", 5.0 * n, {"header": {"packet_type": "1RTT", "packet_number": number}})
        for n, number in enumerate(kept)
    ]
    metrics = event("quic:recovery_metrics_updated", 900.0, {"smoothed_rtt": 50.0})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_qlog(written([*sent, metrics]))
    expected = f"{missing} packet numbers are not in packet_sent, as of a trace with a part of its events"
    named = [str(warning.message) for warning in caught if "packet numbers" in str(warning.message)]
    assert [expected in text for text in named] == [True] * (missing is not None)


def test_numbers_of_received_packets_are_checked() -> None:
    bad = event("quic:packets_acked", 210.0, {"packet_number_space": "1RTT", "packet_numbers": [3]})
    with pytest.raises(ValueError, match=r"packet_number_space.*'1RTT'.*application_data"):
        read_qlog(written(plain(bad)))
    for numbers in (3, ["x"], [-1]):
        with pytest.raises(ValueError, match="packet_numbers"):
            read_qlog(written(plain(event("quic:packets_acked", 210.0, {"packet_numbers": numbers}))))


def test_initial_packets_may_begin_again_after_a_retry() -> None:
    first = [
        event("quic:packet_sent", 0.0, {"header": {"packet_number": 0, "packet_type": "initial"}}) for _ in range(2)
    ]
    assert read_qlog(written(plain(*first))).packets[0] == 13


def test_the_rate_of_bytes_needs_the_length_of_each_packet() -> None:
    events = plain()
    assert read_qlog(written(events), packet_size=600).rate[0] == pytest.approx(220.0)
    del events[3]["data"]["raw"]
    with pytest.raises(ValueError, match=r"events\[3\]: raw.length is missing"):
        read_qlog(written(events), packet_size=600)


def test_what_drafts_define_is_skipped_and_what_the_caller_names() -> None:
    other = event("http3:frame_parsed", 3.0, {"frame": {}, "anything": 1})
    mine = event("acme:beat", 3.0, {"x": 1})
    metric = event("quic:recovery_metrics_updated", 4.0, {"smoothed_rtt": 40.0, "acme_gain": 2})
    expected = read_qlog(written(plain())).rate
    assert read_qlog(written(plain(other))).rate == expected
    with pytest.raises(ValueError, match=r"events\[13\]: unknown: 'metrics_updated.acme_gain', 'acme:beat'"):  # fmt: skip
        read_qlog(written(plain(other, metric, mine)))
    skip = ("metrics_updated.acme_gain", "acme:beat")
    assert read_qlog(written(plain(other, metric, mine)), skip=skip).rate == expected


@for_each([read_qlog, read_qlog_trace])
def test_an_unknown_name_is_refused_by_it(read: Any) -> None:
    """An event, and a field of each object of a file."""
    state = event("quic:congestion_state_updated", 0.0, {"new": "startup"})
    base = [state, *plain()]
    for text in (
        written([*base, event("quic:nonsense_updated", 1.0, {})]),
        written([*base, event("nonsense:packet_sent", 1.0, {})]),
        written([*base, event("quic:packet_sent", 1.0, {"nonsense": 1, "header": {"packet_number": 90}})]),
        written([*base, event("quic:packet_sent", 1.0, {"header": {"packet_number": 90, "nonsense": 1}})]),
        written([*base, event("quic:congestion_state_updated", 1.0, {"new": "drain", "nonsense": 1})]),
        written([*base, event("quic:recovery_parameters_set", 1.0, {"nonsense": 1})]),
        written([state | {"nonsense": 1}, *plain()]),
        written(base, top={"nonsense": 1}),
        written(base, nonsense=1),
        written(base, configuration={"nonsense": 1}),
        written(base, common_fields={"nonsense": 1}),
        "\n".join(map(json.dumps, [{"qlog_version": "0.3", "nonsense": 1}, *base])),
        "\n".join(map(json.dumps, [{"qlog_version": "0.3", "trace": {"nonsense": 1}}, *base])),
        written(base, top={"qlog_version": "nonsense"}),
        written(base, top={"file_schema": "nonsense"}),
        written(base, top={"qlog_format": "nonsense"}),
        written(base, configuration={"time_units": "nonsense"}),
        written(base, common_fields={"time_format": "nonsense"}),
        written([], event_fields=["time", "nonsense"]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="nonsense") as error:
            read(text)
        assert str(error.value).startswith("source")


@for_each([read_qlog, read_qlog_trace])
def test_hostile_texts_are_values_errors_that_name_the_file(read: Any) -> None:
    """JSON of other shapes, numbers that are none, deep nesting, damaged records."""
    good = json.dumps(event("quic:congestion_state_updated", 0.0, {"new": "startup"}))
    for text in (
        "{", "{}", '{"traces": null}', '{"traces": [3]}', '{"traces": [[]]}', '{"traces": [{"events": null}]}',
        '{"traces": [{"events": [3]}]}', '{"traces": [{"events": [{}]}]}', '{"traces": {"events": []}}', "\n[1, 2]", "\nnull",
        "\n", "\x1e\n", "\x1e{}\n", '{"a": 1, "a": 2}', '{"traces": [], "traces": []}', '{"a": NaN}', '{"a": 1e400}',
        '{"time": 1e400, "name": "quic:packet_sent", "data": {}}', '{"time": -Infinity, "name": "x", "data": {}}',
        '{"time": "x", "name": "quic:packet_sent", "data": {}}', '{"time": true, "name": "quic:packet_sent", "data": {}}',
        '{"time": null, "name": "quic:packet_sent", "data": {}}', '{"time": 1, "name": null, "data": {}}',
        '{"time": 1, "name": "quic:packet_sent", "data": null}', '{"time": 1, "name": "quic:packet_sent", "data": {"header": []}}',
        '{"time": 1, "name": "quic:packet_sent", "data": {"header": {"packet_number": -1}}}',
        '{"time": 1, "name": "quic:packet_sent", "data": {"header": {"packet_number": 1.5}}}',
        '{"time": 1, "name": "quic:packet_sent", "data": {}}', '{"traces": [{"events": [], "common_fields": []}]}',
        '{"traces": [{"events": [], "configuration": null}]}', '{"traces": [{"event_fields": [], "events": [[]]}]}',
        '{"traces": [{"event_fields": ["time", "time"], "events": [[1, 2]]}]}', '{"traces": [{"event_fields": ["time"], "events": [[]]}]}',
        '{"traces": [{"error_description": "no file"}]}', '{"qlog_version": [], "traces": []}', f"{good}\n{good[:20]}",
        '{"connections": []}', f'{{"qlog_version": "0.3", "traces": []}}\n{good}', "{" + "[" * 100_000,
        '{"time": ' + "[" * 100_000, "\x1e" + "[" * 100_000, '{"time": ' + "9" * 5000 + ', "name": "quic:packet_sent", "data": {}}',
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"^source") as error:
            read(text)
        assert type(error.value) is ValueError


def test_numbers_that_are_impossible() -> None:
    same = plain()
    for one in same:
        one["time"] = 5.0
    negative = plain()
    negative[0]["data"]["smoothed_rtt"] = 0
    many = plain()
    many[0]["group_id"] = "a"
    for events, message in (
        (same, "all packets are sent at one time"),
        (negative, r"smoothed_rtt = 0: must be a finite number > 0"),
        (plain(lost(3), lost(77)), r"events\[13\]: packet 77 \(1rtt\): is lost and not sent"),
        (plain(*plain()), r"^source, traces\[0\].events\[13\]: packet 0 is sent twice: more than one connection"),
        (many, r"events\[1\]: group_id is missing"),
        (plain(lost(3) | {"path": "b"}), r"path = 'b': packets of a connection on more than one"),
        (plain(lost(3) | {"time_format": "delta", "time": -1}), "time = -1: must be a finite"),
        (plain(lost(3) | {"time_format": "absolute"}), "times of one trace from two origins"),
        (plain(lost(3, "2RTT")), "packet_type: '2rtt': must be one of"),
        (plain({"time": 9.0, "category": "recovery", "data": {}}), "has no name, .* its fields are 'time', 'category'"),
    ):
        with pytest.raises(ValueError, match=message):
            read_qlog(written(events))


@pytest.mark.parametrize("form", ["delta", "relative_to_previous_event"])
@pytest.mark.parametrize(("unit", "units"), [(1.0, "ms"), (1e3, "us")])
def test_states_of_bbr_by_the_format_of_times(form: str, unit: float, units: str) -> None:
    """DRAIN begins at 60 ms, 50 ms after metrics at 10 ms; the round trip is 30 ms."""
    events = [
        event("recovery:congestion_state_updated", 5.0 * unit, {"new": "startup"}),
        event("recovery:metrics_updated", 10.0 * unit, {"min_rtt": 30.0 * unit, "cwnd": 12_000}),
        event("recovery:congestion_state_updated", 50.0 * unit, {"new": "drain"}),
    ]
    text = written(events, common_fields={"time_format": form}, configuration={"time_units": units})
    trace = read_qlog_trace(text, packet_size=1200)
    np.testing.assert_allclose(trace.begins, [0.0, 0.06])
    np.testing.assert_allclose((trace.time[0], trace.min_rtt[0], trace.cwnd[0]), (0.01, 0.03, 10.0))


def test_states_of_two_connections_and_impossible_variables() -> None:
    states = [event("quic:congestion_state_updated", 0.0, {"new": "startup"}, group_id=name) for name in "ab"]
    with pytest.raises(ValueError, match="a, b: states of more than one connection"):
        read_qlog_trace(written(states))
    for data in ({"min_rtt": -1}, {"congestion_window": -1}, {"pacing_rate": 1e308 * 10}):
        events = [event("quic:congestion_state_updated", 0.0, {"new": "startup"}),
                  event("quic:recovery_metrics_updated", 1.0, data)]  # fmt: skip
        text = written(events).replace("Infinity", "1e400")
        with pytest.raises(ValueError, match=rf"events\[1\].data.{next(iter(data))} = "):
            read_qlog_trace(text, packet_size=1200)


def test_files_have_marks_limits_and_names(tmp_path: Any) -> None:
    file = tmp_path / "a.qlog"
    expected = read_qlog(quic_go())
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        file.write_text(quic_go(), encoding=encoding)
        assert read_qlog(file).p == expected.p
    assert read_qlog("\ufeff" + quic_go()).p == expected.p
    assert read_qlog(quic_go().replace("\n", "")).p == expected.p
    file.write_bytes(b'{"traces":\n "\xff"}')
    with pytest.raises(ValueError, match=r"^source = '.*a\.qlog', line 2: must be UTF-8 text"):
        read_qlog(file)
    file.write_bytes(gzip.compress(quic_go().encode()))
    with pytest.raises(ValueError, match=r"a\.qlog', line 1: must be UTF-8 text; it is compressed with gzip"):
        read_qlog(file)
    with file.open("wb") as sparse:
        sparse.truncate(2**26 + 1)
    with pytest.raises(ValueError, match=r"a\.qlog': must have at most 67108864 bytes"):
        read_qlog(file)
    with pytest.raises(ValueError, match="too many values"):
        read_qlog('{"traces": [' + "{}," * 2_000_000 + "{}]}")
    with pytest.raises(ValueError, match="must have at most 67108864 characters"):
        read_qlog("{" * (2**26 + 1))
    with pytest.raises(ValueError, match=r"skip = 'recovery:packet_lost': must be an event or a"):
        read_qlog(quic_go(), skip=["recovery:packet_lost"])


# Files of the qlog visualizer (quiclog/qvis, visualizations/public/standalone_data, MIT): fields, their order and figures as there.


def of_qvis(packets: int, first: float, last: float, trips: list[float], more: list[list[Any]]) -> str:
    """Return the form of aioquic of 2019: draft-01, rows by ``event_fields``, numbers as strings, no units, handshake and data numbered apart."""
    kinds = ["initial", *["1RTT"] * (packets - 1)]
    rows: list[list[Any]] = [
        [first + (last - first) * n / (packets - 1), "transport", "packet_sent",
         {"frames": [], "packet_type": kind, "header": {"packet_number": str(max(0, n - 1)), "packet_size": 1280, "scid": "", "dcid": "ab"}}]
        for n, kind in enumerate(kinds)
    ]  # fmt: skip
    rows += [[first, "recovery", "metrics_updated", {"latest_rtt": rtt, "min_rtt": rtt, "smoothed_rtt": rtt}] for rtt in trips]  # fmt: skip
    trace = {
        "common_fields": {"ODCID": "b0bf29d0abe27b8b", "reference_time": "1566844755588"},
        "event_fields": ["relative_time", "category", "event_type", "data"],
        "events": sorted(rows + more, key=lambda row: row[0]),
        "vantage_point": {"name": "aioquic", "type": "client"},
    }
    return json.dumps({"qlog_version": "draft-01", "traces": [trace]})


@pytest.mark.parametrize(
    ("packets", "first", "last", "trips"),
    [
        # draft-01/doublevantage_100ms.qlog, its client: a path of 100 ms each way
        (165, 0.0, 1717.0, [213.0, 211.0, 211.0, 211.0]),
        # draft-01/parallel_10_50KB_f5.qlog
        (110, 2.0, 2084.0, [172.0, 171.0, 171.0]),
    ],
)
def test_files_of_the_visualizer(packets: int, first: float, last: float, trips: list[float]) -> None:
    found = read_qlog(of_qvis(packets, first, last, trips, []))
    assert found.names[0].endswith("connection b0bf29d0abe27b8b")
    assert (found.p[0], found.packets[0]) == (0.0, packets)
    assert found.rtt[0] == pytest.approx(1e-3 * sum(trips) / len(trips))
    assert found.rate[0] == pytest.approx(1e3 * packets / (last - first))


@for_each([
    # draft-00/quictrace_example_github.qlog: an event of its converter
    ([[9.0, "RECOVERY", "CUSTOM_CC_APPLICATION_LIMITED", {}]], [40.0], "unknown: 'RECOVERY:CUSTOM_CC_APPLICATION_LIMITED'; if they may be skipped, give skip="),
    # draft-01/new_cid.qlog and spin_bit.qlog: packets only
    ([], [], r"no trace with packet_sent and recovery_metrics_updated .*; left out: trace 1, connection \w+ \(9 packets sent, 0 values of smoothed_rtt\)$"),
])  # fmt: skip
def test_files_of_the_visualizer_without_round_trips_or_with_other_events(
    more: list[list[Any]], trips: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        read_qlog(of_qvis(9, 0.0, 80.0, trips, more))


@pytest.mark.parametrize(("time", "is_refused"), [(0.0, True), (600.0, False)])
def test_a_packet_that_is_lost_before_it_is_sent_is_refused(time: float, is_refused: bool) -> None:
    """Events that are logged up to a second late are read."""
    lost = {"name": "recovery:packet_lost", "time": time, "data": {"header": {"packet_number": 15}}}
    sent = [
        {"name": "transport:packet_sent", "time": 100.0 * n, "data": {"header": {"packet_number": n}}}
        for n in range(20)
    ]
    trips = {"name": "recovery:metrics_updated", "time": 190.0, "data": {"smoothed_rtt": 40.0}}
    text = json.dumps({"traces": [{"events": [lost, *sent, trips]}]})
    if not is_refused:
        assert read_qlog(text).p.tolist() == [1 / 20]
        return
    with pytest.raises(
        ValueError, match=r"events\[0\]: packet 15: is lost 1\.5 s before it is sent: must be at most 1 s"
    ):
        read_qlog(text)


def test_two_logs_in_one_file_are_named() -> None:
    head = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {}}
    event = {"name": "recovery:metrics_updated", "time": 190.0, "data": {"smoothed_rtt": 40.0}}
    text = "".join(f"\x1e{json.dumps(record)}\n" for record in (head, event, head, event))
    with pytest.raises(ValueError, match="record 3: begins another log: must be a file of its own"):
        read_qlog(text)


@for_each([
    (10, 4e6, None, "event before it: must be -3600 to"),
    (10, 4e5, None, "packet 11 is sent 399.89 s before packet 10"),
    (10, -4e5, None, "packet 10 is sent 400.09 s before packet 9"),
    (10, 4e11, None, "event before it: must be -3600 to 3.16224e"),
    (10, 600.0, 20, None),
])  # fmt: skip
def test_a_garbled_time_is_refused(number: int, time: float, packets: int | None, message: str | None) -> None:
    """One time of 20 packets, 10 ms apart, is another; packets that are logged half a second late are read."""
    events: list[dict[str, Any]] = [
        {"name": "transport:packet_sent", "time": 10.0 * n, "data": {"header": {"packet_number": n}}} for n in range(20)
    ]
    events.append({"name": "recovery:metrics_updated", "time": 190.0, "data": {"smoothed_rtt": 40.0}})
    events[number]["time"] = time
    text = json.dumps({"traces": [{"events": events}]})
    if message is None:
        assert read_qlog(text).packets.tolist() == [packets]
        return
    with pytest.raises(ValueError, match=message):
        read_qlog(text)


def test_times_since_1970_keep_their_microseconds() -> None:
    """In 2026 a float64 of seconds since 1970 has steps of 0.24 us: 101 packets 1 us apart have a rate to all digits."""
    start = 1_784_851_200_123_456
    events = [
        {
            "time": start + n,
            "name": "transport:packet_sent",
            "data": {"header": {"packet_type": "1RTT", "packet_number": n}},
        }
        for n in range(PACKETS)
    ]
    events.append({"time": start + 200, "name": "recovery:metrics_updated", "data": {"smoothed_rtt": 40}})
    trace = {"configuration": {"time_units": "us"}, "events": events}
    found = read_qlog(json.dumps({"qlog_version": "draft-01", "traces": [trace]}))
    assert found.rate[0] == pytest.approx(PACKETS / 100e-6, rel=1e-14)
