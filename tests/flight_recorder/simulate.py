"""Jobs with tensor, pipeline, expert and data parallelism on NCCL, in a model without GPUs: who would dump what.

Each rank has a program of collectives, sends and receives. Its CPU puts them into queues and runs ahead until a point where
it waits for its GPU; its GPU works them off in order, where a send does not block. One or two ranks fail, and the
job runs until nothing moves. The dumps are those of version 2.9: with all recorded entries, or the active ones only.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Call:
    group: str
    op: str
    peer: int = -1
    size: int = 0
    sync: bool = False
    """The CPU waits here until its GPU has done all before."""


@dataclass
class State:
    program: list[Call]
    queued: int = 0
    """Calls that the CPU has made."""
    done: set[int] = field(default_factory=set)
    cpu_stop: int | None = None
    gpu_stop: int | None = None
    reported: set[int] | None = None
    """What the watchdog saw complete, where it sees no more."""
    dumps: bool = True


class Simulation:
    def __init__(
        self, tp: int, pp: int, dp: int, chance: random.Random, moe: bool = True, micro: int = 4, steps: int = 3
    ) -> None:
        self.tp, self.pp, self.dp, self.moe, self.micro, self.steps = tp, pp, dp, moe, micro, steps
        self.world = tp * pp * dp
        self.members: dict[str, list[int]] = {}
        self.names: dict[tuple[str, int], str] = {}
        self._groups()
        self.chance = chance
        self.states = [State(self._program(r)) for r in range(self.world)]

    def _groups(self) -> None:
        stage = self.tp * self.dp
        kinds = {
            "world": [list(range(self.world))],
            "tp": [list(range(i, i + self.tp)) for i in range(0, self.world, self.tp)],
            "dp": [
                [s * stage + d * self.tp + t for d in range(self.dp)] for s in range(self.pp) for t in range(self.tp)
            ],
            "ep": [list(range(s * stage, (s + 1) * stage)) for s in range(self.pp)],
            "pp": [[s * stage + i for s in range(self.pp)] for i in range(stage)],
        }
        self.desc: dict[str, str] = {}
        for kind, groups in kinds.items():
            for ranks in groups:
                name = str(len(self.members))
                self.members[name] = ranks
                self.desc[name] = "default_pg" if kind == "world" else f"{kind.upper()}_GROUP"
                for rank in ranks:
                    self.names[kind, rank] = name

    def _program(self, rank: int) -> list[Call]:
        stage = rank // (self.tp * self.dp)
        names = {k: self.names[k, rank] for k in ("world", "tp", "dp", "ep", "pp")}
        calls: list[Call] = []

        def layers(backward: bool) -> None:
            for _ in range(2):
                calls.append(Call(names["tp"], "_all_gather_base", size=4096))
                if self.moe:
                    calls.append(Call(names["ep"], "all_to_all", size=4000))
                    calls.append(Call(names["ep"], "all_to_all", size=4000))
                calls.append(Call(names["tp"], "_reduce_scatter_base", size=8192, sync=self.moe and not backward))

        def forward() -> None:
            if stage > 0:
                calls.append(Call(names["pp"], "recv", stage - 1, 4096))
            layers(False)
            if stage < self.pp - 1:
                calls.append(Call(names["pp"], "send", stage + 1, 4096))

        def backward() -> None:
            if stage < self.pp - 1:
                calls.append(Call(names["pp"], "recv", stage + 1, 4096))
            layers(True)
            if stage > 0:
                calls.append(Call(names["pp"], "send", stage - 1, 4096))

        for _ in range(self.steps):
            warm = min(self.pp - stage - 1, self.micro)
            for _ in range(warm):
                forward()
            for _ in range(self.micro - warm):
                forward()
                backward()
            for _ in range(warm):
                backward()
            calls.append(Call(names["dp"], "all_reduce", size=100_000))
            calls.append(Call(names["world"], "all_reduce", size=1, sync=True))
        return calls

    def fail(self, rank: int, kind: str) -> None:
        """cpu: the program stops, its GPU goes on. kill: both stop, no dump. gpu: the GPU stops, and completions are no longer seen."""
        state = self.states[rank]
        at = self.chance.randrange(len(state.program) // 3, 2 * len(state.program) // 3)
        if kind == "cpu":
            state.cpu_stop = at
        elif kind == "kill":
            state.cpu_stop = at
            state.gpu_stop = max(0, at - self.chance.randrange(4))
            state.dumps = False
        elif kind == "gpu":
            state.gpu_stop = at
            state.reported = set(range(max(0, at - self.chance.randrange(3, 20))))

    def took_effect(self, rank: int) -> bool:
        """Whether the job came so far that the fault of a rank was felt."""
        state = self.states[rank]
        if state.reported is not None:
            return bool(state.done - state.reported) or state.queued > (state.gpu_stop or 0)
        return state.queued >= (state.cpu_stop or 0) or (state.gpu_stop is not None and state.queued > state.gpu_stop)

    def run(self) -> None:
        moving = True
        while moving:
            moving = False
            for state in self.states:
                moving |= self._cpu(state)
            for rank in range(self.world):
                moving |= self._gpu(rank)

    def _cpu(self, state: State) -> bool:
        end = len(state.program) if state.cpu_stop is None else state.cpu_stop
        start = state.queued
        while state.queued < end:
            if state.queued and state.program[state.queued - 1].sync:
                seen = state.done if state.reported is None else state.done & state.reported
                if not all(i in seen for i in range(state.queued)):
                    break
            state.queued += 1
        return state.queued > start

    def _at(self, rank: int) -> list[int]:
        """Calls on which the GPU of a rank works: the first that is not done, and what follows a send."""
        state = self.states[rank]
        found = []
        for i in range(state.queued):
            if i in state.done:
                continue
            if state.gpu_stop is not None and i >= state.gpu_stop:
                break
            found.append(i)
            if state.program[i].op != "send":
                break
        return found

    def _gpu(self, rank: int) -> bool:
        moved = False
        for i in self._at(rank):
            call = self.states[rank].program[i]
            key = self._key(rank, i)
            members = self.members[call.group]
            others = [members[call.peer]] if call.peer >= 0 else [m for m in members if m != rank]
            there = [self._find(o, key) for o in others]
            if all(t is not None for t in there):
                self.states[rank].done.add(i)
                for other, index in zip(others, there, strict=True):
                    if index is not None:
                        self.states[other].done.add(index)
                moved = True
        return moved

    def _key(self, rank: int, index: int) -> tuple[Any, ...]:
        call = self.states[rank].program[index]
        before = self.states[rank].program[:index]
        if call.peer < 0:
            return call.group, sum(c.group == call.group and c.peer < 0 for c in before)
        me = self.members[call.group].index(rank)
        way = (me, call.peer) if call.op == "send" else (call.peer, me)
        return call.group, way, sum(c.group == call.group and c.peer == call.peer and c.op == call.op for c in before)

    def _find(self, rank: int, key: tuple[Any, ...]) -> int | None:
        for i in self._at(rank):
            if self._key(rank, i) == key:
                return i
        return None

    def dumps(self, active: bool) -> dict[int, dict[str, Any]]:
        return {r: self._dump(r, active) for r, s in enumerate(self.states) if s.dumps}

    def _dump(self, rank: int, active: bool) -> dict[str, Any]:
        state = self.states[rank]
        seen = state.done if state.reported is None else state.reported & state.done
        counts: dict[tuple[str, bool], int] = {}
        own = sorted((n for n, m in self.members.items() if rank in m), key=int)
        status = {n: [0, 0] for n in own}
        entries = []
        for i in range(state.queued):
            call = state.program[i]
            p2p = call.peer >= 0
            seq = counts[call.group, p2p] = counts.get((call.group, p2p), 0) + 1
            status[call.group][0] = seq
            if i in seen:
                status[call.group][1] = seq
            me = self.members[call.group].index(rank)
            way = f" {me}{'->' if call.op == 'send' else '<-'}{call.peer}" if p2p else ""
            wide = len(self.members[call.group]) if "gather" in call.op else 1
            if active and i in seen:
                continue
            entries.append(
                {
                    "record_id": i,
                    "pg_id": own.index(call.group),
                    "process_group": (call.group, self.desc[call.group]),
                    "collective_seq_id": 0 if p2p else seq,
                    "p2p_seq_id": seq if p2p else 0,
                    "op_id": i,
                    "profiling_name": f"nccl:{call.op}{way}",
                    "time_created_ns": 1_700_000_000_000_000_000 + i * 1_000_000,
                    "input_sizes": [[call.size]],
                    "input_dtypes": ["BFloat16"],
                    "output_sizes": [[call.size * wide]],
                    "output_dtypes": ["BFloat16"],
                    "state": "completed" if i in seen else "scheduled",
                    "time_discovered_started_ns": None,
                    "time_discovered_completed_ns": 1_700_000_000_000_000_000 + i * 1_000_100 if i in seen else None,
                    "retired": i in seen,
                    "timeout_ms": 180000,
                    "is_p2p": p2p,
                }
            )
        return {
            "version": "2.9",
            "pg_config": {n: {"name": n, "desc": self.desc[n], "ranks": str(self.members[n])} for n in own},
            "nccl_version": "2.27.3",
            "pg_status": {
                str(i): {
                    "last_enqueued_collective": status[n][0],
                    "last_started_collective": -1,
                    "last_completed_collective": status[n][1],
                }
                for i, n in enumerate(own)
            },
            "entries": entries[-200:],
        }
