"""``hopflow validate --dask``: on the workers of a cluster, and addresses where there is none."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from hopflow.commands import app
from validation.commands import dask_clusters

distributed = pytest.importorskip("distributed", reason="needs hopflow[scale]")


@pytest.mark.slow
def test_claims_are_checked_on_the_workers_of_a_cluster(tmp_path):
    """The same finding as in this process, of a claim that is checked anew."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        on_workers = ["--dask", cluster.scheduler_address, "--fresh"]
        rows = []
        for where in (on_workers, ["--fresh"]):
            command = ["validate", "--claim", "M06", "--json", "--report", str(tmp_path), *where]
            result = CliRunner().invoke(app, command)
            assert result.exit_code == 0, result.output
            rows.append(json.loads(result.stdout))
    assert rows[0] == rows[1]
    assert [row["id"] for row in rows[0]] == ["M06"]


@pytest.mark.slow
def test_a_scheduler_without_workers_is_refused():
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster,
        pytest.raises(typer.BadParameter, match="has no workers; start some: dask worker tcp:"),
    ):
        dask_clusters.connected(cluster.scheduler_address)


def test_an_address_without_a_scheduler_is_refused(monkeypatch, tmp_path):
    """Before anything is written."""
    monkeypatch.setattr(dask_clusters, "ANSWER_TIME", 0.2)
    command = ["validate", "--dask", "tcp://127.0.0.1:9", "--report", str(tmp_path / "report")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2
    said = " ".join(result.output.replace("│", " ").split())
    assert "no scheduler of Dask answers there" in said
    assert not (tmp_path / "report").exists()
