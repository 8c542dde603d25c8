"""``python -m benchmarks.text_numbers NAME...``: measure again numbers that stand in the text of pages.

Each name is one measurement of some seconds; without names all are run. The pages name them in comments, as ``docs/typed_numbers.py`` says,
which looks for the numbers in the record: ``python -m benchmarks.text_numbers > benchmarks/results/text_numbers.md``.
"""

from __future__ import annotations

import csv
import importlib.metadata
import itertools
import math
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks import uet_agreement
from dfcmodel import (
    DFC,
    FIFO,
    PFC,
    Flow,
    Fluid,
    Link,
    Packets,
    RampMarking,
    RunSettings,
    Scenario,
    chain,
    ensemble,
    simulate,
    takano2006,
)
from dfcmodel.levels.accuracies import measured_accuracies
from hopflow import mbps
from responsefn import CUBIC, DCQCN, FAST, Copa, NewReno, Reno
from validation import load, table
from validation.checks import subjects
from validation.claims import find
from validation.generate.packets import unseen_networks
from validation.generate.programs import Ns2
from validation.networks.network_comparison import compare
from validation.networks.network_runs import fluid
from validation.networks.unseen_networks import NETWORKS

LEVELS: dict[str, Fluid | Packets] = {"fluid": Fluid(), "packets": Packets(seed=1)}


def full_buffer() -> Iterator[str]:
    """Goodput of a flow over three links of 100 Mb/s and 5 ms under DFC whose buffers others fill, packets/s over 40 s."""
    for buffer in (20, 50, 400):
        links = chain(4, rate=mbps(100), delay=5e-3, buffer=buffer, discipline=DFC())
        flows = [Flow("long", (1, 2, 3, 4), NewReno())]
        flows += [Flow(f"hop {n}", (n, n + 1), NewReno()) for n in (1, 2, 3)]
        scenario = Scenario("full buffer", links, flows, duration=40.0)
        rates = (simulate(scenario, method).delivered[0, -1] / 40.0 for method in LEVELS.values())
        yield f"{buffer} packets: " + " and ".join(f"{rate:,.0f}" for rate in rates)


def classic_reno() -> Iterator[str]:
    """Goodput of one flow that repairs losses as Reno does, fluid over packets, by buffer; 24 Mb/s and 40 ms, 80 packets, 60 s."""
    for buffer in (10, 30, 60, 120):
        links = chain(2, rate=mbps(24), delay=0.02, buffer=buffer)
        scenario = Scenario("Reno", links, [Flow("one", (1, 2), Reno())], duration=60.0)
        rates = [simulate(scenario, method, packet_jitter="1pkt").mean_goodput(15.0)[0] for method in LEVELS.values()]
        yield f"{buffer} packets: {100.0 * (1.0 - rates[0] / rates[1]):.0f} % too low"


def small_buffer() -> Iterator[str]:
    """Goodput of one NewReno flow in the fluid over packets, 60 s, by buffer; 1000, 2000 and 8333 packets/s, 20, 40 and 80 ms."""
    for buffers in ((1,), (2, 3, 4, 6, 8)):
        ratios = []
        for buffer, rate, rtt in itertools.product(buffers, (1e3, 2e3, mbps(100)), (0.02, 0.04, 0.08)):
            links = chain(2, rate=rate, delay=0.5 * rtt, buffer=buffer)
            scenario = Scenario("small", links, [Flow("one", (1, 2), NewReno())], duration=60.0)
            fluid_rate, packet_rate = (simulate(scenario, method).mean_goodput(15.0)[0] for method in LEVELS.values())
            ratios.append(fluid_rate / packet_rate)
        yield f"{buffers} packets: {min(ratios):.2f} to {max(ratios):.2f}"


