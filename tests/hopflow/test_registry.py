"""What another distribution offers by entry points, in processes of their own with its metadata installed."""

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


def install(folder, values):
    """Lay out a distribution as an installer does: its module, and its metadata."""
    (folder / "gentle_tcp.py").write_text(MODULE, encoding="utf-8")
    metadata = folder / "gentle_tcp-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: gentle-tcp\nVersion: 1.0\n")
    points = [f"[hopflow.{kind}]\ngentle = gentle_tcp:{value}\n" for kind, value in values.items()]
    (metadata / "entry_points.txt").write_text("\n".join(points))


RUN = """
import json, sys
sys.path.insert(0, {folder!r})
from typer.testing import CliRunner
from hopflow.commands import app
done = [CliRunner().invoke(app, words, env={{"COLUMNS": "400"}}) for words in {calls!r}]
print(json.dumps([(each.exit_code, each.stdout, f"{{each.stderr}}{{each.exception}}") for each in done]))
"""


def run(folder, name):
    """Run the commands of some kinds in one process with a distribution on its path; return status, output and errors of each."""
    calls = [
        [name[kind] if word == "OFFER" else word for word in (*CALLS[kind], "--json")]
        for kind in name
    ]
    code = RUN.format(folder=str(folder), calls=calls)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(zip(name, json.loads(done.stdout.splitlines()[-1]), strict=True))


@pytest.mark.slow
def test_the_command_finds_what_other_distributions_offer(tmp_path):
    install(tmp_path, OFFERED)
    found = run(tmp_path, dict.fromkeys(OFFERED, "gentle"))
    for kind, (status, out, errors) in found.items():
        assert status == 0, errors
        assert kind == "chains" or OFFERED[kind].lower() in out.lower()
    assert json.loads(found["chains"][1])["measures"]["works"] == pytest.approx(2.0 / 3.0)
    unknown = run(tmp_path, {"rules": "gentel", "chains": "gentel.py", "methods": "gentel"})
    for kind, (status, out, errors) in unknown.items():
        assert status != 0
        assert kind == "chains" or "gentle" in out + errors


@pytest.mark.parametrize("kinds", [("rules", "chains"), ("methods",)], ids="-".join)
def test_an_entry_point_of_another_kind_is_named(tmp_path, kinds):
    install(tmp_path, dict.fromkeys(kinds, "NamedTuple"))
    for kind, (status, out, errors) in run(tmp_path, dict.fromkeys(kinds, "reno")).items():
        assert status != 0
        said = " ".join((out + errors).split())
        assert f"entry point gentle = gentle_tcp:NamedTuple of hopflow.{kind}: must be a" in said


def test_names_are_those_of_the_classes_in_any_case():
    known = Registry((int, float, int), "hopflow.nothing", object, "anything")
    assert known.names() == ["float", "int"]
    assert known.named("kind", "FLOAT") is float
    with pytest.raises(ValueError, match=r"kind = 'itn': must be one of .*; did you mean 'int'\?"):
        known.named("kind", "itn")
