r"""What a cloud's firewall lets in, from aws ec2 describe-security-groups, gcloud firewall-rules and Terraform.

"IpPermissions": [ {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]} ]
allow-ssh   train-vpc  INGRESS    1000      tcp:22        False
ingress { from_port = 22  to_port = 22  protocol = "tcp" ... }
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with
from assistant.parsers._net import Reader

NAME = "security rules"
TRIGGERS = ("IpPermissions", "aws_security_group", "IpProtocol", "SecurityGroupIngress", "INGRESS", "services:")
VERSIONS = "aws ec2 describe-security-groups, CloudFormation, gcloud compute firewall-rules, Terraform, firewalld"

_IN = re.compile(r"\"IpPermissions\"\s*:\s*\[|\bingress\s*(?:=\s*\[)?\s*\{|SecurityGroupIngress:")
_OUT = re.compile(r"\"IpPermissionsEgress\"|\begress\b|SecurityGroupEgress:")
_PORTS = re.compile(
    r"\"?(?:FromPort|from_port)\"?\s*[:=]\s*(?P<low>-?\d+)[,\s]+\"?(?:ToPort|to_port)\"?\s*[:=]\s*(?P<high>-?\d+)"
)
_OPEN = re.compile(r"\"?(?:IpProtocol|protocol)\"?\s*[:=]\s*\"(?:-1|all)\"")
#: A rule that spans so many ports is meant for traffic between the nodes.
_WIDE = 1000


def parse(document: Document) -> Iterable[Fact]:
    text = document.text
    yield from _gcloud(Reader(document))
    yield from _firewalld(Reader(document))
    told = any(word in text for word in ("IpPermissions", "ingress", "SecurityGroupIngress"))
    start = _IN.search(text) if told else None
    if not start:
        return
    out = _OUT.search(text, start.end())
    rules = text[start.start() : out.start() if out else len(text)]
    ports = [(int(m["low"]), int(m["high"])) for m in _PORTS.finditer(rules)]
    if not ports or _OPEN.search(rules) or any(high - low >= _WIDE for low, high in ports):
        return
    shown = ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in ports[:6])
    index = text.count("\n", 0, start.start())
    yield Reader(document).job(index, "net.only_ports_open", shown)


def _gcloud(reader: Reader) -> Iterable[Fact]:
    """gcloud compute firewall-rules list: a line a rule; traffic between the nodes needs all of tcp or a wide range."""
    allowed: list[tuple[int, str]] = []
    for index in lines_with(reader.document, ("INGRESS",)):
        words = reader.document.messages[index].split()
        if "INGRESS" in words[1:5]:
            allowed += [(index, w) for w in words[words.index("INGRESS") + 2 :][:1]]
    wide = any(re.search(r"(?:^|,)(?:all|tcp|tcp:\d+-\d{5})(?:,|$)", rule) for _, rule in allowed)
    if allowed and not wide:
        yield reader.job(allowed[0][0], "net.only_ports_open", ", ".join(rule for _, rule in allowed[:6]))


def _firewalld(reader: Reader) -> Iterable[Fact]:
    """firewall-cmd --list-all: a zone that lets in a few services and ports only."""
    lines = reader.document.messages
    for index in lines_with(reader.document, (" services: ", "\tservices: ")):
        text = lines[index]
        services = re.match(r"\s+services: (?P<list>[\w ,.-]*)$", text)
        if not services:
            continue
        block = lines[max(0, index - 6) : index + 4]
        if any(re.search(r"target: ACCEPT|ports: .*\d+-\d{5}", line) for line in block):
            continue
        ports = next((m["p"] for line in block if (m := re.match(r"\s+ports: (?P<p>\S.*)$", line))), "")
        shown = ", ".join(x for x in (services["list"].strip(), ports) if x)
        yield reader.job(index, "net.only_ports_open", shown or "none")
        return
