"""The settings (environment variables) of NCCL and its plugins: what they do, and when they harm.

Data: `settings/*.yaml`, one list a file. Read once and kept in the cache in plain form.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from knowledge.load import ROOT, read_cache, write_cache

Effect = Literal["slow", "hang", "crash", "corrupt"]
Scope = Literal["any", "single-node", "multi-node"]
FOLDER = ROOT / "settings"


@dataclass(frozen=True, slots=True)
class Flag:
    """A value that costs something: `value` is a regular expression for the whole value, case-insensitive."""

    value: str
    effect: Effect
    scope: Scope
    """Where it matters: traffic inside a host (single-node), between hosts (multi-node) or both (any)."""
    why: str

    def fits(self, value: str) -> bool:
        return re.fullmatch(self.value, value, re.IGNORECASE) is not None


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable. `match` tells whether it must be alike: all (on all ranks), same, node (on a host's ranks), free."""

    name: str
    default: str
    values: str
    does: str
    match: Literal["all", "same", "node", "free"]
    source: str
    of: str = "NCCL"
    valid: str | None = None
    """Regular expression of values that can be used; None where any text may be right."""
    set_when: str = ""
    harm_when: str = ""
    since: str = ""
    deprecated: str = ""
    removed: str = ""
    """First version that no longer reads it."""
    causes: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = field(default_factory=tuple)

    def flag(self, value: str) -> Flag | None:
        """The first flag that fits the value."""
        return next((flag for flag in self.flags if flag.fits(value.strip())), None)

    def is_valid(self, value: str) -> bool:
        return self.valid is None or re.fullmatch(self.valid, value.strip(), re.IGNORECASE) is not None


def _setting(raw: dict[str, Any]) -> Setting:
    flags = tuple(Flag(**flag) for flag in raw.pop("flags", ()))
    return Setting(**{**raw, "causes": tuple(raw.pop("causes", ())), "flags": flags})


def read_tables(paths: list[Any], name: str) -> Any:
    """The plain content of YAML files, from the cache where none of them has changed."""
    stamp = "".join(f"{p.name}{p.stat().st_size}{p.stat().st_mtime_ns}" for p in paths)
    mark = f"{name}-{hashlib.sha256(stamp.encode()).hexdigest()[:20]}.json"
    raw = read_cache(mark)
    if raw is not None:
        try:
            return json.loads(raw)
        except ValueError:
            pass
    from knowledge.compile import read_yaml

    content = {path.stem: read_yaml(path) for path in paths}
    write_cache(mark, json.dumps(content).encode())
    return content


@cache
def settings() -> dict[str, Setting]:
    """All settings by name. Raises TypeError or ValueError with the name where an entry has wrong fields."""
    found: dict[str, Setting] = {}
    for entries in read_tables(sorted(FOLDER.glob("*.yaml")), "settings").values():
        for raw in entries:
            setting = _setting(dict(raw))
            if setting.name in found:
                raise ValueError(f"the setting {setting.name} stands twice")
            found[setting.name] = setting
    return found
