"""Signatures of window rules: which kernel they need."""

from __future__ import annotations

from dataclasses import replace

from dfcmodel.packets.window_rules import event_source, rule_signatures, signature_of
from responsefn import CUBIC, NewReno, Reno, Tahoe


def test_standard_rules_share_a_kernel(one_link) -> None:
    standard = rule_signatures(one_link)
    assert standard == tuple(signature_of(rule) for rule in (Tahoe(), Reno(), NewReno()))
    cubic = replace(one_link, flows=(replace(one_link.flows[0], source=CUBIC()),))
    assert rule_signatures(cubic) == (signature_of(CUBIC()),)


def test_every_rule_has_a_branch(one_link) -> None:
    text = event_source(rule_signatures(one_link), "on_loss")
    assert text.count("flow[f].kind ==") == 3
    compile(text, "branches", "exec")
