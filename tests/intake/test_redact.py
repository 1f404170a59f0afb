"""Secrets go, what a diagnosis needs stays."""

from __future__ import annotations

import re
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
    ('os.environ["WANDB_API_KEY"] = "0123456789abcdef0123456789abcdef01234567"', "0123456789"),
    ("os.environ['MY_TOKEN']='Xk9vQ2mZp7Lr4T'", "Xk9v"),
    ('os.environ.setdefault("HF_TOKEN", "Xk9vQ2mZp7Lr4T")', "Xk9v"),
    ('[{"name": "HF_TOKEN", "value": "Xk9vQ2mZp7Lr4T"}]', "Xk9v"),
    ("env: [{name: DB_PASSWORD, value: Xk9vQ2mZp7Lr4T}]", "Xk9v"),
    ("clone https://ghp_" + LETTERS + "12@github.com/x", "ghp_"),
    ("clone https://Xk9vQ2mZp7Lr4TnW8sYb@github.com/x.git", "Xk9v"),
    ("SENTRY_DSN=https://0123456789abcdef0123456789abcdef@o1.ingest.sentry.io/1", "0123456789"),
    ("ENV HF_TOKEN Xk9vQ2mZp7Lr4T", "Xk9v"),
    ("setenv HF_TOKEN Xk9vQ2mZp7Lr4T", "Xk9v"),
    ("set -x HF_TOKEN Xk9vQ2mZp7Lr4T", "Xk9v"),
    ("set -gx WANDB_API_KEY 'Xk9vQ2m Zp7Lr4T'", "Zp7L"),
    ("curl -u admin:Xk9vQ2m https://host/", "Xk9v"),
    ("curl -s --user admin:Xk9vQ2m https://host/", "Xk9v"),
    ("curl -sSu 'admin:Xk9vQ2m' https://host/", "Xk9v"),
    ("SLURM_JWT=Xk9vQ2mZp7Lr4T", "Xk9v"),
    ("MYSQL_PWD=Xk9vQ2m mysql", "Xk9v"),
    ("DB_PASS=hunter", "hunter"),
    ("DB_PASS = 'a b c'", "a b c"),
    ("dbpass: Xk9vQ2m", "Xk9v"),
    ("PASS=Xk9vQ2mZp7", "Xk9v"),
    ("USER_PW=Xk9vQ2m", "Xk9v"),
    ("ansible_ssh_pass=Xk9vQ2m", "Xk9v"),
    ('"ssh_pass": "Xk9vQ2m"', "Xk9v"),
    ("mount -t cifs -o user=u,pass=Xk9vQ2mZp7 //h/x /mnt", "Xk9v"),
    ("KAGGLE_KEY=Xk9vQ2mZp7Lr4T", "Xk9v"),
    ('{"username":"me","key":"0123456789abcdef0123456789abcdef"}', "0123456789"),
    ('hub_token: str = "Xk9vQ2mZp7Lr4T"', "Xk9v"),
    ('password: str | None = "Xk9vQ2m"', "Xk9v"),
    (r"{\"HF_TOKEN\": \"Xk9vQ2mZp7Lr4T\", \"x\": 1}", "Xk9v"),
    ("&quot;hf_token&quot;:&quot;Xk9vQ2mZp7Lr4T&quot;", "Xk9v"),
    ("https://x/?a=HF_TOKEN%3DXk9vQ2mZp7Lr4T", "Xk9v"),
    ("https://discord.com/api/webhooks/12345678/Xk9vQ2mZp7Lr4T", "Xk9v"),
    ("https://outlook.office.com/webhook/Xk9vQ2mZp7Lr4T", "Xk9v"),
    ("https://acme.webhook.office.com/webhookb2/Xk9vQ2mZp7Lr4T@x/IncomingWebhook/y", "Xk9v"),
    ("https://api.telegram.org/bot123456789:AAEXk9vQ2mZp7Lr4TnW8sYbXk9vQ2mZp7Lr4/getMe", "Xk9v"),
    ("ipmitool -I lanplus -H bmc1 -U admin -P Xk9vQ2m power status", "Xk9v"),
    ("ipmitool -H bmc1 -U admin -P 'Xk9 vQ2m' power status", "vQ2m"),
    ("echo Xk9vQ2m | docker login nvcr.io --password-stdin", "Xk9v"),
    ("echo 'Xk9 vQ2m' | sudo -S reboot", "vQ2m"),
    ("echo Xk9vQ2m | kinit me", "Xk9v"),
    ('password = f"Xk9vQ2m"', "Xk9v"),
    ("password=b'Xk9vQ2m'", "Xk9v"),
    ('HF_TOKEN = r"Xk9vQ2mZp7Lr4T"', "Xk9v"),
    ('password="two words Xk9vQ2m"', "Xk9v"),
    ("--password 'two words Xk9vQ2m'", "Xk9v"),
    ('api_key: "it\'s Xk9vQ2m"', "Xk9v"),
    ("export DB_PASSWORD=ab\\ Xk9vQ2m", "Xk9v"),
    ("HF_TOKEN: !!str Xk9vQ2mZp7Lr4T", "Xk9v"),
    ("Password for root: Xk9vQ2m", "Xk9v"),
]

