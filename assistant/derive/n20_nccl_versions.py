"""Which known defects of the NCCL version in use fit what is set, said and seen."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from assistant.facts import CaseFile, Fact, Origin
from knowledge.hardware_tables import FOLDER
from knowledge.settings_table import read_tables

#: NCCL of PyTorch's own wheels, by PyTorch version.
WHEELS = {
    (1, 7): "2.7.8", (1, 8): "2.7.8", (1, 9): "2.7.8", (1, 10): "2.10.3", (1, 11): "2.10.3", (1, 12): "2.10.3",
    (1, 13): "2.14.3", (2, 0): "2.14.3", (2, 1): "2.18.1", (2, 2): "2.19.3", (2, 3): "2.20.5", (2, 4): "2.20.5",
    (2, 5): "2.21.5", (2, 6): "2.21.5", (2, 7): "2.26.2", (2, 8): "2.27.3", (2, 9): "2.27.5",
}  # fmt: skip


@cache
def _defects() -> list[dict[str, Any]]:
    path = FOLDER / "nccl_regressions.yaml"
    found: list[dict[str, Any]] = read_tables([path], "regressions")[path.stem]
    return found


def derive(case: CaseFile) -> Iterable[Fact]:
    versions = versions_of(case)
    if not versions:
        return
    symptom = str(case.value("symptom") or "")
    words = "\n".join([*case.says, *(str(f.value) for f in case.about("stack.function"))])
    for defect in _defects():
        if symptom and symptom != "question" and symptom not in defect["symptom"]:
            continue
        if any(_numbers(defect["since"]) <= _numbers(v) < _numbers(defect["fixed"]) for v in versions) and _fits(
            case, defect["needs"], words
        ):
            yield Fact(
                "nccl.regression",
                f"{defect['what']} (fixed in {defect['fixed']})",
                Origin("derived", quote=defect["source"]),
            )


def versions_of(case: CaseFile) -> list[str]:
    """Versions of NCCL that are logged or stated, or that come with the stated PyTorch."""
    found = [
        str(f.value) for key in ("nccl_version", "nccl") for f in case.about(key) if re.match(r"\d+\.\d", str(f.value))
    ]
    if not found:
        for key in ("torch_version", "torch"):
            for fact in case.about(key):
                number = re.match(r"(\d+)\.(\d+)", str(fact.value))
                if number and (int(number[1]), int(number[2])) in WHEELS:
                    found.append(WHEELS[int(number[1]), int(number[2])])
    return list(dict.fromkeys(found))


def _fits(case: CaseFile, needs: dict[str, Any], words: str) -> bool:
    for name, pattern in needs.get("env", {}).items():
        set_to = [str(f.value) for f in case.about(f"env.{name}")]
        said = re.search(rf"\b{name} ?= ?(?:{pattern})", words)
        if not said and not any(re.fullmatch(pattern, value) for value in set_to):
            return False
    for key, value in needs.get("fact", {}).items():
        if not any(f.value == value for f in case.about(key)):
            return False
    gpu = " ".join(str(f.value) for key in ("gpu", "gpu_family") for f in case.about(key))
    if "gpu" in needs and not re.search(needs["gpu"], f"{gpu} {words}", re.IGNORECASE):
        return False
    return "says" not in needs or re.search(needs["says"], words, re.IGNORECASE) is not None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", text)[:3])
