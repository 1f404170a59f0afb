"""GPU models, machine types and networks as people name them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from assistant.understand.text import mentions, regex


@dataclass(frozen=True, slots=True)
class Gpu:
    family: str
    kind: str
    """datacenter, workstation or consumer."""
    written: str
    start: int = 0


_MEMORY = r"(?:[ -]?(?:sxm\d?|pcie|pci-e|nvl|hbm\d?e?|oam))?(?:[ -]?\d{2,3} ?gi?b)?(?:[ -]?(?:sxm\d?|pcie|pci-e|nvl))?"

#: (pattern of the name, family or None to build it from the match, class); tried in this order.
_GPUS: tuple[tuple[str, str | None, str], ...] = (
    (r"gb ?10\b|dgx spark", "GB10", "workstation"),
    (r"gh ?200|grace[ -]hopper", "GH200", "datacenter"),
    (r"gb ?300", "GB300", "datacenter"),
    (r"gb ?200", "GB200", "datacenter"),
    (r"rtx[ -]?pro[ -]?\d000(?: blackwell)?", None, "workstation"),
    (r"rtx[ -]?a\d000|a[456]\d?00\b(?<!a4000 )|a6000", None, "workstation"),
    (r"(?:rtx[ -]?)?\b[2-6]\d{3} ?ada\b", None, "workstation"),
    (r"quadro(?: rtx| gv| gp| p)?[ -]?\w*\d+", None, "workstation"),
    (r"(?:geforce[ -]?)?(?:rtx|gtx)[ -]?\d{3,4}(?: ?ti)?(?: ?super)?", None, "consumer"),
    (r"(?:10[5-8]0|16[56]0|20[678]0|30[6-9]0|40[6-9]0|50[6-9]0)(?: ?ti)?(?: ?super)?s?\b(?= ?(?:gpus?|cards?|ti|super|s\b|on|in|each|with|per|,|\.|and|$))", None, "consumer"),
    (r"titan(?: ?(?:x(?:p)?|v|rtx|black))?s?\b", None, "consumer"),
    (r"tesla[ -]k80|k80s?\b", "K80", "datacenter"),
    (r"tesla[ -]m\d0|m[46]0s\b", None, "datacenter"),
    (r"(?:tesla[ -])?\bp(?:100|40)s?\b", None, "datacenter"),
    (r"(?:tesla[ -])?\bv100s?\b", "V100", "datacenter"),
    (r"(?:tesla[ -])?\bt4s?\b", "T4", "datacenter"),
    (r"a10gs?\b", "A10G", "datacenter"),
    (r"(?:a(?:10|16|2|30|40)s?|l(?:4|20|40s?)|l40ss)\b", None, "datacenter"),
    (r"(?:h(?:20|800)|a800|h100|h200|a100|b100|b200|b300)s?\b", None, "datacenter"),
    (r"mi ?(?:50|100|210|250x?|300[xa]?|325x?|350x?|355x?)\b", None, "datacenter"),
    (r"gaudi[ -]?\d?\b", None, "datacenter"),
    (r"trainium\d?\b", None, "datacenter"),
)  # fmt: skip

_SOLD_FOR_SMALL = regex(r"^a[456](?:000|500)$")


def gpus(text: str) -> list[Gpu]:
    """GPU models named in a text, in the order in which they stand."""
    found: list[Gpu] = []
    taken: list[tuple[int, int]] = []
    for pattern, family, kind in _GPUS:
        for match in mentions(
            text, rf"(?:(?<=\dx)|(?<=\d×)|(?<![\w.-]))(?:nvidia[ -]|amd[ -]|instinct[ -])*(?P<name>{pattern}){_MEMORY}"
        ):
            if any(a < match.end() and match.start() < b for a, b in taken):
                continue
            taken.append(match.span())
            name = match["name"]
            found.append(Gpu(family or _family(name, kind), kind, match[0].strip(), match.start()))
    return sorted(found, key=lambda g: g.start)


def _family(name: str, kind: str) -> str:
    """The short name: "geforce rtx-4090" -> RTX 4090, "1080 ti" -> GTX 1080 Ti, "a40s" -> A40."""
    text = re.sub(r"(?i)\b(?:geforce|tesla|nvidia)[ -]?", "", name).strip().upper().replace("-", " ")
    text = re.sub(r"\s+", " ", text)
    if kind == "consumer":
        if text.startswith("TITAN"):
            text = text.removesuffix("S") if text.endswith("NS") else text
            return text.replace("TITAN", "Titan").replace("XP", "Xp")
        digits = re.search(r"\d{3,4}", text)
        assert digits is not None
        prefix = "GTX" if digits[0].startswith(("9", "10", "16", "7")) else "RTX"
        tail = (" Ti" if "TI" in text[digits.end() :] else "") + (" Super" if "SUPER" in text else "")
        return f"{prefix} {digits[0]}{tail}"
    if kind == "workstation":
        text = re.sub(r"^RTX(?=[A\d])", "RTX ", text)
        text = re.sub(r"(\d) ?ADA", r"\1 Ada", text).replace("BLACKWELL", "").strip()
        if "Ada" in text and not text.startswith("RTX"):
            text = "RTX " + text
        return "RTX " + text if _SOLD_FOR_SMALL.match(text) else text
    text = text.replace(" ", "")
    return text if text in ("L40S",) else re.sub(r"(?<=\d)S$|(?<=[GX])S$|(?<=SS)$", "", text).replace("L40SS", "L40S")


@dataclass(frozen=True, slots=True)
class Machine:
    """What one node of a known type contains."""

    pattern: str
    gpus: int
    gpu: str
    family: str
    nics: int
    gbps: float
    network: str
    cloud: str
    virtual: bool = True


#: Known machines: GPUs, their model, NICs for GPU traffic, rate of one, kind of network, whose they are.
MACHINES: tuple[Machine, ...] = (
    Machine(r"dgx[ -]?1\b(?! ?[x0])", 8, "V100-SXM2", "V100", 4, 100, "infiniband", "", False),
    Machine(r"dgx[ -]?2\b", 16, "V100-SXM3-32GB", "V100", 8, 100, "infiniband", "", False),
    Machine(r"dgx[ -]?a100s?", 8, "A100-SXM4", "A100", 8, 200, "infiniband", "", False),
    Machine(r"dgx[ -]?h100s?", 8, "H100-SXM5-80GB", "H100", 8, 400, "infiniband", "", False),
    Machine(r"dgx[ -]?h200s?", 8, "H200-SXM", "H200", 8, 400, "infiniband", "", False),
    Machine(r"dgx[ -]?b200s?", 8, "B200", "B200", 8, 400, "infiniband", "", False),
    Machine(r"dgx[ -]?b300s?", 8, "B300", "B300", 8, 800, "infiniband", "", False),
    Machine(r"(?:dgx[ -]?)?gb200[ -]?nvl ?72", 4, "GB200", "GB200", 4, 400, "infiniband", "", False),
    Machine(r"dgx[ -]?sparks?", 1, "GB10", "GB10", 1, 200, "roce", "", False),
    Machine(r"p3dn(?:\.24xl(?:arge)?)?s?", 8, "V100-SXM2-32GB", "V100", 1, 100, "efa", "aws"),
    Machine(r"p3(?:\.16xl(?:arge)?)s?", 8, "V100-SXM2-16GB", "V100", 1, 25, "ethernet", "aws"),
    Machine(r"p3\.8xl(?:arge)?s?", 4, "V100-SXM2-16GB", "V100", 1, 10, "ethernet", "aws"),
    Machine(r"p3\.2xl(?:arge)?s?", 1, "V100-SXM2-16GB", "V100", 1, 10, "ethernet", "aws"),
    Machine(r"p4de(?:\.24xl(?:arge)?)?s?", 8, "A100-SXM4-80GB", "A100", 4, 100, "efa", "aws"),
    Machine(r"p4d(?:\.24xl(?:arge)?)?s?", 8, "A100-SXM4-40GB", "A100", 4, 100, "efa", "aws"),
    Machine(r"p5en(?:\.48xl(?:arge)?)?s?", 8, "H200-SXM", "H200", 16, 200, "efa", "aws"),
    Machine(r"p5e(?:\.48xl(?:arge)?)?s?", 8, "H200-SXM", "H200", 32, 100, "efa", "aws"),
    Machine(r"p5(?:\.48xl(?:arge)?)?s?", 8, "H100-SXM5-80GB", "H100", 32, 100, "efa", "aws"),
    Machine(r"p6-b200(?:\.48xl(?:arge)?)?s?", 8, "B200", "B200", 8, 400, "efa", "aws"),
    Machine(r"p6-b300(?:\.48xl(?:arge)?)?s?", 8, "B300", "B300", 16, 400, "efa", "aws"),
    Machine(r"p6e-gb200(?:\.36xl(?:arge)?)?s?", 4, "GB200", "GB200", 8, 400, "efa", "aws"),
    Machine(r"g4dn\.12xl(?:arge)?s?", 4, "T4", "T4", 1, 50, "ethernet", "aws"),
    Machine(r"g4dn\.metal", 8, "T4", "T4", 1, 100, "efa", "aws", False),
    Machine(r"g5\.48xl(?:arge)?s?", 8, "A10G", "A10G", 1, 100, "efa", "aws"),
    Machine(r"g5\.(?:12|24)xl(?:arge)?s?", 4, "A10G", "A10G", 1, 50, "ethernet", "aws"),
    Machine(r"g5\.(?:2|4|8|16)?xl(?:arge)?s?", 1, "A10G", "A10G", 1, 10, "ethernet", "aws"),
    Machine(r"g6\.48xl(?:arge)?s?", 8, "L4", "L4", 1, 100, "efa", "aws"),
    Machine(r"g6e\.48xl(?:arge)?s?", 8, "L40S", "L40S", 4, 100, "efa", "aws"),
    Machine(r"a2-(?:highgpu|ultragpu)-8g", 8, "A100-SXM4", "A100", 1, 100, "ethernet", "gcp"),
    Machine(r"a2-megagpu-16g", 16, "A100-SXM4-40GB", "A100", 1, 100, "ethernet", "gcp"),
    Machine(r"a3-?mega(?:gpu)?(?:-8g)?", 8, "H100-SXM5-80GB", "H100", 8, 200, "ethernet", "gcp"),
    Machine(r"a3-?ultra(?:gpu)?(?:-8g)?", 8, "H200-SXM", "H200", 8, 400, "roce", "gcp"),
    Machine(r"a3-?(?:high|edge)(?:gpu)?(?:-8g)?", 8, "H100-SXM5-80GB", "H100", 4, 200, "ethernet", "gcp"),
    Machine(r"a4-?highgpu-8g", 8, "B200", "B200", 8, 400, "roce", "gcp"),
    Machine(r"a4x-?highgpu-4g", 4, "GB200", "GB200", 4, 400, "roce", "gcp"),
    Machine(r"(?:standard[ _])?nd40rs[ _]?v2", 8, "V100-SXM2-32GB", "V100", 1, 100, "infiniband", "azure"),
    Machine(r"(?:standard[ _])?nd96a\w*[ _]?(?:a100[ _])?v4|nd ?a100 ?v4|nd ?v4", 8, "A100-SXM4", "A100", 8, 200, "infiniband", "azure"),
    Machine(r"(?:standard[ _])?nd96is\w*[ _]?h200[ _]?v5|nd ?h200 ?v5", 8, "H200-SXM", "H200", 8, 400, "infiniband", "azure"),
    Machine(r"(?:standard[ _])?nd96is\w*[ _]?mi300x[ _]?v5|nd ?mi300x ?v5", 8, "MI300X", "MI300X", 8, 400, "infiniband", "azure"),
    Machine(r"(?:standard[ _])?nd96is\w*[ _]?h100[ _]?v5|nd ?h100 ?v5|nd ?v5", 8, "H100-SXM5-80GB", "H100", 8, 400, "infiniband", "azure"),
    Machine(r"(?:standard[ _])?nc96ads[ _]a100[ _]v4", 4, "A100-PCIE-80GB", "A100", 1, 80, "ethernet", "azure"),
    Machine(r"(?:standard[ _])?nc80adis[ _]h100[ _]v5", 2, "H100-NVL", "H100", 1, 80, "ethernet", "azure"),
    Machine(r"(?:standard[ _])?nc24rs?[ _]v3", 4, "V100-PCIE-16GB", "V100", 1, 56, "infiniband", "azure"),
    Machine(r"bm\.gpu4\.8", 8, "A100-SXM4-40GB", "A100", 16, 100, "roce", "oci", False),
    Machine(r"bm\.gpu\.a100-v2\.8", 8, "A100-SXM4-80GB", "A100", 16, 100, "roce", "oci", False),
    Machine(r"bm\.gpu\.h100\.8", 8, "H100-SXM5-80GB", "H100", 16, 200, "roce", "oci", False),
    Machine(r"bm\.gpu\.h200\.8", 8, "H200-SXM", "H200", 8, 400, "roce", "oci", False),
    Machine(r"bm\.gpu\.b200\.8", 8, "B200", "B200", 8, 400, "roce", "oci", False),
    Machine(r"bm\.gpu\.b300\.8", 8, "B300", "B300", 16, 400, "roce", "oci", False),
    Machine(r"bm\.gpu\.gb200\.4", 4, "GB200", "GB200", 4, 400, "roce", "oci", False),
    Machine(r"bm\.gpu\.gb300\.4", 4, "GB300", "GB300", 8, 400, "roce", "oci", False),
    Machine(r"bm\.gpu\.mi300x\.8", 8, "MI300X", "MI300X", 8, 400, "roce", "oci", False),
)  # fmt: skip

_ANY_MACHINE = regex(r"dgx|gb200|xl\b|xlarge|\bp[3-6]|g4dn|g5\.|g6|a[234]x?-|a3|nd ?\w|nc\d|bm\.gpu")


def machine(text: str) -> tuple[Machine, int] | None:
    """The known type of machine that a text names, and where it stands."""
    if not _ANY_MACHINE.search(text):
        return None
    for known in MACHINES:
        for match in mentions(text, rf"(?<![\w.-])(?:{known.pattern})(?![\w])"):
            return known, match.start()
    return None
