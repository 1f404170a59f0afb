"""Makes the traces beside it: python make_traces.py even|sleeper|loader FOLDER (torch with gloo; four processes, no GPU)."""

from __future__ import annotations

import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils.data import DataLoader, Dataset

RANKS = 4


class Samples(Dataset):  # type: ignore[type-arg]
    def __init__(self, delay: float) -> None:
        self.delay = delay

    def __len__(self) -> int:
        return 48

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        time.sleep(self.delay)
        return torch.randn(256), torch.randn(64)


def work(rank: int, kind: str, folder: str) -> None:
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29533")
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    layers = [
        torch.nn.Linear(256, 512),
        torch.nn.ReLU(),
        torch.nn.Linear(512, 512),
        torch.nn.ReLU(),
        torch.nn.Linear(512, 64),
    ]
    model = DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Samples(0.012 if kind == "loader" else 0.0), batch_size=4)

    def ready(prof: profile) -> None:
        prof.export_chrome_trace(f"{folder}/rank{rank}.pt.trace.json")

    plan = schedule(wait=2, warmup=1, active=4)
    with profile(activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=ready, record_shapes=True) as prof:
        for number, (x, y) in enumerate(loader):
            with record_function("forward"):
                time.sleep(0.06 if kind == "sleeper" and rank == 2 else 0.02)
                loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            prof.step()
            if number == 7:
                break
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    os.makedirs(sys.argv[2], exist_ok=True)
    mp.spawn(work, (sys.argv[1], sys.argv[2]), RANKS)
