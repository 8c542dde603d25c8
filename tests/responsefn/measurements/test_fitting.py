"""Samples and fits."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dfcmodel import read_qlog_trace
from responsefn import AIMD, BBR, CUBIC, TFRC, Reno, fit, read_pcap, read_qlog, read_ss
from tests.surface import for_each

# Fits find the parameters of made-up data, with honest intervals.


def test_fit_finds_parameters_within_their_intervals():
    """95 % intervals over 200 data sets hold the truth about 95 % of the time."""
    rng, p = np.random.default_rng(4), np.geomspace(1e-4, 1e-2, 12)
    truth = AIMD(0.7, 0.25)
    held = 0
    for _ in range(200):
        noisy = truth.rate(p, 0.1) * np.exp(0.1 * rng.standard_normal(len(p)))
        low, high = fit(AIMD(b=0.25), p, 0.1, noisy, by="a").intervals["a"]
        held += low < 0.7 < high
    assert 180 <= held <= 198  # binomial: 190 +- 2.6 standard deviations


def test_fit_says_what_data_cannot_tell():
    p = np.geomspace(1e-4, 1e-2, 12)
    with pytest.raises(ValueError, match=r"^by = a, b: these p, rtt and rate do not determine the"):
        fit(AIMD, p, 0.1, AIMD(0.7, 0.25).rate(p, 0.1))
    with pytest.raises(TypeError, match="rule = 3: must be a rule or law"):
        fit(3, p, 0.1, p)
    with pytest.raises(ValueError, match=r"^rule = Reno\(\): has no parameter to fit"):
        fit(Reno, p, 0.1, p)
    with pytest.raises(ValueError, match="must be more than the 1 parameter"):
        fit(AIMD, [0.01], 0.1, [100.0], by="a")
    found = fit(TFRC, p, 0.1, TFRC(2.0).rate(p, 0.1), by="packets_per_ack")
    assert found.rule.packets_per_ack == pytest.approx(2.0, rel=1e-6)


@pytest.mark.slow
def test_intervals_end_where_the_rule_does() -> None:
    """They hold the truth as often as without the limit: 95 % of 100 data sets, a part of which reach 1."""
    rng, p = np.random.default_rng(5), np.geomspace(1e-6, 1e-4, 6)
    truth = CUBIC(beta=0.85, friendly=0)
    held = limited = 0
    for _ in range(100):
        noisy = truth.rate(p, 0.02) * np.exp(0.3 * rng.standard_normal(len(p)))
        low, high = fit(CUBIC(friendly=0), p, 0.02, noisy, by="beta").intervals["beta"]
        assert 0.0 <= low < high <= 1.0
        held += low < 0.85 < high
        limited += high == 1.0
    assert 89 <= held <= 99  # binomial: 95 +- 2.7 standard deviations
    assert limited >= 10
    low, high = fit(TFRC, p, 0.1, TFRC(1.0).rate(p, 0.1), by="packets_per_ack").intervals["packets_per_ack"]
    assert 1.0 <= low <= high


def test_fit_says_what_the_rule_lacks() -> None:
    p = [1e-3, 3e-3, 1e-2]
    with pytest.raises(ValueError, match=r"^BBR\(\): has no response function of a loss rate"):
        fit(BBR, p, 0.04, [300.0, 200.0, 100.0], by="beta")
    with pytest.raises(ValueError, match=r"^by = 'rto': rto = None in TFRC\(\): must be a number"):
        fit(TFRC, p, 0.04, [300.0, 200.0, 100.0], by="rto")
    assert fit(TFRC(rto=0.4), p, 0.04, [300.0, 200.0, 100.0], by="rto").rule.rto > 0.0


# Readers of connections against made-up ones.


def test_ss_reads_several_connections():
    text = (
        "State Recv-Q Send-Q Local Address:Port Peer Address:Port\n"
        "ESTAB 0 0 10.0.0.1:5001 10.0.0.2:41000\n\t cubic rtt:40/2 mss:1000 cwnd:10 "
        "data_segs_out:1000 retrans:0/10 delivery_rate 8Mbps\n"
        "ESTAB 0 0 [::1]:22 [::1]:4242\n\t reno rtt:0.5/0.1 mss:500 data_segs_out:200 "
        "delivery_rate 400Kbps\n"
    )
    found = read_ss(text).to_pandas()
    np.testing.assert_allclose(found["p"], [0.01, 0.0])
    np.testing.assert_allclose(found["rtt"], [0.04, 0.0005])
    np.testing.assert_allclose(found["rate"], [1000.0, 100.0])


FIELDS = "cubic wscale:7,7 rto:204 rtt:40/2 mss:1000 cwnd:10 data_segs_out:1000 retrans:0/10"
"""Of a connection with p = 0.01 and a round trip of 40 ms; ``delivery_rate 8Mbps`` makes it 1,000 packets/s."""


@for_each([
    f"ESTAB 0 0 10.0.0.1:5001 10.0.0.2:41000\n\t {FIELDS} delivery_rate 8Mbps\n",
    # names of ports; without the state, as with a filter by state; with the protocol; on one line; indented
    f"0 0 10.0.0.1:targus-getdata1 10.0.0.2:http-alt\n\t {FIELDS} delivery_rate 8Mbps\n",
    f"tcp ESTAB 0 36 10.0.0.1%eth0:ssh 10.0.0.2:41000 timer:(on,204ms,0) users:((\"my sshd: x\",pid=7,fd=4)) uid:5 ino:7 sk:1 cgroup:/a <->\n\t skmem:(r0,rb1) ts sack {FIELDS} delivery_rate 8Mbps",
    f"ESTAB 0 0 [2001:db8::1]:ssh [2001:db8::2]:41000 {FIELDS} send 9Mbps lastsnd:4 pacing_rate 9.5Mbps/12Mbps delivery_rate 8Mbps delivered:9 busy:50ms rwnd_limited:4ms(8.0%)",
    f"   ESTAB  0 0  10.0.0.1:22  10.0.0.2:41000 \r\n      {FIELDS} bbr:(bw:8Mbps,mrtt:40,pacing_gain:2.89,cwnd_gain:2.89) delivery_rate 8000kbps minrtt:39\r\n",
    f"ESTAB 0 0 ::1:5001 ::1:41000\n\t ts sack dctcp:(ce_state:0,alpha:9,ab_ecn:0,ab_tot:0) {FIELDS} delivery_rate 8000000bps reordering:8",
    # --tos, --inet-sockopt, shut down in both directions
    f"ESTAB 0 0 [2001:db8::1]:1 [2001:db8::2]:2 uid:0 ino:1 sk:6cb cgroup:/ v6only:0 --- tos:0x2 tclass:0 class_id:0 inet-sockopt: ( recverr is_icsk mc_loop)\n {FIELDS} delivery_rate 8Mbps\n",
    f"\ufeffESTAB 0 0 10.0.0.1:22 10.0.0.2:4 tcp-ulp-tls version: 1.3 cipher: aes-gcm-128 rxconf: sw txconf: sw {FIELDS} delivery_rate 8e6bps\n",
])  # fmt: skip
def test_forms_of_ss(text: str) -> None:
    """By the names of `ss.c` of iproute2: the same connection in eight forms, and beside one whose rate the application limits."""
    limited = text.replace("delivery_rate", "app_limited delivery_rate")
    for form in (text, f"{limited.rstrip()}\n{text.lstrip(chr(0xFEFF))}"):
        found = read_ss(form)
        np.testing.assert_allclose((found.p, found.rtt, found.rate), [[0.01], [0.04], [1000.0]])
        assert found.packets.tolist() == [1000]
        here, there = found.names[0].split(" > ")
        assert all(end in text for end in (here, there))


@for_each([
    # ts, ts '[%Y-%m-%d %H:%M:%.S]', ts -s, ts %.s, ts %s, date, date +%FT%T%z, date +%s
    *(f"{time} {{line}}" for time in (
        "Nov 27 12:00:00", "[2026-11-27 12:00:00.123456]", "00:00:01", "1764244800.123456", "1764244800")),
    *(f"{time}\n{{line}}" for time in (
        "Fri Nov 27 18:26:34 UTC 2026", "Fri 27 Nov 2026 06:26:34 PM CEST", "2026-11-27T12:00:00+01:00", "1764244800")),
])  # fmt: skip
def test_ss_with_times_in_front_of_lines_and_between_samples(form: str) -> None:
    first = ["ESTAB 0 0 10.0.0.1:5001 10.0.0.2:41000", f"\t {FIELDS} delivery_rate 8Mbps"]
    second = [line.replace("8Mbps", "16Mbps") for line in first]
    stamped = [form.replace("{line}", line) for line in (*first, *second)]
    if "\n" in form:  # date between samples
        stamped = [stamped[0], first[1], stamped[2], second[1]]
    found = read_ss("\n".join(stamped))
    assert found.names == 2 * ("10.0.0.1:5001 > 10.0.0.2:41000",)
    np.testing.assert_allclose((found.p, found.rtt, found.rate), [[0.01] * 2, [0.04] * 2, [1000.0, 2000.0]])


def test_ss_names_connections_with_marks() -> None:
    text = f"ESTAB 0 0 10.0.0.1:22 10.0.0.2:4\n\t {FIELDS} delivery_rate 8Mbps delivered:990 delivered_ce:12\n"
    with pytest.warns(
        UserWarning, match=r"^source: 10\.0\.0\.1:22 > 10\.0\.0\.2:4 \(12\): packets delivered with an ECN mark"
    ) as caught:
        assert read_ss(text).p.tolist() == [0.01]
    assert caught[0].filename == __file__
    with pytest.raises(ValueError, match="delivered_ce"):
        read_ss(text.replace("ce:12", "ce:x"))


@for_each([
    ("busy:90ms rwnd_limited:9ms(10.0%)", "(receive window, 10%): limited the rate in this part of the time"),
    ("busy:90ms rwnd_limited:8ms(9.9%) sndbuf_limited:45ms(50.0%)", "(send buffer, 50%): limited the rate"),
    ("busy:90ms rwnd_limited:8ms(9.9%)", None),
    ("dsack_dups:9", "(9; 10 in retrans; p without them 0.001): packets that the receiver already had"),
    ("dsack_dups:1", "(1; 10 in retrans; p without them 0.009): packets that"),
    ("dsack_dups:0", None),
    ("bytes_retrans:10000", None),
    ("bytes_retrans:20000", None),
    ("bytes_retrans:20001", "(20001; 10 in retrans; p by bytes 0.02): bytes_retrans is more than the retransmissions"),
    ("bytes_acked:990000 busy:495ms", "(1000 packets/s; mean 2000): the rate is that of the latest ACKs (delivery_rate)"),
    ("bytes_acked:990000 busy:1980ms", "(1000 packets/s; mean 500): the rate is that of the latest ACKs"),
    ("bytes_acked:990000 busy:496ms", None),
    ("bytes_acked:990000 busy:1979ms", None),
    ("bytes_sent:100000 bytes_acked:99000 busy:990ms", None),
    ("bytes_sent:100000 bytes_acked:99000 busy:495ms", "(1000 packets/s; mean 2000): the rate is that of the latest ACKs"),
    ("bytes_sent:500000 bytes_retrans:20001", "(20001; 10 in retrans; p by bytes 0.04): bytes_retrans is more"),
    *((fields, None) for fields in ("bytes_acked:990000", "busy:9ms", "bytes_acked:0 busy:9ms", "bytes_acked:9 busy:0ms")),
])  # fmt: skip
def test_ss_names_rates_and_retransmissions_of_other_causes(fields: str, message: str | None) -> None:
    """The window, which the receiver or the host sets, limits the rate; a duplicate (DSACK) was no loss. Ten of 1,000 are sent again.

    A mean in packets of the MSS was a tenth of the right one where segments have a tenth of it."""
    text = f"ESTAB 0 0 10.0.0.1:22 10.0.0.2:4\n\t {FIELDS} delivery_rate 8Mbps {fields}\n"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert read_ss(text).p.tolist() == [0.01]
    assert [f"10.0.0.1:22 > 10.0.0.2:4 {message}" in str(one.message) for one in caught] == [True] * (
        message is not None
    )


@for_each(
    [
        "rwnd_limited:4ms",
        "sndbuf_limited:x(1%)",
        "dsack_dups:-1",
        "bytes_retrans:x",
        "bytes_sent:9 bytes_retrans:10",
        "bytes_sent:-1",
        "bytes_acked:-1",
        "bytes_acked:1 busy:9",
        "bytes_acked:1 busy:x",
    ]
)
def test_ss_refuses_impossible_limits_and_duplicates(field: str) -> None:
    with pytest.raises(ValueError, match=f"^source, line 1, {field.split()[-1].partition(':')[0]} = "):
        read_ss(f"ESTAB 0 0 10.0.0.1:22 10.0.0.2:4\n\t {FIELDS} delivery_rate 8Mbps {field}\n")


@for_each(["retrans:0/0", ""])
def test_ss_refuses_retransmitted_bytes_without_retransmissions(field: str) -> None:
    """Linux counts the two together: a line without the count has lost a field, and p would be 0."""
    text = f"ESTAB 0 0 10.0.0.1:22 10.0.0.2:4\n\t {FIELDS.replace('retrans:0/10', field)} delivery_rate 8Mbps "
    assert read_ss(text + "bytes_retrans:0").p.tolist() == [0.0]
    with pytest.raises(ValueError, match=r"^source, line 1: bytes_retrans = 4284, and no retransmission in retrans"):
        read_ss(text + "bytes_retrans:4284")


@for_each(["retrans", "rwnd_limited"])
def test_ss_does_not_skip_what_it_uses(name: str) -> None:
    with pytest.raises(ValueError, match=f"^skip = '{name}': must be a field that is not used"):
        read_ss(f"ESTAB 0 0 10.0.0.1:22 10.0.0.2:4\n\t {FIELDS} delivery_rate 8Mbps\n", skip=[name])


def test_sockets_of_mptcp_are_omitted_beside_their_subflows() -> None:
    socket = (
        "mptcp ESTAB 0 0 10.0.0.1:22 10.0.0.2:4\n subflows:1 subflows_max:2 remote_key token:3b write_seq:8 snd_una:8 "
        "rcv_nxt:3 bytes_sent:8 bytes_acked:8 last_data_sent:3"
    )
    subflow = f"tcp ESTAB 0 0 10.0.0.1:22 10.0.0.2:4 tcp-ulp-mptcp flags:Mmec token:0(id:0)/4b(id:0) {FIELDS} delivery_rate 8Mbps"
    assert read_ss(f"{socket}\n{subflow}\n").rate.tolist() == [1000.0]


def test_ss_separates_connections_wherever_their_lines_begin() -> None:
    """The first has no delivery rate and must not take the second's."""
    text = (
        "  ESTAB 0 0 10.0.0.1:22 10.0.0.2:1\n    cubic rtt:25.5/1 mss:1448 data_segs_out:40000\n"
        "  ESTAB 0 0 10.0.0.1:22 10.0.0.9:2\n    cubic rtt:80.5/1 mss:1000 data_segs_out:900 delivery_rate 8Kbps\n"
    )
    found = read_ss(text)
    assert found.names == ("10.0.0.1:22 > 10.0.0.9:2",)
    assert (found.rtt[0], found.rate[0], found.packets[0]) == pytest.approx((0.0805, 1.0, 900.0))


