"""Python tracebacks: the exception that was raised first on each rank, and whether it only reports a failure elsewhere.

Traceback (most recent call last):
  File "train.py", line 71, in main
    loss.backward()
ValueError: expected sequence of length 512
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from assistant.facts import JOB, Fact, Subject
from assistant.intake.document import Document

NAME = "Python traceback"
TRIGGERS = (
    "Traceback (most recent call last)",
    "Error: ",
    "Exception: ",
    "terminated with the following error",
    "RayTaskError(",
)
VERSIONS = "Python 3.6 to 3.14 (carets, exception groups and notes), Ray's and multiprocessing's wrapped tracebacks"

HEAD = "Traceback (most recent call last):"


@cache
def _exception() -> re.Pattern[str]:
    return re.compile(
        r"^(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Timeout|Warning|Killed|Aborted|OutOfMemory|StopIteration|Failure))(?::\s?(?P<text>.*))?$"
    )


@cache
def _frame() -> re.Pattern[str]:
    return re.compile(r'^\s+File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>\S+))?')


#: Types that report the failure of a peer, of the launcher's child or of a connection.
_ECHO_WORDS = (
    "DistBackendError DistNetworkError DistStoreError ChildFailedError SignalException ProcessExitedException ProcessRaisedException "
    "HorovodInternalError RendezvousClosedError RendezvousConnectionError RendezvousTimeoutError RendezvousStateError RendezvousGracefulExitError "
    "RendezvousError CalledProcessError ConnectionResetError BrokenPipeError EOFError KeyboardInterrupt SystemExit ActorDiedError RayActorError "
    "WorkerCrashedError NodeDiedError ObjectLostError TrainingFailedError DDPException GeneratorExit HostsUpdatedInterrupt ConnectionError"
)
_ECHO_TYPES = frozenset(_ECHO_WORDS.split())


@cache
def _echo_text() -> re.Pattern[str]:
    return re.compile(
        r"(?i)DEADLINE_EXCEEDED: (?:failed to connect|barrier timed)|UNAVAILABLE: (?:failed to connect|connection|socket)|failed to connect to all addresses|NCCL (?:error|communicator)|ncclS?\w*Error|NCCL.{0,20}timeout|Watchdog caught|ProcessGroup(?:NCCL|Gloo)|/gloo/|Gloo connectFullMesh|Connection (?:closed|reset) by peer|"
        r"broken pipe|socket timeout|connection refused|store based barrier|TCPStore|c10d store|client socket has timed out|Timed out (?:after|waiting|initializing)|"
        r"wait timeout after|recv, got 0 bytes|closed connection|address already in use|Horovod has been shut down|UnexpectedRemote|"
        r"monitoredBarrier|rank \d+ (?:failed|did not)|DataLoader worker \(pid\(?s?\)?.{0,20}exited|EADDRINUSE|rendezvous|connectFullMesh|Detected mismatch between collectives"
    )


@dataclass(slots=True)
class Raised:
    """One exception; `chain` counts how many came before it in the same chain."""

    index: int
    kind: str
    text: str
    frame: str | None
    own_frame: str | None
    chain: int = 0
    rank: int | None = None
    host: str | None = None

    @property
    def short(self) -> str:
        return self.kind.rsplit(".", 1)[-1]

    @property
    def echo(self) -> bool:
        return is_echo(self.kind, self.text)

    def __str__(self) -> str:
        return f"{self.short}: {self.text}".rstrip(": ")[:300]


def is_echo(kind: str, text: str) -> bool:
    """Whether an exception of this type and text only tells of a failure elsewhere."""
    short = kind.rsplit(".", 1)[-1]
    return short in _ECHO_TYPES or (
        short
        in (
            "RuntimeError",
            "TimeoutError",
            "OSError",
            "Exception",
            "ValueError",
            "error",
            "XlaRuntimeError",
            "JaxRuntimeError",
        )
        and _echo_text().search(text) is not None
    )


_KINDS = (
    (
        "version",
        r"Version ?Mismatch|[Vv]ersion mismatch|installed with version \S+ but found|was (?:built|compiled) (?:with|against|for) .{0,40} but|incompatible (?:architecture|version)",
    ),
    (
        "world",
        r"[Ww]orld[ _]?size.{0,60}(?:divisible|but|!=|match|multiple)|but world size is|train_batch_size is not equal|mesh_shape|[Nn]umber of devices \d+|tasks per node configured in SLURM|product of (?:parallel|mesh)|[Ii]nvalid parallel dims|mesh (?:should|must) not be bigger|only \d+ (?:gpus?|devices) (?:are )?available|devices? you requested",
    ),
    (
        "gpu-memory",
        r"OutOfMemoryError|CUDA out of memory|CUDNN_STATUS_ALLOC_FAILED|CUBLAS_STATUS_ALLOC_FAILED|HIP out of memory",
    ),
    (
        "host-memory",
        r"^MemoryError|Cannot allocate memory|can't allocate memory|DefaultCPUAllocator|Unable to allocate .* for an array",
    ),
    (
        "backend",
        r"No backend type associated|doesn't have (?:NCCL|MPI|Gloo|UCC)|must be CUDA and dense|not implemented for '?(?:gloo|mpi)|Invalid backend|Unknown c10d backend",
    ),
    (
        "group",
        r"process group has not been initialized|default process group twice|environment variable \w+ expected|Invalid rank|rank must be|world_size",
    ),
    ("import", r"^(?:ModuleNotFoundError|ImportError)|undefined symbol|cannot open shared object file"),
    (
        "cuda",
        r"CUDA error|CUDA driver|cuDNN error|CUBLAS_STATUS|device-side assert|invalid device ordinal|No CUDA GPUs are available|NVML|AcceleratorError",
    ),
    ("dataloader", r"DataLoader worker|dataloader"),
    (
        "file",
        r"^(?:FileNotFoundError|PermissionError|OSError|FileExistsError|IsADirectoryError|BlockingIOError)|No such file|No space left|Stale file handle|Disk quota",
    ),
)


def kind_of(kind: str, text: str) -> str:
    """What sort of exception it is: echo, gpu-memory, backend ..., or program for everything else."""
    whole = f"{kind.rsplit('.', 1)[-1]}: {text}"
    if is_echo(kind, text):
        return "echo"
    return next((name for name, pattern in _KINDS if re.search(pattern, whole)), "program")


@dataclass(slots=True)
class _Open:
    """A traceback that is being read."""

    frames: list[str] = field(default_factory=list)
    own: str | None = None
    chain: int = 0


def tracebacks(document: Document) -> list[Raised]:
    """Every exception of the tracebacks, each with its rank where the line says it."""
    opened: dict[object, _Open] = {}
    chain: dict[object, int] = {}
    found: list[Raised] = []
    for index, message in enumerate(document.messages):
        text = message.rstrip()
        if not text:
            continue
        if HEAD in text:
            key = _key(document, index)
            opened[key] = _Open(chain=chain.get(key, 0))
            continue
        if text.startswith(("During handling of the above exception", "The above exception was the direct cause")):
            key = _key(document, index)
            chain[key] = chain.get(key, 0) + 1
            continue
        if not opened:
            continue
        if text[0].isspace():
            key = _key(document, index)
            block = opened.get(key) or (next(iter(opened.values())) if len(opened) == 1 else None)
            frame = _frame().match(text) if block else None
            if block and frame:
                place = f"{frame['file']}:{frame['line']} in {frame['function'] or '?'}"
                block.frames.append(place)
                if (
                    "site-packages" not in place
                    and "/lib/python" not in place
                    and "/torch/" not in place
                    and "<frozen" not in place
                ):
                    block.own = place
            continue
        key = _key(document, index)
        raised = _exception().match(text)
        if raised and key not in opened and len(opened) == 1:
            key = next(iter(opened))
        closed = opened.pop(key, None) if raised else None
        if raised and closed:
            line = document.line(index)
            frame_text = closed.frames[-1] if closed.frames else None
            found.append(
                Raised(
                    index,
                    raised["type"],
                    (raised["text"] or "").strip(),
                    frame_text,
                    closed.own,
                    closed.chain,
                    line.rank,
                    line.host,
                )
            )
            if not _continues(document, index):
                chain[key] = 0
    return found


def _continues(document: Document, index: int) -> bool:
    """The chain goes on below: Python says so after an empty line."""
    for message in document.messages[index + 1 : index + 40]:
        if "During handling of the above exception" in message or "The above exception was the direct cause" in message:
            return True
        if HEAD in message:
            return False
    return False


def _key(document: Document, index: int) -> object:
    line = document.line(index)
    return line.rank if line.rank is not None else line.host


@cache
def _bare() -> re.Pattern[str]:
    return re.compile(
        r"^(?P<type>(?:torch\.(?:cuda\.)?|ray\.exceptions\.)?(?:OutOfMemoryError|AcceleratorError|RayTaskError\((?P<inner>\w+)\)))(?:: (?P<text>.*))$"
    )


def parse(document: Document) -> Iterable[Fact]:
    facts: list[Fact] = []
    seen: set[tuple[str, object]] = set()
    first_of: dict[object, bool] = {}
    for raised in tracebacks(document):
        key = (str(raised), raised.rank if raised.rank is not None else raised.host)
        if raised.chain and first_of.get(key[1]) is not None and not raised.echo and first_of[key[1]] is False:
            continue  # a later exception of a chain whose first one is already known
        if key in seen or len(seen) > 200:
            continue
        seen.add(key)
        first_of[key[1]] = raised.echo
        facts += _facts(document, raised)
    if not facts:
        for index, message in enumerate(document.messages):
            found = _bare().match(message)
            if found:
                line = document.line(index)
                facts += _facts(
                    document,
                    Raised(
                        index, found["inner"] or found["type"], found["text"] or "", None, None, 0, line.rank, line.host
                    ),
                )
                break
    if any(f.origin.host for f in facts):
        hosts = sorted({h for h in (document.line(i).host for i in range(min(len(document.lines), 3000))) if h})
        if len(hosts) > 1:
            facts.append(Fact("log.hosts", ",".join(hosts[:64]), facts[0].origin))
    return facts


def _facts(document: Document, raised: Raised) -> list[Fact]:
    origin = document.origin(raised.index)
    subject = Subject("rank", str(raised.rank)) if raised.rank is not None else JOB
    facts = [
        Fact("python.echo" if raised.echo else "python.exception", str(raised), origin, subject),
        Fact("python.kind", kind_of(raised.kind, raised.text), origin, subject),
    ]
    place = raised.own_frame or raised.frame
    if place and not raised.echo:
        facts.append(Fact("python.frame", place, origin, subject))
    return facts
