"""What another distribution offers by entry points, in a process of its own with its metadata installed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from hopflow.registry import Registry

MODULE = '''
from typing import NamedTuple

from markov import GTH, ChainModel
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


class Machine(ChainModel):
    """Up or down."""

    class State(NamedTuple):
        up: int

    class Params(NamedTuple):
        fails: float = 0.25

    def space(self):
        return {"up": range(2)}

    @staticmethod
    def rules(s, q):
        yield s._replace(up=1 - s.up), q.fails if s.up else 1.0

    def labels(self, s):
        return {"works": s.up == 1}


class Exact(GTH):
    """Elimination under another name."""
'''
OFFERED = {"rules": "Gentle", "chains": "Machine", "methods": "Exact"}
CALLS = {
    "rules": ("response", "OFFER", "reno", "--p", "1e-3", "--rtt", "100ms"),
    "chains": ("solve", "OFFER", "--set", "fails=0.5"),
    "methods": ("solve", "mm1k", "--method", "OFFER"),
}


def install(folder, kind, value):
    """Lay out a distribution as an installer does: its module, and its metadata."""
    (folder / "gentle_tcp.py").write_text(MODULE, encoding="utf-8")
    metadata = folder / "gentle_tcp-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: gentle-tcp\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[hopflow.{kind}]\ngentle = gentle_tcp:{value}\n")


def run(folder, kind, name):
    """Run the command of a kind with a distribution on the path."""
    call = (
        f"import sys; sys.path.insert(0, {str(folder)!r}); from hopflow.shell import main; main()"
    )
    given = [name if word == "OFFER" else word for word in CALLS[kind]]
    own = [sys.executable, "-c", call, *given, "--json"]
    return subprocess.run(own, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("kind", OFFERED)
def test_the_command_finds_what_other_distributions_offer(tmp_path, kind):
    install(tmp_path, kind, OFFERED[kind])
    done = run(tmp_path, kind, "gentle")
    assert done.returncode == 0, done.stderr
    assert OFFERED[kind].lower() in json.dumps(json.loads(done.stdout)).lower() or kind == "chains"
    if kind == "chains":
        assert json.loads(done.stdout)["measures"]["works"] == pytest.approx(2.0 / 3.0)
    unknown = run(tmp_path, kind, "gentel" if kind != "chains" else "gentel.py")
    assert unknown.returncode != 0
    if kind != "chains":
        assert "gentle" in unknown.stdout + unknown.stderr


@pytest.mark.parametrize("kind", OFFERED)
def test_an_entry_point_of_another_kind_is_named(tmp_path, kind):
    install(tmp_path, kind, "NamedTuple")
    done = run(tmp_path, kind, "reno")
    assert done.returncode != 0
    said = " ".join((done.stdout + done.stderr).split())
    assert f"entry point gentle = gentle_tcp:NamedTuple of hopflow.{kind}: must be a" in said


def test_names_are_those_of_the_classes_in_any_case():
    known = Registry((int, float, int), "hopflow.nothing", object, "anything")
    assert known.names() == ["float", "int"]
    assert known.named("kind", "FLOAT") is float
    with pytest.raises(ValueError, match=r"kind = 'itn': must be one of .*; did you mean 'int'\?"):
        known.named("kind", "itn")
