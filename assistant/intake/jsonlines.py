"""JSON-lines logs (Docker, Kubernetes and fluentd, structlog, the journal, cloud loggers) as plain lines.

Each record becomes the line that its program wrote, behind the marks that other logs have: time, `[pod/name/container]` or
`host: `, `[rank3]:`. So everything after this reads them like any other log.

    {"log":"ValueError: x\\n","stream":"stderr","time":"2024-01-01T00:00:00.5Z"}   ->   2024-01-01T00:00:00.5Z ValueError: x
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from assistant.intake.marks import host_like

_MESSAGE = ("log", "message", "msg", "MESSAGE", "event", "textPayload", "line", "body", "_line")
_TIME = ("time", "timestamp", "@timestamp", "ts", "asctime", "datetime", "__REALTIME_TIMESTAMP", "eventTime")
_LEVEL = ("level", "levelname", "severity", "lvl", "log.level", "loglevel")
_HOST = ("hostname", "host", "_HOSTNAME", "node", "node_name", "instance", "nodename", "hostName")
_RANK = ("rank", "global_rank", "RANK", "process_rank")
_TRACE = ("exc_info", "exception", "stack_trace", "traceback", "stacktrace", "stack", "exc_text", "error")
_COMPANIONS = frozenset(
    (*_TIME, *_LEVEL, *_RANK, "stream", "logger", "name", "kubernetes", "labels", "caller", "pid", "process")
)
_LOUD = {
    "WARN": "WARNING",
    "WARNING": "WARNING",
    "ERROR": "ERROR",
    "ERR": "ERROR",
    "CRITICAL": "CRITICAL",
    "FATAL": "FATAL",
}
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\s*(Z|[+-]\d\d:?\d\d)?$")
_RECORD = re.compile(
    r"(?P<head>(?:\[pod/\S+\] |20\d\d-\d\d-\d\dT\S+ (?:(?:stdout|stderr) [FP] )?|[\w.-]+ *\| |[\w.-]+: )*)(?P<json>\{\s*\".*\})\s*$"
)


def looks_like(lines: Iterable[str]) -> bool:
    """Whether these first lines of a text are log records in JSON, one a line."""
    seen = good = 0
    for line in lines:
        if not line.strip():
            continue
        seen += 1
        good += record_of(line) is not None
        if seen >= 24:
            break
    return good > 0 and good >= 0.6 * seen


def record_of(line: str) -> tuple[str, dict[str, Any]] | None:
    """The mark before a record, and the record; None where the line is none."""
    if '{"' not in line and "{ " not in line:
        return None
    found = _RECORD.match(line)
    if found is None:
        return None
    try:
        record = json.loads(found["json"])
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or _message(record) is None or _COMPANIONS.isdisjoint(record):
        return None
    return found["head"], record


def _message(record: dict[str, Any]) -> str | None:
    for key in _MESSAGE:
        value = record.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, dict):
            for inner in ("message", "msg", "stringValue"):
                if isinstance(value.get(inner), str):
                    return str(value[inner])
    payload = record.get("jsonPayload")
    return _message(payload) if isinstance(payload, dict) else None


def _first(record: dict[str, Any], keys: Iterable[str]) -> Any:
    for key in keys:
        value = record.get(key)
        if value not in (None, ""):
            return value
    return None


def stamp(value: Any) -> str:
    """A time of a record as RFC 3339; empty where it is none."""
    if isinstance(value, str):
        found = _ISO.match(value.strip())
        if found:
            day, clock, fraction, zone = found.groups()
            return f"{day}T{clock}{'.' + fraction if fraction else ''}{zone or ''}"
        try:
            value = float(value)
        except ValueError:
            return ""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1e9 < value < 1e20:
        return ""
    seconds = float(value)
    while seconds > 1e11:
        seconds /= 1000
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond:06d}Z"


def _place(record: dict[str, Any]) -> tuple[str, str]:
    """(pod mark, host) of a record; each may be empty."""
    kubernetes = record.get("kubernetes")
    resource = record.get("resource")
    labels = resource.get("labels") if isinstance(resource, dict) else record.get("labels")
    for found in (kubernetes, labels, record):
        if isinstance(found, dict):
            pod = found.get("pod_name") or found.get("pod")
            if isinstance(pod, dict):
                pod = pod.get("name")
            if isinstance(pod, str) and re.fullmatch(r"[\w.-]{1,253}", pod):
                container = found.get("container_name") or found.get("container") or "-"
                return f"[pod/{pod}/{container if isinstance(container, str) and ' ' not in container else '-'}] ", ""
    host = _first(record, _HOST)
    if isinstance(host, dict):
        host = host.get("name") or host.get("hostname")
    return "", host if isinstance(host, str) and re.fullmatch(r"[A-Za-z0-9][\w.-]{0,252}", host) else ""


def _loud(record: dict[str, Any]) -> str:
    level = _first(record, _LEVEL)
    loud = _LOUD.get(level.upper()) if isinstance(level, str) else None
    return f"[{loud}] " if loud else ""


def _goes_on(record: dict[str, Any], text: str) -> bool:
    """Whether the line goes on in the next record: container runtimes cut lines at 16 KiB."""
    if record.get("logtag") == "P" or record.get("partial_message") in (True, "true"):
        return True
    return (
        "log" in record
        and not text.endswith("\n")
        and len(text) >= 4000
        and record.keys() <= {"log", "stream", "time", "attrs"}
    )


@dataclass
class JsonLines:
    """Unpacks the records of one source; `hosts` are those that were named."""

    hosts: set[str] = field(default_factory=set)
    _open: tuple[str, str] | None = None
    """Marks and text of a record whose line goes on in the next record (Docker cuts lines at 16 KiB)."""

    def unpack(self, line: str) -> list[str] | None:
        """The plain lines of a record (none where the next one goes on with it); None where the line is no record."""
        found = record_of(line)
        if found is None:
            return None
        head, record = found
        text = _message(record) or ""
        extra: list[str] = []
        nested = record_of(text.rstrip("\n")) if text.startswith("{") else None
        if nested is not None:
            record = {**record, **nested[1]}
            text = _message(nested[1]) or ""
        marks = head + self._marks(record)
        goes_on = nested is None and _goes_on(record, text)
        if self._open is not None:
            marks, text = self._open[0], self._open[1] + text
            self._open = None
        if goes_on and len(text) < 1 << 20:
            self._open = (marks, text)
            return []
        trace = _first(record, _TRACE)
        if isinstance(trace, list):
            trace = "\n".join(str(x) for x in trace)
        if isinstance(trace, str) and trace != text and trace not in text:
            extra = trace.rstrip("\n").split("\n")
        first, *more = (text[:-1] if text.endswith("\n") else text).split("\n")
        return [marks + _loud(record) + first, *(marks + x for x in (*more, *extra))]

    def rest(self) -> list[str]:
        """What is left of a record that was never ended."""
        if self._open is None:
            return []
        marks, text = self._open
        self._open = None
        return [marks + text]

    def _marks(self, record: dict[str, Any]) -> str:
        time = stamp(_first(record, _TIME))
        pod, host = _place(record)
        rank = _first(record, _RANK)
        parts = [time + " " if time else "", pod]
        if host and host_like(host) and not pod:
            self.hosts.add(host)
            parts.append(host + ": ")
        if isinstance(rank, int | str) and str(rank).isdigit() and len(str(rank)) <= 6:
            parts.append(f"[rank{rank}]: ")
        return "".join(parts)
