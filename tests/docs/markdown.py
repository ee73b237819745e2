"""Just enough Markdown to hold the documentation against the code: sections, tables, code blocks, links."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it, smaller headings included."""

    level: int
    title: str
    body: str


def pages() -> list[Path]:
    """Every Markdown file of the project that a reader may open."""
    return sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")])


def code_blocks(text: str, language: str) -> list[str]:
    return [body for found, body in _FENCED.findall(text) if found == language]


def prose(text: str) -> str:
    """The text without its code blocks, whose comments look like headings."""
    return _FENCED.sub("", text)


def sections(text: str) -> list[Section]:
    """Every section, also those within others."""
    text = prose(text)
    headings = list(_HEADING.finditer(text))
    found = []
    for index, heading in enumerate(headings):
        level = len(heading[1])
        later = (other.start() for other in headings[index + 1 :] if len(other[1]) <= level)
        found.append(Section(level, heading[2].strip(), text[heading.end() : next(later, len(text))]))
    return found


def section(text: str, title: str) -> Section:
    return next(found for found in sections(text) if found.title == title)


def table_rows(text: str) -> list[list[str]]:
    """The cells of every table row below a heading line, markup and all."""
    rows: list[list[str]] = []
    lines = text.splitlines()
    for index, line in enumerate(lines):
        heading = index + 1 < len(lines) and re.match(r"\|[ -]*-{3}", lines[index + 1])
        if line.startswith("|") and not heading and not re.match(r"\|[ -]*-{3}", line):
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return rows


def code_spans(text: str) -> list[str]:
    return _CODE.findall(text)


def links(text: str) -> Iterator[str]:
    """The targets of links in prose."""
    return (match[1] for match in _LINK.finditer(_CODE.sub("", prose(text))))


def anchors(text: str) -> set[str]:
    """The names that a link may have after `#`, as code hosts make them from headings."""
    return {slug(heading[2]) for heading in _HEADING.finditer(prose(text))}


def slug(title: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", title.strip().lower())
    return kept.replace(" ", "-")