def test_ss_reads_files_with_marks_and_long_lines(tmp_path) -> None:
    """A word of a million letters is read at once: no pattern is worse than linear."""
    text = f"ESTAB 0 0 10.0.0.1:22 10.0.0.2:4\n\t {FIELDS} delivery_rate 8Mbps\n"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        (tmp_path / "ss.txt").write_text(text, encoding=encoding)
        assert read_ss(tmp_path / "ss.txt").rate.tolist() == [1000.0]
    (tmp_path / "ss.txt").write_bytes(b"ESTAB\n\xff")
    with pytest.raises(ValueError, match=r"ss\.txt', line 2: must be UTF-8 text"):
        read_ss(tmp_path / "ss.txt")
    for letters in ("a", "a:", "1", ":", "a.", "1.", "1 ", "Nov ", "[1"):
        word = letters * 500_000
        with pytest.raises(ValueError, match=r"^source"):
            read_ss(f"{word}\n")
        with pytest.raises(ValueError, match=r"^source, line [12]"):
            read_ss(text.replace("rtt:40/2", f"rtt:{word}"))
    with pytest.raises(ValueError, match="must have at most 16777216 characters"):
        read_ss("\n" * (2**24 + 1))
    assert read_ss(text + "\n", skip=["acme"]).p.tolist() == [0.01]
    assert read_ss(text.replace("cubic", "cubic acme:1"), skip=["acme"]).p.tolist() == [0.01]


