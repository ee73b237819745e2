"""The report as one HTML file: opens without network, reads without JavaScript, escapes everything."""

from typing import Any

from traindyno.core.answers import Document
from traindyno.report.conditions import device_name, machine_facts, observed_conditions
from traindyno.report.document import is_simulated
from traindyno.report.renderers.html_parts import (
    bullets,
    escape,
    facts_grid,
    folded,
    paragraph,
    preformatted,
    table_html,
)
from traindyno.report.renderers.html_raw import raw_section
from traindyno.report.renderers.html_style import STYLE
from traindyno.report.renderers.html_trials import trials_section
from traindyno.report.renderers.pictures import draw_svg
from traindyno.report.reproduce import reproduce_command
from traindyno.report.settings_text import code_text, toml
from traindyno.report.view import Chapter, Headline
from traindyno.report.views import view_of

METHOD = (
    "Every trial ran in a fresh process of its own, so that none could leave memory or a warm cache to the "
    "next. Steps were timed in blocks on a monotonic clock, with the device synchronised at the edges of a "
    "block only. Blocks were discarded until consecutive ones agreed; a trial that never came to rest is "
    "marked as not steady. A time per step is the median block's; of a size measured in several processes, the "
    "median of theirs, and its 95 % interval covers the variation between them. Where batches are loaded while they "
    "are timed, it is all the time over all the steps, so that late batches count. A size counts as running only "
    "after full steps in a fresh process; running out of memory is a result, and is never retried."
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def render_html(document: Document) -> str:
    """Answer and settings first, then conditions, charts, every trial, the method, the raw data."""
    title = view_of(document).title(document)
    sections = (
        _heading(document, title),
        _banners(document),
        _answer(document),
        _settings(document),
        *_middle(document, title),
        _section("Every trial", trials_section(document)),
        _section("Method", _method(document)),
        _section("Run it again", _reproduce(document)),
        _section("Raw data", raw_section(document)),
    )
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{escape(title)} · traindyno</title><style>{STYLE}</style>"
    )
    body = "\n".join(section for section in sections if section)
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body><main>\n{body}\n</main></body></html>\n'


def _section(name: str, content: str) -> str:
    return f'<section id="{name.lower().replace(" ", "-")}"><h2>{name}</h2>{content}</section>' if content else ""


def _middle(document: Document, title: str) -> tuple[str, ...]:
    """Conditions, chart and figures; an answer in chapters has all its figures there, and the conditions behind."""
    view, conditions = view_of(document), _section("Conditions", _conditions(document))
    if chapters := view.chapters(document):
        return (*(_chapter(chapter) for chapter in chapters), conditions)
    tables = "".join(table_html(table) for table in view.tables(document))
    return conditions, _section("Chart", _picture(view.chart(document), title)), _section("Figures", tables)


def _chapter(chapter: Chapter) -> str:
    tables = "".join(table_html(table) for table in chapter.tables)
    return _section(chapter.heading, _picture(chapter.chart, chapter.heading) + bullets(chapter.lines) + tables)


def _method(document: Document) -> str:
    """How trials are measured, and what is particular to the command; one long run shares nothing with the others."""
    method = view_of(document).method
    own = method(document) if callable(method) else method
    told = (own,) if document.command == "soak" else (METHOD, own)
    return "".join(paragraph(text) for text in told if text is not None)


def _heading(document: Document, title: str) -> str:
    known = (device_name(document), f"study {document.study}" if document.study else None, document.created)
    state = document.state if document.state not in (None, "done", "finished") else None
    facts = " · ".join(escape(fact) for fact in (*known, state) if fact)
    return f'<header><h1>{escape(title)}</h1><p class="soft">{facts}</p></header>'


def _banners(document: Document) -> str:
    alerts = view_of(document).alerts(document)
    simulated = "<strong>SIMULATED</strong>: made up by the simulated runner, not measured."
    unlike = f"<strong>UNLIKE</strong>: not measured under the same conditions.{bullets(alerts)}"
    shown = ((simulated, is_simulated(document)), (unlike, bool(alerts)))
    return "".join(f'<div class="banner">{text}</div>' for text, wanted in shown if wanted)


def _conditions(document: Document) -> str:
    warnings = f'<div class="warnings"><strong>Warnings</strong>{bullets(document.warnings)}</div>'
    machines = "".join(
        (f"<h3>{escape(name)}</h3>" if name else "") + facts_grid(facts) for name, facts in machine_facts(document)
    )
    return (warnings if document.warnings else "") + machines + facts_grid(observed_conditions(document))


def _answer(document: Document) -> str:
    view = view_of(document)
    headline = view.headline(document)
    first, *others = view.conclusion(document) or ("",)
    lines = paragraph(first, "conclusion first") if headline is None else ""
    lines += "" if view.answer_first else "".join(paragraph(line, "conclusion") for line in others)
    points = bullets((*view.verdicts(document), *(others if view.answer_first else ())))
    big = "" if headline is None else _headline(headline)
    return f'<section id="answer" class="card answer">{big}{lines}{points}</section>'


def _headline(headline: Headline) -> str:
    beside = "".join(f"<div><dt>{escape(label)}</dt><dd>{escape(value)}</dd></div>" for label, value in headline.beside)
    kind = "figure plain" if headline.tone == "plain" else "figure"
    figure = f'<div class="{kind}">{escape(headline.value)}</div><p class="label">{escape(headline.label)}</p>'
    return f'{figure}<dl class="beside">{beside}</dl>'


def _settings(document: Document) -> str:
    view = view_of(document)
    blocks = [preformatted(toml(item)) + preformatted(code_text(item), wraps=True) for item in view.adoptions(document)]
    snippets = view.snippets(document)
    blocks += [
        folded(snippet.title, preformatted(snippet.text, wraps=True), is_open=snippet is snippets[0])
        for snippet in snippets
    ]
    return _section("Settings to copy", "".join(blocks))


def _picture(chart: dict[str, Any] | None, label: str) -> str:
    if chart is None:
        return ""
    return f'<div class="chart" role="img" aria-label="{escape(label)}">{draw_svg(chart)}</div>'


def _reproduce(document: Document) -> str:
    command = reproduce_command(document)
    return "" if command is None else preformatted(command, wraps=True)
