"""Files of NCCL_TOPO_DUMP_FILE (also those that clouds hand out for NCCL_TOPO_FILE) and of NCCL_GRAPH_DUMP_FILE.

<system version="1">
  <cpu host_hash="0x..." numaid="0" affinity="..." arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:17:00.0" class="0x060400" ... link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:19:00.0" class="0x030200" ... link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:05:00.0" count="5" tclass="0x068000"/>
      <pci busid="0000:18:00.0" class="0x020700" ...>
        <nic>
          <net name="mlx5_0" dev="0" speed="400000" port="1" latency="0.000000" guid="0x..." maxconn="131072" gdr="1"/>

<graphs version="1">
  <graph id="0" pattern="4" crossnic="0" nchannels="8" speedintra="40" speedinter="40" latencyinter="0" typeintra="NVL" typeinter="PXB" samechannels="0">
    <channel><net dev="0"/><gpu dev="0" rank="0"/> ... <net dev="0"/></channel>
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from assistant.facts import Fact, Subject
from assistant.intake.document import Document
from assistant.parsers._device import gpu_subject, host_subject
from assistant.parsers._nccl_lines import Collected
from assistant.parsers._nccl_xml import Node, trees

NAME = "NCCL topology file"
TRIGGERS = ("<system version=", "<graphs version=")
VERSIONS = "NCCL 2.5 to 2.29: NCCL_TOPO_DUMP_FILE and NCCL_GRAPH_DUMP_FILE, system and graphs of version 1"

NVSWITCH = "0x068000"
_RDMA = re.compile(r"mlx\d|rdmap|efa|roce|irdma|bnxt_re|hfi|ibp|qedr|mana|erdma|xeth|ionic")
#: Gbit/s of one lane at a rate in GT/s, after coding.
_LANE = {2.5: 2.0, 5.0: 4.0, 8.0: 7.877, 16.0: 15.754, 32.0: 31.508, 64.0: 60.5}


def parse(document: Document) -> Iterable[Fact]:
    out = Collected(document, "tool")
    for root in trees(document.text):
        if root.name == "system":
            _system(root, out, document.host)
        else:
            _graphs(root, out, document.host)
    return out.facts()


@dataclass(slots=True)
class _Machine:
    gpus: list[Node] = field(default_factory=list)
    nets: list[Node] = field(default_factory=list)
    cpus: list[Node] = field(default_factory=list)


def _system(root: Node, out: Collected, host: str | None) -> None:
    machine = _Machine()
    names: set[str] = set()
    for node in root.walk():
        if node.name == "gpu":
            machine.gpus.append(node)
        elif node.name == "cpu":
            machine.cpus.append(node)
        elif node.name == "net" and node.get("coll") != "1" and (node.get("name") or node.get("dev")):
            mark = f"{node.get('name')}:{node.get('port')}:{node.get('dev')}"
            if mark not in names:
                names.add(mark)
                machine.nets.append(node)
    if not machine.gpus and not machine.nets:
        return
    subject = host_subject(host)
    out.add("topo_xml.gpus", len(machine.gpus), root.line, subject)
    out.add("topo_xml.nets", len(machine.nets), root.line, subject)
    out.add("topo_xml.sockets", len(machine.cpus), root.line, subject)
    if any(cpu.get("numaid") == "-1" for cpu in machine.cpus):
        out.add("topo_xml.numa_unknown", True, root.line, subject)
    _nics(machine.nets, out, host)
    _nvlinks(machine.gpus, out, host)
    _distances(machine, out, subject)


def rdma(net: Node) -> bool:
    return net.get("gdr") == "1" or bool(_RDMA.match(net.get("name")))


def _nics(nets: list[Node], out: Collected, host: str | None) -> None:
    speeds = Counter(net.number("speed") for net in nets if rdma(net) and net.number("speed"))
    usual = max(speeds, key=lambda speed: (speeds[speed], speed), default=0.0)
    for net in nets:
        speed = net.number("speed")
        nic = Subject("nic", f"{host}/{net.get('name')}" if host else net.get("name") or f"net {net.get('dev')}")
        if speed:
            out.add("topo_xml.net_gbps", speed / 1000, net.line, nic)
        if not rdma(net):
            continue
        out.add("topo_xml.net_gdr", net.get("gdr") == "1", net.line, nic)
        if usual and 0 < speed < usual:
            out.add("topo_xml.net_slower", f"{speed / 1000:g} Gbit/s, others {usual / 1000:g} Gbit/s", net.line, nic)
        slot = net.above("pci")
        lane = _LANE.get(slot.number("link_speed")) if slot is not None else None
        if slot is not None and lane and slot.number("link_width") and speed:
            carries = lane * slot.number("link_width")
            if carries < 0.9 * speed / 1000:
                link = f"{slot.number('link_speed'):g} GT/s x{slot.number('link_width'):g}"
                text = f"{link} carries {carries:.0f} Gbit/s, the adapter has {speed / 1000:g} Gbit/s"
                out.add("topo_xml.net_pcie_low", text, slot.line, nic)


def _nvlinks(gpus: list[Node], out: Collected, host: str | None) -> None:
    counts: list[tuple[Node, int]] = []
    switch = False
    for gpu in gpus:
        links = [child for child in gpu.children if child.name == "nvlink"]
        switch |= any(link.get("tclass") == NVSWITCH for link in links)
        counts.append((gpu, sum(int(link.number("count")) for link in links)))
    most = max((count for _, count in counts), default=0)
    if len(gpus) < 2:
        return
    subject = host_subject(host)
    out.add("nccl.topo_no_nvlink", most == 0, gpus[0].line, subject)
    if most:
        out.add("topo_xml.nvswitch", switch, gpus[0].line, subject)
        out.add("topo_xml.nvlinks", most, gpus[0].line, subject)
    for gpu, count in counts:
        if count < most:
            out.add(
                "topo_xml.nvlink_fewer", f"{count} links, peers {most}", gpu.line, gpu_subject(host, gpu.get("dev"))
            )


def _distances(machine: _Machine, out: Collected, subject: Subject) -> None:
    """Which GPUs have an adapter near them, and whether a switch is seen at all."""
    fabric = [net for net in machine.nets if rdma(net)]
    bridged = any(_switch(node) is not None for node in (*machine.gpus, *fabric))
    x86 = all(cpu.get("arch") in ("x86_64", "") for cpu in machine.cpus)
    if len(machine.gpus) >= 4 and not bridged and x86:
        out.add("topo_xml.flat", True, machine.gpus[0].line, subject)
    if not fabric or not machine.gpus:
        return
    if len(machine.cpus) > 1:
        homes = {_home(net) for net in fabric}
        far = [gpu.get("dev") or "?" for gpu in machine.gpus if _home(gpu) not in homes]
        if far:
            text = f"GPU{'s' if len(far) > 1 else ''} {', '.join(far)}: no adapter under the same CPU"
            out.add("topo_xml.gpu_without_near_nic", text, machine.gpus[0].line, subject)
    ports = {_switch(net) for net in fabric} - {None}
    near = sum(_switch(gpu) in ports for gpu in machine.gpus if _switch(gpu) is not None)
    out.add("topo_xml.gpus_beside_nic", near, machine.gpus[0].line, subject)
    if len(fabric) < len(machine.gpus):
        out.add("topo_xml.gpus_per_nic", round(len(machine.gpus) / len(fabric), 2), fabric[0].line, subject)


def _home(node: Node) -> str:
    cpu = node.above("cpu")
    return f"{cpu.get('host_hash')}/{cpu.get('numaid')}" if cpu is not None else ""


def _switch(node: Node) -> str | None:
    """Bus address of the topmost PCIe bridge over the device; None where it hangs at the CPU itself."""
    device = node.above("pci")
    bridge = device.above("pci") if device is not None else None
    top = bridge
    while bridge is not None:
        top, bridge = bridge, bridge.above("pci")
    return top.get("busid") if top is not None else None


def _graphs(root: Node, out: Collected, host: str | None) -> None:
    subject = host_subject(host)
    for graph in root.children:
        if graph.name != "graph" or graph.get("id") != "0":
            continue
        channels = int(graph.number("nchannels"))
        inside, between = graph.number("speedintra"), graph.number("speedinter")
        out.add("graph_xml.channels", channels, graph.line, subject)
        out.add("graph_xml.intra_gbs", round(channels * inside, 2), graph.line, subject)
        adapters = {net.get("dev") for node in graph.children for net in node.children if net.name == "net"}
        if graph.get("typeintra"):
            out.add("nccl.topo_type", f"{graph.get('typeintra')}/{graph.get('typeinter')}", graph.line)
        out.add("nccl.topo_bw", inside, graph.line)
        if adapters:
            out.add("graph_xml.inter_gbs", round(channels * between, 2), graph.line, subject)
            out.add("graph_xml.inter_type", graph.get("typeinter"), graph.line, subject)
            out.add("graph_xml.nets_used", len(adapters), graph.line, subject)
        if not channels:
            out.add("graph_xml.no_path", True, graph.line, subject)