def incast() -> Iterator[str]:
    """Packets dropped in the first example of the README, 7.2 MB in all, and completion times; PFC pauses at 30 kB and resumes at 15 kB."""
    for queue in (FIFO(), PFC(xoff="30kB", xon="15kB")):
        links = [Link(n, "switch", "10Gbps", "1us", "1MB", queue) for n in range(16)]
        links += [Link("switch", "server", "10Gbps", "1us", "1MB", queue)]
        flows = [Flow(f"{n}", (n, "switch", "server"), CUBIC(), size="450kB") for n in range(16)]
        run = simulate(Scenario("incast", links, flows), packet_jitter="1pkt")
        ends = 1e3 * run.finished
        name = type(queue).__name__
        yield f"{name}: {run.lost.sum():.0f} dropped, {ends.min():.1f} to {ends.max():.1f} ms, {(ends > 200.0).sum()} after 200 ms"


def sack_pipe() -> Iterator[str]:
    """CUBIC beside NewReno on 24 Mb/s, 24 ms and 200 packets, 10 s, eight seeds: CUBIC's share of the link."""
    links = chain(2, rate=mbps(24), delay=0.012, buffer=200)
    flows = [Flow("cubic", (1, 2), CUBIC()), Flow("newreno", (1, 2), NewReno())]
    scenario = Scenario("two", links, flows, duration=10.0)
    for name, method in (
        ("fluid", Fluid()),
        ("fluid as packets count", Fluid(pipe="fall1996")),
        ("packets", Packets()),
    ):
        runs = ensemble(scenario, 8, method=method, jitter=0.02, options=RunSettings(packet_jitter="1pkt"))
        yield f"{name}: {runs.mean_goodput(0.0)[:, 0].mean() / mbps(24):.2f}"


def cubic_repairs() -> Iterator[str]:
    """CUBIC alone on 100 Mb/s and 80 ms with a buffer of one bandwidth-delay product, 60 s, by recovery; packets."""
    product = round(mbps(100) * 0.08)
    for recovery in (None, "newreno"):
        links = chain(2, rate=mbps(100), delay=0.04, buffer=product)
        scenario = Scenario("CUBIC", links, [Flow("one", (1, 2), CUBIC())], duration=60.0)
        run = simulate(scenario, Packets(seed=1, recovery=recovery), packet_jitter="1pkt")
        rate = 12e-3 * run.delivered[0, -1] / 60.0
        yield f"{recovery}: {run.timeouts[0]} timeouts, {run.loss_events[0]} loss events, {rate:.0f} Mb/s"


def tahoe_starts() -> Iterator[str]:
    """Share of takano2006/4's background flow under DFC with Tahoe and unshaped hosts, 3 s: one start, and 8 at random."""
    scenario = takano2006("4", host="unshaped")
    for name, method in LEVELS.items():
        one = simulate(scenario, method).mean_efficiency()[1]
        many = [simulate(scenario, method, jitter=1e-3, seed=s).mean_efficiency()[1] for s in range(8)]
        yield (f"{name}: {one:.2f}; " + " ".join(f"{value:.2f}" for value in many) + f"; mean {sum(many) / 8:.2f}")


