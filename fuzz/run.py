"""Coverage-guided fuzzing with atheris. See README.md beside this file.

python fuzz/run.py TARGET [--keep-going FOLDER] [CORPUS_FOLDER] [libFuzzer options]
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pkgutil
import sys
import traceback
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "fuzz")]
os.environ.setdefault("NCCLINIC_STRICT", "1")

with atheris.instrument_imports(include=["assistant"]):
    import assistant.intake
    import assistant.parsers

    for package in (assistant.intake, assistant.parsers):
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
    import fuzz_checks
    import fuzz_seeds

TARGETS = {name: getattr(fuzz_checks, name) for name in ("archive", "parsers", "pickled", "scanner", "text")}


def record(folder: Path, target: str, data: bytes, error: Exception) -> None:
    """Keeps one input for each place that fails; of the parsers' the broken text."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "assistant" in Path(f.filename).parts] or list(frames)
    what = f"{type(error).__name__} {Path(own[-1].filename).name}:{own[-1].lineno}"
    if isinstance(error, AssertionError):
        what += f" {str(error)[:60]}"
    path = folder / f"{target}-{hashlib.sha256(what.encode()).hexdigest()[:12]}"
    if path.exists() and path.stat().st_size <= len(data):
        return
    if not path.exists():
        print(f"\n=== {path.name}: {what}: {str(error)[:200]}", flush=True)
    path.write_bytes(data)
    path.with_suffix(".why").write_text("".join(traceback.format_exception(error)))
    if target == "parsers":
        path.with_suffix(".txt").write_bytes(
            fuzz_seeds.broken(fuzz_seeds.Choices(data)).encode("utf-8", "surrogatepass")
        )


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"usage: run.py {'|'.join(TARGETS)} [--keep-going FOLDER] [CORPUS_FOLDER] [libFuzzer options]")
    name = sys.argv.pop(1)
    check = TARGETS[name]
    kept: Path | None = None
    if sys.argv[1:2] == ["--keep-going"]:
        kept = Path(sys.argv[2])
        kept.mkdir(parents=True, exist_ok=True)
        del sys.argv[1:3]

    def one(data: bytes) -> None:
        try:
            check(data)
        except Exception as error:
            if kept is None:
                raise
            record(kept, name, data, error)

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