# Lines of ss as they stand in public repositories: figures and the order of the fields are theirs, addresses are not.

BBR_MONITOR = """0      398200 [::ffff:192.0.2.23]:5202 [::ffff:192.0.2.88]:56512 timer:(on,078ms,0) ts sack bbr wscale:6,10 rto:237
 rtt:36.788/3.994 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:44 bytes_sent:128872 bytes_acked:66608 bytes_received:37
 segs_out:90 segs_in:12 data_segs_out:89 data_segs_in:1 bbr:(bw:4762104bps,mrtt:30.236,pacing_gain:2.88672,cwnd_gain:2.88672)
 send 13854953bps lastsnd:2 lastrcv:132 lastack:3 pacing_rate 13609384bps delivery_rate 4762720bps delivered:47 busy:132ms
 unacked:43 rcv_space:14600 rcv_ssthresh:42230 notsent:335936 minrtt:30.236 snd_wnd:128192
"""
LOSSY = """tcp   ESTAB  0      850696       192.0.2.4:33096         192.0.2.3:9527
\t cubic wscale:7,7 rto:204 rtt:0.98/0.51 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:3 ssthresh:2 bytes_sent:293736016
 bytes_retrans:14219360 bytes_acked:279512313 segs_out:202865 segs_in:36625 data_segs_out:202863 send 35.5Mbps lastrcv:4576
 pacing_rate 42.5Mbps delivery_rate 90.5Mbps delivered:193043 busy:4576ms unacked:3 retrans:0/9820 dsack_dups:2 rcv_space:14480
 rcv_ssthresh:64088 notsent:846344 minrtt:0.042 snd_wnd:3144576
"""
PRAGUE = """tcp ESTAB 0      0      192.0.2.1:55026 192.0.2.9:5201 users:(("iperf3",pid=16828,fd=4)) uid:39791 ino:126633 sk:a3 cgroup:unreachable:2010c00000052 <->
\t ts sack ecnseen prague wscale:8,7 rto:204 rtt:0.542/0.213 ato:40 mss:1448 data_segs_out:3 delivery_rate 40645608bps delivered:4 app_limited rcv_space:14480
tcp ESTAB 0      90468  192.0.2.1:55042 192.0.2.9:5201 users:(("iperf3",pid=16828,fd=5)) timer:(persist,200ms,0) uid:39791 ino:126634 sk:a4 cgroup:unreachable:2010c00000052 <->
\t ts sack ecnseen prague wscale:8,7 rto:204 rtt:0.62/0.082 mss:1448 pmtu:1500 cwnd:2 ssthresh:2 bytes_retrans:11488 data_segs_out:3762 send 37367742bps
 pacing_rate 3408752bps delivery_rate 16088888bps delivered:3755 delivered_ce:562 busy:6308ms retrans:0/8 notsent:90468 minrtt:0.212
"""
AGENT = """ESTAB 0 0 192.0.2.35:443 203.0.113.20:50123 sk:2D43A0
\t cubic rtt:45.2/3.1 mss:1428 pmtu:1500 cwnd:12 bytes_sent:2000000 bytes_retrans:80000 data_segs_out:1400 delivery_rate 12000000bps retrans:0/3 reord_seen:7 dsack_dups:4 reordering:300 rcv_ooopack:5 unacked:2 lastsnd:100 lastrcv:200
"""


