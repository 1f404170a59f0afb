"""Names that a label, a tool or a format makes known: what stands in group `v` is a name of that kind."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

_H = r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?"
_ITEM = rf"(?:[A-Za-z][\w.-]*\[[\d,-]+\](?:[\w.-]*\w)?|{_H})"
_LIST = rf"{_ITEM}(?:,{_ITEM})*"
_NAME = r"[A-Za-z0-9][\w.@+-]*"
_IS = r"[\"']?\s*[=:]\s*[\"']?"
_OR = r"(?:=|\s+)[\"']?"


class Label(NamedTuple):
    kind: str
    near: tuple[str, ...]
    """Literals of which a text with the label has one."""
    pattern: str
    find: tuple[str, ...] = ()
    """Patterns that are on fewer lines than the literals, where those are on most."""


LABELS = (
    Label("host", (" [", "NCCL "), r"(?:(?<![\w.:/\\-])|(?<=\\[nrt]))(?P<v>[A-Za-z0-9][\w.-]*):\d+:\d+ (?:\[-?\d+\] |NCCL )", (r":[0-9]+:[0-9]+ (?:\[|NCCL )",)),
    Label("host", ("]:",), r"\[(?P<v>[A-Za-z][\w.-]*)\]:\d{2,5}\b"),
    Label("host", ("ADDR", "_addr", "-addr", "ENDPOINT", "endpoint", "NODENAME", "HOSTNAME", "hostname", "COORDINATOR", "coordinator", "MASTER_NODE", "HEAD_NODE", "head_node"),
          rf"(?i)(?<![a-z0-9])(?:master[_-]addr(?:ess)?|rdzv[_-]endpoint|slurmd?_(?:nodename|launch_node_ipaddr|topology_addr|srun_comm_host|submit_host)|nodename|nodeaddr|nodehostname|(?:pet_)?rdzv_endpoint|hostname|coordinator[_-]address|master_node|head_node(?:_ip)?)(?:(?:{_IS}|\s+[\"']?)(?P<v>[A-Za-z][\w.-]*\d[\w.-]*)|{_IS}(?P<w>[A-Za-z][\w-]{{2,}}(?=[\"'\s:,]|$)))"),
    Label("hosts", ("NODELIST", "nodelist", "NodeList", "BatchHost", "NodeName=", "exclude", "Nodes="),
          rf"(?<![A-Za-z0-9])(?:SLURM_(?:JOB_|STEP_)?NODELIST|SLURM_NODE_ALIASES|\w*NodeList|NODELIST|--nodelist|--exclude|BatchHost|NodeName|Nodes|nodelist)(?:{_IS}|\s+)(?P<v>{_LIST})"),
    Label("hosts", (" -w ", " -x "), r"(?<=\s)(?:srun|sbatch|salloc|sinfo|scontrol|pdsh|clush|#SBATCH)\b[^\n]{0,200}?\s-[wx][ =]?(?P<v>[A-Za-z][\w.-]*[\d\]][\w.,\[\]-]*)"),
    Label("hosts", ("#SBATCH -",), rf"#SBATCH\s+-[wx]\s+(?P<v>{_LIST})"),
    Label("host", ("srun: error: ",), rf"srun: error: (?P<v>{_H}): tasks?\b"),
    Label("host", (" CANCELLED", " DUE TO "), rf"\bON (?P<v>{_H}) (?:CANCELLED|DUE|FAILED)"),
    Label("hosts", ("ailure on ", "node ", "odes ", "host ", "Node "), r"(?i)\b(?:node failure on|(?:on|from|to|at|of|node|host)s? (?:host|node)s?) [\"'`]?(?P<v>[A-Za-z][\w.-]*[\d\]](?:[\w.,\[\]-]*[\w\]])?)"),
    Label("host", ("ost", "node", "Node"), r"(?i)(?<![a-z0-9_.-])[\"']?(?:(?:local|remote|peer|exec|execution|batch|submit)?[ _-]?host(?:_?name)?|node(?:_?name)?|nodes?/|machine)[\"']?\s*(?:[:=]\s*|(?<=/))[\"']?(?P<v>[A-Za-z][\w.-]*\d[\w.-]*\w|[A-Za-z]+\d)"),
    Label("host", (" host ", "Host "), r"(?i)\bhosts? [\"'`]?(?P<v>[A-Za-z][A-Za-z]*[-_]?[\w.-]*\d[\w-]*)"),
    Label("host", ("ip=",), r"\bip=(?P<v>[A-Za-z][\w.-]*)\)"),
    Label("host", ("[pod/",), r"\[pod/(?P<v>[\w.-]+)/"),
    Label("host", ("od ", "od/", "ods/"), r"(?<![\w-])[Pp]ods?[ /\"':=]+(?:[a-z0-9-]+/)?(?P<v>[a-z0-9][a-z0-9.-]*-[a-z0-9.-]*\d[a-z0-9-]*)"),
    Label("host", ("slots=",), rf"(?m)^\s*(?P<v>{_H})\s+slots=\d"),
    Label("hosts", (" -H ", "-host ", "-hosts "), r"\s--?(?:H|hosts?)[ =](?P<v>[A-Za-z][\w.-]*(?::\d+)?(?:,[A-Za-z][\w.-]*(?::\d+)?)*)"),
    Label("host", ("Linux ",), rf"\bLinux (?P<v>{_H}) \d+\.\d+"),
    Label("host", ("[",), r"(?m)^\[(?P<v>[A-Za-z][\w.-]*):\d{2,7}\]", (r"^\[[a-z][a-z0-9_.-]*:[0-9]+\]",)),
    Label("host", ("[",), r"(?m)^(?:<\d+>)?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? (?P<v>[A-Za-z0-9][\w.-]*) [\w./@()-]+(?:\[\d+\])?: ", (r"^(?:<[0-9]+>)?[a-z]{3} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:",)),
    Label("host", (" kernel: ", "]: "),  r"(?m)^20\d\d-\d\d-\d\dT\S+ (?P<v>[A-Za-z0-9][\w.-]*) (?:kernel|[\w./@-]+\[\d+\]): "),
    Label("host", ("kernel: ",), r"(?m)^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?P<v>[A-Za-z0-9][\w.-]*) kernel: "),
    Label("host", ("ssh ",), r"\bssh (?:-\S+ )*(?P<v>[A-Za-z][\w.-]*\d[\w.-]*)"),
    Label("host", (' "', '\t"'), r"0x[0-9a-f]{16}\s+\"(?:MF0;)?(?P<v>[A-Za-z][\w.-]*)"),
    Label("host", ("dev=",), r"\blid=\S+ dev=\d+ (?P<v>[A-Za-z][\w.-]*)"),
    Label("host", ("ARP", "HCA-", " mlx5_"), r"\"(?P<v>[A-Za-z][\w.-]*) (?:HCA-\d+|mlx5_\w+)\""),
    Label("user", ("USER", "LOGNAME"), rf"(?<![A-Z0-9])(?:USER|LOGNAME|USERNAME|SUDO_USER|SLURM_JOB_USER|PBS_O_LOGNAME){_IS}(?P<v>{_NAME})"),
    Label("user", ("serId=", "uid=", "ser="), rf"(?:UserId=|\buid=\d+\(|(?<![\w-])(?:user|User)=[\"']?)(?P<v>{_NAME})"),
    Label("user", ("user", "User"), r"(?<![\w-])[\"']?(?:[Uu]ser(?:name)?|login|owner)[\"']?: [\"']?(?P<v>[a-z][a-z0-9._-]+)(?=[\"',\s}]|$)"),
    Label("user", ("user ",), r"\b(?:for|by|as) (?:invalid )?user [\"'`]?(?P<v>[a-z][a-z0-9_-]+)"),
    Label("user", ("ssh ",), r"\bssh (?:-\S+ )*(?P<v>[A-Za-z][\w.-]*)@"),
    Label("group", ("roupId=", "gid=", "groups="), rf"(?:GroupId=|\bgid=\d+\(|groups=\d+\()(?P<v>{_NAME})"),
    Label("account", ("ccount", "ACCOUNT"), rf"(?:--account{_OR}|\bSLURM_(?:JOB_)?ACCOUNT{_IS}|\bAccount=)(?P<v>{_NAME})"),
    Label("account", ("#SBATCH", "#PBS", "#BSUB"), rf"(?:#SBATCH\s+-A\s+|#(?:PBS|BSUB)\s+-P\s+)(?P<v>{_NAME})"),
    Label("job", ("ob-name", "JOB_NAME", "JobName", "JOBNAME", "jobname", "PBS_JOBNAME"), rf"(?:--job-name{_OR}|\b(?:SLURM_JOB_NAME|PBS_JOBNAME|LSB_JOBNAME){_IS}|\bJobName=|\bjobname{_IS})(?P<v>{_NAME})"),
    Label("job", ("#SBATCH", "#PBS", "#BSUB"), rf"(?:#SBATCH\s+-J\s+|#PBS\s+-N\s+|#BSUB\s+-J\s+)[\"']?(?P<v>{_NAME})"),
    Label("job", ("WANDB_", "wandb", "experiment", "EXPERIMENT", "exp_name", "exp-name", "run_name", "run-name", "project_name", "project-name"),
          rf"(?<![A-Za-z0-9])(?:WANDB_(?:PROJECT|ENTITY|NAME|RUN_GROUP)|wandb[_-](?:project|entity|exp[_-]name|name|group)|experiment_name|EXPERIMENT_NAME|--experiment-name|--?exp[_-]name|exp_name|(?:--)?run[_-]name|(?:--)?project[_-]name)(?:{_IS}|\s+[\"']?)(?P<v>{_NAME})"),
    Label("namespace", ("amespace", "AMESPACE"), r"(?i)(?<![a-z0-9])(?:pod_)?namespaces?(?:[\"']?\s*[:=]\s*[\"']?|/| \")(?P<v>[a-z0-9][a-z0-9-]*)"),
    Label("namespace", ("kubectl ", "helm "), r"\b(?:kubectl|helm)\b[^\n|;]{0,200}?\s(?:-n|--namespace)[ =](?P<v>[a-z0-9][a-z0-9-]*)"),
    Label("namespace", (" cluster ",), r"\bnamespace (?P<v>[a-z0-9][\w-]*)(?=,? cluster )"),
    Label("project", (" cluster ",), r"\bnamespace [\w.-]+,? cluster [\"']?(?P<v>[A-Za-z0-9](?:[\w.:/@-]*\w)?)"),
    Label("project", ("ontext",), r"(?:\bcurrent-context: |\b(?:to|from|in) context |\bkubectl config use-context |--(?:kube-)?context[ =])[\"']?(?P<v>[A-Za-z0-9](?:[\w.:/@-]*\w)?)"),
    Label("project", ("lusterName", "luster_name", "luster-name", "CLUSTER_NAME"), r"(?<![a-z0-9])(?:Cluster_?Name|cluster[_-]?name|\w*CLUSTER_NAME)(?:[\"']?\s*[=:]\s*|\s+)[\"']?(?P<v>[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)"),
    Label("user", ("ogged in as",), r"ogged in as:? [\"']?(?P<v>[A-Za-z0-9][\w.+-]*)(?![\w@])"),
    Label("org", ("ogged in as",), r"ogged in as:? [\w.@+\"'-]+ \((?P<v>[A-Za-z0-9][\w.-]*)\)"),
    Label("project", ("PROJECT", "project"), rf"(?:\b(?:GOOGLE_CLOUD|GCP|GCLOUD|CLOUDSDK_CORE)_PROJECT(?:_ID)?{_IS}|--project(?:-id)?{_OR}|\bproject_id{_IS})(?P<v>{_NAME})"),
    Label("project", ("projects/",), r"\bprojects/(?P<v>[a-z][a-z0-9-]+)/(?:zones|regions|locations|global|secrets|topics|instances)\b"),
    Label("project", (".internal",), r"\.c\.(?P<v>[a-z][a-z0-9-]+)\.internal\b"),
    Label("project", ("gserviceaccount",), r"@(?P<v>[a-z][a-z0-9-]+)\.iam\.gserviceaccount\.com"),
    Label("project", ("ubscriptions/", "esourceGroups/"), r"(?i)\b(?:subscriptions|resourceGroups)/(?P<v>[\w.()-]+)"),
    Label("project", ("ubscription", "enant"), r"(?i)\b(?:subscription|tenant|client)[_-]?id[\"']?\s*[=:]\s*[\"']?(?P<v>[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})"),
    Label("namespace", (".svc",), r"\b[\w-]+\.(?P<v>[a-z0-9][a-z0-9-]*)\.svc\b"),
    Label("host", (".svc",), r"(?<![\w.-])(?:[\w-]+\.)?(?P<v>[a-z][\w-]*)\.[a-z0-9-]+\.svc\b"),
    Label("host", (".svc",), r"(?<![\w.-])(?P<v>[a-z][\w-]*)\.[\w-]+\.[a-z0-9-]+\.svc\b"),
)  # fmt: skip


@cache
def compiled() -> tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]:
    """(kind, patterns that find the lines with the label, its pattern)"""
    return tuple(
        (label.kind, label.find or tuple(map(re.escape, label.near)), re.compile(label.pattern)) for label in LABELS
    )
