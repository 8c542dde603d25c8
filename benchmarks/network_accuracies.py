"""``python -m benchmarks.network_accuracies``: how far goodput shares are from packets on the networks seen before.

The 24 networks of claim S08 beside ns-2, and the 60 random ones that work on the fluid looked at
(`validation.networks.random_networks.DEVELOPMENT`) beside the packet level, which itself is compared on the first 24 only. It
writes ``dfcmodel/levels/accuracies.csv``, which `dfcmodel.share_intervals` reads. The
30 fresh networks are not looked at: by them the intervals are judged (``python -m benchmarks.fresh_networks``).
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import dfcmodel.levels.accuracies
from dfcmodel.levels.accuracies import Accuracy
from hopflow.progress import progress_bar
from validation.networks.network_comparison import Differences, compare, model_error
from validation.networks.network_runs import LEVELS
from validation.networks.random_networks import DEVELOPMENT
from validation.networks.unseen_networks import NETWORKS, Network

TABLE = Path(dfcmodel.levels.accuracies.__file__).with_name("accuracies.csv")


def networks_of(level: str) -> list[Network]:
    """Return the networks on which a level is compared."""
    known = list(NETWORKS.values())
    return known if level == "packet level" else [*known, *DEVELOPMENT.values()]


def accuracy(level: str, found: Differences) -> Accuracy:
    """Return the accuracy of a level by what was found on the networks."""
    return Accuracy(
        level, len(found.networks), len(found.shares), found.mean_error, found.chance,
        model_error(found),
    )  # fmt: skip


def main() -> None:
    """Compare all levels, and write the table."""
    rows = []
    for level, method in LEVELS.items():
        networks = progress_bar(networks_of(level), desc=level)
        rows.append(accuracy(level, compare(networks, method)))
    table = pd.DataFrame(rows).to_csv(index=False, float_format="%.4f", lineterminator="\n")
    TABLE.write_text(f"# python -m benchmarks.network_accuracies\n{table}", encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
