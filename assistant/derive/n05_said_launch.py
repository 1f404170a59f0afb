"""Launch commands, settings and versions that the user wrote into a sentence, read as if they stood in a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from assistant.facts import CaseFile, Fact
from assistant.intake.document import Document
from assistant.parsers import launch_command, launch_env


def derive(case: CaseFile) -> Iterable[Fact]:
    facts: list[Fact] = []
    for sentence in case.says:
        document = Document("", sentence, origin_kind="say")
        for module in (launch_command, launch_env):
            if any(trigger in sentence for trigger in module.TRIGGERS):
                facts += [
                    replace(f, origin=replace(f.origin, kind="say", file=None, line=None))
                    for f in module.parse(document)
                ]
    return facts
