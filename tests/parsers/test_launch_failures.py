"""Failure reports: torchrun's block, tracebacks, exit codes, Slurm, Kubernetes, rendezvous, versions."""

from __future__ import annotations

import pytest

from assistant.facts import Fact, Value
from assistant.intake.document import Document
from assistant.parsers import (
    kubernetes_status,
    package_versions,
    python_traceback,
    rendezvous,
    run_end,
    slurm_messages,
    torchrun_block,
)


def facts(module: object, text: str, name: str = "job.log") -> list[Fact]:
    return list(module.parse(Document(name, text)))  # type: ignore[attr-defined]


def values(module: object, text: str, key: str) -> list[Value]:
    return [f.value for f in facts(module, text) if f.key == key]


BLOCK = """============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2024-05-02_10:11:13
  host      : gpu-a07
  rank      : 4 (local_rank: 4)
  exitcode  : -6 (pid: 77)
  error_file: <N/A>
  traceback : Signal 6 (SIGABRT) received by PID 77
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2024-05-02_10:11:12
  host      : gpu-a07
  rank      : 3 (local_rank: 3)
  exitcode  : -9 (pid: 76)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 76
============================================================
"""


def test_torchrun_report() -> None:
    got = facts(torchrun_block, BLOCK)
    one = {f.key: f.value for f in got if f.subject.kind == "job"}
    assert one["torchrun.root_rank"] == 3
    assert one["torchrun.root_host"] == "gpu-a07"
    assert one["torchrun.exitcode"] == -9
    assert one["torchrun.failed_ranks"] == "3,4"
    codes = {f.subject.name: f.value for f in got if f.key == "exit_code"}
    assert codes == {"3": -9, "4": -6}
    times = {f.subject.name: f.origin.time for f in got if f.key == "exit_code"}
    assert times["4"] is not None and times["3"] is not None and times["4"] - times["3"] == 1.0


@pytest.mark.parametrize(
    ("text", "code", "signal"),
    [
        (
            "E0813 05:53:02 api.py:826] failed (exitcode: -9) local_rank: 2 (pid: 9) of binary: /usr/bin/python",
            -9,
            "SIGKILL",
        ),
        (
            "[ERROR] [launch.py:321:sigkill_handler] ['python', '--local_rank=7'] exits with return code = -9",
            -9,
            "SIGKILL",
        ),
        (
            "mpirun noticed that process rank 5 with PID 0 on node gpu-a07 exited on signal 11 (Segmentation fault).",
            -11,
            "SIGSEGV",
        ),
        ("torch.multiprocessing.spawn.ProcessExitedException: process 2 terminated with signal SIGBUS", -7, "SIGBUS"),
        ("srun: error: gpu-a07: task 56: Exited with exit code 137", -9, "SIGKILL"),
        ("srun: error: gpu-a07: task 56: Segmentation fault", -11, "SIGSEGV"),
        ("srun: error: gpu-a07: task 56: Exited with exit code 1", 1, None),
        ("subprocess.CalledProcessError: Command '['python']' died with <Signals.SIGKILL: 9>.", -9, "SIGKILL"),
    ],
)
def test_exit_codes(text: str, code: int, signal: str | None) -> None:
    assert values(torchrun_block, text, "exit_code") == [code]
    assert values(torchrun_block, text, "exit.signal") == ([signal] if signal else [])


def test_echo_of_the_shell() -> None:
    assert values(torchrun_block, "$ echo $?\n0\n", "run.succeeded") == [True]
    assert values(torchrun_block, "$ echo $?\n1\n", "run.succeeded") == [False]


TRACE = """[rank3]: Traceback (most recent call last):
[rank3]:   File "/srv/train.py", line 71, in main
[rank3]:     loss = step(batch)
[rank3]:   File "/opt/lib/python3.10/site-packages/x/y.py", line 9, in step
[rank3]:     raise ValueError("bad shape")
[rank3]: ValueError: bad shape
[rank0]: Traceback (most recent call last):
[rank0]:   File "/srv/train.py", line 70, in main
[rank0]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, remote process exited
"""