#: (text, secret in it, what is left)
NEXT_LINE = [
    ("- name: WANDB_API_KEY\n  value: Xk9vQ2m\n- name: A", "Xk9v", "- name: WANDB_API_KEY\n  value: [redacted:secret]\n- name: A"),
    ("- name: DB_PASSWORD\n  value: 'Xk 9vQ2m'\n", "9vQ2", "- name: DB_PASSWORD\n  value: '[redacted:password]'\n"),
    ('{\n "name": "HF_TOKEN",\n "value": "Xk9vQ2m"\n}', "Xk9v", '{\n "name": "HF_TOKEN",\n "value": "[redacted:token]"\n}'),
    ("- name: A_TOKEN\n- name: B_TOKEN\n  value: Xk9vQ2m", "Xk9v", "- name: A_TOKEN\n- name: B_TOKEN\n  value: [redacted:token]"),
    ("HF_TOKEN: |\n  Xk9vQ2m\nnext: 1", "Xk9v", "HF_TOKEN: |\n  [redacted:token]\nnext: 1"),
    ("  HF_TOKEN: >-\n    Xk9\n    vQ2m\n  next: 1", "vQ2m", "  HF_TOKEN: >-\n    [redacted:token]\n    [redacted:token]\n  next: 1"),
    ("[rank0]: HF_TOKEN: |\n[rank0]:   Xk9vQ2m\n[rank0]: next", "Xk9v", "[rank0]: HF_TOKEN: |\n[rank0]:   [redacted:token]\n[rank0]: next"),
    ("- name: HF_TOKEN\r\n  value: Xk9vQ2m\r\nx", "Xk9v", "- name: HF_TOKEN\r\n  value: [redacted:token]\r\nx"),
    ("run --token \\\n  Xk9vQ2mZp7Lr4T --lr 1", "Xk9v", "run --token \\\n  [redacted:token] --lr 1"),
    ("run --password \\\n  hunter --lr 1", "hunter", "run --password \\\n  [redacted:password] --lr 1"),
    ("export HF_TOKEN=\\\nXk9vQ2m\nnext", "Xk9v", "export HF_TOKEN=\\\n[redacted:token]\nnext"),
]  # fmt: skip

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
    "PASS: test_allreduce8", "pass=3 fail=0", "pass=12.5GB/s", "forward_pass: 12ms", "FORWARD_PASS=step12", "first_pass=True", "bypass=a1b2c3d4e5", "all_reduce_perf PASS",
    "OLD_PWD=run1", "BUILD_PWD=data/run1", "pwd = os.getcwd()", "docker run --user 1000:1000 image", "curl -u $USER:$PASS https://x", "curl -o a.tar https://x:8080/a",
    "https://jens@github.com/x", "https://users-of-the-cluster@host/x", "pip install git+https://github.com/org/repo-1234567890abc@v1.2", "https://example.org/a/0123456789abcdef0@x",
    "echo hello12 | grep 2", "ENV HF_TOKEN is missing", "set -x PATH /usr/bin", "ENV PATH /usr/bin", "ipmitool -H bmc1 -p 623 sel list", "ipmi_si: probing via ACPI",
    "token: str | None = None", "password: str", "password: Optional[str] = None", '{"name": "NCCL_DEBUG", "value": "INFO"}', '{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": 1}}',
    '{"key": "token", "value": 0.123456789012}', 'token: "a few words in quotes"', '{"username": "me", "key": "value"}', "fe80::a288:aae4:1", "mac 0c:42:aa:e4:12:34", "HF_TOKEN: |", "password: >-",
    "- name: HF_TOKEN\n  valueFrom:\n    secretKeyRef:\n      name: hf\n      key: token", "- name: NCCL_DEBUG\n  value: INFO", "run --token \\\n  --lr 1", "HF_TOKEN: |\nnext: 1",
    "pass the token \\\n  position_embedding_123",
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


@pytest.mark.parametrize(("text", "secret", "left"), NEXT_LINE)
def test_secrets_on_the_next_line_go(text: str, secret: str, left: str) -> None:
    assert redact(text) == left and secret not in left
    assert redact(left) == left
    parts = Redactor()
    assert "".join(parts(line) for line in re.findall(r".*\n|.+$", text)) == left


def test_what_is_left_of_quoted_secrets() -> None:
    assert redact('x = f"a", password = f"b c", y') == 'x = f"a", password = f"[redacted:password]", y'
    assert redact('[{"name": "HF_TOKEN", "value": "ab"}]') == '[{"name": "HF_TOKEN", "value": "[redacted:token]"}]'
    assert redact('os.environ["HF_TOKEN"] = "ab"') == 'os.environ["HF_TOKEN"] = "[redacted:token]"'
    assert redact("curl -u me:ab https://x/") == "curl -u me:[redacted:password] https://x/"


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
    text = "\n".join(([line for line, _ in SECRETS] + [text for text, *_ in NEXT_LINE] + ORDINARY) * 20)
    assert len(text) > module.SMALL
    expected = redact(text)

    def no_database() -> Any:
        return None

    monkeypatch.setattr(module, "_database", no_database)
    assert redact(text) == expected


@given(
    st.lists(
        st.one_of(st.text(max_size=40), st.sampled_from([x for x, *_ in (*SECRETS, *NEXT_LINE)] + ORDINARY)), max_size=8
    )
)
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
