"""Stack dumps of stuck or slow processes -> where each one stands: py-spy, faulthandler, gdb, kernel stacks.

Samples:

    $ py-spy dump --pid 211064
    Process 211064: python train.py
    Thread 211064 (active): "MainThread"
        barrier (torch/distributed/distributed_c10d.py:2784)

    Thread 0x00007f1c (most recent call first):
      File "/usr/lib/python3.10/threading.py", line 320 in wait

    Thread 1 (Thread 0x7f (LWP 40117) "python3"):
    #10 0x00007fec9ae67f06 in cudaLaunchKernel () from libcudart.so.11.4.108
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from assistant.facts import JOB, Fact, Subject
from assistant.intake.document import Document

NAME = "stack dump"
TRIGGERS = ("MainThread", "most recent call first", "#0  0x", "#1  0x", "(active", "(idle", "/stack", "py-spy")
VERSIONS = "py-spy dump 0.3 and 0.4, faulthandler of Python 3.6 to 3.14, gdb 8 to 16 and pstack, /proc/PID/stack"

_PROCESS = re.compile(r"^\s*Process (?P<pid>\d+): ")
_THREAD = re.compile(
    r'^\s*Thread (?P<tid>\d+|0x[0-9a-fA-F]+) ?(?:\((?P<state>[^()]{0,200}(?:\([^()]{0,200}\))?[^()]{0,200})\))?:?(?: "?(?P<name>[^":]*)"?:?)?'
)
_HANDLER = re.compile(r"^\s*(?:Current thread|Thread) 0x[0-9a-fA-F]+(?: \[[^\]]*\])? \(most recent call first\)")
_SPY_FRAME = re.compile(r"^\s{2,}(?P<fn>[\w.<>~:]+(?:\s?\[[^\]]*\])?) \((?P<file>[^()]*?)(?::(?P<line>\d+))?\)\s*$")
_PY_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+),? in (?P<fn>\S+)')
_GDB_FRAME = re.compile(
    r"^\s*#\d+\s+(?:0x[0-9a-fA-F]+ in )?(?P<fn>[\w:~<>]+)[^\n]*?(?:\s(?:at|from) (?P<file>\S+))?\s*$"
)
_IDLE_NAME = re.compile(
    r"watchdog|heartbeat|pin_memory|QueueFeeder|tqdm_monitor|ThreadPoolExecutor|asyncio|wandb|MsgRouter|ChkStop|NetStat|TensorBoard|Prometheus|pt_nccl|pt_autograd",
    re.IGNORECASE,
)


@cache
def _places() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Where a frame stands, first match counts; a frame is written as `function file`."""
    return tuple(
        (name, re.compile(pattern))
        for name, pattern in (
            (
                "checkpoint",
                r"\b(?:save_checkpoint|_save_checkpoint|torch_save|save_pretrained|async_save|_save_to_state_dict|save_model|save_state|write_checkpoint)\b|^(?:save|_legacy_save|_save) \S*(?:torch/serialization|checkpoint|safetensors)|distributed/checkpoint/",
            ),
            (
                "dataloader",
                r"torch/utils/data/|_MultiProcessingDataLoaderIter|_try_get_data|_next_data|data_worker|dataloader|DataLoader|webdataset|torchdata|tf_data|IteratorGetNext|datasets/(?:iterable_dataset|arrow_dataset)|multiprocessing/(?:queues|connection)\.py|__getitem__",
            ),
            (
                "compile",
                r"torch/_(?:inductor|dynamo)|triton/(?:compiler|runtime)|cpp_extension\.py|XlaCompile|backend_compile|ninja|llvm",
            ),
            (
                "store",
                r"TCPStore|_store_based_barrier|store_based_barrier|rendezvous|create_and_wait|broadcastUniqueNCCLID|init_process_group|new_group",
            ),
            (
                "collective",
                r"distributed_c10d|\b(?:all_?reduce|all_?gather|reduce_?scatter|broadcast|barrier|all_?to_?all|monitored_barrier|wait_for_everyone|synchronize_rng_states|broadcast_object_list|all_gather_object)\b|nccl[A-Z]\w+|ncclGroupEnd|c10d::|horovod|hvd|HorovodAllreduce|torch/(?:nn/parallel/distributed|distributed/fsdp)|deepspeed/comm|CollectiveOps|allreduce|gloo::",
            ),
            ("gil", r"\b(?:take_gil|PyEval_RestoreThread|PyGILState_Ensure|PyThread_acquire_lock_timed)\b"),
            (
                "file",
                r"\b(?:nfs\w*|lustre\w*|ll_\w+|gpfs\w*|cxi\w+|rpc_wait\w*|io_schedule|wait_on_page\w*|fuse_\w+|ceph_\w+|vfs_(?:read|write)|new_sync_write|__read|__write|fsync|__open(?:at)?(?:64)?|__lstat(?:64)?|pread(?:64)?)\b|\b(?:open|read|write|readinto|load_file|fsync|stat|listdir|glob|scandir|exists|flush)\b \S*(?:posixpath|genericpath|glob|os|io|tarfile|zipfile|h5py|numpy|PIL|gzip|pathlib|fsspec|s3fs|boto\w*|urllib3?\S*|ssl|socket)(?:\.py)?",
            ),
            ("gc", r"\bgc_collect\w*|\bgc\.collect|collect \S*gc"),
            (
                "cuda-sync",
                r"cuda(?:Stream|Device|Event)Synchronize|cu(?:Stream|Ctx|Event)Synchronize|^(?:synchronize|item|cpu|tolist|_local_scalar_dense) |local_scalar_dense|torch/cuda/__init__|clip_grad|cudaMemcpy",
            ),
            ("compute", r"\b(?:backward|forward|_run_backward|run_backward|autograd)\b|torch/nn/modules"),
        )
    )


