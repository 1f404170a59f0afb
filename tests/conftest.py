"""Shared by all tests: the knowledge base once a process, and a cache folder of the tests' own."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

os.environ["NCCLINIC_STRICT"] = "1"
os.environ.setdefault("XDG_CACHE_HOME", str(Path(tempfile.gettempdir()) / "ncclinic-tests-cache"))

from knowledge.load import Knowledge, knowledge


@pytest.fixture(scope="session")
def kb() -> Knowledge:
    return knowledge()
