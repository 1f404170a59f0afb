"""Settings of NCCL against the network that a configuration is written for: switched off, named wrongly, or missing where this network needs them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.derive._setup import before_the_run, env_text, fabric, note, several_nodes
from assistant.derive.n22_network_stated import FINDS_GID_ITSELF
from assistant.facts import CaseFile, Fact
from knowledge.hardware_tables import find_host

RDMA = ("efa", "infiniband", "roce", "rdma")
#: NCCL that a PyTorch release brings.
TORCH_NCCL = {
    "1.13": "2.14",
    "2.0": "2.14",
    "2.1": "2.18",
    "2.2": "2.19",
    "2.3": "2.20",
    "2.4": "2.20",
    "2.5": "2.21",
    "2.6": "2.21",
    "2.7": "2.26",
}
_NO_INTERFACE = re.compile(
    r"(?:=?(?:lo\d*|docker\d*|br-\w*|virbr\d*|veth\w*|cni\d*|cali\w*|flannel\S*|podman\d*)(?:,|$))+", re.IGNORECASE
)


def derive(case: CaseFile) -> Iterable[Fact]:
    if not before_the_run(case):
        return
    kind = fabric(case)
    if kind is not None:
        yield kind
    several = several_nodes(case)
    yield from _switched_off(case, kind, several)
    yield from _interfaces(case, several)
    yield from _adapters(case, kind, several)
    yield from _gid(case, kind, several)
    yield from _libfabric(case, kind)
    yield from _left_in(case)
    yield from _forced(case)
    yield from _second_library(case)


def _switched_off(case: CaseFile, kind: Fact | None, several: bool | None) -> Iterator[Fact]:
    network = [f for f in case.about("env.NCCL_IB_DISABLE") if re.fullmatch("[1-9]|true", env_text(f))]
    network += [f for f in case.about("env.NCCL_NET") if env_text(f).lower() == "socket"]
    network += [
        f
        for f in case.about("env.NCCL_NET_PLUGIN")
        if env_text(f) == "none" and kind is not None and kind.value == "efa"
    ]
    if kind is not None and kind.value in RDMA and several is not False:
        efa = kind.value == "efa"
        for fact in network:
            if not (efa and fact.key == "env.NCCL_IB_DISABLE"):  # EFA is reached through its plugin all the same
                yield note("setup.rdma_switched_off", f"{fact.key[4:]}={env_text(fact)}", fact)
    consumer = no_peer_access(case)
    local = [f for name in ("P2P_DISABLE", "SHM_DISABLE") for f in case.about(f"env.NCCL_{name}") if env_text(f) == "1"]
    for fact in () if consumer else local:
        yield note("setup.local_path_off", f"{fact.key[4:]}=1", fact)


def no_peer_access(case: CaseFile) -> bool:
    """Whether the GPUs are consumer cards, on most of which P2P is off in the driver anyway."""
    named = str(case.value("gpu") or "") + str(case.value("setup.consumer_gpu") or "")
    return case.value("gpu_class") == "consumer" or re.search("RTX|GeForce", named, re.IGNORECASE) is not None


def _interfaces(case: CaseFile, several: bool | None) -> Iterator[Fact]:
    for key in ("env.NCCL_SOCKET_IFNAME", "env.GLOO_SOCKET_IFNAME"):
        for fact in case.about(key):
            text = env_text(fact)
            if several is not False and _NO_INTERFACE.fullmatch(text):
                yield note("setup.interface_unusable", f"{key[4:]}={text}", fact)
            elif "*" in text or "?" in text:
                yield note(
                    "setup.interface_unusable", f"{key[4:]}={text}, where a beginning is meant and no * is known", fact
                )
            elif key.startswith("env.GLOO") and text.startswith(("^", "=")):
                yield note("setup.interface_unusable", f"{key[4:]}={text}, where Gloo takes whole names only", fact)


def _adapters(case: CaseFile, kind: Fact | None, several: bool | None) -> Iterator[Fact]:
    for fact in case.about("env.NCCL_IB_HCA"):
        text = env_text(fact)
        if text.startswith("^") or several is False:
            continue
        if kind is not None and kind.value == "efa" and re.match("=?(?:mlx|bnxt)", text):
            yield note("setup.adapter_of_other_fabric", f"NCCL_IB_HCA={text} where the network is EFA", fact)
            return
        count = _nics(case)
        exact = re.fullmatch(r"=?([a-z]\w*\d(?::\d+)?)(?:,[a-z]\w*\d(?::\d+)?)*", text)
        given = len(text.split(","))
        if exact and count is not None and given * 2 <= count:
            yield note("setup.few_adapters", f"{given} of {count}", fact)
            return


def _nics(case: CaseFile) -> int | None:
    """Fabric adapters of a node whose type the configuration names."""
    for key in ("setup.instance", "gpu", "env.NVIDIA_PRODUCT_NAME"):
        for fact in case.about(key):
            text = str(fact.value)
            host = find_host(text) or find_host(re.sub(r"[ _]+", "-", text.removeprefix("NVIDIA ")))
            if host is not None and host.nic_count:
                return host.nic_count
    return None


def _gid(case: CaseFile, kind: Fact | None, several: bool | None) -> Iterator[Fact]:
    if kind is None or kind.value != "roce" or several is False or case.about("env.NCCL_IB_GID_INDEX"):
        return
    version = _nccl(case)
    if version is not None and version < FINDS_GID_ITSELF:
        shown = ".".join(map(str, version))
        yield note("setup.gid_index_missing", f"NCCL {shown}", kind)


def _nccl(case: CaseFile) -> tuple[int, ...] | None:
    text = str(case.value("nccl_version") or case.value("env.NCCL_VERSION") or "")
    if not text:
        torch = re.match(r"\d+\.\d+", str(case.value("torch_version") or ""))
        text = TORCH_NCCL.get(torch[0], "") if torch else ""
    return tuple(int(n) for n in re.findall(r"\d+", text)[:2]) or None


def _libfabric(case: CaseFile, kind: Fact | None) -> Iterator[Fact]:
    if kind is None or kind.value != "efa":
        return
    for fact in case.about("env.FI_PROVIDER"):
        if env_text(fact).split(",")[0].split(";")[0].lower() not in ("efa", "efa-direct", ""):
            yield note("setup.provider_not_efa", f"FI_PROVIDER={env_text(fact)}", fact)


_LEFT_IN = {
    "CUDA_LAUNCH_BLOCKING": ("1", "setup.blocking_launches"),
    "TORCH_DISTRIBUTED_DEBUG": ("DETAIL", "setup.debug_left_in"),
    "NCCL_DEBUG": ("TRACE", "setup.debug_left_in"),
    "NCCL_BLOCKING_WAIT": ("1", "setup.debug_left_in"),
    "TORCH_NCCL_BLOCKING_WAIT": ("1", "setup.debug_left_in"),
    "TORCH_SHOW_CPP_STACKTRACES": ("never", ""),
}


def _left_in(case: CaseFile) -> Iterator[Fact]:
    for name, (value, key) in _LEFT_IN.items():
        for fact in case.about(f"env.{name}"):
            if env_text(fact).upper() == value:
                yield note(key, f"{name}={env_text(fact)}", fact)


def _second_library(case: CaseFile) -> Iterator[Fact]:
    for fact in case.about("env.LD_PRELOAD"):
        if "libnccl.so" in str(fact.value):
            yield note("setup.second_library", f"LD_PRELOAD={env_text(fact)}", fact)


def _forced(case: CaseFile) -> Iterator[Fact]:
    for name in ("NCCL_ALGO", "NCCL_PROTO"):
        for fact in case.about(f"env.{name}"):
            text = env_text(fact)
            if text and "$" not in text and not text.startswith("^"):
                yield note("setup.algorithm_forced", f"{name}={text}", fact)
    for fact in case.about("env.NCCL_NET_GDR_LEVEL"):
        if env_text(fact).upper() in ("0", "LOC"):
            yield note("setup.gpudirect_off", f"NCCL_NET_GDR_LEVEL={env_text(fact)}", fact)