def test_exception_of_the_program_and_its_echo() -> None:
    got = facts(python_traceback, TRACE)
    own = [f for f in got if f.key == "python.exception"]
    assert [(f.value, f.subject.name) for f in own] == [("ValueError: bad shape", "3")]
    echo = [f for f in got if f.key == "python.echo"]
    assert [f.subject.name for f in echo] == ["0"]
    assert [f.value for f in got if f.key == "python.frame"] == ["/srv/train.py:71 in main"]


def test_chain_names_the_first_exception() -> None:
    text = (
        "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nKeyError: 'labels'\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        'Traceback (most recent call last):\n  File "a.py", line 3, in g\nRuntimeError: could not build batch\n'
    )
    assert values(python_traceback, text, "python.exception") == ["KeyError: 'labels'"]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "gpu-memory"),
        ("RuntimeError: No backend type associated with device type cpu", "backend"),
        ("ModuleNotFoundError: No module named 'apex'", "import"),
        ("RuntimeError: CUDA error: device-side assert triggered", "cuda"),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/data/x'", "file"),
        ("RuntimeError: The size of tensor a (5) must match the size of tensor b (6)", "program"),
        ("RuntimeError: Socket Timeout", "echo"),
        ("torch.distributed.elastic.multiprocessing.errors.ChildFailedError:", "echo"),
        ("RuntimeError: [../gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.2]:4321", "echo"),
    ],
)
def test_kinds(line: str, kind: str) -> None:
    assert values(
        python_traceback, f'Traceback (most recent call last):\n  File "a.py", line 1, in f\n{line}\n', "python.kind"
    ) == [kind]


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (
            "slurmstepd: error: *** JOB 81234 ON gpu-a07 CANCELLED AT 2025-09-02T10:31:05 DUE TO TIME LIMIT ***",
            "TIMEOUT",
        ),
        ("slurmstepd: error: *** STEP 81234.0 ON gpu-a07 CANCELLED AT 2025-09-02T10:31:05 ***", "CANCELLED"),
        (
            "slurmstepd: error: *** JOB 81234 ON gpu-a07 CANCELLED AT 2025-09-02T10:31:05 DUE TO PREEMPTION ***",
            "PREEMPTED",
        ),
        ("srun: error: Node failure on gpu-a09", "NODE_FAIL"),
        (
            "slurmstepd: error: Detected 1 oom_kill event in StepId=81234.0. Some of the step tasks have been OOM Killed.",
            "OUT_OF_MEMORY",
        ),
        ("81234.0          train  OUT_OF_ME+      0:125", "OUT_OF_MEMORY"),
        ("JobState=NODE_FAIL Reason=NodeDown Dependency=(null)", "NODE_FAIL"),
    ],
)
def test_slurm_states(text: str, state: str) -> None:
    assert values(slurm_messages, text, "slurm.state") == [state]


def test_pods() -> None:
    text = (
        "NAME             READY   STATUS      RESTARTS   AGE\ntrain-worker-0   1/1     Running     0          9m\n"
        "train-worker-1   0/1     OOMKilled   2          9m\n"
        "  Warning  FailedScheduling  2m  default-scheduler  0/4 nodes are available: 4 Insufficient nvidia.com/gpu.\n"
    )
    got = {f.subject.name: f.value for f in facts(kubernetes_status, text) if f.key == "pod.status"}
    assert got["train-worker-0"] == "Running"
    assert got["train-worker-1"] == "OOMKilled"
    assert values(kubernetes_status, text, "pod.pending_why") == ["4 Insufficient nvidia.com/gpu."]


