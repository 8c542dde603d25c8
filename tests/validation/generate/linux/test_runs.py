"""Runs of Linux in virtual time: the emulator's words, its output, what is refused, and a bundled run made again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from validation.generate.linux import output, program
from validation.generate.linux.cases import ALONE
from validation.generate.linux.program import HostKernel, LinuxKernel, kernel_folder

TOTALS = (
    "bytes=1448 data_packets=3 queue_drops=1 losses=1 retransmissions=2 timeouts=0 min_rtt=40640 mss=1448 "
    "rwnd_limited={} sndbuf_limited=0 dsacks=0 reordered=0"
)
PRINTED = "\n".join(
    [
        "window 10000000 0 10 2147483647 40640 0",
        "drop 1000000001 0 queue",
        "drop 2000000000 0 loss",
        "second 1 0 1448",
        f"flow 0 {TOTALS}",
        "link delivered=3 worst_lateness=17 digest=0123456789abcdef",
        "sysctl ipv4/tcp_sack 1",
    ]
)


@pytest.mark.simulators
def test_linux_repeats_the_bundled_rows(repeats) -> None:
    repeats("linux/alone", run="bbr-67")


def test_words_of_a_run() -> None:
    (words,) = output.calls(ALONE.runs[0])
    assert words == [
        "rate=20000000.0", "delay=0.02", "buffer=33", "seconds=30", "flow=reno@0.0",
    ]  # fmt: skip
    two = {
        **ALONE.runs[0],
        "rules": ("cubic", "bbr"),
        "starts": (0.0, 0.3),
        "loss": 0.001,
        "seed": 2,
    }
    (words,) = output.calls(two)
    assert words[-4:] == ["loss=0.001", "seed=2", "flow=cubic@0.0", "flow=bbr@0.3"]
    command = LinuxKernel().command(words)
    assert command.startswith("setarch -R linux mem=1024M time-travel=inf-cpu time-travel-start=0 ")


def test_rows_of_a_run() -> None:
    rows = output.read(ALONE.runs[0], Path(), [PRINTED.format(0)])
    (total,) = rows["runs"]
    assert set(total) == set(output.TABLES["runs"].columns)
    assert (total["rule"], total["buffer"], total["bytes"]) == ("reno", 33, 1448)
    assert (total["lateness"], total["digest"]) == (17, "fnv1a-0123456789abcdef")
    index = {"run": "reno-33", "flow": 0}
    assert rows["windows"] == [
        {**index, "time": 0.01, "cwnd": 10, "ssthresh": 2147483647, "srtt": 40640, "state": 0}
    ]
    assert rows["drops"] == [
        {**index, "time": 1.000000001, "cause": "queue"},
        {**index, "time": 2.0, "cause": "loss"},
    ]
    assert rows["settings"] == [{"run": "reno-33", "name": "ipv4/tcp_sack", "value": "1"}]
    assert rows["seconds"] == [{**index, "time": 1, "bytes": 1448}]


def test_a_run_that_something_else_limits_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"reno-33: rwnd_limited = 4000 us in flow 0, must be 0"):
        output.read(ALONE.runs[0], Path(), [PRINTED.format(4000)])


def test_a_failure_of_the_emulator_is_told() -> None:
    with pytest.raises(RuntimeError, match="reno-33: failed vegas: No such file"):
        output.read(ALONE.runs[0], Path(), ["failed vegas: No such file or directory\n"])


def test_the_kernel_is_looked_for_where_it_is_said_to_be(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv(program.VARIABLE, raising=False)
    with pytest.raises(FileNotFoundError, match="HOPFLOW_LINUX must name the folder"):
        kernel_folder()
    monkeypatch.setenv(program.VARIABLE, str(tmp_path))
    with pytest.raises(FileNotFoundError, match="HOPFLOW_LINUX"):
        kernel_folder()
    (tmp_path / "linux").write_bytes(b"kernel")
    (tmp_path / "linkemu").touch()
    (tmp_path / "config").write_text('CONFIG_CC_VERSION_TEXT="gcc 12"\n')
    assert kernel_folder() == tmp_path
    assert "6.12.117-1~deb12u1 (Debian), gcc 12; SHA-256 of linux 6923dd" in LinuxKernel().version()


def test_a_kernel_that_writes_nothing_is_told(tmp_path: Path, monkeypatch) -> None:
    for name in ("linux", "linkemu"):
        (tmp_path / name).write_text("#!/bin/sh\necho panic\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "config").touch()
    monkeypatch.setenv(program.VARIABLE, str(tmp_path))
    with pytest.raises(RuntimeError, match="wrote no output\npanic"):
        LinuxKernel().run(["seconds=1"], tmp_path)


class _Host:
    """What `HostKernel` sees of a host: the queue of new devices, and the emulator's output."""

    def __init__(self, tmp_path: Path, monkeypatch, qdisc: str, text: str | None) -> None:
        (tmp_path / "linkemu").touch()
        (tmp_path / "qdisc").write_text(f"{qdisc}\n")
        monkeypatch.setattr(program, "kernel_folder", lambda: tmp_path)
        monkeypatch.setattr(program, "QDISC", tmp_path / "qdisc")
        script = "exit 1" if text is None else f"echo '{text}' > root/output"
        monkeypatch.setattr(program, "REAL_TIME", ("sh", "-c", f"echo killed >&2; {script}"))
        self.run = lambda: HostKernel().run(["seconds=1"], tmp_path)


def test_the_host_runs_the_emulator_in_real_time(tmp_path: Path, monkeypatch) -> None:
    text = "link delivered=3 worst_lateness=19000000 digest=0"
    assert _Host(tmp_path, monkeypatch, "pfifo_fast", text).run() == f"{text}\n"
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize(
    ("qdisc", "text", "error"),
    [
        ("fq_codel", "", "is fq_codel: must be pfifo_fast"),
        ("pfifo_fast", None, "wrote no output\nkilled"),
        ("pfifo_fast", "link worst_lateness=20100000", "a packet was 20.1 ms late: must be at most 20 ms"),
    ],
)  # fmt: skip
def test_what_the_host_may_not_do_is_told(tmp_path: Path, monkeypatch, qdisc, text, error) -> None:
    with pytest.raises(RuntimeError, match=re.escape(error)):
        _Host(tmp_path, monkeypatch, qdisc, text).run()


def test_the_words_of_the_host() -> None:
    command = HostKernel().command(["a=1"])
    assert command.startswith("unshare --fork --pid --mount ")
    assert command.endswith(" chrt --fifo 50 chroot root /linkemu a=1")
    assert "in real time" in HostKernel().version()
