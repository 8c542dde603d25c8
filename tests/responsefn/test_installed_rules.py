"""Rules that another distribution offers by an entry point, in a process of its own with its metadata installed."""

from __future__ import annotations

import json
import subprocess
import sys

RULE = '''
from typing import NamedTuple

from responsefn import WindowRule


class Gentle(WindowRule):
    """One packet per round trip; a tenth off at a loss."""

    class Params(NamedTuple):
        kept: float = 0.9

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + 1.0 / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        after = max(1.0, q.kept * s.cwnd)
        return s._replace(cwnd=after, ssthresh=after)
'''


def install(folder, value):
    """Lay out a distribution as an installer does: its module, and its metadata."""
    (folder / "gentle_tcp.py").write_text(RULE, encoding="utf-8")
    metadata = folder / "gentle_tcp-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: gentle-tcp\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[hopflow.rules]\ngentle = {value}\n")


def run(folder, *arguments):
    """Run the command with a distribution on the path."""
    call = (
        f"import sys; sys.path.insert(0, {str(folder)!r}); from hopflow.shell import main; main()"
    )
    own = [sys.executable, "-c", call, *arguments]
    return subprocess.run(own, capture_output=True, text=True, check=False)


def test_the_command_knows_the_rules_of_other_distributions(tmp_path):
    install(tmp_path, "gentle_tcp:Gentle")
    done = run(tmp_path, "response", "gentle", "reno", "--p", "1e-3", "--rtt", "100ms", "--json")
    assert done.returncode == 0, done.stderr
    assert "gentle" in json.dumps(json.loads(done.stdout)).lower()
    unknown = run(tmp_path, "response", "gentel", "--p", "1e-3")
    assert unknown.returncode != 0
    assert "gentle" in unknown.stdout + unknown.stderr


def test_an_entry_point_that_is_no_rule_is_named(tmp_path):
    install(tmp_path, "gentle_tcp:NamedTuple")
    done = run(tmp_path, "response", "reno", "--p", "1e-3")
    assert done.returncode != 0
    assert (
        "entry point gentle = gentle_tcp:NamedTuple of hopflow.rules" in done.stdout + done.stderr
    )
