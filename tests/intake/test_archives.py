"""Archives made by the real tools, and archives made to do harm."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from assistant.intake import archive, packed, zstd
from assistant.intake.read import read_inputs
from assistant.intake.source import Source

zstandard = pytest.importorskip("zstandard")

LINE = "gpu-07:1:2 [0] NCCL INFO Using network Socket\n"
LOG = "".join(f"step {i} loss {i * 7919 % 1000}\n" for i in range(20_000)).encode()


def read(path: Path) -> tuple[dict[str, str], Source, str]:
    """(texts by their place in the archive, the source, all that is noted)"""
    (source,) = read_inputs([path])
    texts: dict[str, str] = {}
    for document in source.documents():
        name = document.name.removeprefix(str(path)).lstrip("/")
        texts[name] = texts[name] + "\n" + document.text if name in texts else document.text
    notes = [*source.notes, *(f"{r.path}: {n}" for r in source.inputs for n in r.notes)]
    return texts, source, "\n".join(notes)


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def run(folder: Path, *command: str) -> None:
    subprocess.run([tool(command[0]), *command[1:]], cwd=folder, check=True, capture_output=True)


def text_of(data: bytes) -> str:
    return data.decode().rstrip("\n")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder `job` with what a run leaves behind."""
    job = tmp_path / "job"
    (job / "node-1").mkdir(parents=True)
    (job / "rank0.log").write_bytes(LOG)
    (job / "node-1" / "rank8.log").write_text(LINE * 3)
    (job / ("a-very-long-name-" * 14 + ".log")).write_text("long name\n")
    (job / "naïve ✓.log").write_text("unicode name\n")
    return tmp_path


EXPECTED = {
    "job/rank0.log": text_of(LOG),
    "job/node-1/rank8.log": (LINE * 3).rstrip("\n"),
    "job/" + "a-very-long-name-" * 14 + ".log": "long name",
    "job/naïve ✓.log": "unicode name",
}


