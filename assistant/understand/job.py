"""What the job is made of: framework, versions, launcher, scheduler, container, cloud, model, batch, precision, sharding."""

from __future__ import annotations

from collections.abc import Iterator

from assistant.facts import Value
from assistant.understand.text import COUNT, decimal, denied, mentioned, mentions, negated, number, regex

Found = tuple[str, Value, bool]

#: Tried in this order: what stands higher in the stack first.
FRAMEWORKS: tuple[tuple[str, str], ...] = (
    ("horovod", r"\bhorovod(?:run)?\b|\bhvd\b"),
    ("ray", r"\bray\b(?! ?tracing)"),
    ("accelerate", r"\baccelerate\b(?! the)|\bhf trainer\b|\bhugging ?face trainer\b|\btrl\b"),
    ("deepspeed", r"\bdeep-?speed\b|\bzero[- ]?(?:stage[- ]?)?[0123]\b|\bgpt-neox\b|\bdeepspeed-chat\b"),
    ("megatron", r"\bmegatron\b|\bnemo\b(?! guardrails)"),
    ("lightning", r"\blightning\b|\blit-?(?:gpt|llama)\b|\bptl\b"),
    ("jax", r"\bjax\b|\bflax\b|\bmaxtext\b|\bequinox\b|\bxla\b"),
    ("tensorflow", r"\btensor-?flow\b|\btf ?[12]\b|\bkeras\b|\bmultiworkermirrored\w*"),
    ("pytorch", r"\bpy-?torch\b|\btorch(?:run|tune|titan|vision|\.distributed|elastic)?\b|\bfsdp\d?\b|\bddp\b|\bdistributeddataparallel\b|\bllama-?factory\b|\bdataparallel\b|\binit_process_group\b"),
    ("mpi", r"\bmpi(?:run|exec)?\b|\bopen-?mpi\b|\bnccl[- ]tests?\b|\b(?:all_?reduce|all_?gather|alltoall|sendrecv|broadcast|reduce_scatter)_perf\b"),
)  # fmt: skip

_LAUNCHERS: tuple[tuple[str, str], ...] = (
    ("torchrun", r"\btorchrun\b|\btorch\.distributed\.(?:run|launch)\b|\btorchelastic\b"),
    ("srun", r"\bsrun\b"),
    ("mpirun", r"\bmpirun\b|\bmpiexec\b"),
    ("horovodrun", r"\bhorovodrun\b"),
    ("deepspeed", r"\bdeepspeed (?:launcher|--|\w+\.py)|\bpdsh\b"),
    ("accelerate", r"\baccelerate launch\b"),
    ("ray", r"\bray (?:train|start|job|cluster)\b"),
    ("torchx", r"\btorchx\b"),
    ("spawn", r"\bmp\.spawn\b|\bmultiprocessing\.spawn\b"),
    ("kubernetes", r"\b(?:kubeflow|mpi[- ]?operator|pytorch-?job|training[- ]operator|volcano job)\b"),
)
_SCHEDULERS: tuple[tuple[str, str], ...] = (
    ("slurm", r"\bslurm\b|\bsbatch\b|\bsrun\b|\bsalloc\b"),
    ("kubernetes", r"\bkubernetes\b|\bk8s\b|\beks\b|\bgke\b|\baks\b|\bpods?\b|\bkubeflow\b|\bhelm\b|\bopenshift\b"),
    ("lsf", r"\blsf\b|\bbsub\b"),
    ("pbs", r"\bpbs(?: ?pro)?\b|\bqsub\b"),
    ("docker-swarm", r"\bdocker swarm\b|\bswarm\b"),
    ("ray", r"\bray cluster\b"),
)
_CONTAINERS: tuple[tuple[str, str], ...] = (
    ("kubernetes-pod", r"\bpods?\b|\bkubernetes\b|\bk8s\b|\beks\b|\bgke\b"),
    ("singularity", r"\bsingularity\b|\bapptainer\b"),
    ("enroot", r"\benroot\b|\bpyxis\b"),
    ("podman", r"\bpodman\b"),
    ("docker", r"\bdocker\b|\bngc\b|\bnvcr\.io\b|\bdevcontainer\b"),
    ("yes", r"\bcontainers?\b|\bcontaineri[sz]ed\b"),
)
_CLOUDS: tuple[tuple[str, str], ...] = (
    ("aws", r"\baws\b|\bec2\b|\beks\b|\bsagemaker\b|\bhyperpod\b|\bparallelcluster\b|\bdlami\b"),
    ("gcp", r"\bgcp\b|\bgoogle cloud\b|\bgke\b|\bgce\b|\bvertex ai\b"),
    ("azure", r"\bazure\b|\baks\b|\bcyclecloud\b|\bscale set\b"),
    ("oci", r"\boci\b|\boracle cloud\b"),
    ("lambda", r"\blambda (?:labs?|cloud)\b"),
    ("coreweave", r"\bcoreweave\b"),
    ("runpod", r"\brunpod\b"),
    ("vast", r"\bvast\.?ai\b"),
    ("alibaba", r"\balibaba\b|\baliyun\b"),
    (
        "on-premises",
        r"\bon[- ]prem(?:ises?)?\b|\bour own (?:cluster|servers?|machines?)\b|\boffice\b|\bunder (?:my|the) desk\b|\bbare[- ]metal\b",
    ),
)
_SHARDING: tuple[tuple[str, str], ...] = (
    ("zero3", r"\bzero[- ]?(?:stage[- ]?)?3\b|\bstage[- ]?3\b|\bzero-?infinity\b"),
    ("zero2", r"\bzero[- ]?(?:stage[- ]?)?2\b|\bstage[- ]?2\b"),
    ("zero1", r"\bzero[- ]?(?:stage[- ]?)?1\b|\bstage[- ]?1\b|\bdistributed optimizer\b|\bzeroredundancyoptimizer\b"),
    ("hybrid", r"\bhybrid[_ ]?shard\w*\b|\bhsdp\b|\bhpz\b|\bmics\b"),
    ("fsdp", r"\bfsdp\d?\b|\bfull[_ ]shard\b|\bfully[_ -]?sharded?\b|\bfully_shard\b"),
    ("dp", r"\b(?:nn\.)?data-?parallel\b(?! training)(?<!distributeddataparallel)"),
    ("tp", r"\btensor[- ]parallel\w*\b|\btp ?[=:]? ?\d+\b|\btp\b"),
    ("pp", r"\bpipeline[- ](?:parallel\w*|stages?)\b|\bpp ?[=:]? ?\d+\b"),
    ("ep", r"\bexpert[- ]parallel\w*\b|\bep ?[=:]? ?\d+\b|\bdeepep\b"),
    ("none", r"\bddp\b|\bdistributeddataparallel\b|\bhorovod\b"),
)
_PRECISIONS: tuple[tuple[str, str], ...] = (
    ("fp8", r"\bfp8\b|\bfloat8\b|\bmxfp8\b"),
    ("bf16", r"\bbf16\b|\bbfloat16\b"),
    ("fp16", r"\bfp16\b|\bfloat16\b|\bhalf precision\b"),
    ("tf32", r"\btf32\b"),
    ("fp32", r"\bfp32\b|\bfloat32\b|\bfull precision\b|\bsingle precision\b"),
)
_VERSIONS: tuple[tuple[str, str], ...] = (
    ("torch_version", r"\b(?:py-?)?torch(?: version)?(?: is|:|=|==|,)?[ -]?v?(\d+\.\d+(?:\.\d+)?(?:\+\w+)?)"),
    ("nccl_version", r"\bnccl(?: version)?(?: is|:|=|==|,)?[ -]?v?(\d\.\d+(?:\.\d+)?(?:[-.]\d+)?)"),
    ("cuda_version", r"\bcuda(?: version)?(?: is|:|=|==|,)?[ -]?v?(\d{1,2}\.\d+(?:\.\d+)?)"),
    ("driver_version", r"\bdriver(?: version)?(?: is|:|=|==|,)?[ -]?v?(\d{3}(?:\.\d+){0,2})\b"),
)

