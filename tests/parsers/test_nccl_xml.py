"""Files of NCCL_TOPO_DUMP_FILE and NCCL_GRAPH_DUMP_FILE as NCCL 2.18 to 2.30 write them."""

from __future__ import annotations

import time

import pytest

from assistant.derive import n12_nccl_xml
from assistant.facts import CaseFile, Fact
from assistant.intake.document import Document
from assistant.parsers import nccl_xml

GEN5 = 'link_speed="32.0 GT/s PCIe" link_width="16"'
BRIDGE = 'class="0x060400" vendor="0x1000" device="0xc030" subsystem_vendor="0x1000" subsystem_device="0x100b"'
H100 = 'class="0x030200" vendor="0x10de" device="0x2330" subsystem_vendor="0x10de" subsystem_device="0x16c1"'
CX7 = 'class="0x020700" vendor="0x15b3" device="0x1021" subsystem_vendor="0x15b3" subsystem_device="0x0041"'


def gpu(dev: int, links: int = 18, link: str = GEN5, sm: int = 90) -> str:
    switches = "".join(
        f'          <nvlink target="0000:0{5 + i}:00.0" count="{n}" tclass="0x068000"/>\n'
        for i, n in enumerate(share(links))
        if n
    )
    body = f'sm="{sm}" rank="{dev}" gdr="1"'
    inner = (
        f'        <gpu dev="{dev}" {body}>\n{switches}        </gpu>\n'
        if links
        else f'        <gpu dev="{dev}" {body}/>\n'
    )
    return f'      <pci busid="0000:{16 + dev:x}:00.0" {H100} {link}>\n{inner}      </pci>\n'


def share(links: int) -> list[int]:
    """NVLinks over the four NVSwitches of an HGX H100: 5, 4, 4, 5."""
    return [min(5, links), max(0, min(4, links - 5)), max(0, min(4, links - 9)), max(0, min(5, links - 13))]


def nic(dev: int, *, speed: int = 400000, gdr: int = 1, link: str = GEN5, name: str | None = None) -> str:
    return (
        f'      <pci busid="0000:{80 + dev:x}:00.0" {CX7} {link}>\n        <nic>\n'
        f'          <net name="{name or f"mlx5_{dev}"}" dev="{dev}" latency="0.000000" speed="{speed}" port="1" '
        f'guid="0x{0xB8CEF60300A1 + dev:x}" maxconn="131072" gdr="{gdr}"/>\n        </nic>\n      </pci>\n'
    )


def switch(number: int, *inside: str) -> str:
    return f'    <pci busid="0000:{number:x}:00.0" {BRIDGE} {GEN5}>\n{"".join(inside)}    </pci>\n'


def cpu(numa: int, *inside: str, arch: str = "x86_64") -> str:
    vendor = ' vendor="GenuineIntel" familyid="6" modelid="143"' if arch == "x86_64" else ""
    return (
        f'  <cpu host_hash="0x74a4a9f1cbea1b0f" numaid="{numa}" affinity="00000000,0000ffff" arch="{arch}"{vendor}>\n'
        f"{''.join(inside)}  </cpu>\n"
    )


def system(*cpus: str) -> str:
    return f'<system version="1">\n{"".join(cpus)}</system>\n'


def hgx(*, links: dict[int, int] | None = None, slow: int | None = None, no_gdr: int | None = None) -> str:
    def pair(dev: int) -> str:
        adapter = nic(dev, speed=200000 if dev == slow else 400000, gdr=0 if dev == no_gdr else 1)
        return switch(1 + dev, gpu(dev, (links or {}).get(dev, 18)), adapter)

    return system(cpu(0, *(pair(d) for d in range(4))), cpu(1, *(pair(d) for d in range(4, 8))))


