"""Environment variables as set in scripts, commands, manifests and code, and as dumped by `env`.

export NCCL_SOCKET_IFNAME=eth0
mpirun -x NCCL_IB_DISABLE=1 ...        docker run -e NCCL_DEBUG=INFO ...
- name: NCCL_DEBUG                      os.environ["NCCL_P2P_DISABLE"] = "1"
  value: "INFO"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from assistant.facts import JOB, Fact, OriginKind, Subject
from assistant.intake.document import Document

NAME = "environment variables"

#: Beginnings of the names that matter for distributed training.
_PREFIX_WORDS = (
    "NCCL_ TORCH_ GLOO_ UCX_ UCC_ FI_ OFI_ OMPI_ MPI I_MPI_ MV2_ PMI PMIX_ MASTER_ NODE_RANK LOCAL_RANK WORLD_SIZE GROUP_RANK LOCAL_WORLD_SIZE RANK "
    "CUDA_ OMP_ MKL_ KMP_ OPENBLAS_ GOMP_ HOROVOD_ PYTORCH_ SLURM_ PET_ RDMAV_ IBV_ MLX5_ PSM2_ PSM3_ LD_LIBRARY_PATH LD_PRELOAD http_proxy https_proxy "
    "no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY all_proxy PYTHON TOKENIZERS_ USE_LIBUV XLA_ JAX_ TF_ HF_ DS_ DEEPSPEED_ ACCELERATE_ FSDP_ NVTE_ "
    "NVIDIA_ GPUS NNODES NPROC LOGLEVEL RAY_ VLLM_ SHARP_ EFA_ AWS_ NVSHMEM_ MALLOC_"
)
_PREFIXES = _PREFIX_WORDS.split()
TRIGGERS = (
    *(p for p in _PREFIXES if p not in ("MPI", "PMI", "GPUS", "PYTHON", "RANK")),
    " RANK=",
    "\nRANK=",
    "PYTHONUNBUFFERED",
)
VERSIONS = "environments as env, printenv, /proc/PID/environ and export lines show them"

_NAMES = r"(?:" + "|".join(re.escape(p) for p in _PREFIXES) + r")\w*"


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], bool], ...]:
    """(pattern, whether it shows a running environment and not what a script sets)."""
    value = r"""(?P<value>"[^"]*"|'[^']*'|\$\([^)]*\)|[^\s;"'`|&)]*)"""
    name = rf"(?P<name>{_NAMES})"
    return (
        (
            re.compile(
                rf"(?:\bexport\s+|\bsetenv\s+|\bset\s+|\benv\s+|declare -x\s+|^\s*ENV\s+|\$env:){name}\s*[= ]\s*{value}"
            ),
            False,
        ),
        (re.compile(rf"""(?:\s|^)(?:-e|-x|--env|-genv)[= ]?\s*["']?{name}[= ]{value}"""), False),
        (re.compile(rf"""environ(?:\[|\.setdefault\()\s*["']{name}["']\s*(?:\]\s*=|,)\s*(?:str\()?{value}"""), False),
        (re.compile(rf"""^\s*(?:-\s*)?name:\s*["']?{name}["']?\s*,?\s*(?:value:\s*{value})?"""), False),
        (re.compile(rf"""\{{\s*name:\s*["']?{name}["']?\s*,\s*value:\s*{value}"""), False),
        (re.compile(rf"^{name}={value}"), True),
        (re.compile(rf"""^\s*["']?{name}["']?\s*:\s+{value}\s*,?\s*$"""), False),
        (re.compile(rf"(?:^|[\s,]){name}={value}"), False),
    )


@cache
def _yaml_value() -> re.Pattern[str]:
    return re.compile(r"""^\s*value:\s*("[^"]*"|'[^']*'|[^#]*)""")


def _line(text: str) -> Iterator[tuple[str, str | None, bool]]:
    """(name, value, dumped) of the settings on one line; the value is None where a manifest has it on the next."""
    done: set[str] = set()
    for pattern, dumped in _patterns():
        for found in pattern.finditer(text):
            if found["name"] not in done:
                done.add(found["name"])
                yield found["name"], found["value"], dumped


#: Names without an underscore between capitals.
_PLAIN_NAMES = ("RANK", "NNODES", "NPROC", "GPUS", "LOGLEVEL", "PYTHON", "_proxy")
_CAPITALS = re.compile(r"[A-Z0-9]_[A-Z0-9]")


def _may_set(text: str) -> bool:
    """A cheap look that rules most lines out."""
    if "=" not in text and ":" not in text and not any(w in text for w in ("ENV ", "setenv", "environ")):
        return False
    return ("_" in text and _CAPITALS.search(text) is not None) or any(word in text for word in _PLAIN_NAMES)


@cache
def _any_name() -> re.Pattern[str]:
    return re.compile(_NAMES)


def parse(document: Document) -> Iterable[Fact]:
    facts: list[Fact] = []
    seen: set[tuple[str, str, str | None]] = set()
    messages = document.messages
    for index, text in enumerate(messages):
        if len(text) > 8000 or " NCCL INFO " in text or " NCCL WARN " in text or not _may_set(text):
            continue
        stripped = text.lstrip()
        if stripped.startswith(("#", "//", ";")) or not _any_name().search(text):
            continue
        for name, value, dumped in _line(text):
            at = index
            if value is None:
                following = _yaml_value().match(messages[index + 1]) if index + 1 < len(messages) else None
                if not following:
                    continue
                value, at = following[1], index + 1
            value = value.strip().strip("\"'").rstrip(",")
            kind: OriginKind = (
                document.origin_kind
                if document.origin_kind != "log"
                else ("tool" if dumped and _is_dump(messages, index) else "config")
            )
            if kind == "tool" and dumped and text[0] not in "$ ":
                value = text.partition("=")[2].strip().strip("\"'")  # `env` prints values with spaces as they are
            origin = document.origin(at, kind)
            if (name, value, origin.host) in seen:
                continue
            seen.add((name, value, origin.host))
            facts.append(Fact(f"env.{name}", value, origin, Subject("host", origin.host) if origin.host else JOB))
    return facts


def _is_dump(messages: Sequence[str], index: int) -> bool:
    """The lines around it are settings too, as `env` prints them; a script's are mixed with other lines."""
    around = [m for m in messages[max(index - 3, 0) : index + 4] if m.strip()]
    return len(around) > 2 and all(re.match(r"\w+=", m) or m.startswith("$ ") for m in around)
