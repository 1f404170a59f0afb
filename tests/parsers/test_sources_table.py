"""Every parser says what it reads, and docs/sources.md says the same."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

from assistant import source_catalog
from assistant.commands.sources import current_page

ROOT = Path(__file__).parents[2]
MODULES = sorted(p.stem for p in source_catalog.PARSERS.glob("[a-z]*.py"))


@pytest.mark.parametrize("name", MODULES)
def test_a_parser_names_itself_its_marks_and_its_versions(name: str) -> None:
    module = importlib.import_module(f"assistant.parsers.{name}")
    assert isinstance(module.NAME, str) and module.NAME.strip()
    assert isinstance(module.TRIGGERS, tuple) and module.TRIGGERS
    assert all(isinstance(mark, str) and mark for mark in module.TRIGGERS)
    versions = getattr(module, "VERSIONS", "")
    assert isinstance(versions, str) and len(versions.strip()) >= 8, (
        f'{name}.py lacks VERSIONS = "which versions and forms are read"'
    )
    assert "\n" not in versions
    assert len(inspect.signature(module.parse).parameters) == 1


def test_the_table_is_made_without_running_the_parsers() -> None:
    for source in source_catalog.sources():
        module = importlib.import_module(f"assistant.parsers.{source.module}")
        assert source.name == module.NAME
        assert source.versions == getattr(module, "VERSIONS", "")


def test_parsers_that_give_facts_show_them() -> None:
    shown = {s.module: s.facts for s in source_catalog.sources()}
    assert "gpu.xid" in shown["host_dmesg"]
    assert "jax.missing_task" in shown["jax_distributed"]
    assert "nccl.net" in shown["nccl_log"]
    assert [name for name, facts in shown.items() if not facts] == []


def test_every_source_has_a_group() -> None:
    assert [s.module for s in source_catalog.sources() if s.group == source_catalog.OTHERS] == []


def test_the_page_is_current() -> None:
    page = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
    assert page == current_page(), "run `ncclinic knowledge sources -o docs/sources.md`"