@for_each([
    # post_processing/README.md of 130e/dash_meas_aio, the input of its parser: without the state, addresses of IPv4 within IPv6
    (BBR_MONITOR, 0.0, 36.788e-3, 4_762_720 / (8 * 1448), 89),
    # a note on losses between network namespaces: each line of a retransmitting connection
    (LOSSY, 9820 / 202_863, 0.98e-3, 90.5e6 / (8 * 1448), 202_863),
    # `ss --no-header -eipn` beside iperf3 with TCP Prague: the first connection is limited by its application
    (PRAGUE, 8 / 3762, 0.62e-3, 16_088_888 / (8 * 1448), 3762),
    # the same, with the time that `ts` puts before it
    (f"1725877589.825149 {PRAGUE}", 8 / 3762, 0.62e-3, 16_088_888 / (8 * 1448), 3762),
    # a test of an agent's parser, from `ss -Htoein`
    (AGENT, 3 / 1400, 45.2e-3, 12e6 / (8 * 1428), 1400),
])  # fmt: skip
def test_lines_of_ss_from_other_programs(text: str, p: float, rtt: float, rate: float, packets: int) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = read_ss(text)
    assert [str(warning.message).partition(")")[0] for warning in caught] == [
        "source: 192.0.2.1:55042 > 192.0.2.9:5201 (562"
    ] * ("delivered_ce" in text) + [
        "source: 192.0.2.35:443 > 203.0.113.20:50123 (4; 3 in retrans; p without them 0"
    ] * (text == AGENT) + ["source: 192.0.2.35:443 > 203.0.113.20:50123 (80000; 3 in retrans; p by bytes 0.04002"] * (
        text == AGENT
    ) + ["source: 192.0.2.4:33096 > 192.0.2.3:9527 (7812 packets/s; mean 4.219e+04"] * (text == LOSSY)
    np.testing.assert_allclose((found.p, found.rtt, found.rate, found.packets), [[p], [rtt], [rate], [packets]])