GRAPH_H100 = """\
<graphs version="1">
  <graph id="0" pattern="4" crossnic="0" nchannels="8" speedintra="40" speedinter="40" latencyinter="0" typeintra="NVL" typeinter="PXB" samechannels="0">
    <channel>
      <net dev="0"/>
      <gpu dev="0" rank="0"/>
      <gpu dev="7" rank="7"/>
      <net dev="0"/>
    </channel>
    <channel>
      <net dev="1"/>
      <gpu dev="1" rank="1"/>
      <gpu dev="0" rank="0"/>
      <net dev="1"/>
    </channel>
  </graph>
  <graph id="1" pattern="1" crossnic="0" nchannels="8" speedintra="40" speedinter="40" latencyinter="0" typeintra="NVL" typeinter="PXB" samechannels="0"/>
</graphs>
"""
GRAPH_VM = """\
<graphs version="1">
  <graph id="0" pattern="4" crossnic="2" nchannels="1" speedintra="9" speedinter="9" latencyinter="0" typeintra="SYS" typeinter="PHB" samechannels="1">
    <channel>
      <net dev="0"/>
      <gpu dev="0" rank="0"/>
      <gpu dev="1" rank="1"/>
      <net dev="0"/>
    </channel>
  </graph>
</graphs>
"""


def parse(text: str, host: str | None = None) -> list[Fact]:
    return list(nccl_xml.parse(Document("topo.xml", text, host=host)))


def values(found: list[Fact], key: str) -> list[object]:
    return [f.value for f in found if f.key == key]


def about(found: list[Fact], key: str) -> list[str]:
    return [str(f.subject) for f in found if f.key == key]


def test_full_host() -> None:
    found = parse(hgx())
    assert values(found, "topo_xml.gpus") == [8]
    assert values(found, "topo_xml.nets") == [8]
    assert values(found, "topo_xml.nvlinks") == [18]
    assert values(found, "topo_xml.nvswitch") == [True]
    assert values(found, "nccl.topo_no_nvlink") == [False]
    assert values(found, "topo_xml.gpus_beside_nic") == [8]
    assert set(values(found, "topo_xml.net_gbps")) == {400.0}
    assert set(values(found, "topo_xml.net_gdr")) == {True}
    for key in (
        "flat",
        "gpu_without_near_nic",
        "net_slower",
        "net_pcie_low",
        "nvlink_fewer",
        "numa_unknown",
        "gpus_per_nic",
    ):
        assert not values(found, f"topo_xml.{key}"), key


def test_gpu_with_fewer_links_slow_adapter_and_one_without_gpudirect() -> None:
    found = parse(hgx(links={3: 9}, slow=5, no_gdr=6), host="n7")
    assert values(found, "topo_xml.nvlink_fewer") == ["9 links, peers 18"]
    assert about(found, "topo_xml.nvlink_fewer") == ["gpu n7:3"]
    assert values(found, "topo_xml.net_slower") == ["200 Gbit/s, others 400 Gbit/s"]
    assert about(found, "topo_xml.net_slower") == ["nic n7/mlx5_5"]
    assert [str(f.subject) for f in found if f.key == "topo_xml.net_gdr" and f.value is False] == ["nic n7/mlx5_6"]
    line = next(f.origin.line for f in found if f.key == "topo_xml.nvlink_fewer")
    assert '<gpu dev="3"' in hgx(links={3: 9}, slow=5, no_gdr=6).split("\n")[(line or 0) - 1]


def test_adapter_in_a_slot_that_is_too_narrow() -> None:
    narrow = 'link_speed="16.0 GT/s PCIe" link_width="8"'
    found = parse(system(cpu(0, switch(1, gpu(0), nic(0, link=narrow)))))
    assert values(found, "topo_xml.net_pcie_low") == ["16 GT/s x8 carries 126 Gbit/s, the adapter has 400 Gbit/s"]


def test_virtual_machine_shows_a_flat_bus() -> None:
    flat = [gpu(d) for d in range(8)] + [nic(d, name=f"mlx5_ib{d}") for d in range(8)]
    found = parse(system(cpu(-1, *flat)))
    assert values(found, "topo_xml.flat") == [True]
    assert values(found, "topo_xml.numa_unknown") == [True]
    assert values(found, "topo_xml.gpus_beside_nic") == [0]


