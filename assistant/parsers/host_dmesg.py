r"""The kernel log (`dmesg`, `journalctl -k`, /var/log/messages, kern.log): Xid and SXid, OOM killer, blocked tasks, IOMMU, links.

[918273.441200] NVRM: Xid (PCI:0000:4e:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
[Sat Mar  4 04:25:12 2023] INFO: task python:211058 blocked for more than 120 seconds.
[9.9] Memory cgroup out of memory: Killed process 8123 (python3) total-vm:182733312kB, anon-rss:98231200kB
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

import yaml

from assistant.facts import Fact, Origin, Subject, Value
from assistant.intake.document import Document
from assistant.parsers._device import host_subject, hosts_by_line
from assistant.parsers._lines import lines_with
from knowledge.load import ROOT

NAME = "kernel log"
TRIGGERS = (
    "NVRM:",
    "XidCriticalError",
    "SXid",
    "Xid (",
    "oom-kill",
    "Out of memory: Kill",
    "cgroup out of memory",
    "blocked for more than",
    "AMD-Vi",
    "DMAR:",
    "soft lockup",
    "hard LOCKUP",
    "rcu_sched",
    "[Hardware Error]",
    "EDAC ",
    "AER:",
    "PCIe Bus Error",
    "Link down",
    "Link is Down",
    "Link DOWN",
    "Kernel panic",
    "table full",
    "table overflow",
    "file-max limit",
    "cpu clock throttled",
    "Linux version",
    "not responding, still trying",
)
VERSIONS = (
    "Linux 3.10 to 6.14: dmesg with seconds or -T, journalctl -k, syslog; NVIDIA drivers 410 to 580 "
    "(proprietary and open), mlx5, AER, EDAC"
)

#: One of these stands in every line that a rule reads.
_HINTS = (
    "Xid", "XidCriticalError", "fallen off the bus", "RmInitAdapter", "oom-kill", "ut of memory", "blocked for more than", "nfs: server",
    "IO_PAGE_FAULT", "DMAR: ", "amd_iommu", "lockup", "LOCKUP", "rcu: INFO", "[Hardware Error]", "EDAC ", "AER: ", "PCIe Bus Error",
    "ink down", "ink is down", "ink is Down", "ink Down", "ink DOWN", "ink is DOWN", "Kernel panic", "Oops: ", "BUG: unable", "watchdog: hard",
    "general protection", "clock throttled", "clock is throttled", "table full", "table overflow", "file-max", "ommand line: ", "Default domain",
    "AMD-Vi: ",
)  # fmt: skip

_FILE_SYSTEMS = (
    ("gpfs", r"mmfs|gpfs|kSFS"),
    ("lustre", r"\[lustre\]|\[ptlrpc\]|\bll_|ptlrpc_|cl_io|osc_"),
    ("ceph", r"ceph"),
    ("beegfs", r"beegfs"),
    ("nfs", r"\bnfs|rpc_wait|rpc_execute|\[sunrpc\]"),
    ("fuse", r"fuse_|\[fuse\]"),
    ("nvidia", r"\[nvidia|_nv\d{6}rm|nvidia_|uvm_"),
    ("block", r"ext4_|xfs_|jbd2|io_schedule|blk_|wait_on_page"),
)


@cache
def xid_table() -> dict[int, dict[str, str]]:
    """Class, severity, meaning and action of every Xid that is known."""
    data = yaml.load((ROOT / "hardware" / "xid.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    return {row["code"]: row for row in data["xid"]}


@cache
def _rules() -> tuple[tuple[re.Pattern[str], str], ...]:
    table = (
        (r"(?<!S)Xid \((?:PCI:)?(?P<pci>[0-9a-fA-F:.]{1,20})[^)]{0,80}\): (?P<xid>\d+)", "xid"),
        (r"XidCriticalError: Xid=(?P<xid>\d+) on Device=(?P<pci>GPU-[0-9a-f-]+)", "xid"),
        (r"SXid \(PCI:(?P<pci>[0-9a-fA-F:.]+)\): (?P<sxid>\d{5})(?:, (?P<sev>Fatal|Non-fatal))?", "sxid"),
        (r"GPU (?P<pci>[0-9a-fA-F:.]+)?:? ?GPU has fallen off the bus|RmInitAdapter failed", "lost"),
        (r"oom-kill:constraint=(?P<scope>\w+).*?task=(?P<task>[^,]*)", "oom"),
        (
            r"(?P<scope>Memory cgroup out of memory|Out of memory)[^:]*: Kill(?:ed)? process \d+ \((?P<task>[^)]*)\)(?:.*?anon-rss:(?P<rss>\d+)kB)?",
            "oom",
        ),
        (r"invoked oom-killer", "oom"),
        (r"INFO: task (?P<task>\S.*?):\d+ (?:<\S+> )?blocked for more than", "hung"),
        (r"(?:nfs: server (?P<server>\S+) not responding)", "nfs"),
        (
            r"IO_PAGE_FAULT|DMAR: \[DMA (?:Read|Write)|DMAR: DRHD: handling fault|amd_iommu_report_page_fault",
            "iommu_fault",
        ),
        (r"soft lockup - CPU", "soft"),
        (r"hard LOCKUP", "hard"),
        (r"rcu: INFO: rcu_\w+ (?:self-)?detected", "rcu"),
        (r"\[Hardware Error\].*(?:Uncorrected|Fatal|uncorrected|fatal|UE )|EDAC .*\bUE\b", "mce-uncorrected"),
        (r"\[Hardware Error\]|EDAC \w+\d*: .*\bCE\b", "mce-corrected"),
        (r"AER: (?:Multiple )?Uncorrect|PCIe Bus Error: severity=Uncorrect", "aer-uncorrected"),
        (r"AER: (?:Multiple )?Correct|PCIe Bus Error: severity=Correct", "aer-corrected"),
        (r"(?P<nic>[\w.]+): (?:NIC |Port: \d+ )?[Ll]ink (?:is )?(?:down|Down|DOWN)", "nic"),
        (r"Kernel panic|Oops: |BUG: unable to handle|watchdog: hard|general protection fault: ", "panic"),
        (r"cpu clock (?:is )?throttled", "throttled"),
        (
            r"nf_conntrack: table full|neighbou?r: \S+: neighbor table overflow|neighbour table overflow|file-max limit \d+ reached",
            "table",
        ),
        (r"(?:Command line|Kernel command line): (?P<cmdline>\S.*)$", "cmdline"),
        (r"iommu: Default domain type: (?P<domain>\w+)", "domain"),
        (r"DMAR: IOMMU enabled|AMD-Vi: (?:Interrupt remapping|Found IOMMU)|AMD-Vi: AMD IOMMUv2", "iommu-on"),
    )
    return tuple((re.compile(pattern), name) for pattern, name in table)


def parse(document: Document) -> Iterable[Fact]:
    hosts = hosts_by_line(document)
    xids: dict[tuple[str | None, str], list[tuple[int, Origin]]] = {}
    aer: dict[tuple[str | None, str], list[Origin]] = {}
    emitted: set[tuple[str, Value, str]] = set()
    for index in lines_with(document, _HINTS):
        text = document.lines[index]
        if len(text) < 12 or len(text) > 2000:
            continue
        for pattern, name in _rules():
            found = pattern.search(text)
            if not found:
                continue
            origin = document.origin(index, "tool")
            host = hosts[index] or origin.host or _syslog_host(text)
            groups = {k: v for k, v in found.groupdict().items() if v}
            if name == "xid":
                xids.setdefault((host, groups["pci"].lower()), []).append((int(groups["xid"]), origin))
            elif name.startswith("aer-"):
                aer.setdefault((host, name[4:]), []).append(origin)
            else:
                for fact in _facts(name, groups, document, index, origin, host):
                    mark = (fact.key, fact.value, str(fact.subject))
                    if mark not in emitted:
                        emitted.add(mark)
                        yield fact
            if name != "cmdline":
                break
    yield from _xids(xids)
    for (host, kind), origins in aer.items():
        yield Fact("kernel.aer", kind, origins[0], host_subject(host), len(origins))
        yield Fact("kernel.aer_count", len(origins), origins[0], host_subject(host))


def _syslog_host(text: str) -> str | None:
    found = re.match(r"^[A-Z][a-z]{2} +\d+ [\d:]{8} (?P<host>[\w.-]+) kernel:", text) or re.match(
        r"^\d{4}-\d\d-\d\dT\S+ (?P<host>[\w.-]+) kernel:", text
    )
    return found["host"] if found else None


def _xids(xids: dict[tuple[str | None, str], list[tuple[int, Origin]]]) -> Iterator[Fact]:
    for (host, pci), events in xids.items():
        subject = Subject("gpu", f"{host}:{pci}" if host else pci)
        for code, origin in dict(reversed(events)).items():
            yield Fact("gpu.xid", code, origin, subject, sum(c == code for c, _ in events))
        known = [(xid_table().get(code, {}).get("class", "hardware"), origin) for code, origin in events]
        first = next(((c, o) for c, o in known if c not in ("echo", "info")), known[0])
        yield Fact("gpu.xid_class", first[0], first[1], subject)
        yield Fact("gpu.xid_repeats", len(events), events[0][1], subject)


def _facts(
    name: str, groups: dict[str, str], document: Document, index: int, origin: Origin, host: str | None
) -> Iterator[Fact]:
    subject = host_subject(host)
    simple: dict[str, tuple[str, Value]] = {
        "iommu_fault": ("kernel.iommu_fault", True),
        "soft": ("kernel.lockup", "soft"),
        "hard": ("kernel.lockup", "hard"),
        "rcu": ("kernel.lockup", "rcu"),
        "mce-uncorrected": ("kernel.mce", "uncorrected"),
        "mce-corrected": ("kernel.mce", "corrected"),
        "panic": ("kernel.panic", True),
        "throttled": ("kernel.cpu_throttled", True),
        "lost": ("gpu.lost", "lost"),
        "nfs": ("kernel.hung_in", "nfs"),
        "iommu-on": ("kernel.iommu", "on"),
    }
    if name in simple:
        key, value = simple[name]
        yield Fact(key, value, origin, subject)
    elif name == "sxid":
        yield Fact("gpu.sxid", int(groups["sxid"]), origin, subject)
        if groups.get("sev") == "Fatal":
            yield Fact("gpu.sxid_fatal", True, origin, subject)
    elif name == "oom":
        yield Fact("kernel.oom", True, origin, subject)
        if "scope" in groups:
            yield Fact(
                "kernel.oom_scope",
                "memcg" if "cgroup" in groups["scope"] or "MEMCG" in groups["scope"] else "global",
                origin,
                subject,
            )
        if "task" in groups:
            yield Fact("kernel.oom_process", groups["task"], origin, subject)
        if "rss" in groups:
            yield Fact("kernel.oom_rss_gb", round(int(groups["rss"]) / 1e6, 1), origin, subject)
    elif name == "hung":
        where = _stack(document.lines[index + 1 : index + 45])
        yield Fact("kernel.hung_task", f"{groups['task']}{f' ({where})' if where else ''}", origin, subject)
        if where:
            yield Fact("kernel.hung_in", where, origin, subject)
    elif name == "nic":
        yield Fact(
            "kernel.nic_down",
            groups["nic"],
            origin,
            Subject("nic", f"{host}:{groups['nic']}" if host else groups["nic"]),
        )
    elif name == "table":
        text = document.lines[index]
        yield Fact(
            "kernel.table_full",
            "conntrack" if "conntrack" in text else "files" if "file-max" in text else "neighbour",
            origin,
            subject,
        )
    elif name == "domain":
        kind = groups["domain"].lower()
        yield Fact("kernel.iommu", "pt" if kind.startswith("pass") else "on", origin, subject)
    elif name == "cmdline":
        yield from cmdline_facts(groups["cmdline"], origin, subject)


def _stack(lines: list[str]) -> str | None:
    """The subsystem in which a blocked task stands, as its stack tells."""
    stack: list[str] = []
    for line in lines:
        if "blocked for more than" in line:
            break
        if "+0x" in line and "? " not in line:
            stack.append(line)
    text = "\n".join(stack)
    return next((name for name, pattern in _FILE_SYSTEMS if re.search(pattern, text)), None)


def cmdline_facts(text: str, origin: Origin, subject: Subject) -> Iterator[Fact]:
    """Facts of the kernel command line: state of the IOMMU and NUMA balancing."""
    words = text.split()
    yield Fact("kernel.cmdline", text.strip()[:300], origin, subject)
    if "iommu=pt" in words or "iommu.passthrough=1" in words:
        state = "pt"
    elif {"iommu=off", "intel_iommu=off", "amd_iommu=off"} & set(words):
        state = "off"
    elif {"intel_iommu=on", "amd_iommu=on", "iommu=on", "iommu.passthrough=0", "iommu=force"} & set(words):
        state = "on"
    else:
        state = "unset"
    yield Fact("kernel.iommu", state, origin, subject)
    if "numa_balancing=disable" in words:
        yield Fact("kernel.numa_balancing", False, origin, subject)