@for_each([
    # tests of a process monitor: one line with `users`, a rate of the application
    (('ESTAB 0 0 192.0.2.58:53056 192.0.2.50:443 users:(("firefox-bin",pid=1367,fd=7)) cubic wscale:7,7 rto:303.333 rtt:95.077/48.14 ato:40 mss:1348 '
     "data_segs_out:806 send 793967bps pacing_rate 952752bps delivery_rate 1561688bps delivered:803 app_limited busy:41095ms retrans:0/9\n"),
     "source: no connection with .*; 1 are application-limited"),
    # ss-parse_full.sh of dustinchen26/Herman_tcp_test: a kernel that prints no delivery rate
    ("ESTAB 0 0 192.0.2.1:5 192.0.2.2:6 rto:204 rtt:0.024/0.008 mss:1448 cwnd:5882 segs_out:2534538 data_segs_out:2534536 send 17034.3Mbps retrans:0/24285\n",
     r"source: no connection with rtt, mss, data_segs_out and delivery_rate in it; left out: 192\.0\.2\.1:5 > 192\.0\.2\.2:6 \(no delivery_rate\)$"),
    # a book on the administration of Linux: without data_segs_out
    (("ESTAB 0 0 192.0.2.24:52180 192.0.2.9:5432\n\t cubic rtt:34.812/2.104 mss:1348 bytes_retrans:29104\n\t bytes_acked:155115 segs_out:412 delivery_rate 2.9Mbps retrans:0/61\n"
     "ESTAB 0 0 192.0.2.1:5 192.0.2.2:6 rtt:1/1 mss:1448 data_segs_out:0 delivery_rate 1Mbps\n"),
     r"left out: 192\.0\.2\.24:52180 > 192\.0\.2\.9:5432 \(no data_segs_out\), 192\.0\.2\.1:5 > 192\.0\.2\.2:6 \(no data sent\)$"),
    # more retransmissions in flight than there were
    ("ESTAB 0 0 192.0.2.1:5 192.0.2.2:6 rtt:1/1 mss:1448 data_segs_out:300 delivery_rate 1Mbps retrans:61/7\n", "line 1, retrans in flight = 61: must be .* 0..7"),
    # lines of a text with marks of comments, and a rate on a line of its own
    ("ESTAB 0 0 192.0.2.1:5 192.0.2.2:6\n# cubic rtt:1/1\n", "line 2: '#' is neither a field nor the name of a congestion control"),
    ("ESTAB 0 0 192.0.2.1:5 192.0.2.2:6 rtt:1/1 mss:1448 data_segs_out:300 send 2Mbps\n2.9Mbps\n", "line 2: '2.9Mbps' is neither a field"),
    # lines of a monitor that prints its own times
    (f"time:1754776664023490865\n{BBR_MONITOR}", r"source, line 1: 'time:17.*: must follow the addresses of a connection, or be skipped by skip=\('time',\)$"),
    # without the first line of a connection
    ("mss:1448 rtt:4/1\n", "must follow the addresses of a connection$"),
])  # fmt: skip
def test_lines_of_ss_without_a_rate_or_with_other_words_are_refused(text: str, message: str) -> None:  # fmt: skip
    with pytest.raises(ValueError, match=message):
        read_ss(text)