def test_pod_description() -> None:
    text = "Name:             train-worker-1\nState:          Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n    Last State:     Terminated\n"
    got = facts(kubernetes_status, text)
    assert [(f.subject.name, f.value) for f in got if f.key == "exit_code"] == [("train-worker-1", -9)]


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        (
            "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 8/16 clients joined.",
            "rdzv.joined",
            8,
        ),
        (
            "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 8/16 clients joined.",
            "rdzv.expected",
            16,
        ),
        (
            "[W socket.cpp:601] [c10d] The client socket has failed to connect to [node1.local]:29500 (errno: 111 - Connection refused).",
            "store.waiting_for",
            "node1.local:29500",
        ),
        (
            "The client socket has timed out after 60s while trying to connect to (10.96.41.7, 2222).",
            "store.waiting_for",
            "10.96.41.7:2222",
        ),
        (
            "[W socket.cpp:464] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).",
            "rdzv.port_taken",
            "29500",
        ),
        ("torch.distributed.elastic.rendezvous.api.RendezvousClosedError", "rdzv.error", "closed"),
        ("Initializing TorchBackend in DeepSpeed with backend nccl", "launch.backend_arg", "nccl"),
        ("bash: torchrun: command not found", "command_missing", "torchrun"),
        ("slurmstepd: error: execve(): torchrun: No such file or directory", "command_missing", "torchrun"),
        ("Initializing distributed: GLOBAL_RANK: 3, MEMBER: 4/32", "launch.world_size_config", 32),
    ],
)
def test_rendezvous(text: str, key: str, value: Value) -> None:
    assert values(rendezvous, text, key) == [value]


def test_started_members() -> None:
    text = "\n".join(f"Initializing distributed: GLOBAL_RANK: {r}, MEMBER: {r + 1}/32" for r in range(8))
    assert values(rendezvous, text, "launch.world_size_started") == [8]


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("torch==2.3.1+cpu", "torch.cpu_build", True),
        ("torch                     2.3.1+cu121", "torch_version", "2.3.1+cu121"),
        ("[pip3] nvidia-nccl-cu12==2.20.5", "nccl_version", "2.20.5"),
        ("PyTorch version: 2.1.0", "torch_version", "2.1.0"),
        ("Is CUDA available: False", "torch.cuda_available", False),
        ("Nvidia driver version: 535.129.03", "driver_version", "535.129.03"),
        ("Available Tensor Operations:\n    [ ] NCCL\n    [X] Gloo", "horovod.has_nccl", False),
    ],
)
def test_versions(text: str, key: str, value: Value) -> None:
    assert values(package_versions, text, key) == [value]


def test_two_nccl_packages() -> None:
    assert values(package_versions, "nvidia-nccl-cu11==2.19.3\nnvidia-nccl-cu12==2.20.5\n", "torch.nccl_packages") == [
        2
    ]


@pytest.mark.parametrize(
    ("text", "finished"),
    [
        ("Epoch 1/1 Step 400/400 Train step 400/400 done.", True),
        ("Epoch 1/3 Step 100/400 done.", False),
        ("{'train_runtime': 512.4, 'train_loss': 1.2}", True),
        ("`Trainer.fit` stopped: `max_epochs=3` reached.", True),
        ("Saved model and snapshot at epoch 0", False),
    ],
)
def test_end_of_work(text: str, finished: bool) -> None:
    assert values(run_end, text, "run.finished") == ([True] if finished else [])


MODULES = [torchrun_block, python_traceback, slurm_messages, kubernetes_status, rendezvous, package_versions, run_end]


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize(
    "text",
    ["", "\x00\xff\n", "Root Cause (first observed failure):\n[0]:\n  rank      : x\n  exitcode  : \n", "Traceback (most recent call last):", "Traceback (most recent call last):\nValueError",
     "[0]:", "echo $?", "Exit Code:    999999999999", "GLOBAL_RANK: 1, MEMBER: 2/", "==", "*** JOB"],
)  # fmt: skip
def test_garbage_is_no_error(module: object, text: str) -> None:
    facts(module, text)
