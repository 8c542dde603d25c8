"""Efficiencies of a scenario on all hosts, with DFC and without."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from validation.claims.effect_claims import where
from validation.claims.takano2006 import studies
from validation.claims.takano2006.hosts import CLOCKS, DFC_ALONE, OWN_LINK, READINGS, Hosts
from validation.claims.takano2006.own_links import runs_with_dfc, runs_without_dfc
from validation.claims.takano2006.studies import FAIR, HOSTS, SETTLED, START, Efficiencies, Study
from validation.judgements.judges import ByReading
from validation.judgements.verdicts import Judgement, Sides, Verdict, model_only
from validation.networks.own_links import KINDS
from validation.statistics import Swing, Values, ranked, swings

SCENARIOS = ("1", "2", "3", "4", "4S", "4L", "4R", "4N", "5", "6")
NONE = Verdict.NOT_APPLICABLE
STEADIER = 2.0
"""Multiple of the standard deviation over time with DFC from which on a flow without it counts as less steady."""
WRONG = 2.0
"""Factor between the target's means in the fluid and in packets from which on the fluid decides nothing.

For hosts with a link of their own, where its bias is not known.
"""


class Cell(NamedTuple):
    """Several runs of one host: of the target, of all links, and the packets that both flows lost."""

    target: Swing
    network: Swing
    lost: Values

    def of(self, hosts: Hosts) -> Swing:
        """Return the efficiency that a reading means."""
        return self.network if hosts.network else self.target


class Own(NamedTuple):
    """Runs at hopflow's packet level: shaped hosts with DFC, and hosts with a link of their own without."""

    with_dfc: Cell
    without: Cell


@dataclass(frozen=True)
class Matrix:
    """A scenario with DFC and without, by host.

    Attributes
    ----------
    with_dfc
        By host; after 0.2 s.
    direct, unshaped
        Without DFC, after 0.1 s; FIFO has no rate to shape hosts to. Unshaped: the packets of
        scenario 1 only.
    part
        The links of the background flow over those of the target.
    bias
        How far the fluid's mean of the target without DFC may be from ns-2's.
    own
        Runs at hopflow's packet level, by what decides between simultaneous events
        (`validation.networks.own_links.KINDS`).
    """

    with_dfc: dict[str, Sides[Cell]]
    direct: Sides[Cell]
    unshaped: Sides[Cell | None]
    part: float
    bias: float
    own: dict[str, Own]

    def without(self, hosts: Hosts) -> Sides[Cell] | Sides[Cell | None]:
        """Return the runs without DFC of fluid and packets; None: there are none in packets."""
        return self.direct if hosts.without == "direct" else self.unshaped

    def fair(self, hosts: Hosts) -> float:
        """Return the efficiency when both flows have half of the links that they share."""
        return FAIR * (1.0 + self.part) if hosts.network else FAIR

    def at_level(self, kind: str) -> Matrix:
        """Return the matrix with the runs of hopflow's packet level, of one kind, in place of the other packets."""
        shaped = self.with_dfc["shaped"]._replace(packets=self.own[kind].with_dfc)
        unshaped = self.unshaped._replace(packets=self.own[kind].without)
        return replace(self, with_dfc={**self.with_dfc, "shaped": shaped}, unshaped=unshaped)

    def fluid_decides(self, hosts: Hosts, factor: float) -> bool:
        """Return whether no packet runs without DFC show the fluid's mean of the target to be wrong by a factor.

        Where hosts are directly in node 1's buffer its bias is known (`bias`), and taken into account.
        """
        if hosts.without == "direct":
            return True
        cells = [self.own[kind].without for kind in hosts.kinds]
        if self.unshaped.packets is not None and not hosts.clocks:
            cells.append(self.unshaped.packets)
        fluid = self.without(hosts).model
        assert fluid is not None
        apart = [np.log(cell.of(hosts).mean.mean() / fluid.of(hosts).mean.mean()) for cell in cells]
        return bool(np.max(np.abs(apart)) < np.log(factor))

    @property
    def worse_on_the_same_host(self) -> Sides[bool]:
        """Whether the target's efficiency is lower with DFC than without, with direct hosts."""
        pairs = zip(self.with_dfc["direct"], self.direct, strict=True)
        return Sides(*(bool(a.target.mean.mean() < b.target.mean.mean()) for a, b in pairs))


@functools.cache
def matrix(name: str) -> Matrix:
    """Return the matrix of a scenario, computed once."""
    study = Study(name)
    fluid = studies.fluid_without_dfc(name, "unshaped")
    unshaped = _cell(Efficiencies.of_fluid(fluid), START, study.part, fluid.lost)
    return Matrix(
        {host: _with_dfc(study, host) for host in HOSTS},
        _without_dfc(study),
        Sides(unshaped, _unshaped_packets(study)),
        study.part,
        studies.bias(name),
        {kind: _own(name, kind, study.part) for kind in KINDS},
    )


