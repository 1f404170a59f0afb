"""Names of the copies: the tree of the input, with names replaced as in its texts."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from assistant.anonymize.common import is_own
from assistant.anonymize.pseudonyms import Pseudonyms
from assistant.anonymize.steps import replace_all
from assistant.intake.names import host_of_name
from assistant.intake.read import STDIN

_PACKED = re.compile(r"\.(?:tar\.(?:gz|bz2|xz|zst)|tgz|tbz2?|txz|tar|zip|gz|bz2|xz|zst)$", re.IGNORECASE)
_PICKLE = re.compile(r"\.(?:pkl|pickle|pt)$", re.IGNORECASE)


class Layout:
    """From the name of a text to the name of its copy."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._roots = sorted(
            {(os.path.normpath(p), _top(p, len(paths) > 1)) for p in paths if p != "-"}, key=lambda r: -len(r[0])
        )
        self._taken: dict[str, int] = {}

    def plain(self, name: str) -> str:
        """The path of a text below the output, before names are replaced."""
        shown = "standard-input" + name[len(STDIN) :] if name.startswith(STDIN) else os.path.normpath(name)
        for root, top in self._roots:
            if shown == root or shown.startswith(root + os.sep):
                below = shown[len(root) :].lstrip(os.sep)
                if below:
                    shown = os.path.join(top, below)
                else:
                    folder = os.path.basename(os.path.dirname(os.path.abspath(root))) if _tells(root) else ""
                    shown = os.path.join(folder, os.path.basename(root))
                break
        steps = [s for s in shown.replace("\\", "/").split("/") if s not in ("", ".", "..")]
        return "/".join(_PACKED.sub("", s) or s for s in steps) or "text"

    def copy(self, name: str, names: Pseudonyms, *, dump: bool = False) -> str:
        """The path of the copy."""
        shown = "/".join(replace_name(step, names) for step in self.plain(name).split("/"))
        if dump:
            shown = _PICKLE.sub("", shown) + ".json"
        count = self._taken[shown] = self._taken.get(shown, 0) + 1
        if count > 1:
            stem, dot, end = shown.rpartition(".")
            shown = f"{stem}.{count}.{end}" if dot else f"{shown}.{count}"
        return shown


def replace_name(step: str, names: Pseudonyms) -> str:
    host = host_of_name(step)
    if host is not None and not is_own(host):
        step = step.replace(host, names.name("host", host) if not re.fullmatch(r"[\d.]+", host) else host)
    return replace_all(step, names)


def _tells(path: str) -> bool:
    """Whether the folder of a file names its host, which its own name does not."""
    return host_of_name(os.path.basename(path)) is None and host_of_name(path) is not None


def _top(path: str, several: bool) -> str:
    """The folder below the output for what stands under this path."""
    real = os.path.normpath(path)
    base = os.path.basename(os.path.abspath(real))
    base = _PACKED.sub("", base) if os.path.isfile(real) else base
    return base if several or host_of_name(base) else ""