def dcqcn_queue() -> Iterator[str]:
    """Mean queue of DCQCN senders at 40 Gb/s under RampMarking(5, 200, 0.01), packets of 1000 bytes, and use of the link, from 0.04 s of 0.2."""
    rate = 5e6
    fluids = {f"fluid, {m} steps": Fluid(m) for m in (2, 4, 8)}
    packets = {f"packets, seed {seed}": Packets(seed=seed) for seed in (1, 2, 3)}
    settings: dict[str, tuple[int, str, int, dict[str, Fluid | Packets]]] = {
        "ten": (10, "departure", 1, packets | fluids),
        "two": (2, "departure", 1, {"packets": Packets(seed=1), "fluid": Fluid()}),
        "marks at arrival": (10, "arrival", 1, {"packets": Packets(seed=1), "fluid": Fluid()}),
        "remembers=0": (10, "departure", 0, {"packets": Packets(seed=1), "fluid": Fluid()}),
        "expected marks, ten": (10, "departure", 1, {"fluid": Fluid(marks="expected")}),
        "expected marks, two": (2, "departure", 1, {"fluid": Fluid(marks="expected")}),
    }
    for name, (count, place, remembers, methods) in settings.items():
        links = [Link(f"s{k}", "x", rate, 1e-6, 4000) for k in range(count)]
        links.append(Link("x", "d", rate, 1e-6, 4000, RampMarking(5.0, 200.0, 0.01, at=place)))
        rule = DCQCN(counter=1e4, additive=5e3, hyper=5e4, remembers=remembers)
        flows = [Flow(f"{k}", (f"s{k}", "x", "d"), rule, host="unshaped", start=k * 1e-5) for k in range(count)]
        scenario = Scenario("DCQCN", links, flows, duration=0.2, packet_size=1000)
        for level, method in methods.items():
            run = simulate(scenario, method, sample=1e-4)
            queue = run.queued[-1][run.time > 0.04].mean()
            used = run.mean_goodput(0.04).sum() / rate
            yield f"{name}, {level}: {queue:.1f} packets, {100.0 * used:.1f} %"


def copa_queue() -> Iterator[str]:
    """Mean queue of four Copa flows on 2000 packets/s, 40 ms and a buffer of 2000 packets after 20 s of 60, packets."""
    for rule in (Copa(), Copa(competitive=0), Copa(voted=1)):
        links = [Link("in", "out", 2000.0, 0.02, 2000)]
        flows = [Flow(f"{n}", ("in", "out"), rule, start=0.1 * n) for n in range(4)]
        run = simulate(Scenario("Copa", links, flows, duration=60.0), Packets(seed=1))
        yield f"{rule!r}: {run.queued[0][run.time > 20.0].mean():,.0f}"


def fast_after_overshoot() -> Iterator[str]:
    """Rates of two FAST flows on 120 Mb/s, 60 ms and 600 packets, Mb/s from 20 s of 60."""
    links = [Link("in", "out", "120Mbps", "30ms", 600)]
    flows = [Flow(f"{n}", ("in", "out"), FAST(), start=0.1 * n) for n in range(2)]
    run = simulate(Scenario("FAST", links, flows, duration=60.0), Packets(seed=1))
    yield " and ".join(f"{12e-3 * rate:.0f}" for rate in run.mean_goodput(20.0))


def cubic_overshoot() -> Iterator[str]:
    """Packets that CUBIC loses on the chain of 20 nodes of S08, four seeds, over ns-2's: fluid, and packets by recovery."""
    network = NETWORKS["chain-20"]
    methods: dict[str, Callable[..., Fluid | Packets]] = {"fluid": fluid}
    methods |= {str(name): lambda _, name=name: Packets(recovery=name) for name in ("sack", "prr", "rack")}
    for name, method in methods.items():
        (row,) = compare([network], method, (1, 2, 3, 4)).networks.to_dict("records")
        yield f"{name}: {row['ratio']:.2f} of {row['lost']:,.0f}"
    linux = [replace(flow, stack="linux-6.12") for flow in network.scenario.flows]
    stack = replace(network, scenario=replace(network.scenario, flows=linux))
    (row,) = compare([stack], lambda _: Packets(), (1, 2, 3, 4)).networks.to_dict("records")
    yield f"stack of Linux 6.12: {row['ratio']:.2f}"


def repeats_in_ns2() -> Iterator[str]:
    """Losses of the first CUBIC flow on the same chain in ns-2's first run, and how often one packet is among them."""
    network = NETWORKS["chain-20"]
    (words,) = unseen_networks.calls({"network": network.name, "seed": 1})
    with tempfile.TemporaryDirectory() as folder:
        Ns2("generic_network.tcl").run(words, Path(folder))
        lines = (Path(folder) / "drops.txt").read_text(encoding="utf-8").splitlines()
    drops = [line.split() for line in lines]
    losses = Counter(words[10] for words in drops if words[7] == "0")  # by sequence number
    yield f"{losses.total()} losses of {len(losses)} packets, one of them {max(losses.values())} times"


