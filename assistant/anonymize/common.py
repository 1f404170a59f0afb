"""Words that are no secret: pseudonyms of our own, public names, and words that every log holds."""

from __future__ import annotations

import re
from functools import cache

KINDS = (
    "host",
    "user",
    "group",
    "account",
    "job",
    "namespace",
    "domain",
    "bucket",
    "project",
    "dir",
    "org",
    "resource",
)
_OWN = re.compile(
    rf"(?:{'|'.join(KINDS)})-\d+(?:\.example)?|job-\d+(?:-(?:worker|launcher|master|chief|ps|driver|head|server|client))(?:-\d+)?"
)

#: Accounts that every system or image has.
USERS = frozenset(
    [
        "root",
        "user",
        "ubuntu",
        "ec2-user",
        "centos",
        "debian",
        "admin",
        "administrator",
        "nobody",
        "opc",
        "azureuser",
        "jovyan",
        "ray",
        "mpiuser",
        "slurm",
        "munge",
        "nvidia",
        "app",
        "runner",
        "jenkins",
        "git",
        "daemon",
        "bin",
        "sys",
        "www-data",
        "docker",
        "default",
        "test",
        "guest",
        "vagrant",
        "rocky",
        "fedora",
        "core",
        "hadoop",
        "spark",
        "postgres",
        "redis",
        "nfsnobody",
        "systemd-network",
        "sshd",
        "users",
        "system",
        "deepspeed",
        "horovod",
        "sagemaker-user",
        "mlflow",
        "operator",
        "nemo",
        "oauth2",
        "public",
        "shared",
        "local",
        "anonymous",
        "none",
        "null",
        "unknown",
        "username",
        "login",
        "me",
        "x",
        "you",
    ]
)
HOSTS = re.compile(
    r"localhost\S*|ip6-\S+|(?:worker|launcher|master|chief|ps|driver|head|server|client)(?:[-_]?\d+)?|node|host|hostname|none|null|unknown|any|all|default|self|\d+"
    r"|\w*(?:error|exception|warning|failure)|rank[-_]?\d*|true|false|info|python[\d.]*|(?:gpu|cuda|mlx5_|eth|ib|en[ops]\w|lo|bond|npu)\d{0,2}|gpus?|kubernetes|eu-\S+|us-\S+",
    re.IGNORECASE,
)
#: Words before a number that name a product or a port.
PRODUCTS = re.compile(
    r"(?:[dhme]gx|gb|gh|sxm|rtx|tesla|epyc|xeon|ndr|hdr|edr|qsfp|osfp|mlx|connectx|cx|rdma|ens?\w*|bond|roce|ibs?p?)[\d_-]*|(?:gpu|cuda|mlx\d?|rank|node|host|worker)[_-]?",
    re.IGNORECASE,
)
NAMESPACES = frozenset(
    "default kube-system kube-public kube-node-lease kubeflow monitoring gpu-operator nvidia-gpu-operator network-operator ray-system istio-system mpi-operator".split()  # noqa: SIM905
)
#: Public sites: what is read there is known to all.
DOMAINS = re.compile(
    r"(?:.*\.)?(?:github\.com|githubusercontent\.com|github\.io|gitlab\.com|pytorch\.org|nvidia\.com|nvcr\.io|huggingface\.co|hf\.co|pypi\.org|pythonhosted\.org"
    r"|python\.org|docker\.io|docker\.com|ghcr\.io|quay\.io|gcr\.io|pkg\.dev|public\.ecr\.aws|k8s\.io|kubernetes\.io|readthedocs\.io|readthedocs\.org|schedmd\.com|open-mpi\.org"
    r"|kernel\.org|gnu\.org|mellanox\.com|intel\.com|amd\.com|ubuntu\.com|debian\.org|redhat\.com|conda\.io|anaconda\.com|anaconda\.org|tensorflow\.org|lightning\.ai"
    r"|deepspeed\.ai|wandb\.ai|stackoverflow\.com|googleapis\.com|amazonaws\.com|windows\.net|microsoft\.com|google\.com|golang\.org|amazon\.com|ray\.io|launchpad\.net"
    r"|wikipedia\.org|arxiv\.org|w3\.org|json-schema\.org|example\.(?:com|org|net)|cloudflare\.com|apache\.org|openucx\.org|libfabric\.org|compute\.internal|ec2\.internal"
    r"|cluster\.local|localhost\.localdomain|docker\.internal|comet\.(?:com|ml)|neptune\.ai|readthedocs\.com)",
    re.IGNORECASE,
)
#: Owners of code, models and images that are open to all.
ORGS = frozenset(
    [
        "nvidia",
        "pytorch",
        "huggingface",
        "microsoft",
        "facebookresearch",
        "meta-llama",
        "meta-pytorch",
        "openai",
        "google",
        "google-research",
        "googlecloudplatform",
        "deepspeedai",
        "horovod",
        "ray-project",
        "vllm-project",
        "kubeflow",
        "kubernetes",
        "mellanox",
        "openucx",
        "ofiwg",
        "open-mpi",
        "lightning-ai",
        "pytorchlightning",
        "hpcaitech",
        "eleutherai",
        "bigscience",
        "bigscience-workshop",
        "allenai",
        "mistralai",
        "qwen",
        "deepseek-ai",
        "tiiuae",
        "mosaicml",
        "databricks",
        "stabilityai",
        "aws",
        "awslabs",
        "aws-samples",
        "amazon-science",
        "intel",
        "rocm",
        "amd",
        "linux-rdma",
        "nvidia-merlin",
        "triton-lang",
        "dao-ailab",
        "axolotl-ai-cloud",
        "hiyouga",
        "internlm",
        "thudm",
        "baichuan-inc",
        "sgl-project",
        "library",
        "rayproject",
        "conda-forge",
        "kubernetes-sigs",
        "docker",
        "torvalds",
        "python",
        "numpy",
    ]
)
_WORDS = frozenset(
    """
    home users user scratch work workspace workspaces lustre gpfs fsx mnt data nfs shared share project projects storage cluster export media opt root tmp efs weka beegfs
    cephfs ceph vast ssd nvme raid ptmp code src app apps software models model checkpoints checkpoint ckpt ckpts datasets dataset logs log runs run outputs output out results
    result exp experiments experiment train training trainer pretrain pretraining finetune finetuning eval evaluation inference scripts script tools utils lib lib64 libs bin sbin
    include etc envs env venv venvs conda miniconda anaconda miniforge mambaforge mamba python site packages dist local cache torch extensions nccl tests test rccl megatron lm
    deepspeed neox gpt llama alpaca bert vit resnet imagenet cifar mnist coco wikitext openwebtext pile redpajama nemo apex flash attn attention transformer transformers
    diffusers accelerate lightning fairseq fairscale colossalai horovod ray vllm torchtitan torchtune torchrun elastic distributed core engine runtime loader loaders cuda cudnn hpcx
    openmpi mpi ucx ofi efa aws amazon nvidia mellanox rocm intel oneapi gcc spack modules module easybuild container containers images image sqsh enroot pyxis singularity apptainer
    docker slurm pbs lsf sge jobs job array task tasks attempt rank node nodes host hosts worker master launcher config configs conf cfg yaml json examples example demo main dev
    test testing release build builds install third party thirdparty vendor public private group groups lab team staff student students guest homes cloud server client api version
    latest stable nightly cpu gpu gpus hdd disk disks volume volumes storage1 vol raw tokenized tokenizer tokens shard shards text image video audio multimodal vision language parallel
    tensor pipeline moe mixtral qwen deepseek falcon bloom opt palm gemma mistral phi hf huggingface hub snapshots blobs refs wandb tensorboard mlflow tb events profile profiler traces
    trace nsys captures bundle dumps dump flight recorder debug error errors fail failed hang slow crash repro reproduce issue bug fix base small medium large tiny mini net network
    bash sh zsh python3 srun sbatch mpirun interactive jupyter notebook wrap download upload issues pull post blob tree wiki adam optimizer ops kernels csrc solver tune step
    steps epoch iteration llm agent agents benchmark bench perf sweep study paper thesis final best new old tmp2 misc stuff personal private work2 rl ppo dpo sft rlhf grpo
    proxy internal external service services system daemon default kubelet pods pod namespaces namespace secrets configmaps endpoints nodes leases apis apps batch
    """.split()  # noqa: SIM905
)
_TECHNICAL = re.compile(
    r"\d[\d.,_-]*|v?\d+(?:\.\d+)+\S*|v\d+|.{1,2}|[a-z]?\d+[a-z]?|cu\d+|py\d+|sm_?\d+|cp\d+|x86[_-]64|aarch64|arm64|linux|lib\w+|python[\d.]*|cuda[\d.-]*|torch[\w.-]*|nccl[\w.-]*|[\w.-]*\.(?:so|py|json|ya?ml)[\w.]*",
    re.IGNORECASE,
)


