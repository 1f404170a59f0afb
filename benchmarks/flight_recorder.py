"""Guilty ranks named in folders of flight recorder dumps: python benchmarks/flight_recorder.py FOLDER...

A folder holds dumps, or .tar.xz sets of dumps, or folders of them. The truth is in `truth.yaml` beside the dumps
(`guilty: [3]`), or in a README.md with a table whose rows are | folder | fault | guilty ranks |.
"""

from __future__ import annotations

import re
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from assistant.derive.n55_flight_recorder import derive
from assistant.facts import CaseFile
from assistant.intake.document import Document
from assistant.intake.flight_dump import dump_to_json
from assistant.parsers.flight_recorder import parse

_ROW = re.compile(r"^\|\s*`?([\w.-]+)`?\s*\|([^|]*)\|\s*([\d,\s]+|none)\s*\|", re.MULTILINE)


@dataclass
class Result:
    name: str
    guilty: set[int] | None
    """None: the truth is not known."""
    named: dict[int, str]

    @property
    def missed(self) -> set[int]:
        return (self.guilty or set()) - set(self.named)

    @property
    def innocent(self) -> set[int]:
        return set() if self.guilty is None else set(self.named) - self.guilty


def analyse(dumps: dict[str, bytes]) -> dict[int, str]:
    """Guilty ranks with the rule that named them."""
    case = CaseFile()
    for name, data in sorted(dumps.items()):
        text = dump_to_json(data, name)
        if text is not None:
            case.add(parse(Document(name, text)))
    return {int(f.subject.name): str(f.value) for f in derive(case) if f.key == "fr.guilty_rank"}


def sets(folder: Path) -> Iterator[tuple[str, dict[str, bytes], set[int] | None]]:
    """(name, dumps, guilty ranks) of each set in a folder."""
    for packed in sorted(folder.rglob("*.tar.xz")):
        with tarfile.open(packed) as archive:
            files = {m.name: f.read() for m in archive if m.isfile() and (f := archive.extractfile(m)) is not None}
        yield packed.name.removesuffix(".tar.xz"), files, _truth(files.pop("truth.yaml", None))
    for inner in sorted({p.parent for p in folder.rglob("*") if p.is_file()}):
        files = {
            p.name: p.read_bytes() for p in inner.iterdir() if p.is_file() and not p.name.endswith((".tar.xz", ".md"))
        }
        truth = _truth(files.pop("truth.yaml", None))
        if truth is None:
            truth = _table(inner)
        if any(dump_to_json(data, name) for name, data in list(files.items())[:8]):
            yield inner.name, files, truth


def _truth(raw: bytes | None) -> set[int] | None:
    return None if raw is None else {int(r) for r in yaml.safe_load(raw)["guilty"]}


def _table(folder: Path) -> set[int] | None:
    for readme in (folder / "README.md", folder.parent / "README.md"):
        if readme.is_file():
            for row in _ROW.finditer(readme.read_text()):
                if row[1] == folder.name:
                    return {int(n) for n in re.findall(r"\d+", row[3])}
    return None


def main() -> int:
    results = [Result(n, t, analyse(d)) for folder in sys.argv[1:] for n, d, t in sets(Path(folder))]
    for r in results:
        named = ", ".join(f"{n} ({rule})" for n, rule in sorted(r.named.items())) or "none"
        wrong = "".join(
            f"  {what}: {sorted(who)}" for what, who in (("MISSED", r.missed), ("INNOCENT", r.innocent)) if who
        )
        print(f"{r.name}: {named}{wrong}")
    known = [r for r in results if r.guilty is not None]
    total = sum(len(r.guilty or ()) for r in known)
    print(
        f"{len(known)} sets with truth: {total - sum(len(r.missed) for r in known)} of {total} guilty ranks named, {sum(len(r.innocent) for r in known)} innocent"
    )
    return 0 if results else 2


if __name__ == "__main__":
    sys.exit(main())
