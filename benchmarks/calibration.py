"""Do the probabilities mean what they say? Usage: python benchmarks/calibration.py CASES_FOLDER [FOLDER ...]

Prints, for each band of the first cause's probability, how often the first cause was right.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import yaml

from assistant.diagnosis.diagnose import diagnose
from assistant.triage import triage_paths
from knowledge.load import knowledge

BANDS = (0.0, 0.3, 0.5, 0.7, 0.85, 0.95, 1.01)


def main(folders: list[str]) -> None:
    kb = knowledge()
    rows: list[tuple[float, bool]] = []
    for folder in folders:
        for path in sorted(Path(folder).glob("*/case.yaml")):
            case = yaml.safe_load(path.read_text())
            truth = case["truth"]["causes"]
            stated = [(k, str(v)) for k, v in (case.get("facts") or {}).items()]
            attached = [str(path.parent / a) for a in case.get("attachments") or []]
            known = triage_paths(kb, attached, says=[case["say"].strip()] if case.get("say") else [], stated=stated)
            found = diagnose(known, kb)
            if found.verdict == "healthy" and found.healthy is not None:
                rows.append((found.healthy.probability, truth[0] == "healthy"))
            elif found.findings:
                rows.append((found.findings[0].probability, found.findings[0].id in truth))
    print("probability   cases   mean said   right")
    for low, high in itertools.pairwise(BANDS):
        band = [(p, right) for p, right in rows if low <= p < high]
        if band:
            said, right = (sum(x) / len(band) for x in zip(*band, strict=True))
            print(f"{low:4.2f} - {min(high, 1):4.2f}   {len(band):5}   {said:9.2f}   {right:5.2f}")
    if rows:
        brier = sum((p - right) ** 2 for p, right in rows) / len(rows)
        print(f"cases {len(rows)}   Brier score {brier:.3f}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
