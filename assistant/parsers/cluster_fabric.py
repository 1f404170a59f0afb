"""What network a configuration is written for: instance types, fabric resources, and what its comments say of the network.

#SBATCH --partition=p5.48xlarge            node.kubernetes.io/instance-type: Standard_ND96isr_H100_v5
vpc.amazonaws.com/efa: 4                   # HDR InfiniBand, one HCA for two GPUs
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document

NAME = "instance types and fabric"
TRIGGERS = (
    "xlarge",
    "Standard_N",
    "BM.GPU",
    "VM.GPU",
    "a2-highgpu",
    "a2-megagpu",
    "a2-ultragpu",
    "a3-",
    "a4-",
    "g2-standard",
    "n1-standard",
    "amazonaws.com/efa",
    "rdma/",
    "nvidia.com/roce",
    "nvidia.com/hostdev",
    "#SBATCH",
    "export NCCL_",
    "-x NCCL_",
    "name: NCCL_",
    "- NCCL_",
    "\nNCCL_",
)
VERSIONS = "instance types of AWS, Azure, Google Cloud, OCI; device plugins of AWS, NVIDIA and Mellanox"

#: Instance types and the network between them. tcp: no RDMA at all.
_TYPES = (
    (r"p(?:4de?|5(?:en|e)?|6(?:e|-\w+)?|3dn)\.\d*xlarge|trn\d\w*\.\d*xlarge", "efa"),
    (r"(?:p3|p2|g[3-6]\w{0,2})\.(?:\d*xlarge|metal)", "tcp"),
    (r"Standard_ND(?:\w*_v[2-6])\b|Standard_NC24rs_v[23]\b", "infiniband"),
    (r"Standard_N[CV]\w+", "tcp"),
    (r"a3-ultragpu-\dg|a4-highgpu-\dg|a4x-\w+", "roce"),
    (r"a3-(?:mega|high|edge)gpu-\dg", "gpudirect-tcp"),
    (r"(?:a2-(?:high|mega|ultra)gpu-\d+g|g2-standard-\d+|n1-standard-\d+)", "tcp"),
    (r"BM\.GPU(?:\.[\w-]+)?\.\d+", "roce"),
    (r"VM\.GPU[\w.]*", "tcp"),
)

#: Of these one stands in every name of an instance type.
_TYPE_WORDS = ("xlarge", ".metal", "trn", "Standard_N", "gpu-", "a4x-", "-standard-", "M.GPU")
_CONFIG = re.compile(r"^\s*#SBATCH|^apiVersion:|^#!|^services:|^\s*export \w+=|^\w+=\S*$", re.MULTILINE)


@cache
def _type() -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<t{i}>(?<![\\w.-])(?:{p})(?![\\w-]))" for i, (p, _) in enumerate(_TYPES)))


@cache
def _comment() -> re.Pattern[str]:
    return re.compile(
        r"(?P<no>\b(?:no|without|not?n|lacks?|instead of|disable\w*) (?:\w+ )?(?:RDMA|InfiniBand|RoCE|IB|EFA)\b|\bTCP only\b|\bplain (?:TCP|Ethernet)\b)"
        r"|(?P<infiniband>\bInfini[Bb]and\b|\b[HNEX]DR(?:200|100)?\b)|(?P<roce>\bRoCE(?:v2)?\b)|(?P<efa>\bEFA\b)|(?P<slow>\b(?:1|10|25) ?G(?:b(?:E|ps|it(?:/s)?)?|igE)\b)"
    )


_RESOURCE = re.compile(
    r"[\"']?(?P<name>vpc\.amazonaws\.com/efa|(?:rdma|nvidia\.com|openshift\.io|intel\.com)/[\w.-]+)[\"']?\s*:\s*[\"']?\d"
)
_RATE = re.compile(r"\b(?P<n>1|10|25|40|50|100|200|400) ?(?:GbE|Gbps|Gbit(?:/s)?|GigE)\b", re.IGNORECASE)
_CARD = re.compile(r"\b(?:RTX|GTX|GeForce)[ -]?(?:RTX )?\d{4}(?: ?Ti)?\b", re.IGNORECASE)
_LINES = 3000


def parse(document: Document) -> Iterable[Fact]:
    if not _CONFIG.search(document.text[:20_000]):
        return
    seen: set[tuple[str, str | int]] = set()
    for index, line in enumerate(document.lines[:_LINES]):
        if len(line) > 1000:
            continue
        for key, value in _line(line):
            if (key, value) not in seen:
                seen.add((key, value))
                yield Fact(key, value, document.origin(index, "config"))


def _line(line: str) -> Iterable[tuple[str, str | int]]:
    comment = line.lstrip().startswith("#") and not line.lstrip().startswith(("#SBATCH", "#!"))
    found = _type().search(line) if any(word in line for word in _TYPE_WORDS) else None
    if found is not None and "NCCL INFO" not in line:
        number = next(int(name[1:]) for name, text in found.groupdict().items() if text)
        yield "setup.instance", found[0]
        yield "setup.fabric_hint", _TYPES[number][1]
    for resource in () if comment or "/" not in line else _RESOURCE.finditer(line):
        kind = _of_resource(resource["name"])
        if kind:
            yield "setup.fabric_hint", kind
    if comment:
        spoken = _comment().search(line)
        if spoken is not None:
            kind = str(spoken.lastgroup)
            yield "setup.fabric_said", {"no": "tcp", "slow": "tcp"}.get(kind, kind)
        card = _CARD.search(line)
        if card is not None:
            yield "setup.consumer_gpu", card[0]
        rate = _RATE.search(line)
        if rate is not None:
            yield "setup.rate_said", int(rate["n"])


def _of_resource(name: str) -> str | None:
    lower = name.lower()
    if lower.endswith("/efa"):
        return "efa"
    if "roce" in lower:
        return "roce"
    if re.search(r"/(?:ib|\w*_ib\b|hca|\w*infiniband|ibp?\d|\w*_ib_)", lower):
        return "infiniband"
    return "rdma" if re.search(r"rdma|hostdev|sriov|mlnx", lower) else None
