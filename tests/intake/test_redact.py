"""Secrets go, what a diagnosis needs stays."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.intake import redact as module
from assistant.intake.redact import Redactor, redact

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGH"

SECRETS = [
    ("HF_TOKEN=hf_" + LETTERS, "hf_"),
    ("loading with hf_" + LETTERS + " now", "hf_"),
    ("WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", "0123456789"),
    ("wandb_api_key: 0123456789abcdef0123456789abcdef01234567", "0123456789"),
    ("postgres://user:pa55word@db.internal/x", "pa55word"),
    ("git clone https://oauth2:glpat-abcdefghijklmnopqrst@gitlab.com/x", "glpat"),
    ("http_proxy=http://me:s3cr3t@proxy:3128", "s3cr3t"),
    ("Authorization: Bearer abcdef1234567890xyz", "abcdef"),
    ("curl -H 'Authorization: token ghp_" + LETTERS + "12'", "ghp_"),
    ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalr"),
    ("key id AKIAIOSFODNN7EXAMPLE used", "AKIA"),
    ('"password": "hunter22"', "hunter22"),
    ("db_password=abc", "=abc"),
    ("export MASTER_PASSWORD='a b c'", "a b c"),
    ("--token abc123def456ghi789", "abc123"),
    ("environ({'AWS_SESSION_TOKEN': 'IQoJb3JpZ2luX2VjEJr', 'PATH': '/usr/bin'})", "IQoJ"),
    ("https://x.s3.amazonaws.com/a?X-Amz-Signature=abcdef0123456789&x=1", "abcdef"),
    ("machine api.wandb.ai login user password 0123456789abcdef", "0123456789"),
    ("OPENAI_API_KEY=sk-proj-" + LETTERS, "sk-"),
    ("posting with xoxb-123456789012-abcdefghij", "xoxb"),
    ("https://hooks.slack.com/services/T000/B000/abcdef", "B000"),
    ("NGC_API_KEY: nvapi-" + LETTERS, "nvapi"),
    ("sshpass -p hunter22 ssh gpu1", "hunter22"),
    ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcDEF-123", "eyJ"),
    ("postgres://user:pa5@5word@db.internal/x", "5word"),
    ("redis://:pa5@s#5@cache-1:6379/0", "s#5"),
    ("rsync me:s3cr3t!@storage.example.org:/data", "s3cr3t"),
    ("curl -u scraper:s3cr3t@metrics:9090/x", "s3cr3t"),
    ("the password is hunter22", "hunter22"),
    ("login failed, pwd Tr0ub4dor&3 tried", "Tr0ub"),
    ("Server=db;User Id=sa;Pwd=Tr0ub4dor;", "Tr0ub"),
    ("got token 9f86d081884c7d659a2feaa0c55ad015 from the server", "9f86"),
    ("wandb: Paste an API key from your profile and hit enter: 0123456789abcdef0123456789abcdef01234567", "0123456789"),
    ("wandb login --relogin 0123456789abcdef0123456789abcdef01234567", "0123456789"),
    ("docker login nvcr.io -u '$oauthtoken' -p bnZjci1rZXk6c2VjcmV0", "bnZj"),
    ('{"auths": {"nvcr.io": {"auth": "JG9hdXRodG9rZW46c2VjcmV0"}}}', "JG9h"),
    ("    client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJ", "LS0t"),
    (".dockerconfigjson: eyJhdXRocyI6eyJudmNyLmlvIjp7", "eyJh"),
    ("Proxy-Authorization: Basic dXNlcjpwYXNzd29yZDE=", "dXNl"),
    ("Endpoint=sb://x/;SharedAccessKey=abcDEF123456ghi=", "abcDEF"),
    ("AccountName=x;AccountKey=abcDEF123456==;EndpointSuffix=core", "abcDEF"),
    ("https://x.blob.core.windows.net/c/b?sv=2022&sig=abc%2Fdef123&se=2025", "abc%2F"),
    ("https://storage.googleapis.com/b/o?X-Goog-Signature=0a1b2c3d4e5f", "0a1b2c"),
    ("https://b.s3.amazonaws.com/k?AWSAccessKeyId=abcdefgh1234&Expires=1", "abcdefgh"),
    ("PRIVATE-TOKEN: abcdefghij0123456789", "abcdefghij"),
    ("Ünïcode HF_TOKEN=hf_" + LETTERS, "hf_"),
]

ORDINARY = [
    "tokens: 4096", "token: 12", "consumed tokens: 146324422656 | elapsed time", "tokens per second: 1234.5", "--max_tokens 8192",
    "gpu1:1:2 [0] NCCL INFO comm 0x55d0c8a0 rank 0 nranks 8 cudaDev 0 busId 4e000 commId 0x7a1b2c3d4e5f6789 - Init START",
    "GPU 0: NVIDIA H100 (UUID: GPU-8a3b1c2d-1234-5678-9abc-def012345678)", "git commit 0123456789abcdef0123456789abcdef01234567",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "GID[ 3]: fe80:0000:0000:0000:0e42:a1ff:fe00:1234, RoCE v2",
    "node_guid: 0c42:a103:0065:1234", "tokenizer: AutoTokenizer", "eos_token: </s>", "pad_token='[PAD]'", "eos_token_id: 50256", "key: value",
    "NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>", "PG GUID 0(default_pg) Rank 3", "tcp://10.0.0.1:2345", "tcp://10.0.0.1:2345@eth0",
    "Permission denied (publickey,password).", "user@host's password: ", "KeyError: 'hf_config_name'", "NCCL_IB_PKEY=0x8001", "NCCL_COMM_ID=10.0.0.1:1234",
    "TypeError: unexpected keyword argument 'token'", "num_input_tokens_seen: 123456789", "Basic configuration of asyncio", "bearer channel is up",
    'secret "train-env" not found', "MountVolume.SetUp failed for volume \"creds\" : secret \"x\" not found", "KeyError: 'token'", "dist_url: tcp://a:1",
    "PWD=/home/me/run7", "OLDPWD=/scratch/x1", "+ pwd", "pwd: /data/run1", "image: nvcr.io/nvidia/pytorch:24.01-py3@sha256:e3b0c44298fc1c149afbf4c8996fb924",
    "libc.so:memcpy@GLIBC_2.2.5", "mail ops@example.org: done", "10.0.0.1:2345@eth0", "MD5 (a.tar) = d41d8cd98f00b204e9800998ecf8427e", "the password is required",
    "password expired for user", "invalid token position_embedding_123", "token 12345678901234567 of 2e12", "tokens 1234567890abcdef", "wandb: git commit 0123456789abcdef0123456789abcdef01234567",
    "NCCL INFO comm 0x7f3c4c0012a0 rank 3 nranks 16 commId 0x9f86d081884c7d65 - Init COMPLETE", "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t", "auth=munge",
    "password prompt appeared", "UUID: MIG-8a3b1c2d-1234-5678-9abc-def012345678", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7 me@laptop", "HF_TOKEN=", "HF_TOKEN is not set", "WANDB_API_KEY=None", "TOKENIZERS_PARALLELISM=false", "SLURM_JOB_ID=123", "ssh -p 2222 host", "sk-learn 1.2",
    "task-spooler-runs-local-0 is a long name", "os.environ['HF_TOKEN']", "password authentication failed for user",
]  # fmt: skip


@pytest.mark.parametrize(("line", "secret"), SECRETS)
def test_secrets_go(line: str, secret: str) -> None:
    found = redact(f"before\n{line}\nafter")
    assert secret not in found
    assert "[redacted:" in found
    assert found.split("\n")[0::2] == ["before", "after"]
    assert redact(found) == found


@pytest.mark.parametrize("line", ORDINARY)
def test_ordinary_lines_stay(line: str) -> None:
    assert redact(line) == line


def test_kinds_are_named() -> None:
    assert redact("HF_TOKEN=hf_" + LETTERS) == "HF_TOKEN=[redacted:token]"
    assert redact("AKIAIOSFODNN7EXAMPLE") == "[redacted:aws-key]"
    assert redact("ftp://me:pw@h/x") == "ftp://[redacted:credentials]@h/x"


def test_private_keys_go_whole_and_lines_stay() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\nxyz\n-----END RSA PRIVATE KEY-----"
    found = redact(f"a\n{key}\nb")
    assert "MII" not in found and "xyz" not in found
    assert found.count("\n") == f"a\n{key}\nb".count("\n") and found.endswith("\nb")
    parts = Redactor()
    assert "MII" not in parts("a\n-----BEGIN PRIVATE KEY-----\nMIIabc\n")
    assert "xyz" not in parts("xyz\nmore\n")
    assert parts("last\n-----END PRIVATE KEY-----\nb").endswith("\nb")
    assert parts("plain") == "plain"


def test_a_private_key_without_its_end_takes_only_its_own_lines() -> None:
    body = "MIIEpAIBAAKCAQEA0123456789abcdef\n" * 3
    log = "rank 3 loads the model now\nNCCL WARN Cuda failure 2\n"
    text = f"-----BEGIN PRIVATE KEY-----\n{body}{log}"
    found = redact(text)
    assert "MII" not in found and found.endswith(log) and found.count("\n") == text.count("\n")
    parts = Redactor()
    assert parts(f"x\n-----BEGIN PRIVATE KEY-----\n{body}").count("\n") == 5
    assert parts(f"{body}{log}").endswith(log)
    assert parts("plain\n") == "plain\n"


@pytest.mark.parametrize("mark", ["gpu-1: ", "[rank0]: ", ""])
def test_keys_of_all_kinds(mark: str) -> None:
    for kind in ("", "RSA ", "OPENSSH ", "EC ", "ENCRYPTED ", "DSA "):
        key = [
            f"-----BEGIN {kind}PRIVATE KEY-----",
            "MIIEpAIBAAKCAQEA0123456789abcdef",
            f"-----END {kind}PRIVATE KEY-----",
            "end",
        ]
        found = redact("\n".join(mark + line for line in key))
        assert "MII" not in found and found.endswith("end") and found.count("\n") == 3
    pgp = "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\nlQdGBF\n-----END PGP PRIVATE KEY BLOCK-----\nend"
    assert "lQdG" not in redact(pgp) and redact(pgp).endswith("end")
    assert "MII" not in redact(
        '{"private_key": "-----BEGIN PRIVATE KEY-----\\nMIIEvQ\\nabc\\n-----END PRIVATE KEY-----\\n", "x": 1}'
    )


def test_without_hyperscan_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(([line for line, _ in SECRETS] + ORDINARY) * 20)
    assert len(text) > module.SMALL
    expected = redact(text)

    def no_database() -> Any:
        return None

    monkeypatch.setattr(module, "_database", no_database)
    assert redact(text) == expected


@given(st.lists(st.one_of(st.text(max_size=40), st.sampled_from([x for x, _ in SECRETS] + ORDINARY)), max_size=8))
def test_any_text(parts: list[str]) -> None:
    text = "\n".join(parts)
    found = redact(text)
    assert found.count("\n") == text.count("\n")
    assert redact(found) == found


@given(st.sampled_from(SECRETS), st.text(max_size=20), st.text(max_size=20))
def test_secrets_go_wherever_they_stand(secret: tuple[str, str], before: str, after: str) -> None:
    assert secret[0] not in redact(f"{before} {secret[0]} {after}")


def test_speed() -> None:
    text = "gpu-a07:184233:184310 [3] NCCL INFO Channel 12/32 : 3[3] -> 4[4] [send] via NET/IB/3/GDRDMA\n" * 40_000
    redact(text)
    start = time.perf_counter()
    redact(text)
    assert time.perf_counter() - start < 0.5
