"""The guide's reply to a question, by fixed rules.

Every sentence is a fixed text, a quotation of the documentation or a tool's result.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.guide.arithmetic import evaluate
from agent.guide.wording import detect_language, load_wording, pattern, say
from agent.shared.documentation import (
    DocMatch,
    DocSection,
    load_documentation,
    page_link,
    query_words,
    translate_title,
)

ASK, SCHEDULE = "ask_clarification", "schedule"
MAX_HITS, LEAST_COVERAGE = 6, 0.6
"""Share of a question's words, by their rarity, that a section must contain to be quoted."""
QUOTED = 1100
"""Characters of a section from which on its remaining paragraphs are left out."""
SUGGESTIONS = ("suggest_remind", "suggest_chart", "suggest_sum", "suggest_slack", "suggest_model")


@dataclass(frozen=True, slots=True)
class GuideReply:
    """A text, and tool calls by name and arguments. `options` are offered as buttons."""

    text: str
    calls: Sequence[tuple[str, Mapping[str, Any]]] = ()
    options: Sequence[str] = ()
    question: str = ""


CHART = GuideReply("", calls=[("chart", {})])
"""Stands for the steps of `agent.guide.chart`, which need the conversation."""


def answer_question(question: str, tools: Collection[str] = (), *, has_table: bool = False) -> GuideReply:  # noqa: PLR0911
    """Return the reply to a question in its language. Blocking.

    `tools` are the names of the agent's tools; `has_table`: a table came with the question.
    """
    question = " ".join(question.split())
    language = detect_language(question)
    if pattern("secrets").search(question) and not pattern("how").search(question):
        return _with_model_button(say(language, "secrets"), language)
    if has_table and not question:
        return CHART
    if pattern("can").search(question):
        options = [say(language, key) for key in SUGGESTIONS]
        return GuideReply(
            say(language, "can", intro=say(language, "intro")), (), options, say(language, "choose")
        )
    if (reply := _propose_reminder(question, tools, language)) is not None:
        return reply
    if found := evaluate(question):
        return GuideReply(say(language, "result", expression=found[0], value=found[1]))
    if has_table or pattern("chart").search(question):
        return CHART
    if pattern("work").search(question):
        return _with_model_button(say(language, "needs_model"), language)
    return _connect(question, language) or _quote_documentation(question, language)


def _with_model_button(text: str, language: str) -> GuideReply:
    options = [say(language, key) for key in ("suggest_model", "suggest_can")]
    return GuideReply(text, options=options, question=say(language, "next"))


def _propose_reminder(question: str, tools: Collection[str], language: str) -> GuideReply | None:
    found = pattern("remind").search(question)
    if found is None:
        return None
    if SCHEDULE not in tools:
        return GuideReply(say(language, "no_schedules"))
    words = f"{question[: found.start()]} {question[found.end() :]}".strip(" .…。，,")
    arguments = {"action": "create", "kind": "message", "words": words, "text": say(language, "reminder")}
    return GuideReply("", calls=[(SCHEDULE, arguments)])


def _connect(question: str, language: str) -> GuideReply | None:
    """Return where to connect a model or a platform; None for another question."""
    if pattern("model").search(question):
        return _with_form(
            say(language, "model_form"), "howto/choose-a-model", "Use a key from the environment", language
        )
    if pattern("connect").search(question):
        for one in load_wording()["platforms"]:
            if re.search(one["pattern"], question, re.IGNORECASE | re.ASCII):
                platform = one["page"].rpartition("-")[2]
                form = say(language, "account_form", name=one["name"], platform=platform)
                return _with_form(form, one["page"], "", language)
    return None


def _with_form(form: str, page: str, heading: str, language: str) -> GuideReply:
    sections = load_documentation().sections
    found = next(one for one in sections if one.page == page and one.heading == heading)
    return GuideReply(f"{form}\n\n{_quote(found, language, with_steps=True)}")


def find_hits(question: str) -> Sequence[DocMatch]:
    """Return the sections that are about the question, the best first. Blocking."""
    words = query_words(question)
    hits = load_documentation().search(words, MAX_HITS) if words else []
    return [hit for hit in hits if hit.coverage >= LEAST_COVERAGE and hit.named > 0]


def _quote_documentation(question: str, language: str) -> GuideReply:
    hits = find_hits(question)
    if not hits:
        return _with_model_button(say(language, "unknown"), language)
    first = hits[0].section
    parts = [_quote(first, language, with_steps=bool(pattern("how").search(question)))]
    if other := next((hit.section for hit in hits[1:] if hit.section.page != first.page), None):
        parts.append(say(language, "also", **_link(other, language)))
    return GuideReply("\n\n".join(parts))


def _quote(section: DocSection, language: str, *, with_steps: bool = False) -> str:
    """Return a quotation; `with_steps`: of the first section too, if this is the text before it."""
    link, documentation = _link(section, language), load_documentation()
    shown = [section]
    if with_steps and not section.heading:
        after = documentation.sections[documentation.sections.index(section) + 1 :]
        shown += [one for one in after[:1] if one.page == section.page]
    parts, whole = [say(language, "quote", **link)], bool(section.heading)
    for one in shown:
        text, uncut = cut_section(documentation.link_pages(one.page, one.text))
        parts += [f"**{one.heading}**", text] if one.heading else [text]
        whole = whole and uncut
    return "\n\n".join(parts if whole else [*parts, say(language, "more", **link)])


def _link(section: DocSection, language: str) -> dict[str, str]:
    title = translate_title(section.page, section.title, language)
    return {"title": title, "link": page_link(section.page)}


def cut_section(text: str) -> tuple[str, bool]:
    """Return the first paragraphs of a section, at least one, and whether that is all of it.

    Code blocks, lists and tables stay whole up to twice the size.
    """
    blocks = _split_blocks(text)
    shown = [blocks[0]]
    for block in blocks[1:]:
        if sum(map(len, shown)) + len(block) > QUOTED and not shown[-1].endswith(":"):
            break
        shown.append(block)
    if len(shown[0]) > 2 * QUOTED:
        lines = shown[0].splitlines()
        while len("\n".join(lines)) > 2 * QUOTED and len(lines) > 1:
            lines.pop()
        shown = ["\n".join(lines)]
    result = "\n\n".join(shown)
    return result, len(result) == len("\n\n".join(blocks))


def _split_blocks(text: str) -> list[str]:
    """Return the paragraphs; a code block is one of them."""
    blocks: list[str] = []
    fenced = False
    for block in re.split(r"\n\s*\n", text):
        if fenced:
            blocks[-1] += f"\n\n{block}"
        else:
            blocks.append(block)
        fenced ^= len(re.findall(r"^ *```", block, re.M)) % 2 == 1
    return blocks
