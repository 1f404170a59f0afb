"""Launch commands, job scripts, environment variables and manifests."""

from __future__ import annotations

import pytest

from assistant.facts import Fact, Value
from assistant.intake.document import Document
from assistant.parsers import launch_command, launch_env, launch_manifest, launch_script


def facts(module: object, text: str, name: str = "run.sh") -> list[Fact]:
    return list(module.parse(Document(name, text)))  # type: ignore[attr-defined]


def values(module: object, text: str, key: str, name: str = "run.sh") -> list[Value]:
    return [f.value for f in facts(module, text, name) if f.key == key]


TORCHRUN = """export NNODES=2
torchrun --nnodes=$NNODES --nproc-per-node 8 \\
  --node_rank=1 --rdzv_backend=c10d --rdzv_id job7 \\
  --rdzv_endpoint=10.0.0.4:29501 \\
  train.py --nnodes 99 --lr 1e-4
"""


def test_torchrun_over_continued_lines() -> None:
    got = {f.key: f.value for f in facts(launch_command, TORCHRUN)}
    assert got["launch.kind"] == "torchrun"
    assert got["launch.nnodes"] == 2, "the variable is resolved, and options of the program are not the launcher's"
    assert got["launch.nproc"] == 8
    assert got["launch.node_rank"] == "1"
    assert got["launch.rdzv_endpoint"] == "10.0.0.4:29501"
    assert got["launch.rdzv_id"] == "job7"
    assert got["launch.script"] == "train.py"


def test_origin_is_the_first_line_of_the_command() -> None:
    assert facts(launch_command, TORCHRUN)[0].origin.line == 2


@pytest.mark.parametrize(
    ("text", "kind", "key", "value"),
    [
        ("$ mpirun -np 16 -H a:8,b:8 -x NCCL_DEBUG python train.py", "mpirun", "launch.nnodes", 2),
        ("horovodrun -np 4 -H localhost:4 python train.py", "horovodrun", "launch.num_processes", 4),
        (
            "accelerate launch --num_machines 2 --num_processes 16 --machine_rank 0 train.py",
            "accelerate",
            "launch.num_processes",
            16,
        ),
        ("deepspeed --hostfile=hosts --master_port 29511 train.py", "deepspeed", "launch.master_port", "29511"),
        (
            "python -m torch.distributed.launch --nproc_per_node=4 train.py",
            "torch.distributed.launch",
            "launch.nproc",
            4,
        ),
        ("torchrun --standalone --nproc_per_node=8 train.py", "torchrun", "launch.standalone", True),
        ("torchrun --nnodes=1:4 --nproc_per_node=8 train.py", "torchrun", "launch.nnodes", 4),
        ("docker run --gpus all --shm-size=16g --network host image python a.py", "docker", "launch.shm_size_gb", 16.0),
        ("docker run --gpus all image python a.py", "docker", "launch.host_network", False),
        ("srun -N 2 --ntasks-per-node=4 python train.py", "srun", "launch.ntasks_per_node", 4),
    ],
)
def test_launchers(text: str, kind: str, key: str, value: Value) -> None:
    got = facts(launch_command, text)
    assert [f.value for f in got if f.key == "launch.kind"] == [kind]
    assert [f.value for f in got if f.key == key] == [value]


@pytest.mark.parametrize(
    "text",
    [
        "It says torchrun isn't there, but if I ssh it is",
        "bash: torchrun: command not found",
        "the output as srun labels it.",
        'File "/opt/bin/torchrun", line 8, in <module>',
        "torchrun --",
        "torchrun --nnodes",
        "mpirun -np -H",
        "",
    ],
)
def test_prose_and_cut_commands_yield_no_numbers(text: str) -> None:
    assert not [f for f in facts(launch_command, text) if isinstance(f.value, int)]


SBATCH = """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node={tasks}
#SBATCH --gres=gpu:a100:4
#SBATCH --cpus-per-task=8
#SBATCH --mem=200G
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
{command}
"""


def test_script_without_srun_starts_on_the_first_node_only() -> None:
    text = SBATCH.format(tasks=1, command="torchrun --nnodes=2 --nproc_per_node=4 train.py")
    assert values(launch_script, text, "launch.multi_node_without_srun") == [True]
    assert values(launch_script, text, "launch.uses_srun") == [False]
    assert values(launch_script, text, "launch.sbatch_gpus") == [4]
    assert values(launch_script, text, "launch.memory_limit_gb") == [200.0]


@pytest.mark.parametrize(
    "command",
    ["srun torchrun --nnodes=2 --nproc_per_node=4 train.py", "mpirun -np 8 python train.py", 'srun bash -c "$CMD"'],
)
def test_script_that_starts_on_every_node(command: str) -> None:
    assert not values(launch_script, SBATCH.format(tasks=1, command=command), "launch.multi_node_without_srun")


def test_looking_up_host_names_with_srun_starts_nothing() -> None:
    text = SBATCH.format(tasks=1, command="nodes=$(srun hostname)\ntorchrun --nnodes=2 --nproc_per_node=4 train.py")
    assert values(launch_script, text, "launch.multi_node_without_srun") == [True]


