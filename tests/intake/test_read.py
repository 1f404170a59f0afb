"""Files, folders, archives, standard input; and everything that can be wrong with them."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assistant.errors import UserError
from assistant.intake import archive, packed
from assistant.intake.read import STDIN, read_inputs, read_text, require_text
from assistant.intake.source import Source
from assistant.safe_text import CONTROLS

LOG = "gpu-07:1:2 [0] NCCL INFO Using network Socket\n"


def texts(sources: list[Source]) -> dict[str, str]:
    return {d.name: d.text for s in sources for d in s.documents()}


def tar_of(members: dict[str, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as packed:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            packed.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zip_of(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return out.getvalue()


def test_file(tmp_path: Path) -> None:
    path = tmp_path / "rank3.log"
    path.write_text(LOG * 2)
    (source,) = read_inputs([path])
    (document,) = source.documents()
    assert (document.rank, document.line(1).host, document.line(1).number) == (3, "gpu-07", 2)
    record = source.inputs[0]
    assert (record.path, record.bytes, record.lines, record.kind) == (str(path), len(LOG) * 2, 2, "text")
    require_text([source])


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    path = tmp_path / "rank3.log.packed"
    path.write_bytes(pack(LOG.encode() * 1000))
    assert texts(read_inputs([path])) == {str(path): (LOG * 1000).rstrip("\n")}


def test_gzip_of_several_parts_and_a_cut_one(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    assert texts(read_inputs([path])) == {str(path): "one\ntwo"}
    noise = os.urandom(60_000).hex().encode()
    path.write_bytes(gzip.compress(b"\n".join(noise[i : i + 80] for i in range(0, len(noise), 80)))[:40_000])
    (source,) = read_inputs([path])
    documents = list(source.documents())
    assert documents and "cut off" in source.inputs[0].notes[-1]


def test_folder(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    (logs / "node1").mkdir(parents=True)
    (logs / ".git").mkdir()
    (logs / "node1" / "rank8.log").write_text("eight\n")
    (logs / "rank0.log").write_text("zero\n")
    (logs / "rank10.log.gz").write_bytes(gzip.compress(b"ten\n"))
    (logs / ".git" / "config").write_text("hidden\n")
    (logs / ".hidden").write_text("hidden\n")
    (logs / "model.safetensors").write_bytes(b"xx")
    (logs / "core").write_bytes(b"\x7fELF" + bytes(100))
    (logs / "empty.log").touch()
    (tmp_path / "secret.txt").write_text("outside\n")
    (logs / "link.log").symlink_to(tmp_path / "secret.txt")
    (logs / "loop").symlink_to(logs)
    (logs / "gone.log").symlink_to(logs / "nowhere")
    sources = read_inputs([logs])
    found = texts(sources)
    assert [os.path.relpath(name, logs) for name in found] == ["node1/rank8.log", "rank0.log", "rank10.log.gz"]
    assert "outside" not in "".join(found.values())
    notes = " ".join(sources[0].notes)
    for expected in ("hidden files", "binary files", "empty files", "lead out of the folder", "broken links"):
        assert expected in notes
    assert any("ELF" in note for s in sources for r in s.inputs for note in r.notes)


def test_folder_of_very_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assistant.intake.read.FILES", 5)
    for i in range(9):
        (tmp_path / f"rank{i}.log").write_text("x\n")
    sources = read_inputs([tmp_path])
    assert len(sources) == 5 and "4 files beyond" in sources[0].notes[0]


def test_glob_and_order(tmp_path: Path) -> None:
    for name in ("b.log", "a.log", "c.txt"):
        (tmp_path / name).write_text(name + "\n")
    assert [s.path for s in read_inputs([str(tmp_path / "*.log")])] == [
        str(tmp_path / "a.log"),
        str(tmp_path / "b.log"),
    ]


def test_standard_input() -> None:
    assert texts(read_inputs(["-"], io.BytesIO(LOG.encode()))) == {STDIN: LOG.rstrip("\n")}
    assert texts(read_inputs(["-"], io.StringIO(LOG))) == {STDIN: LOG.rstrip("\n")}
    assert list(texts(read_inputs(["-"], io.BytesIO(tar_of({"a/rank1.log": b"one\n"}, "w:gz"))))) == [
        f"{STDIN}/a/rank1.log"
    ]
    sources = read_inputs(["-"], io.BytesIO())
    assert texts(sources) == {}
    with pytest.raises(UserError, match="empty"):
        require_text(sources)


def test_pasted_text() -> None:
    documents, record = read_text(
        "message", "\x1b[31mHF_TOKEN=hf_abcdefghijklmnopqrstuvwxyzabcdefgh\x1b[0m\r\nnext \ud800\n"
    )
    assert documents[0].lines == ["HF_TOKEN=[redacted:token]", "next ?"]
    assert record.lines == 2
    assert read_text("message", "")[0] == []


def test_pickles_are_read_as_plain_data_only(tmp_path: Path) -> None:
    path = tmp_path / "nccl_trace_rank_3"
    path.write_bytes(pickle.dumps({"version": "2.9", "entries": [{"collective_seq_id": 1}]}))
    (source,) = read_inputs([path])
    (document,) = source.documents()
    assert json.loads(document.text)["entries"] == [{"collective_seq_id": 1}]
    assert document.rank == 3
    path.write_bytes(pickle.dumps({"x": tmp_path}))
    (source,) = read_inputs([path])
    assert list(source.documents()) == []
    with pytest.raises(UserError, match="pickle") as raised:
        require_text([source])
    assert "Nothing in a pickle is run" in raised.value.hint


def test_pipe(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, LOG.encode())
    os.close(write)
    try:
        assert texts(read_inputs([f"/dev/fd/{read}"])) == {f"/dev/fd/{read}": LOG.rstrip("\n")}
    finally:
        os.close(read)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_tar(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "bundle.tar.x"
    path.write_bytes(
        tar_of({"captures/gpu-07/dmesg": b"Xid 79\n", "logs/rank1.log": LOG.encode(), "logs/.hidden": b"x\n"}, mode)
    )
    (source,) = read_inputs([path])
    documents = list(source.documents())
    assert [(d.name, d.host, d.rank) for d in documents] == [
        (f"{path}/captures/gpu-07/dmesg", "gpu-07", None),
        (f"{path}/logs/rank1.log", None, 1),
    ]
    assert "hidden" in " ".join(source.notes)


def test_nested_archives(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    inner = tar_of({"rank0.log": gzip.compress(b"zero\n"), "rank1.log": b"one\n"}, "w:gz")
    path.write_bytes(zip_of({"node1.tar.gz": inner, "node2.zip": zip_of({"rank2.log": b"two\n"})}))
    assert texts(read_inputs([path])) == {
        f"{path}/node1.tar.gz/rank0.log": "zero",
        f"{path}/node1.tar.gz/rank1.log": "one",
        f"{path}/node2.zip/rank2.log": "two",
    }
    data = b"deep\n"
    for _ in range(8):
        data = gzip.compress(data)
    path.write_bytes(data)
    (source,) = read_inputs([path])
    assert list(source.documents()) == []
    assert "deep" in " ".join(source.notes)


def test_hostile_names_and_links(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as packed:
        for name in ("../../etc/cron.d/x", "/etc/passwd", "ok.log", "a/../../b.log", "C:\\x.log", "esc\x1b[31m.log"):
            info = tarfile.TarInfo(name)
            info.size = 2
            packed.addfile(info, io.BytesIO(b"x\n"))
        for kind, name in (
            (tarfile.SYMTYPE, "link.log"),
            (tarfile.LNKTYPE, "hard.log"),
            (tarfile.CHRTYPE, "dev"),
            (tarfile.FIFOTYPE, "fifo"),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            packed.addfile(info)
    path = tmp_path / "evil.tar"
    path.write_bytes(out.getvalue())
    (source,) = read_inputs([path])
    assert [d.name for d in source.documents()] == [f"{path}/ok.log", f"{path}/esc.log"]
    assert any("4 names that point outside" in note for note in source.notes)
    assert any("4 links and devices" in note for note in source.notes)
    assert sorted(os.listdir(tmp_path)) == ["evil.tar"]


def test_zip_links_and_encrypted(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        link = zipfile.ZipInfo("link.log")
        link.external_attr = 0o120777 << 16
        packed.writestr(link, "/etc/passwd")
        packed.writestr("../up.log", "x\n")
        packed.writestr("good.log", "good\n")
    path = tmp_path / "evil.zip"
    path.write_bytes(out.getvalue())
    (source,) = read_inputs([path])
    assert [d.text for d in source.documents()] == ["good"]
    locked = bytearray(zip_of({"a.log": b"secret\n", "b.log": b"open\n"}))
    locked[locked.find(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(locked))
    (source,) = read_inputs([path])
    assert [d.text for d in source.documents()] == ["open"]
    assert "encrypted" in " ".join(source.notes)


def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "FREE", 1 << 20)
    zeros = b"A" * (8 << 20)
    for name, data in (
        ("a.gz", gzip.compress(zeros)),
        ("a.bz2", bz2.compress(zeros)),
        ("a.xz", lzma.compress(zeros)),
        ("a.zip", zip_of({"x.log": zeros})),
        ("a.tar.gz", tar_of({"x.log": zeros}, "w:gz")),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        (source,) = read_inputs([path])
        list(source.documents())
        assert any("bomb" in note for note in source.notes), name


def test_sparse_tar_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "FREE", 1 << 20)
    info = tarfile.TarInfo("huge.log")
    info.type = tarfile.GNUTYPE_SPARSE
    info.size = 512
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[386:398] = b"%011o\0" % 0
    header[398:410] = b"%011o\0" % 512
    header[483:495] = b"%011o\0" % ((1 << 33) - 1)
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    path = tmp_path / "sparse.tar"
    path.write_bytes(bytes(header) + b"x" * 512 + bytes(1024))
    (source,) = read_inputs([path])
    list(source.documents())
    assert any("bomb" in note for note in source.notes)


def test_long_headers_are_not_read(tmp_path: Path) -> None:
    info = tarfile.TarInfo("././@LongLink")
    info.type = tarfile.GNUTYPE_LONGNAME
    info.size = 1 << 32
    path = tmp_path / "long.tar"
    path.write_bytes(info.tobuf(tarfile.GNU_FORMAT) + bytes(4096))
    (source,) = read_inputs([path])
    assert list(source.documents()) == []
    assert source.error is not None and "header" in source.error


def test_too_many_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "many.tar"
    path.write_bytes(tar_of({f"rank{i}.log": b"x\n" for i in range(30)}))
    monkeypatch.setattr("assistant.intake.source.Budget", lambda: packed.Budget(members=10))
    (source,) = read_inputs([path])
    assert len(list(source.documents())) == 10
    assert any("more than" in note for note in source.notes)


def test_missing_path() -> None:
    with pytest.raises(UserError) as raised:
        read_inputs(["/nowhere/train.log"])
    assert "does not exist" in raised.value.message and raised.value.hint


@pytest.mark.parametrize("name", ["/dev/zero", "x" * 5000, "a\x00b"])
def test_strange_paths(name: str) -> None:
    with pytest.raises(UserError):
        read_inputs([name])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("x\n")
    path.chmod(0)
    with pytest.raises(UserError, match="permission"):
        read_inputs([path])


def test_permission_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.log"
    path.write_text("x\n")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UserError) as raised:
        read_inputs([path])
    assert "permission" in raised.value.message and "copy" in raised.value.hint


@pytest.mark.parametrize(
    ("data", "message"), [(b"", "empty"), (b"\n\n", None), (bytes(100), "empty"), (os.urandom(50_000), "binary")]
)
def test_nothing_to_read(tmp_path: Path, data: bytes, message: str | None) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(data)
    sources = read_inputs([path])
    texts(sources)
    if message is None:
        require_text(sources)
        return
    with pytest.raises(UserError, match=message) as raised:
        require_text(sources)
    assert raised.value.hint


def test_folder_without_logs(tmp_path: Path) -> None:
    (tmp_path / ".hidden").write_text("x\n")
    with pytest.raises(UserError) as raised:
        read_inputs([tmp_path])
    assert "without logs" in raised.value.message and "slurm" in raised.value.hint


def test_bad_among_good_is_a_note(tmp_path: Path) -> None:
    good = tmp_path / "good.log"
    good.write_text("x\n")
    sources = read_inputs([good, tmp_path / "missing.log"])
    assert texts(sources) == {str(good): "x"}
    require_text(sources)
    assert sources[1].error == "does not exist"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.sampled_from([tar_of({"a.log": b"x\n" * 500}), tar_of({"a.log": b"x\n" * 500}, "w:gz"), zip_of({"a.log": b"x\n" * 500}), gzip.compress(LOG.encode() * 50), lzma.compress(LOG.encode()), bz2.compress(LOG.encode())]),
    st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), max_size=6),
    st.integers(0, 1 << 20),
)  # fmt: skip
def test_damaged_archives_never_fail(tmp_path: Path, data: bytes, flips: list[tuple[int, int]], cut: int) -> None:
    broken = bytearray(data)
    for at, value in flips:
        broken[at % len(broken)] = value
    path = tmp_path / "broken"
    path.write_bytes(bytes(broken[: 20 + cut % len(broken)]))
    (source,) = read_inputs([path])
    for document in source.documents():
        assert document.name.startswith(str(path))


@settings(max_examples=100)
@given(
    st.binary(max_size=300),
    st.sampled_from(
        [b"", b"\x1f\x8b\x08\x00", b"BZh91AY&SY", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"PK\x05\x06"]
    ),
)
def test_any_bytes_after_any_mark(data: bytes, mark: bytes) -> None:
    for source in read_inputs(["-"], io.BytesIO(mark + data)):
        list(source.documents())


@given(st.text(max_size=60))
def test_any_member_name(name: str) -> None:
    shown = archive._member_name("a.tar", name, packed.Budget())
    assert shown is None or (shown.startswith("a.tar/") and ".." not in shown.split("/") and not CONTROLS.search(shown))
