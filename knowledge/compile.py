"""Checks every data file against the schema and joins them into the plain form that `knowledge.load` hands out."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from knowledge import schema
from knowledge.load import ROOT, KnowledgeError, pattern_id, read_cache, write_cache
from knowledge.needs import needs

M = TypeVar("M", bound=BaseModel)


class Loader(yaml.CSafeLoader):
    """Safe YAML that refuses duplicate keys."""


def _mapping(loader: Loader, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if key in seen:
            raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} stands twice", key_node.start_mark)
        seen.add(key)
    return yaml.CSafeLoader.construct_mapping(loader, node, deep=True)


Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def read_yaml(path: Path) -> Any:
    """The content of a data file. Raises KnowledgeError with file and line."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise KnowledgeError(f"{where}: {getattr(error, 'problem', error)}") from None


def _line_of(path: Path, loc: tuple[int | str, ...]) -> int:
    """The line on which the value at `loc` stands, or the nearest known one above it."""
    node = yaml.compose(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    line = 1
    for part in loc:
        if isinstance(node, yaml.MappingNode):
            found = next(((k, v) for k, v in node.value if k.value == str(part)), None)
            if found is None:
                continue
            line, node = found[0].start_mark.line + 1, found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
    return line


def _check(model: type[M], data: Any, path: Path, prefix: tuple[int | str, ...] = ()) -> M:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        lines = []
        for problem in error.errors():
            loc = prefix + tuple(problem["loc"])
            lines.append(f"{path}:{_line_of(path, loc)}: {'.'.join(map(str, loc))}: {problem['msg']}")
        raise KnowledgeError("\n".join(lines)) from None


def entries(
    root: Path, folder: str, model: type[M], problems: list[str], parts: Parts | None = None
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every entry of a folder in plain form, checked; a file holds one entry or a list of them.

    Mistakes are added to `problems`. `parts` remembers files that were checked before and have not changed."""
    for path in sorted((root / folder).rglob("*.yaml")):
        known = parts.get(path) if parts is not None else None
        if known is None:
            try:
                data = read_yaml(path)
                if isinstance(data, list):
                    known = [_plain(_check(model, item, path, (number,))) for number, item in enumerate(data)]
                else:
                    known = [_plain(_check(model, data, path))]
            except KnowledgeError as error:
                problems.append(str(error))
                continue
            if parts is not None:
                parts.put(path, known)
        for entry in known:
            yield path, entry


class Parts:
    """Checked files of an earlier run, so that after a change only the changed file is read again."""

    def __init__(self) -> None:
        sources = "".join((ROOT / n).read_text() for n in ("schema.py", "compile.py"))
        self.mark = hashlib.sha256(sources.encode()).hexdigest()[:16]
        self.old: dict[str, Any] = {}
        self.new: dict[str, Any] = {}
        try:
            self.old = json.loads(read_cache(f"parts-{self.mark}.json") or b"{}")
        except ValueError:
            self.old = {}

    @staticmethod
    def _stamp(path: Path) -> list[int]:
        stat = path.stat()
        return [stat.st_size, stat.st_mtime_ns]

    def get(self, path: Path) -> list[dict[str, Any]] | None:
        stored = self.old.get(str(path))
        if stored is None or stored[0] != self._stamp(path):
            return None
        self.new[str(path)] = stored
        return copy.deepcopy(stored[1])  # type: ignore[no-any-return]

    def put(self, path: Path, plain: list[dict[str, Any]]) -> None:
        self.new[str(path)] = [self._stamp(path), copy.deepcopy(plain)]

    def save(self) -> None:
        write_cache(f"parts-{self.mark}.json", json.dumps(self.new).encode())


def _plain(entry: BaseModel, *drop: str) -> dict[str, Any]:
    return entry.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=set(drop))


def conditions(node: Any) -> Iterator[dict[str, Any]]:
    """Every leaf condition below a plain condition."""
    if not isinstance(node, dict):
        return
    for key in ("all", "any"):
        for child in node.get(key) or ():
            yield from conditions(child)
    if "not" in node:
        yield from conditions(node["not"])
    if not {"all", "any", "not"} & node.keys():
        yield node


def load_full(root: Path, problems: list[str], parts: Parts | None = None) -> dict[str, dict[str, dict[str, Any]]]:
    """Every entry by kind and id, with its examples and its file under `_file`. Mistakes are added to `problems`."""
    full: dict[str, dict[str, dict[str, Any]]] = {}
    for folder, (model, key) in FOLDERS.items():
        found = full[folder] = {}
        for path, entry in entries(root, folder, model, problems, parts):
            name = entry[key]
            if name in found:
                problems.append(f"{path}: {key} {name!r} is used twice")
            entry["_file"] = str(path.relative_to(root))
            found[name] = entry
    return full


FOLDERS: dict[str, tuple[type[BaseModel], str]] = {
    "causes": (schema.Cause, "id"),
    "signatures": (schema.Signature, "id"),
    "tellings": (schema.Tellings, "cause"),
    "questions": (schema.Question, "id"),
    "vocabulary": (schema.VocabularyEntry, "key"),
    "placeholders": (schema.Placeholder, "name"),
}


def compile_knowledge(root: Path = ROOT, *, lenient: bool = False) -> dict[str, Any]:
    """The whole base as plain data. Raises KnowledgeError that lists every mistake; `lenient` leaves the bad files out."""
    problems: list[str] = []
    parts = Parts()
    full = load_full(root, problems, parts)
    parts.save()
    tree: dict[str, Any] = {}
    tree_path = root / "tree.yaml"
    if tree_path.exists():
        try:
            tree = _plain(_check(schema.TreeNode, read_yaml(tree_path), tree_path))
        except KnowledgeError as error:
            problems.append(str(error))
    if problems and not lenient:
        raise KnowledgeError("\n".join(problems))
    causes, signatures, questions = full["causes"], full["signatures"], full["questions"]
    vocabulary, placeholders = full["vocabulary"], full["placeholders"]
    for entry in signatures.values():
        for field in ("examples", "sources", "_file"):
            entry.pop(field)
    patterns: dict[str, str] = {}
    said: dict[str, None] = {}
    for cause in causes.values():
        for rule in cause["evidence"]:
            rule.pop("examples")
            for leaf in (*conditions(rule["when"]), *conditions(rule.get("unless"))):
                _register(leaf, patterns, said)
        for fix in cause["fixes"]:
            for leaf in conditions(fix.get("when")):
                _register(leaf, patterns, said)
    for question in questions.values():
        for leaf in conditions(question.get("when")):
            _register(leaf, patterns, said)
    return {
        "causes": causes,
        "signatures": signatures,
        "questions": questions,
        "vocabulary": vocabulary,
        "placeholders": placeholders,
        "tree": tree,
        "patterns": patterns,
        "said": {pattern: needs(pattern) for pattern in said},
    }


def _register(leaf: dict[str, Any], patterns: dict[str, str], said: dict[str, None]) -> None:
    for spoken in (leaf.get("says"), leaf.get("text")):
        if spoken:
            said[spoken] = None
    pattern = leaf.get("log") or leaf.get("text")
    if pattern:
        patterns[pattern_id(pattern)] = pattern
