"""What becomes of names and addresses: the same everywhere, in their order, with what a diagnosis needs."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.anonymize.nodelists import compress, expand
from assistant.anonymize.pseudonyms import Pseudonyms, trie
from assistant.anonymize.steps import replace_all
from assistant.intake.redact import redact


def anonymized(text: str, *, keep_hosts: bool = False) -> str:
    names = Pseudonyms(keep_hosts=keep_hosts)
    replace_all(text, names)
    names.settle()
    return replace_all(text, names)


LINES = [
    # (line, what it becomes)
    ("gx7-a07:12:34 [0] NCCL INFO Bootstrap : Using eth0:10.8.3.90<0>", "host-001:12:34 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.90<0>"),
    ("srun: error: gx7-a07: task 12: Killed", "srun: error: host-001: task 12: Killed"),
    ("slurmstepd: error: *** JOB 4471 ON gx7-a07 CANCELLED AT 2025-01-01T10:00:00 ***", "slurmstepd: error: *** JOB 4471 ON host-001 CANCELLED AT 2025-01-01T10:00:00 ***"),
    ("#SBATCH --nodelist=gx7[001-004,007]", "#SBATCH --nodelist=host-[001-005]"),
    ("SLURM_JOB_NODELIST=gx7[098-101]-ib", "SLURM_JOB_NODELIST=host-[001-004]"),
    ("timed out connecting to [gx7-a07]:29500", "timed out connecting to [host-001]:29500"),
    ("Jan  3 10:00:01 gx7-a07 kernel: NVRM: Xid (PCI:0000:4e:00): 79", "Jan  3 10:00:01 host-001 kernel: NVRM: Xid (PCI:0000:4e:00): 79"),
    ('{"log":"x\\ngx7-a07:1:2 [0] NCCL INFO y\\n"}', '{"log":"x\\nhost-001:1:2 [0] NCCL INFO y\\n"}'),
    ("USER=jdoe HOME=/home/jdoe", "USER=user-1 HOME=/home/user-1"),
    ("jdoe@gx7-a07:~$ whoami", "user-1@host-001:~$ whoami"),
    ("mail jane.roe@acmecorp.com", "mail user-1@domain-1.example"),
    ("#SBATCH --job-name=orion-70b", "#SBATCH --job-name=job-1"),
    ("#SBATCH -A acme-research", "#SBATCH -A account-1"),
    ("JobId=1 JobName=orion-70b UserId=jdoe(1001) GroupId=grpx(1001) Account=acme-research", "JobId=1 JobName=job-1 UserId=user-1(1001) GroupId=group-1(1001) Account=account-1"),
    ('File "/home/jdoe/orion-secret/Megatron-LM/megatron/training.py", line 3', 'File "/home/user-1/dir-1/Megatron-LM/megatron/training.py", line 3'),
    ("/home/jdoe/miniconda3/envs/train/lib/python3.11/site-packages/torch/x.py", "/home/user-1/miniconda3/envs/train/lib/python3.11/site-packages/torch/x.py"),
    ("/usr/local/cuda/lib64/libcudart.so.12 /dev/shm/nccl-Xk20tE /proc/self", "/usr/local/cuda/lib64/libcudart.so.12 /dev/shm/nccl-Xk20tE /proc/self"),
    ("s3://acme-models/orion-7/ckpt", "s3://bucket-1/dir-1/ckpt"),
    ("arn:aws:iam::123456789012:role/OrionTrainer", "arn:aws:iam::000000000001:role/resource-1"),
    ("123456789012.dkr.ecr.us-west-2.amazonaws.com/orion:v3", "000000000001.dkr.ecr.us-west-2.amazonaws.com/dir-1:v3"),
    ("instance i-0abcd1234abcd1234 in vpc-0a1b2c3d", "instance i-00000000000000001 in vpc-00000001"),
    ("image: registry.acmecorp.com:5000/ml/orion-train:24.01", "image: domain-1.example:5000/ml/dir-1:24.01"),
    ("image: nvcr.io/nvidia/pytorch:24.01-py3", "image: nvcr.io/nvidia/pytorch:24.01-py3"),
    ("see https://pytorch.org/docs/stable/elastic/errors.html", "see https://pytorch.org/docs/stable/elastic/errors.html"),
    ("https://wiki.acmecorp.com/orion-7?page=2&who=jdoe", "https://domain-1.example/dir-1?page=2&who=x"),
    ("https://github.com/NVIDIA/nccl/issues/1 https://github.com/acmecorp/orion-7/pull/3", "https://github.com/NVIDIA/nccl/issues/1 https://github.com/org-1/dir-1/pull/3"),
    ("GPU 0: H100 (UUID: GPU-8a3b1c2d-1234-5678-9abc-def012345678)", "GPU 0: H100 (UUID: GPU-00000001-0000-0000-0000-000000000000)"),
    ("    Serial Number : 1652523012345", "    Serial Number : 0000000000001"),
    ("Node GUID: 0x0c42a103006512e4 link/ether 0c:42:a1:65:12:e4 fe80::e42:a1ff:fe65:12e4", "Node GUID: 0x0c42a10300000000 link/ether 0c:42:a1:00:00:00 fe80::e42:a1ff:fe00:0"),
    ("mlx5_0 1 3 0000:0000:0000:0000:0000:ffff:0a08:035a 10.8.3.90 v2 eth0", "mlx5_0 1 3 0000:0000:0000:0000:0000:ffff:0a00:005a 10.0.0.90 v2 eth0"),
    ("ip-10-8-3-90.us-west-2.compute.internal:1:2 [0] NCCL INFO 10.8.3.90", "ip-10-0-0-90.us-west-2.compute.internal:1:2 [0] NCCL INFO 10.0.0.90"),
    ("[pod/orion-7b-worker-3/main] tcp://10.8.3.90:29500", "[pod/job-1-worker-3/main] tcp://10.0.0.90:29500"),
    ("projects/acme-gcp-1/zones/us-central1-a", "projects/project-1/zones/us-central1-a"),
    ("gx7-a07.hpc.acmecorp.com:1:2 [0] NCCL INFO", "host-001.domain-1.example:1:2 [0] NCCL INFO"),
    ("/lustre/work/u12345/orion-7/x.py in /scratch/ab1234/x.py", "/lustre/work/user-2/dir-1/x.py in /scratch/user-1/x.py"),
    ("wandb: Currently logged in as: jdoe (acme-team). Use `wandb login --relogin`", "wandb: Currently logged in as: user-1 (org-1). Use `wandb login --relogin`"),
    ("Author: Jane Q. Roe <jane.roe@acmecorp.com>; Jane Q. Roe", "Author: user-1 <user-2@domain-1.example>; user-1"),
    ("https://gitlab.acmecorp.com/jroe/orionmodel.git", "https://domain-1.example/dir-1/dir-2.git"),
    ("git@gitlab.acmecorp.com:acme-ml/orionmodel.git", "git@domain-1.example:org-1/dir-1.git"),
    ("in namespace acme-ns cluster acme-eks", "in namespace namespace-1 cluster project-1"),
    ('Switched to context "acme-eks".', 'Switched to context "project-1".'),
    ("ClusterName             = acmecl", "ClusterName             = project-1"),
    ("serial number 1320921001234 Board SN: MT2119X12345", "serial number 0000000000001 Board SN: 000000000002"),
    ("mail=jane.roe%40acmecorp.com", "mail=user-1%40domain-1.example"),
]  # fmt: skip

UNCHANGED = [
    "comm 0x55d0c8a0 rank 0 nranks 8 cudaDev 0 busId 4e000 commId 0x7a1b2c3d4e5f6789 - Init START",
    "NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB ibs3:127.0.0.1<0>",
    "nvidia-curand-cu12==10.3.2.106 cudnn 8.9.2.26 OFED 5.8-1.1.2.1 libibverbs.so.1.14.39.0",
    "inet 172.17.0.1/16 docker0 169.254.1.1 255.255.255.0 0.0.0.0 127.0.0.1",
    "Channel 00/32 : 3[3] -> 4[4] [send] via NET/IB/3/GDRDMA",
    "3: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP",
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: c10::Error std::bad_alloc",
    "[rank3]:[E101 10:00:00.123 ProcessGroupNCCL.cpp:616] Watchdog caught collective operation timeout",
    "client-go@v0.17.4 Prec@5 git@github.com:NVIDIA/nccl.git memcpy@GLIBC_2.2.5",
    "localhost:29500 worker-0 launcher root@localhost ubuntu",
    "the host was slow, the node and the user wait for the job; train.py runs on all nodes",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "cuda:0 gpu0 rank0 eth0:1 12:30:45 0000:4e:00.0 NCCL_IB_HCA=mlx5_[0-3] gpus[0-7]",
    "10.0.0.1/24 10.0.1.2 and 192.168.0.3",
]


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_what_becomes_of_a_line(line: str, expected: str) -> None:
    assert anonymized(line) == expected
    assert anonymized(expected) == expected


@pytest.mark.parametrize("line", UNCHANGED)
def test_what_stays(line: str) -> None:
    assert anonymized(line) == line


def test_the_same_name_is_the_same_everywhere_and_in_order() -> None:
    text = "\n".join(
        [
            "gx7-010:1:2 [0] NCCL INFO x",
            "gx7-002:1:2 [0] NCCL INFO x",
            "peer gx7-010 is slow; log in nccl.gx7-010.4211.log",
            "SLURM_JOB_NODELIST=gx7-[002,010]",
            "gx7-0100 is down, GX7-002 is not",
        ]
    )
    assert anonymized(text).split("\n") == [
        "host-002:1:2 [0] NCCL INFO x",
        "host-001:1:2 [0] NCCL INFO x",
        "peer host-002 is slow; log in nccl.host-002.4211.log",
        "SLURM_JOB_NODELIST=host-[001-002]",
        "host-003 is down, host-001 is not",
    ]


def test_hosts_that_are_called_like_known_ones() -> None:
    text = (
        'SLURM_JOB_NODELIST=acmegpu[001-002]\nacmegpu[008-010] down, acmegpu12, "acmegpu0010"; ACMEGPU001 and Acmegpu12'
    )
    assert anonymized(text) == (
        'SLURM_JOB_NODELIST=host-[001-002]\nhost-[003-005] down, host-006, "host-007"; host-001 and host-006'
    )
    assert anonymized(text, keep_hosts=True) == text


def test_words_before_a_number_are_no_hosts() -> None:
    text = "SLURM_JOB_NODELIST=node[001-002],gpu-03\nnode 7 of rank3: gpu-3 epoch9 NODE_RANK=1 gpu[0-7] node12"
    assert anonymized(text).split("\n")[1] == "node 7 of rank3: gpu-3 epoch9 NODE_RANK=1 gpu[0-7] node12"


def test_kubectl_contexts() -> None:
    text = (
        "CURRENT   NAME       CLUSTER      AUTHINFO   NAMESPACE\n*         acme-prd   acme-eks-1   jroe-adm   acme-ns\n"
        "          acme-dev   acme-eks-2   jroe-dev   acme-ns\n"
    )
    assert "acme" not in anonymized(text) and "jroe" not in anonymized(text)


def test_a_variable_is_not_a_name_in_upper_case() -> None:
    assert anonymized("#SBATCH --job-name=orion_size\nORION_SIZE=3") == "#SBATCH --job-name=job-1\nORION_SIZE=3"


def test_a_name_that_is_a_word_is_replaced_only_where_it_is_a_name() -> None:
    text = "USER=train\n/home/train/x.py\ntrain loss 2.1\n#SBATCH --job-name=slow\nit is slow"
    assert anonymized(text) == "USER=user-1\n/home/user-1/x.py\ntrain loss 2.1\n#SBATCH --job-name=job-1\nit is slow"


def test_tables() -> None:
    text = (
        "JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)\n 4471 gpu orion-7 jdoe R 0:01 4 gx7[001-004]\n\n"
        "NAMESPACE NAME READY STATUS RESTARTS AGE IP NODE\nml-orion orion-b-worker-0 1/1 Running 0 5m 10.244.3.17 gx7-a07\n\n"
        "10.8.3.90 gxlogin9 gxlogin9.acmecorp.com\n"
    )
    found = anonymized(text)
    for name in ("orion", "jdoe", "gx7", "gxlogin", "acmecorp", "10.244", "10.8"):
        assert name not in found
    assert ("host-[001-004]" in found and "job-1-worker-0" in found) or "job-2-worker-0" in found


def test_hosts_can_be_kept() -> None:
    assert (
        anonymized("gx7-a07:1:2 [0] NCCL INFO 10.8.3.90\nUSER=jdoe", keep_hosts=True)
        == "gx7-a07:1:2 [0] NCCL INFO 10.0.0.90\nUSER=user-1"
    )


ADDRESS = st.tuples(*[st.integers(0, 255)] * 4).map(lambda t: ".".join(map(str, t)))
PRIVATE = st.one_of(
    st.tuples(st.just(10), *[st.integers(0, 255)] * 3),
    st.tuples(st.just(192), st.just(168), *[st.integers(0, 255)] * 2),
    st.tuples(st.just(172), st.integers(18, 31), *[st.integers(0, 255)] * 2),
).map(lambda t: ".".join(map(str, t)))


def common_bits(a: str, b: str) -> int:
    def number(x: str) -> int:
        return int("".join(f"{int(p):02x}" for p in x.split(".")), 16)

    return 32 - (number(a) ^ number(b)).bit_length()


@given(st.lists(st.one_of(PRIVATE, ADDRESS), min_size=2, max_size=12, unique=True))
@settings(deadline=None)
def test_addresses_keep_their_relations(addresses: list[str]) -> None:
    import ipaddress

    names = Pseudonyms()
    replace_all(" ".join(addresses), names)
    names.settle()
    new = [names.addresses.v4(a) for a in addresses]
    assert len(set(new)) == len(new)
    for a, x in zip(addresses, new, strict=True):
        assert ipaddress.ip_address(a).is_loopback == ipaddress.ip_address(x).is_loopback
        if a.startswith(("10.", "192.168.")):
            assert x.startswith(("10.", "192.168."))
        for b, y in zip(addresses, new, strict=True):
            assert (common_bits(a, b) >= 24) == (common_bits(x, y) >= 24)
            assert (common_bits(a, b) >= 16) == (common_bits(x, y) >= 16)
            if a.startswith("10.") and b.startswith("10."):
                assert common_bits(a, b) == common_bits(x, y)


HOST = st.from_regex(r"(?:gx|cx|bl)[a-z]{1,3}-?[a-h]?[0-9]{2,4}", fullmatch=True)
USER = st.from_regex(r"(?:qu|zy|xe)[a-z]{3,6}[0-9]?", fullmatch=True)
SHAPES = (
    "{host}:184:185 [3] NCCL INFO Bootstrap : Using eth0:{ip}<0>",
    "srun: error: {host}: task 3: Killed",
    "[{host}]:29500 is not reachable from {ip}",
    "SLURMD_NODENAME={host}",
    "MASTER_ADDR={host}",
    "{user}@{host}:~$ python /home/{user}/run.py",
    "USER={user}",
    "HF_TOKEN=hf_{secret}",
    "--master_addr {ip} --node {host}",
    "warning about {host} and {user} from {ip}",
    "ssh {user}@{host}",
)


@given(
    st.lists(HOST, min_size=1, max_size=4),
    st.lists(USER, min_size=1, max_size=3),
    st.lists(PRIVATE, min_size=1, max_size=4),
    st.text("abcdefghijklmnopqrstuvwxyz", min_size=34, max_size=34),
    st.randoms(),
)
@settings(deadline=None, max_examples=60)
def test_nothing_of_the_original_is_left(
    hosts: list[str], users: list[str], addresses: list[str], secret: str, random: object
) -> None:
    choose = random.choice  # type: ignore[attr-defined]
    lines = [f"{h}:1:2 [0] NCCL INFO x" for h in hosts] + [f"USER={u}" for u in users]
    lines += [
        choose(SHAPES).format(host=choose(hosts), user=choose(users), ip=choose(addresses), secret=secret)
        for _ in range(12)
    ]
    text = redact("\n".join(lines))
    found = anonymized(text)
    for name in (*hosts, *users, secret):
        assert re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", found) is None
    fixed = {a for a in addresses if anonymized("\n".join(addresses)).split("\n")[addresses.index(a)] == a}
    assert not [
        a
        for a in set(addresses) - fixed
        if re.search(rf"(?<![\d.]){re.escape(a)}(?![\d.])", found)
        and a not in anonymized("\n".join(addresses)).split("\n")
    ]
    assert found.count("\n") == text.count("\n")
    assert anonymized(found) == found


@given(st.lists(st.text("ab-1.", min_size=1, max_size=6), min_size=1, max_size=20, unique=True))
def test_the_pattern_of_many_names_finds_each(names: list[str]) -> None:
    pattern = re.compile(trie(names))
    assert all(pattern.fullmatch(name) for name in names)


@given(st.text("ab[]-,0123456789x", max_size=30))
def test_any_list(text: str) -> None:
    expand(text)
    anonymized(text)


def test_lists_of_nodes() -> None:
    names = expand("gx[08-10,12]-ib")
    assert names == ["gx08-ib", "gx09-ib", "gx10-ib", "gx12-ib"]
    assert compress(names) == "gx[08-10,12]-ib"
    assert expand("gx[1-99999999]") == [] and expand("gx") == []


@given(st.text(max_size=200))
@settings(deadline=None)
def test_any_text(text: str) -> None:
    found = anonymized(text)
    assert found.count("\n") == text.count("\n")


def test_whoami_and_large_texts() -> None:
    """Large texts go another way: only lines that may hold something are looked at, equal ones once."""
    line = "gx7-a07:12:34 [0] NCCL INFO Bootstrap : Using eth0:10.8.3.90<0>"
    lines = ["$ whoami", "qjdoe", line, "nothing here", *(before for before, _ in LINES)]
    small = [anonymized("\n".join(lines)).split("\n")]
    large = anonymized("\n".join(lines * 40)).split("\n")
    assert large[: len(lines)] == small[0] and large[-len(lines) :] == small[0]
    assert large[1].startswith("user-") and large[3] == "nothing here"
    unlike = "\n".join(f"{x} {n}" for n, x in enumerate(lines[2:] * 40))
    assert len(unlike) > 4096 and "gx7-a07" not in anonymized(unlike) and "10.8.3.90" not in anonymized(unlike)
