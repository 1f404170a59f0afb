r"""What a cloud's firewall lets in, from aws ec2 describe-security-groups, gcloud firewall-rules and Terraform.

"IpPermissions": [ {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]} ]
ingress { from_port = 22  to_port = 22  protocol = "tcp" ... }
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._net import Reader

NAME = "security rules"
TRIGGERS = ("IpPermissions", "aws_security_group", "IpProtocol", "SecurityGroupIngress")

_IN = re.compile(r"\"IpPermissions\"\s*:\s*\[|\bingress\s*(?:=\s*\[)?\s*\{|SecurityGroupIngress:")
_OUT = re.compile(r"\"IpPermissionsEgress\"|\begress\b|SecurityGroupEgress:")
_PORTS = re.compile(r"\"?(?:FromPort|from_port)\"?\s*[:=]\s*(?P<low>-?\d+)[,\s]+\"?(?:ToPort|to_port)\"?\s*[:=]\s*(?P<high>-?\d+)")
_OPEN = re.compile(r"\"?(?:IpProtocol|protocol)\"?\s*[:=]\s*\"(?:-1|all)\"")
#: A rule that spans so many ports is meant for traffic between the nodes.
_WIDE = 1000


def parse(document: Document) -> Iterable[Fact]:
    text = document.text
    start = _IN.search(text)
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