@pytest.mark.parametrize(
    ("command", "early"),
    [
        ("srun torchrun --nnodes=2 --node_rank=$SLURM_NODEID train.py", ["SLURM_NODEID"]),
        ("srun bash -c 'torchrun --nnodes=2 --node_rank=$SLURM_NODEID train.py'", []),
        ("srun bash -c '\n  torchrun --nnodes=2 --node_rank=$SLURM_NODEID train.py\n'", []),
        ('srun bash -c "torchrun --nnodes=2 --node_rank=\\$SLURM_NODEID train.py"', []),
        ('srun bash -c "torchrun --nnodes=2 --node_rank=${SLURM_PROCID} train.py"', ["SLURM_PROCID"]),
        ("cat > t.sh <<'EOF'\nexport RANK=$SLURM_PROCID\nEOF\nsrun bash t.sh", []),
    ],
)
def test_variables_of_the_task_in_the_batch_script(command: str, early: list[str]) -> None:
    assert values(launch_script, SBATCH.format(tasks=1, command=command), "launch.early_expansion") == early


def test_a_launcher_in_each_of_several_tasks() -> None:
    assert values(
        launch_script,
        SBATCH.format(tasks=4, command="srun torchrun --nproc_per_node=4 t.py"),
        "launch.tasks_and_launcher",
    ) == [True]
    assert not values(launch_script, SBATCH.format(tasks=4, command="srun python t.py"), "launch.tasks_and_launcher")


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("export NCCL_SOCKET_IFNAME=eth0", "env.NCCL_SOCKET_IFNAME", "eth0"),
        ('export NCCL_IB_HCA="mlx5_0,mlx5_1"  # rails', "env.NCCL_IB_HCA", "mlx5_0,mlx5_1"),
        ("NCCL_P2P_DISABLE=1 python train.py", "env.NCCL_P2P_DISABLE", "1"),
        ("mpirun -x NCCL_IB_DISABLE=1 -np 4 a", "env.NCCL_IB_DISABLE", "1"),
        ("docker run -e NCCL_DEBUG=INFO image", "env.NCCL_DEBUG", "INFO"),
        ('os.environ["NCCL_ALGO"] = "Ring"', "env.NCCL_ALGO", "Ring"),
        ('os.environ.setdefault("OMP_NUM_THREADS", "8")', "env.OMP_NUM_THREADS", "8"),
        ('- name: NCCL_DEBUG\n  value: "INFO"', "env.NCCL_DEBUG", "INFO"),
        ("ENV NCCL_VERSION=2.18", "env.NCCL_VERSION", "2.18"),
    ],
)
def test_settings(text: str, key: str, value: str) -> None:
    got = [f for f in facts(launch_env, text) if f.key == key]
    assert [f.value for f in got] == [value]
    assert got[0].origin.kind == "config"


def test_commented_settings_are_not_set() -> None:
    assert not facts(launch_env, "# export NCCL_P2P_DISABLE=1\n")


def test_dump_of_env_is_a_tools_output() -> None:
    dump = "HOME=/root\nNCCL_DEBUG=INFO\nNCCL_IB_TC=106\nPATH=/usr/bin\n"
    assert {(f.key, f.origin.kind) for f in facts(launch_env, dump, "env.txt")} == {
        ("env.NCCL_DEBUG", "tool"),
        ("env.NCCL_IB_TC", "tool"),
    }


JOB = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llm}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template: &t
        spec:
          containers:
          - name: pytorch
            image: train:v3
            resources: {limits: {nvidia.com/gpu: 8, cpu: "32", memory: 512Gi, rdma/hca: 1}}
            volumeMounts: [{mountPath: /dev/shm, name: shm}]
          volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 64Gi}}]
    Worker: {replicas: 3, template: *t}
"""


def test_manifest() -> None:
    got = {f.key: f.value for f in facts(launch_manifest, JOB, "job.yaml")}
    assert got["launch.replicas"] == 4
    assert got["launch.gpu_request"] == 8
    assert got["launch.cpu_limit"] == 32.0
    assert got["launch.shm_volume"] is True
    assert got["launch.shm_size_gb"] == pytest.approx(68.72, abs=0.01)
    assert got["launch.host_network"] is False
    assert got["launch.rdma_request"] == "rdma/hca=1"


def test_manifest_with_templates_is_read_by_lines() -> None:
    text = "apiVersion: batch/v1\nkind: Job\nspec:\n  {{- if .x }}\n  hostNetwork: true\n"
    assert values(launch_manifest, text, "launch.host_network", "job.yaml") == [True]


@pytest.mark.parametrize("module", [launch_command, launch_env, launch_manifest, launch_script])
@pytest.mark.parametrize(
    "text",
    [
        "\x00\xff",
        "apiVersion: [",
        "#SBATCH --nodes=",
        "#SBATCH",
        "export =",
        "torchrun '",
        "\\",
        "srun \\\n\\\n",
        "apiVersion: 1\nkind: 3\n",
    ],
)
def test_garbage_is_no_error(module: object, text: str) -> None:
    facts(module, text)
