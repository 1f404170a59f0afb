"""What people tried, and where and when the trouble shows: the answers that split the tree of causes."""

from __future__ import annotations

from collections.abc import Iterator

from assistant.facts import Value
from assistant.understand.text import mentioned, regex

Found = tuple[str, Value, bool]

_HELPS = r"(?<!not )(?<!n't )(?:works?|worked|runs?|ran|goes through|went through|helps?|helped|fixes|fixed|solves|solved|is (?:fine|fast|ok)|passes|no (?:hang|crash|problem)|does not hang|doesn'?t hang|all is (?:well|fine))"
_NO_HELP = r"(?:(?:does|did) ?n[o']t (?:help|change|fix|work|make a difference)|no (?:change|difference|effect|help)|still|same|changes? nothing|without (?:success|effect))"

#: Fact, value, pattern.
_TRIED: tuple[tuple[str, Value, str], ...] = (
    ("p2p_off_helps", True, rf"\b(?:NCCL_P2P_DISABLE ?= ?1|p2p (?:disabled|off|switched off|turned off)|(?:without|disabling|turning off|switching off) p2p|P2P_LEVEL ?= ?(?:LOC|0))\b[^.;\n]{{0,40}}\b{_HELPS}\b|\b(?:only )?{_HELPS} (?:only )?(?:with|when|if|by|after) [^.;\n]{{0,25}}(?:NCCL_P2P_DISABLE|p2p (?:switched |turned )?(?:off|disabled)|disabling p2p)"),
    ("p2p_off_helps", False, rf"\b(?:NCCL_P2P_DISABLE ?= ?1|(?:without|disabling) p2p|p2p (?:off|disabled))\b[^.;\n]{{0,40}}\b{_NO_HELP}\b"),
    ("ib_off_helps", True, rf"\b(?:NCCL_IB_DISABLE ?= ?1|(?:without|disabling|turning off) (?:ib|infiniband|rdma)|(?:ib|infiniband|rdma) (?:disabled|off|switched off)|over (?:plain )?(?:tcp|sockets?))\b[^.;\n]{{0,40}}\b{_HELPS}\b|\b(?:only )?{_HELPS} (?:only )?(?:with|when|if|by|after) [^.;\n]{{0,25}}(?:NCCL_IB_DISABLE|(?:ib|rdma) (?:switched |turned )?(?:off|disabled)|disabling (?:ib|rdma|infiniband))"),
    ("ib_off_helps", False, rf"\b(?:NCCL_IB_DISABLE ?= ?1|(?:without|disabling) (?:ib|infiniband|rdma))\b[^.;\n]{{0,40}}\b{_NO_HELP}\b"),
    ("data_free_fast", True, r"\b(?:synthetic|random|dummy|fake|cached|constant|pre-?loaded) (?:data|batch(?:es)?|inputs?|tensors?)\b[^.;\n]{0,50}\b(?:fast|full speed|fine|quick|no (?:problem|slowdown)|much better|faster)\b|\b(?:fast|full speed|fine|faster)\b[^.;\n]{0,25}\bwith (?:synthetic|random|dummy|fake|cached) (?:data|batches|inputs|tensors)"),
    ("data_free_fast", False, r"\b(?:synthetic|random|dummy|fake|cached|constant|constants) ?(?:data|batch(?:es)?|inputs?|tensors?)?\b[^.;\n]{0,60}\b(?:same|no (?:change|difference|faster)|still|just as slow|does ?n[o']t (?:help|change))\b|\breplaced the data (?:loading|loader)\b[^.;\n]{0,40}\bsame\b|\bdata (?:loading|loader) is not (?:the|it)"),
    ("no_sync_fast", True, r"\b(?:no_sync|without (?:the )?(?:all-?reduce|gradient sync\w*|sync\w*|communication|ddp)|all-?reduce (?:off|disabled|removed))\b[^.;\n]{0,40}\b(?:fast|full speed|fine|faster|scales?)\b"),
    ("gpu_power_low", True, r"\b(?:low|little|hardly any|idle|reduced) (?:gpu )?power\b|\bpower (?:draw|usage|consumption)?(?: is| stays| sits)? ?(?:only|low|at (?:only |about )?[4-9]\d ?w)\b|\b(?:draws?|drawing|pulling) (?:only |just |about )*(?:[4-9]\d|1[0-4]\d) ?w(?:atts?)?\b"),
    ("gpu_power_low", False, r"\b(?:full|high|near (?:tdp|the limit)|maximum) power\b|\bpower (?:draw )?(?:is )?(?:high|near|at the (?:limit|cap))"),
    ("network_shared", True, r"\b(?:shared (?:cluster|fabric|network|switch|uplink)|other (?:jobs|tenants|users|traffic)|oversubscri\w+|busy (?:network|fabric|hours)|neighbou?rs?'? (?:jobs|traffic)|storage (?:is )?on the same (?:network|nic|link))\b"),
    ("all_nodes_alike", True, r"\b(?:same|identical) (?:image|container|driver|software|environment|packages?|versions?|setup|ami)\w* (?:on|for|in|across) (?:all|both|every|each)|\bidentical (?:nodes|machines|servers|hosts)\b"),
    ("all_nodes_alike", False, r"\bdifferent (?:driver|image|nccl|cuda|torch|pytorch|python|versions?|os|kernel|gpus?)\w* (?:on|between|across|than)\b|\b(?:has|have|runs?) (?:a |an )?(?:different|older|newer|another) (?:driver|image|nccl|cuda|torch|pytorch|python|versions?|os|kernel)\b|\bversions? (?:differ|are different)\b"),
    ("failing_host", "one", r"\b(?:always|only|every time) (?:the )?(?:same|one(?: particular)?|this) (?:node|host|machine|server|rank|gpu|pair)\b|\bone particular (?:node|host|machine|gpu)\b|\balways (?:on |with )?(?:node|host|machine|rank|gpu)[ -]?\d+|\bonly (?:when|if|with|on) (?:node|host|machine|rank|gpu) ?\d+|\bas soon as (?:node|number|host|machine) ?\d+|\bwithout (?:that|this|the bad) (?:node|host|machine)[^.;\n]{0,30}\b(?:fine|works?|fast)"),
    ("failing_host", "varies", r"\b(?:different|another|changing|random) (?:node|host|machine|rank|gpu)s? (?:each|every) time|\bnot always the same (?:node|host|rank|gpu)|\b(?:rank|node|host) (?:varies|changes) (?:each|every|from)"),
    ("hang_where", "start-up", r"\b(?:hang|hangs|stuck|freezes|waits?|halts?|blocks?|sits)\b[^.;\n]{0,40}\b(?:at (?:the )?(?:start|beginning|init\w*)|during (?:start-?up|init\w*)|init_process_group|initiali[sz]\w+|rendezvous|wrapping|before (?:the )?(?:first|training)|in the constructor)"),
    ("hang_where", "evaluation", r"\b(?:hang|hangs|stuck|freezes|deadlocks?)\b[^.;\n]{0,40}\b(?:evaluation|validation|eval\b|test loop|val loop)"),
    ("hang_where", "checkpoint", r"\b(?:hang|hangs|stuck|freezes|deadlocks?)\b[^.;\n]{0,40}\b(?:checkpoint\w*|saving|save_\w+|state_dict)"),
    ("hang_where", "end", r"\b(?:hang|hangs|stuck|freezes|deadlocks?|never exits?)\b[^.;\n]{0,40}\b(?:end of (?:the |an? |each |every |first )*(?:epoch|training|run)|last (?:batch|step|iteration)|exit|shutdown|destroy_process_group)"),
    ("hang_where", "training", r"\b(?:hang|hangs|stuck|freezes|silent)\b[^.;\n]{0,50}\b(?:in the middle|random (?:moment|step|time|point)|after (?:some|a few|several|many|\d[\d,.]*) ?(?:k )?(?:steps|iterations|hours|minutes|epochs|days))|\bafter [^.;\n]{0,30}\b(?:hours|steps|iterations|epochs)\b[^.;\n]{0,40}\b(?:hangs?|stands still|stuck|freezes|silent)"),
    ("crash_when", "checkpoint", r"\b(?:dies|crash\w*|fails?|timeouts?|times out)\b[^.;\n]{0,40}\b(?:checkpoint\w*|saving|save)\b"),
    ("crash_when", "evaluation", r"\b(?:dies|crash\w*|fails?|timeouts?|gone)\b[^.;\n]{0,50}\b(?:evaluation|validation)\b"),
    ("crash_when", "start-up", r"\b(?:dies|crash\w*|fails?|stops?|aborts?|error)\b[^.;\n]{0,40}\b(?:at (?:the )?(?:start|beginning|init\w*)|right (?:at|after) (?:the )?start|in (?:nccl )?init\w*|before a single step|start-?up|rendezvous|first (?:barrier|collective|all-?reduce|broadcast))"),
    ("crash_when", "first-step", r"\b(?:dies|crash\w*|fails?|stops?|aborts?)\b[^.;\n]{0,30}\bfirst (?:step|iteration|backward|forward|batch|row)\b"),
)  # fmt: skip


def read_experiments(text: str) -> Iterator[Found]:
    """Facts on what was tried and where the trouble shows."""
    done: set[str] = set()
    for key, value, pattern in _TRIED:
        if key in done:
            continue
        found = (
            regex(pattern).search(text)
            if key in ("hang_where", "crash_when", "p2p_off_helps", "ib_off_helps")
            else mentioned(text, pattern)
        )
        if found:
            done.add(key)
            yield key, value, False