def test_grace_has_no_switch_by_design() -> None:
    found = parse(system(*(cpu(n, gpu(n, sm=100), nic(n), arch="arm64") for n in range(4))))
    assert not values(found, "topo_xml.flat")


def test_adapters_under_one_cpu_only() -> None:
    near = cpu(0, switch(1, gpu(0), gpu(1), nic(0)))
    far = cpu(1, switch(2, gpu(2), gpu(3)))
    found = parse(system(near, far))
    assert values(found, "topo_xml.gpu_without_near_nic") == ["GPUs 2, 3: no adapter under the same CPU"]
    assert values(found, "topo_xml.gpus_beside_nic") == [2]
    assert values(found, "topo_xml.gpus_per_nic") == [4.0]


def test_host_without_nvlink_and_with_ethernet_only() -> None:
    found = parse(system(cpu(0, gpu(0, 0), gpu(1, 0), nic(0, speed=10000, gdr=0, name="eno1"))))
    assert values(found, "nccl.topo_no_nvlink") == [True]
    assert values(found, "topo_xml.net_gbps") == [10.0]
    assert not values(found, "topo_xml.net_gdr")
    assert not values(found, "topo_xml.gpus_per_nic")


def test_graph() -> None:
    found = parse(GRAPH_H100)
    assert values(found, "nccl.topo_type") == ["NVL/PXB"]
    assert values(found, "graph_xml.channels") == [8]
    assert values(found, "graph_xml.intra_gbs") == [320.0]
    assert values(found, "graph_xml.nets_used") == [2]
    found = parse(GRAPH_VM)
    assert values(found, "nccl.topo_type") == ["SYS/PHB"]
    assert values(found, "nccl.topo_bw") == [9.0]
    assert values(found, "graph_xml.inter_type") == ["PHB"]


def test_graph_of_one_host_names_no_adapter() -> None:
    text = GRAPH_VM.replace('      <net dev="0"/>\n', "")
    assert not values(parse(text), "graph_xml.inter_type")


def test_both_files_together_and_hosts_that_differ() -> None:
    case = CaseFile(parse(hgx()) + parse(GRAPH_H100))
    assert [f.value for f in n12_nccl_xml.derive(case) if f.key == "graph_xml.net_share"] == [0.25]
    case = CaseFile()
    for host in ("n1", "n2", "n3"):
        case.add(parse(hgx() if host != "n2" else hgx(links=dict.fromkeys(range(8), 12)), host=host))
    assert [f.value for f in n12_nccl_xml.derive(case)] == ["n2: 12 NVLinks, others 18"]


def test_several_files_in_one_text() -> None:
    found = parse(f"n1:40:71 [0] NCCL INFO cat topo.xml\n{hgx()}\n$ cat graph.xml\n{GRAPH_VM}")
    assert values(found, "topo_xml.gpus") == [8]
    assert values(found, "graph_xml.channels") == [1]


def test_entities_are_refused() -> None:
    bomb = '<system version="1"><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><cpu numaid="&b;"/></system>'
    assert parse(bomb) == []
    inside = '<!DOCTYPE system [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n' + hgx().replace(
        'numaid="0"', 'numaid="&a;"'
    )
    assert not any("root" in str(f.value) for f in parse(inside))


def test_depth_and_size_are_bounded() -> None:
    start = time.process_time()
    assert parse('<system version="1">' + "<pci>" * 200_000) == []
    assert parse('<system version="1">\n' * 200_000) == []
    assert time.process_time() - start < 2


def test_truncated_file_tells_what_it_has() -> None:
    text = hgx()
    assert values(parse(text[: len(text) // 2]), "topo_xml.gpus")[0] in (3, 4)
    for cut in range(0, len(text), 101):
        parse(text[:cut])
        parse(text[cut:])


@pytest.mark.parametrize(
    "text", ["", "<system version=", '<graphs version="1"></graphs>', '<graphs version="1"><graph id="0"/>']
)
def test_little_is_no_error(text: str) -> None:
    parse(text)
