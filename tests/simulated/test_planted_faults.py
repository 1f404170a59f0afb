"""Jobs of 64 to 4,096 ranks with one fault each: it is found, its rank or host is named, and nobody else is."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from assistant.diagnosis.diagnose import Diagnosis, diagnose
from assistant.facts import CaseFile
from assistant.gather import gather
from assistant.intake.read import read_inputs
from assistant.triage import complete
from knowledge.load import Knowledge
from tests.simulated import forms, training
from tests.simulated.faults import Fault, healthy, plant

ALL = ("rank-file", "host-rank", "attempt", "nccl-file", "slurm", "torchrun-rank", "torchrun-node", "mpirun")


def found_in(kb: Knowledge, paths: Iterable[str]) -> tuple[CaseFile, Diagnosis]:
    case = complete(gather(kb, read_inputs(list(paths), None), workers=1), kb, (), ())
    return case, diagnose(case, kb)


def told(found: Diagnosis) -> str:
    return "; ".join(
        f"{f.id} {f.probability:.2f} hosts {f.where.hosts[:9]} ranks {f.where.ranks[:9]} by {[e.rule for e in f.evidence[:4]]}"
        for f in found.findings[:3]
    )


#: Faults by which no log of a rank comes about, and forms in which that may as well mean that it was not handed over.
ABSENT = ("missing-rank", "missing-host")
APART = ("rank-file", "attempt", "nccl-file")


def check(fault: Fault, found: Diagnosis, certain: bool = True) -> None:
    assert found.findings, "nothing was found"
    first = found.findings[0]
    assert first.id in fault.causes, told(found)
    assert found.verdict == ("problem" if fault.certain and certain else "inconclusive"), told(found)
    if fault.hosts is not None:
        assert set(first.where.hosts) == fault.hosts, told(found)
    if fault.ranks is not None:
        assert set(first.where.ranks) == fault.ranks, told(found)
    guilty = {fault.job.host(r) for r in fault.ranks or ()} | (fault.hosts or frozenset())
    if guilty:
        assert set(first.where.hosts) <= guilty, told(found)
    if fault.hosts:
        assert {fault.job.host(r) for r in first.where.ranks} <= fault.hosts, told(found)


def odd_facts(case: CaseFile) -> list[str]:
    return [f"{f.key} {f.subject}: {f.value}" for f in case.facts if f.key.startswith(("odd.", "outlier."))]


#: Each fault in several forms and versions of NCCL's lines. Its first form is one file a rank.
PLANTED = [
    *((name, form, version) for name in ("docker-interface", "other-subnet") for form, version in (("rank-file", "2.27"), ("slurm", "2.21"), ("nccl-file", "2.18"), ("torchrun-node", "2.29"))),
    *((name, form, version) for name in ("rank-on-sockets", "host-on-sockets") for form, version in (("host-rank", "2.27"), ("mpirun", "2.18"), ("nccl-file", "2.29"), ("torchrun-rank", "2.21"))),
    *(("older-nccl", form, version) for form, version in (("rank-file", "2.27"), ("slurm", "2.29"), ("nccl-file", "2.27"))),
    *(("older-driver", form, version) for form, version in (("attempt", "2.27"), ("torchrun-rank", "2.18"), ("nccl-file", "2.21"))),
    *((name, form, version) for name in ("missing-rank", "missing-host") for form, version in (("rank-file", "2.27"), ("slurm", "2.18"), ("nccl-file", "2.21"), ("attempt", "2.29"))),
    *(("exception-in-start-up", form, version) for form, version in (("rank-file", "2.27"), ("slurm", "2.21"), ("attempt", "2.18"), ("torchrun-rank", "2.29"))),
    *(("late-rank-torch", form, "2.27") for form in ("rank-file", "slurm", "mpirun")),
    *(("late-rank-megatron", form, "2.27") for form in ("host-rank", "torchrun-rank", "attempt-by-node")),
    *((name, form, version) for name in ("stuck-rank", "rank-behind", "mismatched-collective") for form, version in (("rank-file", "2.27"), ("slurm", "2.21"), ("torchrun-rank", "2.29"))),
    *((name, form, version) for name in ("odd-call", "odd-count", "stops-early") for form, version in (("rank-file", "2.27"), ("nccl-file", "2.21"), ("slurm", "2.29"))),
    *((name, form, version) for name in ("dead-rail", "port-error", "slow-rail") for form, version in (("rank-file", "2.27"), ("torchrun-node", "2.21"), ("mpirun", "2.29"))),
    *(("no-gpudirect", form, version) for form, version in (("rank-file", "2.27"), ("slurm", "2.18"), ("nccl-file", "2.29"))),
    *((name, form, version) for name in ("odd-algorithm", "odd-protocol", "odd-channels") for form, version in (("rank-file", "2.27"), ("torchrun-node", "2.21"))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "form", "version"), PLANTED)
def test_one_fault_in_64_ranks(name: str, form: str, version: str, kb: Knowledge, tmp_path: Path) -> None:
    fault = plant(name, form=version)
    check(fault, found_in(kb, forms.write(fault.job, form, tmp_path))[1], name not in ABSENT or form not in APART)


@pytest.mark.parametrize(
    ("name", "form", "version"),
    [("plain", form, version) for form, version in zip(ALL, ("2.27", "2.18", "2.21", "2.29") * 2, strict=True)]
    + [(name, form, "2.27") for name in ("two-generations", "noise", "spare-adapter", "ends-apart") for form in ("rank-file", "slurm")],
)  # fmt: skip
def test_nothing_is_invented(name: str, form: str, version: str, kb: Knowledge, tmp_path: Path) -> None:
    case, found = found_in(kb, forms.write(healthy(name, form=version), form, tmp_path))
    odd = odd_facts(case)
    if name == "spare-adapter":
        odd = [f for f in odd if "hca" not in f]
    assert odd == []
    assert found.verdict != "problem", told(found)


def test_a_gpu_fault_among_512_kernel_logs(kb: Knowledge, tmp_path: Path) -> None:
    paths = []
    for node in range(512):
        host = f"gpu-{node:04d}"
        path = tmp_path / f"dmesg-{host}.log"
        path.write_text(training.kernel_log(host, 79 if node == 301 else None))
        paths.append(str(path))
    first = found_in(kb, paths)[1].findings[0]
    assert (first.id, first.where.hosts) == ("gpu.fault", ["gpu-0301"])


#: Of many ranks: a fault, the form of the logs, and the number of nodes.
MANY = [
    ("plain", "rank-file", 64),
    ("plain", "torchrun-node", 512),
    ("docker-interface", "rank-file", 64),
    ("docker-interface", "torchrun-node", 512),
    ("missing-rank", "rank-file", 512),
    ("missing-rank", "slurm", 64),
    ("stuck-rank", "torchrun-rank", 64),
    ("stuck-rank", "slurm", 512),
]


@pytest.mark.parametrize(("name", "form", "nodes"), MANY)
def test_many_ranks(name: str, form: str, nodes: int, kb: Knowledge, tmp_path: Path) -> None:
    fault = Fault(healthy(name, nodes), ()) if name == "plain" else plant(name, nodes)
    fault.job.channels, fault.job.steps = (2, 4) if nodes < 512 else (1, 2)
    case, found = found_in(kb, forms.write(fault.job, form, tmp_path))
    if name == "plain":
        assert odd_facts(case) == []
        assert found.verdict != "problem", told(found)
    else:
        check(fault, found, name not in ABSENT or form not in APART)
