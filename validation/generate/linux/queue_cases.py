"""Runs of Linux 6.12 through the queue disciplines of its own kernel: three sets of flows over a seen path and three drawn ones.

A discipline stands below a shaper in a namespace that forwards, as in a router (README.md). All flows send packets of 1500 bytes.
``queue_cases.toml`` says which.
"""

from __future__ import annotations

from typing import Any

from validation.generate.case_tables import About, Driver, load
from validation.generate.cases import Case
from validation.generate.linux.output import QUEUE_TABLES, calls, read, simulated_seconds
from validation.generate.linux.program import LinuxKernel
from validation.networks.queue_measures import PACKET, PATHS, PREFIX, SECONDS, SINCE, thresholds

_READ = load(__file__)
USUAL = ("seen", "drawn-1", "drawn-2", "drawn-3")
COMMON = {
    "parameters": {
        "size of the packets": (PACKET, "bytes"),
        "beginning of the measurement of delays": (SINCE, "s"),
        **_READ["parameters"],
    }
}
DRIVER = Driver(*("linux", LinuxKernel(queues=True), calls, read, simulated_seconds, COMMON), _READ["texts"])


def words_of(about: About, rate: float, delay: float) -> str:
    """Return the words of a discipline with the thresholds of a path, whose bytes follow from packets."""
    queue = thresholds(rate, delay)
    sizes = {name: PACKET * queue[name] for name in ("low", "high", "step")}
    words: str = about["words"]
    return words.format(buffer=queue["buffer"], above=sizes["step"] + 1, **sizes)


def runs_of(about: About) -> list[dict[str, Any]]:
    """Return the runs of a discipline."""
    runs: list[dict[str, Any]] = []
    for path in about.get("paths", USUAL):
        rate, delay = PATHS[path]
        link = {"rate": rate, "delay": delay, "seconds": SECONDS, "sample": 0.1, "since": SINCE}
        marks = {"ecn": 1} if about.get("ecn") else {}
        for name, own in _READ[about.get("flows", "flows")].items():
            if name not in about.get("only", [name]):
                continue
            run: dict[str, Any] = {key: tuple(own[key]) for key in ("rules", "starts")}
            run |= {"run": f"{name}-{path}", "discipline": words_of(about, rate, delay)}
            if "message" in own:
                run["messages"] = {len(own["rules"]) - 1: tuple(own["message"])}
            if "far" in own:
                run["extras"] = {own["far"]: 2.0 * delay}
            runs.append({**link, **marks, **run})
    return runs


def a_case(about: About) -> Case:
    """Return the case of a discipline."""
    notes = ("queue", "shaper", "wire", about.get("note", "expected"))
    title = f"Flows of Linux 6.12 through the kernel's queue: {about['title']}, {SECONDS} s"
    name = f"{PREFIX}{about['name']}".removeprefix("linux/")
    found = {**about, "name": name, "title": title, "notes": notes}
    return DRIVER.case(found, runs_of(about), QUEUE_TABLES)


CASES = tuple(a_case(about) for about in _READ["cases"])
