"""Facts of launch files and host listings: TF_CONFIG, accelerate configuration, ports, revisions, manifests, timing code."""

from __future__ import annotations

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers import (
    accelerate_config,
    code_revisions,
    launch_command,
    launch_manifest,
    listening_ports,
    master_address,
    package_versions,
    tf_config,
    timing_code,
)


def values(facts: object) -> dict[str, object]:
    assert isinstance(facts, list | tuple) or hasattr(facts, "__iter__")
    return {f.key: f.value for f in list(facts) if isinstance(f, Fact)}


def test_tf_config_names_members_and_index() -> None:
    text = '{\n "cluster": {"worker": ["10.0.0.1:2222", "10.0.0.1:2222"]},\n "task": {"type": "worker", "index": 1}\n}'
    found = values(tf_config.parse(Document("tf.json", text)))
    assert found["launch.nnodes"] == 2
    assert found["launch.rdzv_endpoint"] == "10.0.0.1:2222"
    assert found["launch.member_twice"] == "10.0.0.1:2222"
    assert found["launch.node_rank"] == "1"


def test_tf_config_cut_off_gives_nothing() -> None:
    assert values(tf_config.parse(Document("tf.json", '{"cluster": {"worker": ["a:1", '))) == {}


def test_accelerate_config() -> None:
    text = (
        "machine_rank: 1\nmain_process_ip: 192.168.1.5\nmain_process_port: 29501\nnum_machines: 2\nnum_processes: 8\n"
    )
    found = values(accelerate_config.parse(Document("acc.yaml", text)))
    assert found == {
        "launch.nnodes": 2,
        "launch.num_processes": 8,
        "launch.node_rank": "1",
        "launch.master_addr": "192.168.1.5",
        "launch.master_port": "29501",
    }


def test_listening_ports_of_ss_netstat_and_lsof() -> None:
    text = (
        'LISTEN 0      2048                *:29500             *:*    users:(("python",pid=883,fd=11))\n'
        "tcp6       0      0 :::29400                :::*                    LISTEN      991/pt_main_thread\n"
        "python  4821 u   11u  IPv6 112233      0t0  TCP *:6006 (LISTEN)\n"
    )
    found = [f.value for f in listening_ports.parse(Document("x", text))]
    assert found == ["29500 python", "29400 pt_main_thread", "6006 python"]


def test_revisions_belong_to_hosts() -> None:
    text = (
        "$ pdsh -w n[1-2] 'cd /opt/t && git rev-parse --short HEAD'\nn1: 8fd12ac\nn2: 3be90f1\n$ uptime\nn1: 1234567\n"
    )
    found = [(f.subject.name, f.value) for f in code_revisions.parse(Document("x", text))]
    assert found == [("n1", "HEAD 8fd12ac"), ("n2", "HEAD 3be90f1")]


def test_image_digests_belong_to_pods() -> None:
    text = "ft-0   k8s-3   reg/llm:latest   reg/llm@sha256:77ab21d0c1\nft-1   k8s-4   reg/llm:latest   reg/llm@sha256:0c94ee5f3a\n"
    found = [(f.subject.name, f.value) for f in code_revisions.parse(Document("x", text))]
    assert found == [("ft-0", "llm 77ab21d0c1"), ("ft-1", "llm 0c94ee5f3a")]


def test_versions_under_headings_and_prompts_have_their_host() -> None:
    headings = "== ws1\n3.10.12 2.0.1+cu118 11.8\n== ws2\n3.8.10 1.12.1+cu113 11.3\n"
    found = {
        f.subject.name: f.value for f in package_versions.parse(Document("v", headings)) if f.key == "torch_version"
    }
    assert found == {"ws1": "2.0.1+cu118", "ws2": "1.12.1+cu113"}
    prompts = "node1$ pip list | grep trl\ntrl           0.13.0\nnode2$ pip list | grep trl\ntrl           0.9.6\n"
    listed = {
        f.subject.name: f.value for f in package_versions.parse(Document("v", prompts)) if f.key == "package.version"
    }
    assert listed == {"node1": "trl 0.13.0", "node2": "trl 0.9.6"}


def test_commands_in_manifests_are_read_as_commands() -> None:
    line = 'command: ["torchrun", "--nnodes=4", "--rdzv_backend=c10d", "--rdzv_endpoint=t-svc:29400", "train.py"]\n'
    assert values(launch_command.parse(Document("pod.yaml", line)))["launch.rdzv_endpoint"] == "t-svc:29400"
    listed = 'command:\n- torchrun\nargs:\n- --nnodes=4\n- "--nproc_per_node=8"\n- train.py\nresources:\n  limits: {}\n'
    found = values(launch_command.parse(Document("pod.yaml", listed)))
    assert (found["launch.nnodes"], found["launch.nproc"]) == (4, 8)


def test_ray_address_is_the_meeting_point_of_a_worker() -> None:
    assert (
        values(launch_command.parse(Document("x", "ray start --address=10.0.0.2:6379\n")))["launch.rdzv_endpoint"]
        == "10.0.0.2:6379"
    )


def test_variables_of_one_role() -> None:
    container = "template: {spec: {containers: [{name: p, env: [{name: NCCL_IB_HCA, value: mlx5}]}]}}"
    text = f"apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nspec:\n  pytorchReplicaSpecs:\n    Master:\n      {container}\n    Worker:\n      template: {{spec: {{containers: [{{name: p}}]}}}}\n"
    assert values(launch_manifest.parse(Document("job.yaml", text)))["launch.env_one_role"] == "NCCL_IB_HCA"


def test_own_name_as_master_only_inside_srun() -> None:
    inside = "#SBATCH --nodes=2\nsrun bash -c '\nexport MASTER_ADDR=$(hostname)\ntorchrun train.py'\n"
    before = "#SBATCH --nodes=2\nexport MASTER_ADDR=$(hostname)\nsrun bash -c 'torchrun train.py'\n"
    assert "launch.self_address" in values(master_address.parse(Document("a.sh", inside)))
    assert values(master_address.parse(Document("a.sh", before))) == {}


def test_timing_without_waiting() -> None:
    careless = "t = time.time()\ndist.all_reduce(x)\nprint(time.time() - t)\n"
    careful = "t = time.time()\ndist.all_reduce(x)\ntorch.cuda.synchronize()\nprint(time.time() - t)\n"
    assert values(timing_code.parse(Document("b.py", careless))) == {"measure.async_timing": True}
    assert values(timing_code.parse(Document("b.py", careful))) == {}