_UNITS = {"k": 1e3, "m": 1e6, "million": 1e6, "b": 1e9, "bn": 1e9, "billion": 1e9, "t": 1e12, "trillion": 1e12}


def read_job(text: str) -> Iterator[Found]:
    """Facts on the software of the job that a text states."""
    yield from _first("framework", FRAMEWORKS, text)
    yield from _first("launcher", _LAUNCHERS, text)
    yield from _first("scheduler", _SCHEDULERS, text)
    if denied(text, r"\b(?:slurm|scheduler|kubernetes)\b") and not any(mentioned(text, p) for _, p in _SCHEDULERS):
        yield "scheduler", "none", False
    yield from _container(text)
    yield from _first("cloud", _CLOUDS, text)
    if mentioned(
        text,
        r"\bvms?\b|\bvirtual machines?\b|\bvirtuali[sz]ed\b|\bkvm\b|\bproxmox\b|\besxi\b|\bvmware\b|\bpass-?through\b|\bhypervisor\b",
    ):
        yield "virtual_machine", True, False
    elif denied(text, r"\bvms?\b|\bvirtual machines?\b") or mentioned(text, r"\bbare[- ]metal\b"):
        yield "virtual_machine", False, False
    yield from _versions(text)
    for name, pattern in _SHARDING:
        if mentioned(text, pattern) and not (
            name == "none" and regex(_SHARDING[0][1] + "|" + _SHARDING[4][1]).search(text)
        ):
            yield "sharding", name, False
    if len([p for _, p in _PRECISIONS if mentioned(text, p)]) == 1:
        yield from _first("precision", _PRECISIONS, text)
    yield from _first(
        "backend",
        (
            ("gloo", r"\bgloo\b(?! ?/)"),
            ("ucc", r"\bucc backend\b"),
            ("nccl", r"\bnccl backend\b|\bbackend[ =:]+\"?nccl"),
        ),
        text,
    )
    yield from _sizes(text)


def _first(key: str, table: tuple[tuple[str, str], ...], text: str) -> Iterator[Found]:
    for name, pattern in table:
        if mentioned(text, pattern):
            yield key, name, False
            return


