"""GPUs compared with their peers in the same output: load, clock, power, heat, memory, PCIe links against their maximum."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from statistics import median

from assistant.facts import CaseFile, Fact, Origin, Subject

ATTACHMENTS_ONLY = True

Group = tuple[str | None, str | None]
"""File and host: GPUs that were shown together."""

Series = Callable[[str], dict[Group, dict[str, tuple[float, Origin]]]]
"""Medians of the values of each GPU for a key."""


def derive(case: CaseFile) -> Iterable[Fact]:
    series = cache(partial(_series, case))
    yield from _odd_ones(series)
    yield from _busy_and_cool(series)
    yield from _pcie(case, series)
    yield from _power_limit(series)
    yield from _full(series)


def _series(case: CaseFile, key: str) -> dict[Group, dict[str, tuple[float, Origin]]]:
    """Median of the values of each GPU, by the output in which they stand."""
    values: dict[Group, dict[str, list[tuple[float, Origin]]]] = {}
    for fact in case.about(key):
        if (
            fact.subject.kind == "gpu"
            and isinstance(fact.value, int | float)
            and fact.origin.kind in ("tool", "log", "probe")
        ):
            group = (fact.origin.file, fact.subject.name.rpartition(":")[0] or fact.origin.host)
            values.setdefault(group, {}).setdefault(fact.subject.name, []).append((float(fact.value), fact.origin))
    return {g: {n: (_middle(seen), seen[0][1]) for n, seen in gpus.items()} for g, gpus in values.items()}


def _middle(seen: list[tuple[float, Origin]]) -> float:
    return seen[0][0] if len(seen) == 1 else median(v for v, _ in seen)


def _gpu(name: str) -> Subject:
    return Subject("gpu", name)


def _odd_ones(series: Series) -> Iterator[Fact]:
    utils, clocks = series("gpu.util"), series("gpu.sm_clock_mhz")
    powers, temps, used = series("gpu.power_w"), series("gpu.temp_c"), series("gpu.mem_used_mib")
    for group, gpus in {**clocks, **utils, **powers, **temps, **used}.items():
        if len(gpus) < 3:
            continue
        util = utils.get(group, {})
        busy = {n for n, (v, _) in util.items() if v >= 80}
        idle = {n for n, (v, _) in util.items() if v <= 10}
        if len(busy) >= 2 and idle and len(idle) <= len(busy):
            for name in sorted(idle):
                if used.get(group, {}).get(name, (1e9, None))[0] > 600:
                    yield Fact("gpu.idle_among_busy", True, util[name][1].derived(), _gpu(name))
        working = busy or (set(gpus) if not util else set())
        yield from _below(clocks.get(group, {}), working, 0.93, "clock", "MHz")
        yield from _below(powers.get(group, {}), working, 0.65, "power", "W")
        yield from _hotter(temps.get(group, {}), working)
        yield from _fuller(used.get(group, {}))


def _below(
    gpus: dict[str, tuple[float, Origin]], working: set[str], share: float, what: str, unit: str
) -> Iterator[Fact]:
    seen = {n: v for n, v in gpus.items() if n in working and v[0] > 0}
    if len(seen) < 3:
        return
    middle = median(v for v, _ in seen.values())
    low = {n: v for n, v in seen.items() if v[0] < share * middle}
    if what == "power" and middle < 120:
        return
    if low and 3 * len(low) <= len(seen):
        for name, (value, origin) in low.items():
            yield Fact(
                "gpu.odd_one_out", f"{what} {value:g} {unit} (peers {middle:g} {unit})", origin.derived(), _gpu(name)
            )


def _hotter(gpus: dict[str, tuple[float, Origin]], working: set[str]) -> Iterator[Fact]:
    seen = {n: v for n, v in gpus.items() if n in working}
    if len(seen) < 3:
        return
    middle = median(v for v, _ in seen.values())
    for name, (value, origin) in seen.items():
        if value >= 80 and value >= middle + 12:
            yield Fact("gpu.odd_one_out", f"temperature {value:g} C (peers {middle:g} C)", origin.derived(), _gpu(name))


def _fuller(gpus: dict[str, tuple[float, Origin]]) -> Iterator[Fact]:
    active = {n: v for n, v in gpus.items() if v[0] > 1000}
    if len(active) < 3:
        return
    middle = median(v for v, _ in active.values())
    more = {n: v for n, v in active.items() if v[0] > 1.15 * middle and v[0] - middle > 1500}
    if len(more) == 1:
        name, (value, origin) = next(iter(more.items()))
        yield Fact("gpu.odd_one_out", f"memory {value:g} MiB (peers {middle:g} MiB)", origin.derived(), _gpu(name))


def _busy_and_cool(series: Series) -> Iterator[Fact]:
    """Full utilisation at less than 40 % of the power limit: a kernel spins and waits."""
    powers, caps = series("gpu.power_w"), series("gpu.power_cap_w")
    for group, utils in series("gpu.util").items():
        both = [(powers.get(group, {}).get(n), caps.get(group, {}).get(n), v) for n, v in utils.items() if v[0] >= 95]
        known = [(p[0] / c[0], v[1]) for p, c, v in both if p and c and c[0] > 0]
        if known and 2 * len(known) >= len(utils) and max(share for share, _ in known) < 0.4:
            subject = Subject("host", group[1]) if group[1] else Subject()
            yield Fact("gpu.all_busy_low_power", True, known[0][1].derived(), subject)


def _pcie(case: CaseFile, series: Series) -> Iterator[Fact]:
    widths, widest = series("gpu.pcie_width_now"), series("gpu.pcie_width_max")
    gens, highest = series("gpu.pcie_gen_now"), series("gpu.pcie_gen_max")
    utils = series("gpu.util")
    states = {f.subject.name: str(f.value) for f in case.about("gpu.pstate")}
    for group, gpus in {**gens, **widths}.items():
        for name in gpus:
            parts = []
            width, most = widths.get(group, {}).get(name), widest.get(group, {}).get(name)
            gen, top = gens.get(group, {}).get(name), highest.get(group, {}).get(name)
            origin = gpus[name][1]
            if width and most and 0 < width[0] < most[0]:
                parts.append(f"x{width[0]:g} of x{most[0]:g}")
                origin = width[1]
            others = {v[0] for n, v in gens.get(group, {}).items() if n != name}
            loaded = utils.get(group, {}).get(name, (0.0, origin))[0] >= 30 or states.get(name) in ("P0", "P1", "P2")
            if gen and top and gen[0] < top[0] and (loaded or (others and min(others) > gen[0])):
                parts.append(f"gen {gen[0]:g} of {top[0]:g}")
                origin = gen[1]
            if parts:
                yield Fact("gpu.pcie_below_max", ", ".join(parts), origin.derived(), _gpu(name))


def _power_limit(series: Series) -> Iterator[Fact]:
    caps = series("gpu.power_cap_w")
    defaults = series("gpu.power_default_w")
    for group, gpus in caps.items():
        middle = median(v for v, _ in gpus.values())
        for name, (cap, origin) in gpus.items():
            default = defaults.get(group, {}).get(name)
            if (default and cap < 0.95 * default[0]) or (len(gpus) > 2 and cap < 0.9 * middle):
                yield Fact("gpu.power_below_default", True, origin.derived(), _gpu(name))


def _full(series: Series) -> Iterator[Fact]:
    total, used = series("gpu.mem_total_mib"), series("gpu.mem_used_mib")
    for group, gpus in used.items():
        for name, (value, origin) in gpus.items():
            size = total.get(group, {}).get(name)
            if size and size[0] > 0 and value > 0.97 * size[0]:
                yield Fact("gpu.mem_full", True, origin.derived(), _gpu(name))