def scenario_5() -> Iterator[str]:
    """CPU time of the fluid for 3 s of scenario 5 of takano2006, 30 nodes, with Tahoe, Reno and NewReno, with and without DFC; the shortest of three."""
    times = []
    for tcp, dfc in itertools.product(("tahoe", "reno", "newreno"), (True, False)):
        scenario = takano2006("5", tcp=tcp, dfc=dfc)
        simulate(scenario, Fluid(), duration=3.0)  # compiled before it is timed
        runs = []
        for _ in range(3):
            start = time.process_time()
            simulate(scenario, Fluid(), duration=3.0)
            runs.append(time.process_time() - start)
        times.append(min(runs))
    bound = next(bound for bound in (0.1, 0.2, 0.5, 1.0, math.inf) if max(times) < bound)
    yield f"{len(times)} runs, each less than {bound} s"


def tahoe_over_30_nodes() -> Iterator[str]:
    """Throughput over link rate of one Tahoe connection over 30 nodes without DFC, from 0.1 to 0.5 s: runs of ns-2, and of hopflow's packets."""
    part = {"flow": "target", "time": slice(0.1, 0.5)}
    ns2 = load("takano2006/scenario-4-without-dfc").efficiency.sel(part).mean("time").to_numpy()
    run = simulate(takano2006("4", dfc=False), duration=0.5, level="packets")
    yield f"ns-2, {len(ns2)} runs: {ns2.min():.2f} to {ns2.max():.2f}"
    yield f"packets: {float(run.efficiency.sel(part).mean()):.2f}"


def vegas_without_dfc() -> Iterator[str]:
    """Throughput over link rate of both flows of takano2006/4V without DFC, 3 s: hopflow, and the mean of ns-2's runs."""
    scenario = takano2006("4V", dfc=False)
    for name, method in LEVELS.items():
        yield f"{name}: " + " and ".join(f"{value:.3f}" for value in simulate(scenario, method).mean_efficiency())
    ns2 = load("takano2006/scenario-4v-without-dfc").efficiency.mean(["seed", "time"])
    yield "ns-2: " + " and ".join(f"{float(ns2.sel(flow=flow.name)):.3f}" for flow in scenario.flows)


def both_directions() -> Iterator[str]:
    """Goodput of NewReno flows that fill both directions of a link, fluid over packets, 60 s; 1000 to 8333 packets/s, 20 to 80 ms, by buffer."""
    for buffer in (10, 20, 50, 100):
        ratios = []
        for rate, rtt in itertools.product((1e3, 2e3, mbps(100)), (0.02, 0.04, 0.08)):
            links = Link(1, 2, rate, 0.5 * rtt, buffer), Link(2, 1, rate, 0.5 * rtt, buffer)
            flows = Flow("there", (1, 2), NewReno()), Flow("back", (2, 1), NewReno())
            scenario = Scenario("both directions", links, flows, duration=60.0)
            rates = [simulate(scenario, m, packet_jitter="1pkt").mean_goodput(15.0).mean() for m in LEVELS.values()]
            ratios.append(rates[0] / rates[1])
        yield f"{buffer} packets: {min(ratios):.2f} to {max(ratios):.2f}"


def sprayed_permutation() -> Iterator[str]:
    """When the last flow of a sprayed permutation under NSCC is complete, over the time in the consortium's htsim, by recovery."""
    runs = [
        run for run in table(uet_agreement.CASE, "runs")["run"] if "permutation" in run and run.startswith("NSCC, ")
    ]
    for name, recovery in (("sack", "sack"), ("RackRecovery(reordering=4, reordering_seen=1)", uet_agreement.PATIENT)):
        rows = [uet_agreement.row_of(run, recovery)["last"] for run in runs]
        ratios = [ours / theirs for ours, theirs in rows]
        yield f"{name}: {min(ratios):.2f} to {max(ratios):.2f} in {len(ratios)} runs"