#: (innermost place, place of a caller) where the caller says more.
_TELLS_MORE = frozenset(
    [
        (inner, caller)
        for inner in ("cuda-sync", "gil", "file", "compute", "collective")
        for caller in ("checkpoint", "dataloader")
    ]
    + [("gil", "collective"), ("cuda-sync", "collective")]
)


@dataclass(slots=True)
class Dump:
    """The telling thread of one process."""

    line: int
    pid: str | None = None
    where: str = "other"
    function: str = ""
    frames: list[tuple[str, str, int]] = field(default_factory=list)


def parse(document: Document) -> Iterable[Fact]:
    dumps = [d for d in _dumps(document) if d.where != "other" or d.frames]
    facts: list[Fact] = []
    for dump in dumps[:512]:
        origin = document.origin(dump.line, "tool")
        rank = document.line(dump.line).rank
        subject = Subject("rank", str(rank)) if rank is not None else JOB
        facts.append(Fact("stack.where", dump.where, origin, subject))
        if dump.function:
            facts.append(Fact("stack.function", dump.function, origin, subject))
    return facts


def _dumps(document: Document) -> Iterator[Dump]:
    """One dump a process: of its threads the main one, or the first that tells something."""
    best: Dump | None = None
    main = False
    frames: list[tuple[str, str, int]] = []
    pid: str | None = None
    start, name = 0, ""

    def close() -> None:
        nonlocal best, main, frames
        if frames and not _IDLE_NAME.search(name):
            dump = _judge(frames, start, pid)
            is_main = "MainThread" in name or (pid is not None and name == pid)
            if (
                best is None
                or (is_main and not main)
                or (not main and best.where in ("other", "gil") and dump.where != "other")
            ):
                best, main = dump, is_main
        frames = []

    for index, line in enumerate(document.messages):
        process = _PROCESS.match(line)
        thread = None if process else _HANDLER.match(line) or _THREAD.match(line)
        if thread and "MainThread" in line:
            close()
            if main and best is not None:  # the next process, with no header of its own
                yield best
                best, main, pid = None, False, None
        if process or (thread and frames and _HANDLER.match(line) and line.lstrip().startswith("Current")):
            close()
            if best is not None:
                yield best
            best, main = None, False
            pid = process["pid"] if process else None
            start, name = index, ""
        elif thread:
            close()
            groups = thread.groupdict()
            name = " ".join(g for g in (groups.get("name"), groups.get("state")) if g) or (groups.get("tid") or "")
            if groups.get("tid") == pid and pid is not None and "MainThread" not in name:
                name = pid
            start = index
        else:
            frame = (
                _SPY_FRAME.match(line)
                or _PY_FRAME.match(line)
                or (_GDB_FRAME.match(line) if line.lstrip().startswith("#") else None)
            )
            if frame is not None:
                frames.append((frame["fn"], frame["file"] or "", index))
    close()
    if best is not None:
        yield best


def _judge(frames: list[tuple[str, str, int]], start: int, pid: str | None) -> Dump:
    """Innermost frame first: the first frames that tell decide, plain waiting and launching apart."""
    dump = Dump(frames[0][2] if frames else start, pid, frames=frames)
    for function, file, line in frames:
        text = f"{function} {file}"
        for name, pattern in _places():
            if pattern.search(text):
                if dump.where == "other" or (dump.where, name) in _TELLS_MORE:
                    dump.where, dump.function, dump.line = name, function, line
                break
    return dump
