"""Reads all inputs of a triage into a case file: batch by batch, on all cores where there is much to read.

Files are put into batches in the order of their names, and what a batch yields does not depend on who reads it, so that the
answer is the same on any number of cores.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from assistant.facts import CaseFile, Input
from assistant.intake.batch import WHOLE, Batch
from assistant.intake.document import Document
from assistant.intake.scan import scanner_for
from assistant.intake.source import Source
from assistant.parsers import parse_each
from assistant.progress import Progress, silent
from knowledge.load import Knowledge

#: Bytes and files of one batch, and of the first one, from which is learned what is common in these inputs.
BATCH = 64 << 20
FILES = 48
FIRST = 32 << 20
FIRST_FILES = 9
#: Bytes and files from which further processes are worth their start.
MANY = 24 << 20
FEW = 100
_TICK = 0.1


def add_document(case: CaseFile, kb: Knowledge, document: Document, batch: Batch | None = None) -> list[str]:
    """Scans and parses one text into the case file. Returns the names of the sources recognised in it."""
    found = scanner_for(kb.fingerprint).scan(document, case.hits, batch.everywhere if batch is not None else None)
    asked = batch.worth_asking(document.name, found) if batch is not None else list(found)
    yielded: list[str] = []
    kinds: list[str] = []
    for module, kind, facts in parse_each(document, asked):
        case.add(facts)
        kinds.append(kind)
        yielded.append(module)
    if batch is not None:
        batch.asked(document.name, asked, yielded)
    return kinds


def add_source(
    case: CaseFile, kb: Knowledge, source: Source, batch: Batch | None = None, progress: Progress = silent
) -> None:
    """Reads one input to its end into the case file, chunk by chunk; with a `batch`, large texts are skimmed."""
    kinds: dict[str, list[str]] = {}
    source.progress = progress
    for document in source.documents(batch):
        known = kinds.setdefault(document.name, [])
        known += [kind for kind in add_document(case, kb, document, batch) if kind not in known]
    for record in source.inputs:
        if kinds.get(record.path):
            record.kind = ", ".join(kinds[record.path])
        if record.dropped:
            scanner_for(kb.fingerprint).add_counts(record.dropped, case.hits)
        case.inputs.append(record)


def gather(
    kb: Knowledge, sources: Sequence[Source], progress: Progress = silent, workers: int | None = None
) -> CaseFile:
    """The case file of all sources. What could not be read stands in their notes and errors.

    `workers`: processes to read with; None is as many as there are cores, where it is worth it."""
    with _without_collection():
        return _gather(kb, sources, progress, workers)


def _gather(kb: Knowledge, sources: Sequence[Source], progress: Progress, workers: int | None) -> CaseFile:
    case = CaseFile()
    scanner = scanner_for(kb.fingerprint)
    size = sum(source.size for source in sources)
    if scanner.engine != "hyperscan" or scanner.once is None:
        _take(case, sources, _read(kb, sources, None, progress))
        return case
    batch = Batch(scanner.needles, scanner.once, large=size > WHOLE)
    if size <= MANY and len(sources) <= FEW:
        _take(case, sources, _read(kb, sources, batch, progress))
        return case
    first, *batches = _batches(sources)
    _take(case, first, _read(kb, first, batch, progress))
    if not batches:
        return case
    later = batch.after(scanner.tired(case.hits))
    if workers is None:
        workers = min(cores(), len(batches))
    if workers > 1 and threading.active_count() == 1 and hasattr(os, "fork"):
        for group, result in zip(batches, _forked(kb, batches, later, progress, workers), strict=True):
            _take(case, group, result)
        return case
    for group in batches:
        _take(case, group, _read(kb, group, later.again(), progress))
    return case


@contextmanager
def _without_collection() -> Iterator[None]:
    """Reading makes many objects and no cycles: the collector would only look at them again and again."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


@dataclass
class _Result:
    """What one batch yields; `states` are (notes, inputs, error) of each source."""

    case: CaseFile
    states: list[tuple[list[str], list[Input], str | None]] = field(default_factory=list)


def _batches(sources: Sequence[Source]) -> Iterator[list[Source]]:
    group: list[Source] = []
    size = 0
    most, files = FIRST, FIRST_FILES
    for source in sources:
        if group and (size + source.size > most or len(group) >= files):
            yield group
            group, size = [], 0
            most, files = BATCH, FILES
        group.append(source)
        size += source.size
    if group:
        yield group


def _read(kb: Knowledge, group: Iterable[Source], batch: Batch | None, progress: Progress) -> _Result:
    result = _Result(CaseFile())
    for source in group:
        add_source(result.case, kb, source, batch, progress)
        result.states.append((source.notes, source.inputs, source.error))
    return result


def _take(case: CaseFile, group: Sequence[Source], result: _Result) -> None:
    case.join(result.case)
    for source, (notes, inputs, error) in zip(group, result.states, strict=True):
        source.notes, source.inputs, source.error = notes, inputs, error


#: What a forked process finds of its parent: sources hold functions, which can't be sent.
_shared: dict[str, Any] = {}


def _forked(
    kb: Knowledge, batches: list[list[Source]], batch: Batch, progress: Progress, workers: int
) -> Iterator[_Result]:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, wait

    with _sharing(kb=kb, batches=batches, batch=batch, progress=progress):
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(workers, mp_context=context) as pool:
            for future in [pool.submit(_one, number) for number in range(len(batches))]:
                while not wait((future,), timeout=_TICK).done:
                    progress.tick()
                yield future.result()


@contextmanager
def _sharing(**values: Any) -> Iterator[None]:
    _shared.update(values)
    try:
        yield
    finally:
        _shared.clear()


def _one(number: int) -> _Result:
    return _read(_shared["kb"], _shared["batches"][number], _shared["batch"].again(), _shared["progress"])