def low(matrix: Matrix, hosts: Hosts, level: float) -> Sides[Verdict]:
    """Judge whether the efficiency without DFC ranks below that with DFC.

    The fluid's runs are moved by its bias to either side, and both have to agree.
    """
    verdicts = []
    for dfc, alone, bias in zip(
        matrix.with_dfc[hosts.with_dfc], matrix.without(hosts), (matrix.bias, 0.0), strict=True
    ):
        if alone is None:
            verdicts.append(NONE)
            continue
        high, runs = dfc.of(hosts).mean, alone.of(hosts).mean
        moved = {ranked(high, runs + bias, level), ranked(high, runs - bias, level)}
        verdicts.append(moved.pop() if len(moved) == 1 else Verdict.INCONCLUSIVE)
    return Sides(*verdicts)


def without(matrix: Matrix, hosts: Hosts, judge: Callable[[Swing], Verdict]) -> Sides[Verdict]:
    """Judge the efficiency without DFC; not applicable for packets if there are no packet runs."""
    cells = matrix.without(hosts)
    return Sides(*(judge(cell.of(hosts)) if cell else NONE for cell in cells))


def less_steady(matrix: Matrix, hosts: Hosts, times: float, level: float) -> Sides[Verdict]:
    """Judge whether the standard deviations over time without DFC rank above several times those with DFC."""
    verdicts = []
    for dfc, alone in zip(matrix.with_dfc[hosts.with_dfc], matrix.without(hosts), strict=True):
        if alone is None:
            verdicts.append(NONE)
        else:
            several = times * dfc.of(hosts).absolute
            verdicts.append(ranked(alone.of(hosts).absolute, several, level))
    return Sides(*verdicts)


def of_sources(judgement: Judgement, matrices: Iterable[Matrix], hosts: Hosts, factor: float) -> Judgement:
    """Return what the fluid and the simulators can say on a reading of the hosts.

    The simulators have no clocks. The fluid decides nothing on runs without DFC that packets show to be wrong.
    """
    decides = all(each.fluid_decides(hosts, factor) for each in matrices)

    def one(key: str, sides: Sides[Verdict]) -> Sides[Verdict]:
        if hosts.clocks:
            sides = model_only(sides.model)
        if decides or key in DFC_ALONE:
            return sides
        return sides._replace(model=Verdict.INCONCLUSIVE)

    return {key: one(key, sides) for key, sides in judgement.items()}


def in_own_links(judge: Callable[[str, Hosts], Judgement]) -> ByReading:
    """Return the verdicts of hopflow's packet level on hosts with a link of their own.

    With equal clocks the order of simultaneous events is arbitrary: what is not the same in both is inconclusive.

    Parameters
    ----------
    judge
        The verdicts on the runs of a kind (`Matrix.at_level`), as those of packets.
    """
    found: ByReading = {}
    for name in (OWN_LINK, CLOCKS):
        hosts = READINGS[name]
        each = [judge(kind, hosts) for kind in hosts.kinds]
        found[name] = {}
        for key in each[0]:
            verdicts = {judgement[key].packets for judgement in each}
            found[name][key] = verdicts.pop() if len(verdicts) == 1 else Verdict.INCONCLUSIVE
    return found


def moves(runs: Swing, unstable: float, steady: float, level: float) -> Verdict:
    """Judge whether the runs are unstable on average; that they are steady is the opposite.

    ``steady`` is a fraction of ``unstable``; one is the largest.
    """
    return swings(runs.relative, unstable, min(steady, 1.0) * unstable, level)


def _own(name: str, kind: str, part: float) -> Own:
    alone, dfc = runs_without_dfc(name, kind), runs_with_dfc(name, kind)
    return Own(_cell(dfc[0], SETTLED, part, dfc[1]), _cell(alone[0], START, part, alone[1]))


def _with_dfc(study: Study, host: str) -> Sides[Cell]:
    runs = study.with_dfc(host)
    fluid = studies.fluid_with_dfc(study.name, host, float(runs.packets.time.max()))
    drops = study.rows_with_dfc(host, "flows").groupby("seed")["dropped"].sum()
    losses = fluid.lost, drops.to_numpy(float)
    return Sides(*(_cell(e, SETTLED, study.part, n) for e, n in zip(runs, losses, strict=True)))


def _without_dfc(study: Study) -> Sides[Cell]:
    drops = [table.groupby("seed")["dropped"].sum().to_numpy(float) for table in study.tables_without_dfc("flows")]
    losses = studies.fluid_without_dfc(study.name).lost, np.concatenate(drops)
    pairs = zip(study.without_dfc(), losses, strict=True)
    return Sides(*(_cell(runs, START, study.part, lost) for runs, lost in pairs))


def _unshaped_packets(study: Study) -> Cell | None:
    """Return the packet runs without DFC whose hosts have a link of their own: of scenario 1."""
    if study.name != "1":
        return None
    chosen = {"target_source": "tahoe", "host": "unshaped", "jitter": studies.PACKET_JITTER}
    table, flows = (where(studies.FIFO_IN_NS3, name, **chosen) for name in ("efficiency", "flows"))
    drops = flows.groupby("seed")["dropped"].sum().to_numpy(float)
    return _cell(Efficiencies.of_packets(table), START, study.part, drops)


def _cell(runs: Efficiencies, since: float, part: float, lost: Values) -> Cell:
    return Cell(runs.after(since), runs.of_network(part).after(since), lost)
