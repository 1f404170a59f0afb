"""What the name of a file tells: the rank or the host that wrote it."""

from __future__ import annotations

import re

_RANK = re.compile(r"(?:^|[^a-z])(?:global_?)?rank[-_.=]?(\d{1,6})(?!\d)", re.IGNORECASE)
_TASK = re.compile(
    r"^(?:slurm|srun|job|out|log)[-_.](?:\d+)[-_.](?:task[-_]?)?(\d{1,6})\.(?:out|err|log|txt|stdout|stderr)(?:\.\w+)?$",
    re.IGNORECASE,
)
_ELASTIC = re.compile(r"(?:^|/)attempt_\d+/(\d{1,4})/(?:stdout|stderr)\.log$")
#: Flight recorder dumps: the prefix that was set, then the rank.
_DUMP = re.compile(r"(?:^|[_.-])(?:dump|fr_trace|nccl_trace)[_-](\d{1,6})(?:\.(?:json|pkl|pickle))?$")
_KIND = r"(?:node|host|worker|master|slave|launcher|machine|server|compute|pod|vm|vmss|dgx|hgx|nid|cn|gn|cnode|gnode|bnode|trn|head|box|gpu(?=-|_|\d\d)|ip(?=-\d))"
_HOST = re.compile(rf"(?:^|[a-z0-9-]*?-)?{_KIND}[-_]?[a-z]?\d[a-z0-9-]*", re.IGNORECASE)
_ADDRESS = re.compile(r"(?<![\d.])((?:\d{1,3}\.){3}\d{1,3})(?![\d.]*\d)")
_JOIN = re.compile(rf"({_KIND})_(\d+)(?![a-z0-9])", re.IGNORECASE)
_AHEAD = re.compile(
    r"^(?:nccl|ncclinic|log|logs|train|training|slurm|out|output|stdout|stderr|dmesg|topo|debug|console|run)-(?=[a-z])",
    re.IGNORECASE,
)
#: Where bundles keep what was collected on a host.
_CAPTURE = re.compile(r"(?:^|/)captures/([^/]+)/[^/]+")
_RANK_END = re.compile(r"(?<=\w)[-_](?:global_?)?rank[-_]?\d+$", re.IGNORECASE)
_RANK_WORD = re.compile(r"^(?:global)?rank[-_.]?\d", re.IGNORECASE)


def _last(name: str) -> str:
    return name.replace("\\", "/").rsplit("/", 1)[-1]


def rank_of_name(name: str) -> int | None:
    """The rank that the file is named after.

    >>> [rank_of_name(n) for n in ("rank0.log", "logs/rank_12.err", "slurm-123-4.out", "slurm-214.out", "node3.txt")]
    [0, 12, 4, None, None]
    """
    found = (
        _RANK.search(_last(name))
        or _TASK.search(_last(name))
        or _DUMP.search(_last(name))
        or _ELASTIC.search(name.replace("\\", "/"))
    )
    return int(found[1]) if found else None


def counts_on_node(name: str) -> bool:
    """Whether the rank in the name may be that on its node only: torchrun names the folders of its logs so."""
    return _ELASTIC.search(name.replace("\\", "/")) is not None


def host_of_name(name: str) -> str | None:
    """The host that the file or its folder is named after.

    >>> [host_of_name(n) for n in ("node06.txt", "worker-1.log", "gpu-07.nccl.log", "nccl.gpu-07.4211.log", "rank0.log", "run2.log")]
    ['node06', 'worker-1', 'gpu-07', 'gpu-07', None, None]
    """
    captured = _CAPTURE.search(name)
    if captured:
        return captured[1]
    parts = name.replace("\\", "/").rsplit("/", 2)
    return _host_of_part(parts[-1]) or (_host_of_part(parts[-2]) if len(parts) > 1 else None)


def _host_of_part(stem: str) -> str | None:
    found = _ADDRESS.search(stem)
    if found and all(int(part) < 256 for part in found[1].split(".")):
        return found[1]
    for token in re.split(r"[._ @=]+", _JOIN.sub(r"\1~\2", stem)):
        token = _RANK_END.sub("", _AHEAD.sub("", token.replace("~", "_")))
        if _HOST.fullmatch(token) and not _RANK_WORD.match(token):
            return token
    return None