@pytest.mark.parametrize(
    "command",
    [
        ("gzip", "-k"), ("gzip", "-k9"), ("bzip2", "-k"), ("xz", "-k"), ("xz", "-k9"), ("xz", "-kT2", "--block-size=100000"), ("xz", "-k", "--check=none"),
        ("zstd", "-k"), ("zstd", "-k19"), ("zstd", "-k", "--ultra", "-22", "--long=27"), ("zstd", "-k", "--no-check"), ("zstd", "-k", "--no-content-size"), ("zstd", "-k", "--fast=5"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_compressed_by_the_real_tools(logs: Path, command: tuple[str, ...]) -> None:
    run(logs, *command, "job/rank0.log")
    (path,) = list((logs / "job").glob("rank0.log.*"))
    texts, _, notes = read(path)
    assert (list(texts.values()), notes) == ([text_of(LOG)], "")


@pytest.mark.parametrize("form", ["gnu", "pax", "ustar", "v7", "oldgnu"])
@pytest.mark.parametrize("pack", ["", "-z", "-j", "-J", "--zstd"])
def test_tar_of_the_real_tool(logs: Path, form: str, pack: str) -> None:
    if form in ("v7", "ustar"):  # these have no names that long
        (logs / "job" / ("a-very-long-name-" * 14 + ".log")).unlink()
    if pack == "--zstd":
        tool("zstd")
    run(logs, "tar", *([pack] if pack else []), f"--format={form}", "-cf", "job.tar", "job")
    texts, _, notes = read(logs / "job.tar")
    assert texts == {k: v for k, v in EXPECTED.items() if form not in ("v7", "ustar") or "very" not in k}
    assert notes == ""


@pytest.mark.parametrize("pack", [("-9",), ("-0",), ("-Z", "bzip2"), ("-y",)])
def test_zip_of_the_real_tool(logs: Path, pack: tuple[str, ...]) -> None:
    (logs / "job" / "link.log").symlink_to("rank0.log")
    run(logs, "zip", "-r", *pack, "job.zip", "job")
    texts, _, notes = read(logs / "job.zip")
    linked = {} if "-y" in pack else {"job/link.log": text_of(LOG)}
    assert texts == {**EXPECTED, **linked}
    assert notes == ("left out: 1 links and devices" if "-y" in pack else "")


@pytest.mark.parametrize("method", ["Deflate", "LZMA", "BZip2", "Copy", "Deflate64", "PPMd"])
def test_zip_of_7z(logs: Path, method: str) -> None:
    run(logs, "7z", "a", "-tzip", f"-mm={method}", "job.zip", "job")
    texts, source, notes = read(logs / "job.zip")
    if method in ("Deflate64", "PPMd"):  # Python can't unpack these; small files are stored as they are
        assert "can't be unpacked" in notes + str(source.error)
    else:
        assert texts == EXPECTED


def test_encrypted_zips_are_named_as_such(logs: Path) -> None:
    run(logs, "zip", "-r", "-P", "secret", "job.zip", "job/rank0.log")
    texts, _, notes = read(logs / "job.zip")
    assert texts == {} and "encrypted" in notes
    run(logs, "7z", "a", "-tzip", "-psecret", "-mem=AES256", "aes.zip", "job/rank0.log")
    texts, _source, notes = read(logs / "aes.zip")
    assert texts == {} and "encrypted" in notes


def test_zip64_and_a_zip_from_standard_input(logs: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as out, out.open("rank1.log", "w", force_zip64=True) as member:
        member.write(LOG)
    assert list(read(tmp_path / "z.zip")[0].values()) == [text_of(LOG)]
    data = (tmp_path / "z.zip").read_bytes()
    (source,) = read_inputs(["-"], io.BytesIO(gzip.compress(data)))
    assert [d.text for d in source.documents()] == [text_of(LOG)]
    run(logs, "bash", "-c", "zip -fz- -r - job > stream.zip")
    assert read(logs / "stream.zip")[0] == EXPECTED


def test_what_a_tar_holds_besides_files(logs: Path) -> None:
    job = logs / "job"
    (job / "sym.log").symlink_to("/etc/passwd")
    os.link(job / "rank0.log", job / "zz-hard.log")
    os.mkfifo(job / "pipe")
    with (job / "sparse.log").open("wb") as out:
        out.write(b"begin\n")
        out.seek(4 << 20)
        out.write(b"end\n")
    (job / "empty.log").touch()
    for form in ("gnu", "pax"):
        run(logs, "tar", "-S", f"--format={form}", "-cf", "job.tar", "job")
        texts, _, notes = read(logs / "job.tar")
        assert texts.pop("job/sparse.log").split() == ["begin", "end"]
        assert {k for k in texts if "hard" not in k and "rank0" not in k} == {k for k in EXPECTED if "rank0" not in k}
        assert text_of(LOG) in texts.values(), "the file of which there are two names is read once"
        assert "left out: 3 links and devices" in notes


def test_devices_and_names_that_point_outside(tmp_path: Path) -> None:
    def add(out: tarfile.TarFile, name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> None:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, link
        data = b"content\n" if kind in (tarfile.REGTYPE, b"Z") else b""
        info.size = len(data)
        out.addfile(info, io.BytesIO(data))

    path = tmp_path / "odd.tar"
    with tarfile.open(path, "w") as out:
        for name in ("/etc/passwd", "../../up.log", "a/../../b.log", "C:\\windows.log", "\\\\host\\share.log", ".."):
            add(out, name)
        add(out, "null", tarfile.CHRTYPE)
        add(out, "disk", tarfile.BLKTYPE)
        add(out, "pipe", tarfile.FIFOTYPE)
        add(out, "sym.log", tarfile.SYMTYPE, "good.log")
        add(out, "strange.log", b"Z")
        add(out, "good.log")
        add(out, "good.log")
        add(out, "\x1b[31mred\x1b]0;title\x07\nnew line\udcff.log")
    texts, _source, notes = read(path)
    assert set(texts) == {"good.log", "red new line.log"}
    assert texts["good.log"] == "content\ncontent", "two files of one name are both read"
    assert "6 names that point outside" in notes and "5 links and devices" in notes
    assert sorted(os.listdir(tmp_path)) == ["odd.tar"]


def test_an_archive_inside_that_is_damaged_does_not_end_the_others(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w:gz") as out:
        for i in range(3):
            info = tarfile.TarInfo(f"rank{i}.log")
            data = os.urandom(40_000).hex().encode()
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))
    whole = inner.getvalue()
    broken = {
        "cut.tgz": whole[: len(whole) // 2],
        "flip.tgz": whole[:500] + b"\x00" * 40 + whole[540:],
        "not.zip": b"PK\x03\x04" + bytes(600),
    }
    with tarfile.open(tmp_path / "all.tar", "w") as tar, zipfile.ZipFile(tmp_path / "all.zip", "w") as packed_zip:
        for name, data in (*broken.items(), ("zz.log", b"the last one\n")):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
            packed_zip.writestr(name, data)
    for name in ("all.tar", "all.zip"):
        texts, _, notes = read(tmp_path / name)
        assert texts["zz.log"] == "the last one"
        assert "cut.tgz" in notes and "not.zip" in notes and "cut off" in notes


# --- zstd


def frames(*parts: bytes) -> bytes:
    return b"".join(zstandard.compress(part) for part in parts)


def skipped(data: bytes, number: int = 0) -> bytes:
    return struct.pack("<II", 0x184D2A50 + number, len(data)) + data


def test_zstd_frames_that_follow_each_other(tmp_path: Path) -> None:
    path = tmp_path / "rank1.log.zst"
    path.write_bytes(
        skipped(b"\x00" * 4)
        + frames(b"one\n", b"", b"two\n")
        + skipped(b"x" * 100_000, 15)
        + frames(b"three\n")
        + skipped(b"")
    )
    assert list(read(path)[0].values()) == ["one\ntwo\nthree"]
    path.write_bytes(frames(b"one\n") + b"trailing bytes that are no frame")
    assert list(read(path)[0].values()) == ["one"]


@pytest.mark.parametrize("size", [0, 1, 131_071, 131_072, 131_073, 3_000_000])
def test_zstd_of_any_size(size: int) -> None:
    data = (LOG * (1 + size // len(LOG)))[:size]
    for level, checksum, known in ((1, True, True), (19, False, False)):
        made = zstandard.ZstdCompressor(level, write_checksum=checksum, write_content_size=known).compress(data)
        stream = zstd.Zstd(io.BytesIO(made))
        assert b"".join(iter(lambda: stream.read(10_000), b"")) == data  # noqa: B023


def test_zstd_that_is_cut_off_or_damaged(tmp_path: Path) -> None:
    noise = os.urandom(300_000).hex().encode()
    lines = b"\n".join(noise[i : i + 80] for i in range(0, len(noise), 80))
    data = zstandard.ZstdCompressor(write_checksum=True).compress(lines)
    path = tmp_path / "a.zst"
    path.write_bytes(data[: len(data) * 2 // 3])
    texts, _, notes = read(path)
    assert texts and "cut off before its end" in notes
    path.write_bytes(data[:-2])
    assert "cut off before its end" in read(path)[2]
    path.write_bytes(data[:150_000] + b"\xff" * 50 + data[150_050:])
    assert "damaged" in read(path)[2]


def test_zstd_windows_are_bounded(tmp_path: Path) -> None:
    tool("zstd")
    path = tmp_path / "a.log"
    path.write_bytes(LOG)
    subprocess.run(f"zstd -q --ultra -22 --long=31 < {path} > {path}.zst", shell=True, check=True)
    texts, _source, notes = read(Path(f"{path}.zst"))
    assert texts == {} and "2048 MiB of memory" in notes and "--long=31" in notes


def test_zstd_with_a_dictionary(tmp_path: Path) -> None:
    words = zstandard.ZstdCompressionDict(LOG[:20_000], dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    path = tmp_path / "a.zst"
    trained = zstandard.train_dictionary(4096, [LOG[i : i + 300] for i in range(0, 90_000, 300)])
    path.write_bytes(zstandard.ZstdCompressor(dict_data=trained).compress(LOG))
    assert "dictionary" in read(path)[2]
    path.write_bytes(zstandard.ZstdCompressor(dict_data=words).compress(LOG))
    assert "damaged" in read(path)[2]


def test_without_the_zstd_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.zst"
    path.write_bytes(frames(b"one\n"))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression", None)
    texts, _source, notes = read(path)
    assert texts == {} and "pip install zstandard" in notes and "zstd -d" in notes


# --- bombs


def rle_zstd(blocks: int) -> bytes:
    """A frame in which four bytes stand for 128 KiB."""
    block = (131_072 << 3 | 1 << 1).to_bytes(3, "little") + b"A"
    return zstd.MARK + b"\x00" + bytes([7 << 3]) + block * blocks + (0 << 3 | 1).to_bytes(3, "little")


def packed_zeros(kind: str, size: int) -> bytes:
    """`size` bytes of one letter, packed as small as the format can."""
    block = b"A" * (1 << 20)
    if kind == "zst":
        return rle_zstd(size >> 17)
    makers: dict[str, Callable[[], object]] = {
        "gz": lambda: zlib.compressobj(9, wbits=31),
        "xz": lzma.LZMACompressor,
        "bz2": __import__("bz2").BZ2Compressor,
    }
    maker = makers[kind]()
    return b"".join(maker.compress(block) for _ in range(size >> 20)) + maker.flush()  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
def test_ratio_bombs_end_early_in_flat_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(packed, "FREE", 4 << 20)
    path = tmp_path / f"bomb.{kind}"
    path.write_bytes(packed_zeros(kind, 64 << 20))
    tracemalloc.start()
    _, _source, notes = read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "archive bomb" in notes
    assert peak < 40 << 20


def test_bombs_inside_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "FREE", 4 << 20)
    bombs = {f"{k}.{k}": packed_zeros(k, 16 << 20) for k in ("gz", "bz2", "xz", "zst")}
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as out:
        for name, data in bombs.items():
            out.writestr(name, data)
    _, _source, notes = read(tmp_path / "b.zip")
    assert "archive bomb" in notes


def test_one_member_that_unpacks_to_too_much_does_not_end_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "FREE", 4 << 20)
    with zipfile.ZipFile(tmp_path / "b.zip", "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("a.bz2", packed_zeros("bz2", 8 << 20))
        out.writestr("noise.log", os.urandom(200_000).hex())
        out.writestr("z.log", "the last one\n")
    texts, _, notes = read(tmp_path / "b.zip")
    assert "archive bomb" in notes and texts["z.log"] == "the last one"


def nested_zip(depth: int, width: int, leaf: bytes) -> bytes:
    """Like 42.zip: zips in zips in zips."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        inner = leaf if depth == 0 else nested_zip(depth - 1, width, leaf)
        for i in range(width):
            made.writestr(f"{i}.{'log' if depth == 0 else 'zip'}", inner)
    return out.getvalue()


def test_zips_in_zips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "FREE", 4 << 20)
    path = tmp_path / "42.zip"
    path.write_bytes(nested_zip(2, 6, b"0" * (1 << 20)))
    assert "archive bomb" in read(path)[2]
    path.write_bytes(nested_zip(5, 1, b"deep\n"))
    texts, _, notes = read(path)
    assert texts == {} and "deep" in notes


def overlapping_zip(entries: int) -> bytes:
    """Many entries of the directory that all point to the same data."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("a.log", b"0" * (1 << 20))
    data = out.getvalue()
    begin, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    entry = data[begin:end]
    tail = bytearray(data[end:])
    tail[8:12] = struct.pack("<HH", entries, entries)
    tail[12:16] = struct.pack("<I", len(entry) * entries)
    return data[:begin] + entry * entries + bytes(tail)


def test_entries_that_overlap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "FREE", 4 << 20)
    path = tmp_path / "overlap.zip"
    path.write_bytes(overlapping_zip(2000))
    _, source, notes = read(path)
    assert "archive bomb" in notes or "unpacked" in notes or "damaged" in notes
    assert sum(r.bytes for r in source.inputs) < 64 << 20


def gzip_quine_like(depth: int) -> bytes:
    data = b"x\n"
    for _ in range(depth):
        data = gzip.compress(data)
    return data


def test_packed_again_and_again(tmp_path: Path) -> None:
    path = tmp_path / "again.gz"
    path.write_bytes(gzip_quine_like(4))
    assert list(read(path)[0].values()) == ["x"]
    path.write_bytes(gzip_quine_like(50))
    texts, _, notes = read(path)
    assert texts == {} and "deep" in notes


def test_a_zip_whose_directory_is_huge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "DIRECTORY", 10_000)
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as out:
        for i in range(300):
            out.writestr(f"rank{i}.log", "x\n")
    texts, _source, notes = read(path)
    assert texts == {} and "more than" in notes


def test_an_xz_that_asks_for_very_much_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.xz"
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 20}]
    data = bytearray(lzma.compress(b"one\n", filters=filters))
    assert data[16] == 16  # the size of the dictionary, as one byte
    data[16] = 39  # 3 GiB
    data[20:24] = struct.pack("<I", zlib.crc32(data[12:20]))
    path.write_bytes(bytes(data))
    texts, _, notes = read(path)
    assert texts == {} and "of memory to unpack" in notes


# --- damage


@pytest.mark.parametrize("kind", ["w", "w:gz", "w:bz2", "w:xz", "zst", "zip"])
def test_every_cut_and_many_flips(kind: str) -> None:
    """However an archive is damaged: no exception, and what is read was in it."""
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
            made.writestr("a/rank1.log", LINE * 3)
            made.writestr("b.gz", gzip.compress(LINE.encode()))
    else:
        with tarfile.open(fileobj=out, mode="w" if kind == "zst" else kind) as tar:  # type: ignore[call-overload]
            for name in ("a/rank1.log", "b/" * 60 + "rank2.log"):
                info = tarfile.TarInfo(name)
                info.size = len(LINE) * 3
                tar.addfile(info, io.BytesIO(LINE.encode() * 3))
    data = zstandard.compress(out.getvalue()) if kind == "zst" else out.getvalue()
    step = max(1, len(data) // 150)
    for at in range(0, len(data), step):
        for bad in (data[:at], data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :], data[:at] + data[at + 1 :]):
            source = Source("bundle", lambda: io.BytesIO(bad))  # noqa: B023
            for document in source.documents():
                assert len(document.text) < 100_000
    source = Source("bundle", lambda: io.BytesIO(data))
    assert len(list(source.documents())) == 2


def test_a_tar_that_is_damaged_in_the_middle_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as out:
        for i in range(4):
            info = tarfile.TarInfo(f"rank{i}.log")
            info.size = 3
            out.addfile(info, io.BytesIO(b"x\n\n"))
    data = bytearray(path.read_bytes())
    data[2 * 1024 + 150] ^= 1
    path.write_bytes(bytes(data))
    texts, _, notes = read(path)
    assert set(texts) == {"rank0.log", "rank1.log"} and "not read to its end: damaged" in notes
    path.write_bytes(bytes(data[: 1024 + 300]))
    texts, _, notes = read(path)
    assert set(texts) == {"rank0.log"} and "cut off" in notes