def is_own(name: str) -> bool:
    """Whether this is a pseudonym that an earlier run wrote."""
    return _OWN.fullmatch(name) is not None


@cache
def _vocabulary() -> frozenset[str]:
    """Words with which the knowledge base explains its causes: they stand in ordinary sentences and logs."""
    from knowledge.load import knowledge

    words: set[str] = set()
    for cause in knowledge().causes.values():
        for part in ("title", "explanation", "shows"):
            words.update(re.findall(r"[a-z]{3,}", str(cause[part]).lower()))
    return frozenset(words)


@cache
def is_word(name: str) -> bool:
    """Whether this is a word of ordinary texts, so that not each of its occurrences is the name."""
    low = name.lower()
    return low in _WORDS or low in USERS or low in ORGS or low in _vocabulary()


@cache
def is_plain(part: str) -> bool:
    """Whether a folder of this name tells nothing about who owns it.

    >>> [is_plain(p) for p in ("site-packages", "python3.11", "checkpoints_v2", "Megatron-LM", "acme-secret-model")]
    [True, True, True, True, False]
    """
    if is_own(part):
        return True
    return all(
        not p or _TECHNICAL.fullmatch(p) or is_word(p) or is_word(p.rstrip("0123456789"))
        for p in re.split(r"[-_.+@=%~]+", part)
    ) or bool(_TECHNICAL.fullmatch(part))