def test_lines_of_other_names_are_skipped_before_the_first_connection_as_between_two() -> None:
    found = read_ss(2 * f"time:1754776664023490865\n{BBR_MONITOR.rstrip()}\n", skip=["time"])
    np.testing.assert_allclose(found.rtt, 2 * [36.788e-3])
    with pytest.raises(ValueError, match=r"line 1: 'cwnd:4': must follow the addresses"):
        read_ss(f"cwnd:4\n{BBR_MONITOR}", skip=["time"])


IPERF = """Connecting to host 192.0.2.2, port 5201
[  5] local 192.0.2.1 port 45106 connected to 192.0.2.2 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec   104 MBytes   870 Mbits/sec    2    564 KBytes
"""
PROBE = "  <idle>-0 [003] ..s3. 12.3: tcp_probe: family=AF_INET src=192.0.2.1:5 dest=192.0.2.2:6 snd_nxt=0x1 snd_cwnd=10 srtt=220392"
"""As the kernel's tracepoint prints it."""


@pytest.mark.parametrize(("name", "content", "message", "readers"), [
    ("capture.pcap", b"\n\r\r\n\x1c\0\0\0", "is a packet capture, read it by read_pcap$", {read_pcap}),
    ("ss.txt", f"ESTAB 0 0 192.0.2.1:5 192.0.2.2:6\n\t {FIELDS}\n".encode(), "is the output of ss, read it by read_ss$", {read_ss}),
    ("a.qlog", b'{"qlog_version": "0.3",\n "traces": []}', "is qlog, read it by read_qlog$", {read_qlog, read_qlog_trace}),
    ("a.sqlog", b'\x1e{"file_schema": "x"}\n', "is qlog, read it by read_qlog$", {read_qlog, read_qlog_trace}),
    ("iperf.json", b'{\n\t"start":\t{\n\t\t"version":\t"iperf 3.16"}}', "is JSON of iperf3, which has no reader: run ss -ti", set()),
    ("iperf.txt", IPERF.encode(), "is the output of iperf3, which has no reader: run ss -ti", set()),
    ("probe.txt", PROBE.encode(), "is the output of the tracepoint tcp_probe, which has no reader: run ss -ti", set()),
    ("netlog.json", b'{"constants": {"logEventTypes": {}},\n"events": []}', "is a NetLog of Chrome, which has no reader: let the sender", set()),
])  # fmt: skip
def test_files_of_other_programs_are_named(
    tmp_path: Path, name: str, content: bytes, message: str, readers: set[Any]
) -> None:
    """iperf3's JSON was "no JSON", and a capture was "no text"."""
    file = tmp_path / name
    file.write_bytes(content)
    for read in (read_ss, read_qlog, read_qlog_trace, read_pcap):
        with pytest.raises(ValueError, match=r"^source = .*: ") as caught:
            read(file)
        assert bool(re.search(message, str(caught.value))) == (read not in readers), (read, str(caught.value))


def test_json_of_other_contents_is_named_by_its_fields() -> None:
    with pytest.raises(ValueError, match=r"^source: has neither 'traces' nor 'events'; its fields are 'a', 'b'$"):
        read_qlog('{"a": 1,\n "b": 2}')
