"""Versions of packages on a host: pip freeze, pip list, conda list, torch's collect_env, horovodrun --check-build.

torch==2.3.1+cu121                torch              2.3.1
PyTorch version: 2.3.1+cu121      Is CUDA available: True
[pip3] nvidia-nccl-cu12==2.20.5   Nvidia driver version: 535.129.03
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

from assistant.facts import JOB, Fact, Subject, Value
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with
from assistant.parsers._sections import section_hosts

#: Packages whose version must be the same on all nodes, or tells what the build can do.
KNOWN_WORDS = (
    "torch torchvision torchaudio nvidia-nccl-cu11 nvidia-nccl-cu12 nvidia-nccl-cu13 nccl cupy-cuda11x cupy-cuda12x deepspeed accelerate transformers tokenizers "
    "lightning pytorch-lightning megatron-core horovod ray jax jaxlib tensorflow tensorflow-gpu flash-attn flash_attn apex transformer-engine triton xformers "
    "bitsandbytes peft trl datasets colossalai fairscale vllm numpy mpi4py nvidia-cuda-runtime-cu11 nvidia-cuda-runtime-cu12 nvidia-cudnn-cu12 aws-ofi-nccl"
)
KNOWN = KNOWN_WORDS.split()
_PINNED = tuple(f"{name}==" for name in KNOWN)

NAME = "package versions"
TRIGGERS = (
    *_PINNED, "PyTorch version:", "Package  ", "# packages in environment", "[pip3]", "[conda]", "torch.__version__", "torch version", "PyTorch version", "Available Tensor Operations",
    "Python version:", "pypi_0", "transformers version", "`transformers` version", "Python 3.", "--check-build",
    "cuda.nccl.version", "pip list", "pip freeze", "pip show", "conda list", "+cu1", "pip3 list", "uv pip", "pytorch=", "Nvidia driver version:", "Is CUDA available",
)  # fmt: skip
VERSIONS = "pip list and freeze, conda list, torch's collect_env, ldconfig, dpkg and rpm lists"

#: Of these one stands in every line that names a version.
_WORDS = tuple(
    {w for w in KNOWN if not any(o != w and o in w for o in KNOWN)}
    | {"torch", "Torch", "ython", "CUDA", "cuda", "+cu", "river", "nccl", "(2,", "[X]", "[ ]", "Available "}
)


@cache
def _package() -> re.Pattern[str]:
    names = "|".join(re.escape(n) for n in sorted(KNOWN, key=len, reverse=True))
    return re.compile(
        rf"(?:^|\s|\[pip3?\] |\[conda\] )(?P<name>{names})(?:==|\s{{2,}}|\s+(?=\d+\.\d+\S*\s+(?:py|pypi|cuda|h[0-9a-f]{{5}}|<pip>|\d+\s)))(?P<version>\d[\w.+!-]*)"
    )


@cache
def _plain() -> tuple[tuple[re.Pattern[str], str], ...]:
    c = re.compile
    return (
        (c(r"PyTorch version[^:]*: (?P<v>\d+\.\d+\S*)"), "torch_version"),
        (c(r"(?:torch version|torch\.__version__)[ :=.]+'?(?P<v>\d+\.\d+[\w.+]*)"), "torch_version"),
        (c(r"(?:^|[\s'\"(:])(?P<v>\d+\.\d+\.\d+\+cu\d{2,3})\b"), "torch_version"),
        (c(r"Python version:? (?P<v>\d+\.\d+(?:\.\d+)?)"), "python_version"),
        (c(r"^Python (?P<v>3\.\d+\.\d+)\s*$"), "python_version"),
        (c(r"Nvidia driver version: (?P<v>\d+\.\d+\S*)"), "driver_version"),
        (c(r"CUDA used to build PyTorch: (?P<v>\d+\.\d+)"), "cuda_version"),
        (c(r"^[^=]*\((?P<v>2, ?\d{1,2}, ?\d{1,2})\)\)?\s*$"), "nccl_version"),
        (c(r"torch\.cuda\.nccl\.version\(\)[ :=]+\(?(?P<v>\d+[., ]+\d+[., ]+\d+)"), "nccl_version"),
    )


@cache
def _available() -> re.Pattern[str]:
    return re.compile(r"(?:Is CUDA available|CUDA available|torch\.cuda\.is_available\(\))\s*[:=]*\s*(True|False)")


@cache
def _conda() -> re.Pattern[str]:
    return re.compile(r"\bpytorch(?:\s+|==?)(?P<version>\d+\.\d+[\w.]*)(?:\s+|=)\S*_cpu_")


@cache
def _box() -> re.Pattern[str]:
    return re.compile(r"\s*\[(X| )\] (NCCL|MPI|Gloo)\s*$")


def parse(document: Document) -> Iterable[Fact]:
    facts: list[Fact] = []
    nccl: set[str] = set()
    section = ""
    seen: set[tuple[str, Value, str | None]] = set()
    for index in lines_with(document, _WORDS):
        message = document.messages[index]
        if len(message) > 1000:
            continue
        if message.startswith("Available "):
            section = message
        for key, value in _read(message, section):
            origin = document.origin(index, "tool")
            if origin.host is None or origin.host == document.host:
                origin = replace(origin, host=section_hosts(document)[index] or origin.host)
            if (key, value, origin.host) in seen:
                continue
            seen.add((key, value, origin.host))
            facts.append(Fact(key, value, origin, Subject("host", origin.host) if origin.host else JOB))
            if key == "package.version" and "nccl" in str(value).split()[0] and "ofi" not in str(value):
                nccl.add(str(value))
    names = {v.split()[0] for v in nccl}
    if len(names) > 1:
        shown = next(f for f in facts if f.key == "package.version" and str(f.value).split()[0] == min(names))
        facts.append(Fact("torch.nccl_packages", len(names), shown.origin))
    return facts


def _read(message: str, section: str) -> Iterator[tuple[str, Value]]:
    for found in _package().finditer(message):
        name, version = found["name"], found["version"]
        yield "package.version", f"{name} {version}"
        if name == "torch":
            yield "torch_version", version
            yield from _build(version)
        elif name.startswith("nvidia-nccl"):
            yield "nccl_version", version
    for pattern, key in _plain():
        matched = pattern.search(message)
        if matched:
            yield key, matched["v"].replace(", ", ".").replace(",", ".")
            if key == "torch_version":
                yield from _build(matched["v"])
    matched = _available().search(message) if "available" in message else None
    if matched:
        yield "torch.cuda_available", matched[1] == "True"
    if "CUDA used to build PyTorch: None" in message or (
        "Could not collect" in message and "CUDA used to build" in message
    ):
        yield "torch.cpu_build", True
    conda = _conda().search(message) if "_cpu_" in message else None
    if conda:
        yield "torch_version", conda["version"]
        yield "torch.cpu_build", True
    boxed = _box().match(message) if "[" in message and section else None
    if boxed and section.startswith("Available Tensor Operations"):
        if boxed[2] == "NCCL":
            yield "horovod.has_nccl", boxed[1] == "X"
        elif boxed[2] == "MPI":
            yield "horovod.has_mpi", boxed[1] == "X"


def _build(version: str) -> Iterator[tuple[str, Value]]:
    if "+cpu" in version:
        yield "torch.cpu_build", True
    elif "+cu" in version:
        yield "torch.cpu_build", False
