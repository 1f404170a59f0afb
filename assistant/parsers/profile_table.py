"""Tables of profilers -> shares of data loading, host synchronisation and collectives.

Samples (torch.profiler's key_averages().table(), Lightning's simple profiler, DeepSpeed's comms summary):

    Name                         Self CPU %   Self CPU   ...  Self CUDA   Self CUDA %    CUDA total  CUDA time avg    # of Calls
    ncclKernel_AllReduce_RING_LL      0.00%     0.000us  ...    1.204s        61.20%        1.204s       2.401ms           501

    |  Action                              |  Mean duration (s)  |  Num calls  |  Total time (s)  |  Percentage %   |
    |  run_training_epoch                  |  412.3              |  1          |  412.3           |  98.1           |
    |  [_TrainingEpochLoop].train_dataloader_next  |  0.31       |  1000       |  310.2           |  75.2           |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.facts import Fact
from assistant.intake.document import Document

NAME = "profiler table"
TRIGGERS = ("Self CPU", "Percentage %", "Mean duration", "Total straggler", "cumtime")
VERSIONS = "torch.profiler 1.8 to 2.9, Lightning's simple profiler 1 to 2, DeepSpeed's comms summary, cProfile"

_FETCH = re.compile(
    r"train_dataloader_next|get_train_batch|fetch_next\S{0,80}train|enumerate\(DataLoader\)|_(?:Multi|Single)Process(?:ing)?(?:DataLoader)?Iter|DataLoader\S{0,80}__next__|IteratorGetNext|_next_data|dataloader\.py|data_worker",
    re.IGNORECASE,
)
_SYNC = re.compile(r"cuda(?:Stream|Device|Event)Synchronize|aten::(?:item|_local_scalar_dense)|Memcpy DtoH")
_COMM = re.compile(
    r"nccl(?:Dev)?Kernel|ncclDevKernel|nccl:\w+|c10d::\w+|HorovodAllreduce|all_?reduce|reduce_scatter|all_gather",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)%")
#: Tables that are read.
_TABLES = 64
_UNIT = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def parse(document: Document) -> Iterable[Fact]:
    facts: list[Fact] = []
    tables = 0
    for index, line in enumerate(document.messages):
        if tables >= _TABLES:
            break
        tables += 1
        if "Self CPU" in line and "Name" in line:
            facts += _torch(document, index)
        elif "Percentage %" in line and "Action" in line:
            facts += _lightning(document, index)
        elif "Total straggler" in line:
            facts += _straggler(document, index)
        elif "cumtime" in line and "ncalls" in line:
            facts += _cprofile(document, index)
        else:
            tables -= 1
    return facts


def _torch(document: Document, head: int) -> Iterator[Fact]:
    columns = re.split(r"\s{2,}", document.messages[head].strip())
    cuda = next((i for i, c in enumerate(columns) if re.fullmatch(r"Self (?:CUDA|XPU|HIP) %", c)), None)
    cpu = columns.index("Self CPU %") if "Self CPU %" in columns else None
    calls = columns.index("# of Calls") if "# of Calls" in columns else None
    shares: dict[str, float] = {"data": 0.0, "sync": 0.0, "comm": 0.0}
    small = False
    for line in document.messages[head + 1 : head + 400]:
        if line.startswith("Self CPU time total") or not line.strip():
            break
        cells = re.split(r"\s{2,}", line.strip())
        if len(cells) < len(columns) - 1:
            continue
        cells = (
            [" ".join(cells[: len(cells) - len(columns) + 1]), *cells[len(cells) - len(columns) + 1 :]]
            if len(cells) > len(columns)
            else cells
        )
        name = cells[0]
        if _FETCH.search(name) and cpu is not None:
            shares["data"] = max(shares["data"], _share(cells, cpu))
        elif _SYNC.search(name) and cpu is not None:
            shares["sync"] += _share(cells, cpu)
        elif re.search(r"nccl(?:Dev)?Kernel", name) and cuda is not None:
            shares["comm"] += _share(cells, cuda)
            if calls is not None and cells[calls : calls + 1] and cells[calls].isdecimal() and int(cells[calls]) >= 300:
                average = re.fullmatch(r"(\d+(?:\.\d+)?)(us|ms|s)", cells[calls - 1])
                small = small or (average is not None and float(average[1]) * _UNIT[average[2]] < 3e-4)
    origin = document.origin(head, "tool")
    for key, name in (("trace.data_share", "data"), ("trace.sync_share", "sync"), ("trace.comm_share", "comm")):
        if shares[name] > 0.01:
            yield Fact(key, round(min(shares[name], 1.0), 3), origin)
    if small:
        yield Fact("trace.small_kernels", True, origin)


def _share(cells: list[str], column: int) -> float:
    found = _PERCENT.fullmatch(cells[column]) if column < len(cells) else None
    return float(found[1]) / 100 if found else 0.0


def _lightning(document: Document, head: int) -> Iterator[Fact]:
    data = 0.0
    where = head
    for index in range(head + 1, min(head + 200, len(document.messages))):
        cells = [c.strip() for c in document.messages[index].strip().strip("|").split("|")]
        if len(cells) < 4 or not re.fullmatch(r"\d+(?:\.\d+)?", cells[-1]):
            continue
        if _FETCH.search(cells[0]) and float(cells[-1]) / 100 > data:
            data, where = float(cells[-1]) / 100, index
    if data > 0:
        yield Fact("trace.data_share", round(min(data, 1.0), 3), document.origin(where, "tool"))


def _straggler(document: Document, head: int) -> Iterator[Fact]:
    """DeepSpeed's comms summary: how much of the time in collectives is waiting for the last rank."""
    total = late = 0.0
    for line in document.messages[head + 1 : head + 100]:
        cells = re.findall(r"(?<![\w.])\d+\.\d+(?![\w.])", line)
        if len(cells) >= 4:
            total += float(cells[-4])
            late += float(cells[-3])
    if total > 0:
        yield Fact("step.skew", round(1 + late / total, 3), document.origin(head, "tool"))


def _cprofile(document: Document, head: int) -> Iterator[Fact]:
    """cProfile: cumulative time of fetching over that of the whole program."""
    whole = fetch = sync = 0.0
    for line in document.messages[head + 1 : head + 200]:
        cells = line.split(None, 5)
        if len(cells) < 6 or not re.fullmatch(r"\d+(?:\.\d+)?", cells[3]):
            continue
        cumulative, own = float(cells[3]), float(cells[1])
        whole = max(whole, cumulative)
        if _FETCH.search(cells[5]):
            fetch = max(fetch, cumulative)
        if re.search(r"'(?:item|cpu|tolist)' of|cuda\S{0,80}synchronize", cells[5]):
            sync += own
    if whole > 0:
        origin = document.origin(head, "tool")
        if fetch:
            yield Fact("trace.data_share", round(min(fetch / whole, 1.0), 3), origin)
        if sync:
            yield Fact("trace.sync_share", round(min(sync / whole, 1.0), 3), origin)
