"""Files that say how a job, a host or a cluster is set up."""

from __future__ import annotations

from types import ModuleType

from assistant.facts import Value
from assistant.intake.document import Document
from assistant.parsers import (
    cluster_fabric,
    compose_file,
    hostfile,
    launch_command,
    launch_manifest,
    limits_conf,
    pbs_script,
    slurm_conf,
)


def facts(module: ModuleType, text: str) -> dict[str, tuple[Value, int | None]]:
    """Value and line of each fact."""
    return {f.key: (f.value, f.origin.line) for f in module.parse(Document("file", text))}


def test_a_host_file_counts_hosts_and_slots() -> None:
    got = facts(hostfile, "# nodes\nworker-1 slots=8\nworker-2 slots=4\n")
    assert got == {"hostfile.hosts": (2, 2), "hostfile.slots": (12, 2), "hostfile.slots_max": (8, 2)}


def test_the_smaller_limit_of_locked_memory_counts() -> None:
    got = facts(limits_conf, "#*  soft memlock 1\n*    soft    memlock    65536\n*    hard    memlock    unlimited\n")
    assert got == {"limit.memlock_kb": (65536, 2)}
    assert facts(limits_conf, "[Service]\nLimitMEMLOCK=infinity\n") == {"limit.memlock_kb": (-1, 2)}
    assert facts(limits_conf, "[Service]\nLimitMEMLOCK=64M\n") == {"limit.memlock_kb": (65536, 2)}


def test_gpus_of_a_node_in_both_files_of_slurm() -> None:
    text = "NodeName=g[1-2] Gres=gpu:a100:8 CPUs=64\nPropagateResourceLimitsExcept=MEMLOCK\nNodeName=g[1-2] Name=gpu File=/dev/nvidia[0-3]\n"
    got = facts(slurm_conf, text)
    assert got["slurm.conf_gpus"] == (8, 1)
    assert got["slurm.conf_gpu_files"] == (4, 3)
    assert got["slurm.conf_passes_memlock"] == (False, 2)


def test_a_compose_service_with_gpus() -> None:
    text = (
        "services:\n  train:\n    image: img\n    runtime: nvidia\n    shm_size: 2gb\n    devices: [/dev/infiniband]\n"
    )
    got = facts(compose_file, text)
    assert got["launch.shm_size_gb"] == (2.0, 5)
    assert got["launch.container_shm"] == ("sized", 5)
    assert got["launch.rdma_device"] == (True, 6)
    assert got["launch.memlock_lifted"][0] is False
    assert facts(compose_file, "services:\n  db:\n    image: postgres\n") == {}


def test_chunks_of_a_pbs_script() -> None:
    got = facts(pbs_script, "#!/bin/bash\n#PBS -l select=4:ncpus=64:ngpus=8:mpiprocs=8\n")
    assert got["launch.sbatch_nodes"] == (4, 2)
    assert got["launch.sbatch_gpus"] == (8, 2)


def test_networks_that_configurations_name() -> None:
    def hint(line: str) -> Value:
        return facts(cluster_fabric, f"#!/bin/bash\n{line}\n").get("setup.fabric_hint", ("", None))[0]

    assert hint("#SBATCH -p p5.48xlarge") == "efa"
    assert hint("#SBATCH -p g5.12xlarge") == "tcp"
    assert hint("# Standard_ND96isr_H100_v5") == "infiniband"
    assert hint("# Standard_NC24ads_A100_v4") == "tcp"
    assert hint("      rdma/roce_gdr: 8") == "roce"
    assert hint("      vpc.amazonaws.com/efa: 32") == "efa"
    assert facts(cluster_fabric, "#!/bin/bash\n# 10 GbE, no RDMA\n")["setup.fabric_said"] == ("tcp", 2)


def test_options_are_shown_on_their_own_line() -> None:
    text = "srun torchrun \\\n  --nnodes=2 \\\n  --node_rank=0 \\\n  --master_port=70000 \\\n  train.py\n"
    got = facts(launch_command, text)
    assert got["launch.kind"][1] == 1
    assert got["launch.nnodes"] == (2, 2)
    assert got["launch.node_rank"] == ("0", 3)
    assert got["launch.master_port"] == ("70000", 4)


def test_pods_of_an_mpi_job_are_its_workers() -> None:
    text = "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nspec:\n  slotsPerWorker: 8\n  mpiReplicaSpecs:\n    Launcher: {replicas: 1}\n    Worker: {replicas: 4}\n"
    got = facts(launch_manifest, text)
    assert got["launch.pods"][0] == 4
    assert got["launch.mpi_slots"] == (8, 4)
