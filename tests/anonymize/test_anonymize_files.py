"""`ncclinic anonymize`: files, folders, archives and standard input; where the copies go; what is not written over."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from assistant.anonymize.run import Options, Outcome, anonymize
from assistant.cli import app
from assistant.errors import UserError

LOG = "gx7-a07:1:2 [0] NCCL INFO Bootstrap : Using eth0:10.8.3.90<0>\n"
NEW = "host-001:1:2 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.90<0>\n"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    (folder / "gx7-a07").mkdir(parents=True)
    (folder / "rank0.log").write_text(LOG)
    (folder / "gx7-a07" / "dmesg.txt").write_text("ib0: link down on gx7-a07\n")
    (folder / "slurm-214.out").write_text("USER=jdoe\n")
    (folder / "nccl.gx7-a07.4211.log").write_text(LOG * 2)
    (folder / "old.log.gz").write_bytes(gzip.compress(LOG.encode()))
    (folder / "core").write_bytes(b"\x7fELF" + bytes(100))
    with tarfile.open(folder / "more.tar.gz", "w:gz") as packed:
        info = tarfile.TarInfo("gx7-b01/rank3.log")
        info.size = len(LOG)
        packed.addfile(info, io.BytesIO(LOG.replace("a07", "b01").encode()))
    return folder


def tree(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


def run(paths: list[Path], out: Path, **more: object) -> Outcome:
    return anonymize([str(p) for p in paths], Options(str(out), **more))  # type: ignore[arg-type]


def test_a_folder(logs: Path, tmp_path: Path) -> None:
    outcome = run([logs], tmp_path / "out")
    found = tree(tmp_path / "out")
    assert list(found) == [
        "host-001/dmesg.txt",
        "more/host-002/rank3.log",
        "nccl.host-001.4211.log",
        "old.log",
        "rank0.log",
        "slurm-214.out",
    ]
    assert found["rank0.log"] == found["old.log"] == NEW
    assert found["host-001/dmesg.txt"] == "ib0: link down on host-001\n"
    assert found["slurm-214.out"] == "USER=user-1\n"
    assert "core" in outcome.left_out[0] and outcome.texts == 6


@pytest.mark.parametrize("end", [".tar.gz", ".tgz", ".zip"])
def test_an_archive(logs: Path, tmp_path: Path, end: str) -> None:
    out = tmp_path / f"out{end}"
    run([logs], out)
    if end == ".zip":
        with zipfile.ZipFile(out) as packed:
            found = {n: packed.read(n).decode() for n in packed.namelist()}
    else:
        with tarfile.open(out) as opened:
            members = {m.name: opened.extractfile(m) for m in opened}
            found = {n: m.read().decode() for n, m in members.items() if m is not None}
    run([logs], tmp_path / "plain")
    assert found == tree(tmp_path / "plain")
    first = out.read_bytes()
    run([logs], out, force=True)
    assert out.read_bytes() == first


def test_one_file_and_standard_streams(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(LOG)
    run([path], tmp_path / "b.log")
    assert (tmp_path / "b.log").read_text() == NEW
    out = io.BytesIO()
    anonymize(["-"], Options(), stdin=io.BytesIO(LOG.encode()), stdout=out)
    assert out.getvalue().decode() == NEW
    done = CliRunner().invoke(app, ["anonymize", "-"], input=LOG)
    assert done.exit_code == 0 and done.stdout == NEW and "look through it" in done.stderr


def test_the_folder_that_names_the_host_stays(tmp_path: Path) -> None:
    for host in ("gpu-a07", "node06"):
        (tmp_path / host).mkdir()
        (tmp_path / host / "dmesg.txt").write_text("link down\n")
    run([tmp_path / "gpu-a07" / "dmesg.txt", tmp_path / "node06" / "dmesg.txt"], tmp_path / "out")
    assert sorted(tree(tmp_path / "out")) == ["host-001/dmesg.txt", "host-002/dmesg.txt"]


def test_nothing_is_written_over(logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run([logs], out)
    with pytest.raises(UserError, match="exists"):
        run([logs], out)
    (out / "mine.txt").write_text("mine")
    run([logs], out, force=True)
    assert (out / "mine.txt").read_text() == "mine"
    single = tmp_path / "single.log"
    single.write_text("old")
    with pytest.raises(UserError, match="exists"):
        run([logs / "rank0.log"], single)
    assert single.read_text() == "old"
    with pytest.raises(UserError, match="is a file"):
        run([logs], single, force=True)
    with pytest.raises(UserError, match="does not exist"):
        run([logs], tmp_path / "none" / "out")
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".ncclinic")]


def test_output_and_input_apart(logs: Path) -> None:
    out = logs / "public"
    run([logs], out)
    first = tree(out)
    run([logs], out, force=True)
    assert tree(out) == first and not any(name.startswith("public") for name in first)
    with pytest.raises(UserError, match="input itself"):
        run([logs], logs, force=True)
    with pytest.raises(UserError, match="lies in the output"):
        run([logs / "rank0.log"], logs, force=True)


def test_the_map(logs: Path, tmp_path: Path) -> None:
    run([logs], tmp_path / "out", map_file=str(tmp_path / "map.json"))
    map_file = tmp_path / "map.json"
    assert stat.S_IMODE(map_file.stat().st_mode) == 0o600
    assert '"gx7-a07": "host-001"' in map_file.read_text()
    with pytest.raises(UserError, match="exists"):
        run([logs], tmp_path / "out2", map_file=str(map_file))


def test_pickles(tmp_path: Path) -> None:
    entry = {"record_id": 0, "pg_id": 0, "profiling_name": "nccl:all_reduce", "collective_seq_id": 1, "state": "scheduled",
             "frames": [{"name": "f", "filename": "/home/jdoe/orion-7/train.py", "line": 3}]}  # fmt: skip
    dump = {"version": "2.4", "pg_config": {"0": {"name": "0", "ranks": "[0, 1]"}}, "entries": [entry]}
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "nccl_trace_rank_3").write_bytes(pickle.dumps(dump))
    (tmp_path / "in" / "other.dat").write_bytes(pickle.dumps({"a": 1}))
    outcome = run([tmp_path / "in"], tmp_path / "out")
    found = tree(tmp_path / "out")
    assert (
        list(found) == ["nccl_trace_rank_3.json"] and "/home/user-1/dir-1/train.py" in found["nccl_trace_rank_3.json"]
    )
    assert "pickle" in outcome.left_out[0]


def test_long_lines_and_odd_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(
        b"\x1b[31mgx7-a07:1:2 [0] NCCL WARN x\x1b[0m\r\n" + b"word gx7-a07 " * 300_000 + b"\nHF_TOKEN=hf_" + b"a" * 34
    )
    run([path], tmp_path / "b.log")
    found = (tmp_path / "b.log").read_text()
    assert "gx7" not in found and "hf_aaa" not in found and found.count("host-001") == 300_001 and "\x1b" not in found
    assert found.count("\n") == 2


def test_errors_are_told(tmp_path: Path) -> None:
    for arguments in (["anonymize"], ["anonymize", str(tmp_path / "none")]):
        with pytest.raises(UserError):
            CliRunner().invoke(app, arguments, catch_exceptions=False)
    (tmp_path / "b.bin").write_bytes(bytes(range(256)) * 40)
    with pytest.raises(UserError, match="no text"):
        run([tmp_path / "b.bin"], tmp_path / "out")
    assert not os.path.exists(tmp_path / "out")
