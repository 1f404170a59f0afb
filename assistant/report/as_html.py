"""Blocks -> one self-contained HTML page: no script, no network, light and dark, prints well."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from assistant.diagnosis.diagnose import Diagnosis
from assistant.report.words import Block, whole
from assistant.safe_text import safe

_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--soft:#f2f4f7;--line:#7a8390;--note:#8a4b00}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--paper:#14171b;--soft:#1f242b;--line:#8d97a5;--note:#ffb45c}}
body{font:16px/1.55 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:var(--ink);background:var(--paper)}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:1.8rem}
pre,blockquote{background:var(--soft);border-left:3px solid var(--line);margin:.4rem 0;padding:.5rem .8rem;overflow-x:auto}
pre,blockquote{font:13px/1.45 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
.note{color:var(--note)}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_LISTS = {"item": "ul", "step": "ol"}


def to_html(diagnosis: Diagnosis) -> str:
    return blocks_to_html(whole(diagnosis), "ncclinic diagnosis")


def blocks_to_html(blocks: Iterable[Block], title: str) -> str:
    """The page. All text is escaped; nothing in it can run or load anything."""
    body: list[str] = []
    open_list = ""
    for block in blocks:
        wanted = _LISTS.get(block.kind, "")
        if wanted != open_list:
            body += [f"</{open_list}>"] if open_list else []
            body += [f"<{wanted}>"] if wanted else []
            open_list = wanted
        body.append(_block(block))
    if open_list:
        body.append(f"</{open_list}>")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body><main>\n"
        + "\n".join(body)
        + "\n</main></body></html>\n"
    )


def _block(block: Block) -> str:
    text = escape(safe(block.text))
    if block.kind == "title":
        return f"<h1>{text}</h1>"
    if block.kind == "heading":
        return f"<h2>{text}</h2>"
    if block.kind in _LISTS:
        return f"<li>{text}</li>"
    if block.kind == "quote":
        return f"<blockquote>{text}</blockquote>"
    if block.kind == "code":
        return f"<pre><code>{text}</code></pre>"
    return f'<p class="note">{text}</p>' if block.kind == "note" else f"<p>{text}</p>"