def _container(text: str) -> Iterator[Found]:
    found = list(_first("container", _CONTAINERS, text))
    if found:
        yield found[0]
    elif denied(text, r"\bdocker\b|\bcontainers?\b") is not None:
        yield "container", "no", False


def _versions(text: str) -> Iterator[Found]:
    for key, pattern in _VERSIONS:
        found = [
            m[1].rstrip(".")
            for m in regex(pattern).finditer(text)
            if not negated(text, m.start())
            and not regex(r"^ (?:did|does|was|is) (?:not|n't|fine)").search(text[m.end() :])
        ]
        moved = regex(pattern + r",? (?:to|->|→) v?(?P<to>\d+\.\d+(?:\.\d+)?)")
        found += [m["to"].rstrip(".") for m in moved.finditer(text) if not negated(text, m.start())]
        if key == "torch_version":
            found = [v for v in found if int(v.split(".")[0]) < 10]
        if found:
            yield (
                key,
                max(
                    found,
                    key=lambda v: [int(n) for n in v.replace("+", ".").replace("-", ".").split(".") if n.isdecimal()],
                ),
                False,
            )


def _sizes(text: str) -> Iterator[Found]:
    params = mentioned(
        text,
        r"(?<![\w.,])(\d+(?:[.,]\d+)?)[ -]?(b|bn|m|t|billion|million|trillion)\b(?:[ -](?:param\w*|model|llama\w*|llm|transformer|dense|moe|parameter|gpt\w*|network|mistral|qwen\w*))",
    )
    if params is None:
        params = mentioned(
            text,
            r"\b(?:llama[- ]?\d?(?:\.\d)?|qwen\d?(?:\.\d)?|mistral|mixtral|gpt(?:-neox|-j|-\d)?|falcon|opt|bloom|pythia|gemma\d?|phi\d?|deepseek\w*|llm|model|internlm\d?|yi|baichuan\d?|glm\d?|bert|vit)[- ](?:of )?(?:a )?(\d+(?:\.\d+)?) ?(b|m|t|billion|million)\b",
        )
    if params is None:
        params = mentioned(
            text,
            r"(?<![\w.,])(\d+(?:\.\d+)?)(b|bn)\b(?! ?(?:/|it|yte|tokens?|rows?|samples?))|(?<![\w.,])(?:a|an|of) (\d+(?:\.\d+)?)(b)\b",
        )
    if params is not None and params[1] and params[2]:
        yield "model_params", decimal(params[1].replace(",", ".")) * _UNITS[params[2].lower()], False
    batch = mentioned(
        text,
        r"\b(?:micro-?|per[- ](?:gpu|device|rank)[- ]|local )?(?:batch|bs|mbs)(?:[- ]?size)?s?\b(?: (?:of|is|was|=|per gpu|per device|set to))*[ =:]*(\d+)\b(?! ?(?:gpus?|nodes?|seconds|steps|minutes|%))",
    )
    if batch is not None:
        before = text[max(0, batch.start() - 14) : batch.start()]
        after = text[batch.end() : batch.end() + 30]
        if regex(r"\b(?:global|total|overall|effective)[- ]$").search(before) or regex(
            r"^[ ,]*(?:in total|globally|overall|over all)"
        ).search(after):
            yield "batch_global", int(batch[1]), False
        else:
            yield "batch_per_gpu", int(batch[1]), False
    accumulation = mentioned(
        text,
        rf"\b(?:grad(?:ient)?[_ -]?)?accum(?:ulation|ulate|ulating|ulates)?(?:[_ -]?steps?)?\b(?: (?:of|is|over|steps|gradients|set to|for|every|with|at|x))*[ =:x]*({COUNT})\b",
    ) or mentioned(text, rf"({COUNT}) (?:gradient )?accumulation steps?\b")
    if accumulation is not None:
        count = number(accumulation[1])
        if count:
            yield "accumulation", count, False
    elif denied(text, r"\b(?:gradient )?accumulation\b") is not None:
        yield "accumulation", 1, False
    workers = mentioned(
        text,
        rf"\bnum_workers[ =:]+(\d+)|(?<![\w.])({COUNT}) (?:data-?loader |data loader |dataloader |loader |loading )workers?\b|\b(?:dataloader|data loader) with ({COUNT}) workers?\b|\bworkers? ?[=:] ?(\d+)",
    )
    if workers is not None:
        count = number(next(g for g in workers.groups() if g))
        if count is not None:
            yield "dataloader_workers", count, False
    yield from _exit_codes(text)


def _exit_codes(text: str) -> Iterator[Found]:
    for match in mentions(
        text, r"\bexit ?code:? (?:was |is |of )?(-?\d{1,3})\b|\bexit(?:s|ed)? with (?:code |status )?(-?\d{1,3})\b"
    ):
        yield "exit_code", int(match[1] or match[2]), False
        return
    signal = mentioned(text, r"\bsig(kill|segv|bus|abrt|term)\b")
    if signal:
        yield "exit_code", {"kill": -9, "segv": -11, "bus": -7, "abrt": -6, "term": -15}[signal[1].lower()], False