def pie_signals() -> Iterator[str]:
    """Drops of Linux's PIE, fewer than those of hopflow's in per cent, over the paths of `benchmarks.linux_queues`, by flows."""
    with (Path(__file__).parent / "results" / "linux_queues.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["discipline"] == "pie" and row["quantity"] == "signals"]
    for flows in ("one", "mixed", "seven"):
        fewer = [100.0 * (1.0 - float(r["linux"]) / float(r["hopflow"])) for r in rows if r["run"].startswith(flows)]
        yield f"{flows}, {len(fewer)} paths: {min(fewer):.0f} to {max(fewer):.0f} %"


def covered_intervals() -> Iterator[str]:
    """Intervals of 95 % of a share of goodput that contain ns-2's, of the networks of S08 that were set aside: by chance, and with the error of the model."""
    find("S08")  # registers its subject
    aside = subjects()["S08"].measured().aside
    with_error = aside.covered(measured_accuracies()["fluid"].half_width)
    yield f"by chance: {aside.inside.sum()} of {len(aside.inside)}"
    yield f"with the error of the model: {with_error.sum()} of {len(with_error)}"


def installation() -> Iterator[str]:
    """Packages that hopflow needs, hopflow among them, and the sizes of their files here, with and without JAX, SymPy and networkx."""
    light = {
        re.split(r"[<>=]", line)[0]
        for line in Path("requirements-light.txt").read_text().splitlines()
        if line[:1] not in {"", "#"}
    }
    sizes = {name: _size(name) for name in _needed("hopflow")}
    small = {"hopflow", *itertools.chain.from_iterable(map(_needed, light))}
    for title, names in (("all", set(sizes)), ("light", small)):
        yield f"{title}: {len(names)} packages, {sum(sizes[name] for name in names) / 1e9:.1f} GB"
    yield f"jaxlib: {sizes['jaxlib'] / 1e9:.1f} GB"


def _needed(name: str) -> set[str]:
    """Return the names of a distribution and of all that it needs here, extras left out."""
    names: set[str] = set()
    waiting = [name]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in names:
            continue
        names.add(name)
        for text in importlib.metadata.requires(name) or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return names


def _size(name: str) -> int:
    """Return the bytes of the files of a distribution; of hopflow, of its packages here."""
    if name == "hopflow":
        packages = ("hopflow", "responsefn", "markov", "dfcmodel", "validation")
        files = [path for package in packages for path in Path(package).rglob("*") if "__pycache__" not in path.parts]
    else:
        files = [Path(str(path.locate())) for path in importlib.metadata.files(name) or ()]
    return sum(path.stat().st_size for path in files if path.is_file())


MEASUREMENTS = {
    function.__name__.replace("_", "-"): function
    for function in (
        full_buffer, classic_reno, small_buffer, incast, sack_pipe, cubic_repairs, tahoe_starts, dcqcn_queue, copa_queue, fast_after_overshoot, cubic_overshoot,
        repeats_in_ns2, scenario_5, tahoe_over_30_nodes, vegas_without_dfc, both_directions, sprayed_permutation, pie_signals, covered_intervals, installation,
    )
}  # fmt: skip


def main(names: list[str]) -> None:
    """Print each measurement with what it is."""
    for name in names or MEASUREMENTS:
        if name not in MEASUREMENTS:
            raise SystemExit(f"{name!r}: must be one of {', '.join(MEASUREMENTS)}")
        sys.stdout.write(f"## {name}\n\n{MEASUREMENTS[name].__doc__}\n\n")
        for line in MEASUREMENTS[name]():
            sys.stdout.write(f"- {line}\n")
            sys.stdout.flush()
        sys.stdout.write("\n")


if __name__ == "__main__":
    main(sys.argv[1:])
