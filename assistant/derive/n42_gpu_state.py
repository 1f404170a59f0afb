"""GPU clocks, power limits and PCIe links judged over time, against peers and against what the model is built for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial

from assistant.facts import CaseFile, Fact
from knowledge.hardware_tables import find_gpu

Numbers = Callable[[str], dict[tuple[str | None, str], list[Fact]]]
"""Measured values of each GPU for a key, by file."""


def derive(case: CaseFile) -> Iterable[Fact]:
    numbers = cache(partial(_numbers, case))
    yield from _sinking(numbers)
    yield from _application_clock(numbers)
    yield from _low_clock(numbers)
    yield from _power(case, numbers)
    yield from _links(case)


def _numbers(case: CaseFile, key: str) -> dict[tuple[str | None, str], list[Fact]]:
    """Measured values of each GPU, by file."""
    found: dict[tuple[str | None, str], list[Fact]] = {}
    for fact in case.about(key):
        if (
            fact.subject.kind == "gpu"
            and isinstance(fact.value, int | float)
            and fact.origin.kind in ("tool", "log", "probe")
        ):
            found.setdefault((fact.origin.file, fact.subject.name), []).append(fact)
    return found


def _sinking(numbers: Numbers) -> Iterator[Fact]:
    """The clock at the end is far below that of the beginning, while the GPU is busy all the time."""
    utils = numbers("gpu.util")
    for gpu, facts in numbers("gpu.sm_clock_mhz").items():
        clocks = [float(f.value) for f in facts]
        busy = [float(f.value) for f in utils.get(gpu, [])]
        if len(clocks) >= 4 and busy and min(busy) >= 70 and max(clocks[-2:]) < 0.85 * max(clocks[:2]):
            yield Fact(
                "gpu.clock_sinks",
                f"{max(clocks[:2]):g} to {clocks[-1]:g} MHz",
                facts[-1].origin.derived(),
                facts[-1].subject,
            )


def _application_clock(numbers: Numbers) -> Iterator[Fact]:
    defaults = numbers("gpu.app_clock_default_mhz")
    for gpu, facts in numbers("gpu.app_clock_mhz").items():
        default = defaults.get(gpu)
        if default and float(facts[0].value) < 0.9 * float(default[0].value):
            yield Fact("gpu.clock_below_max", True, facts[0].origin.derived(), facts[0].subject)


def _low_clock(numbers: Numbers) -> Iterator[Fact]:
    """Under full load at less than three quarters of the largest clock."""
    tops, utils = numbers("gpu.sm_clock_max_mhz"), numbers("gpu.util")
    for gpu, facts in numbers("gpu.sm_clock_mhz").items():
        top, util = tops.get(gpu), utils.get(gpu)
        if top and util and float(util[0].value) >= 80 and float(facts[0].value) < 0.75 * float(top[0].value):
            yield Fact("gpu.clock_below_max", True, facts[0].origin.derived(), facts[0].subject)


def _power(case: CaseFile, numbers: Numbers) -> Iterator[Fact]:
    names = {f.subject.name: str(f.value) for f in case.about("gpu.name") if f.subject.kind == "gpu"}
    stated = case.best("gpu")
    for (_, name), facts in numbers("gpu.power_cap_w").items():
        named = names.get(name) or (str(stated.value) if stated else "")
        model = find_gpu(named) if named and not re.search(r"(?i)laptop|mobile|max-?q", named) else None
        tdp = model.tdp_w if model else None
        if tdp and 0 < float(facts[0].value) < 0.82 * tdp:
            yield Fact("gpu.power_below_tdp", True, facts[0].origin.derived(), facts[0].subject)


def _links(case: CaseFile) -> Iterator[Fact]:
    """Links below their maximum on some GPUs only, or with a quarter of the lanes."""
    below = [f for f in case.about("gpu.pcie_below_max") if f.origin.kind == "derived"]
    counted = {f.subject.name for f in case.about("gpu.pcie_width_now") + case.about("gpu.pcie_gen_now")}
    some = 0 < len({f.subject.name for f in below}) < len(counted)
    for fact in below:
        narrow = str(fact.value).startswith(("x1 of x16", "x2 of x16", "x4 of x16"))
        if some or narrow:
            yield Fact("gpu.pcie_odd", str(fact.value), fact.origin, fact.subject)
