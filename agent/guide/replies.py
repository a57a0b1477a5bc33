"""The guide's reply to a question, by fixed rules.

Every sentence is a fixed text, a quotation of the documentation or a tool's result.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from agent.guide.arithmetic import evaluate
from agent.guide.quotation import quote_section
from agent.guide.wording import detect_language, load_wording, pattern, say
from agent.shared.documentation import (
    LONGEST,
    SOFT,
    DocMatch,
    DocSection,
    load_documentation,
    page_link,
    query_words,
    translate_title,
)

ASK, SCHEDULE = "ask_clarification", "schedule"
MAX_HITS, LEAST_COVERAGE, SURE_COVERAGE = 6, 0.6, 0.95
"""Share of a question's words, by their rarity, that a section must contain to be quoted."""
MANY, MAX_QUOTATIONS = 40, 2
MAX_PARTS = 4
_SENTENCE = re.compile(r".+?(?:[?!？！。；]+|[.;](?=\s|$)|$)", re.DOTALL)
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


def split_question(question: str) -> list[str]:
    """Return the questions in a message, or its statements if no question has a subject. Blocking."""
    parts = list(islice(_sentences(question[:LONGEST]), MAX_PARTS))
    asked = [part for part in parts if part[-1] in "?？"]
    is_complete = any(word[0] != SOFT for part in asked for word in query_words(part))
    return (asked if is_complete else parts) or [question]


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text that have a subject, or ask for a duration and the like."""
    for found in _SENTENCE.finditer(text):
        if query_words(sentence := found[0].strip()):
            yield sentence


def find_hits(question: str) -> Sequence[DocMatch]:
    """Return the sections that are about the question, the best first. Blocking."""
    answers = find_answers(question)
    firsts = [hits[0] for _, hits in answers if hits]
    return list(dict.fromkeys([*firsts, *(hit for _, hits in answers for hit in hits)]))


def find_answers(question: str) -> list[tuple[Sequence[str], Sequence[DocMatch]]]:
    """Return the words of each question in a message, and the sections about it, the best first. Blocking.

    A further question is often about the page that answers the first one.
    """
    parts = split_question(question)
    if len(parts) == 1:
        return [(words := query_words(parts[0]), _find(words))]
    found: list[tuple[Sequence[str], Sequence[DocMatch]]] = []
    before: Sequence[str] = ()
    for part in parts:
        words = query_words(part)
        if not any(one[0] != SOFT for one in words):
            # A question such as "For how long?" has no subject of its own.
            words = [*(one for one in before if one[0] != SOFT), *(one.removeprefix(SOFT) for one in words)]
        page = next((hits[0].section.page for _, hits in found if hits), "")
        wide = _find(words, MANY)
        near = [hit for hit in wide if hit.section.page == page]
        found.append((words, near or wide[:MAX_HITS]))
        before = words
    return found if any(hits for _, hits in found) else [(words := query_words(question), _find(words))]


def _find(words: Sequence[str], limit: int = MAX_HITS) -> Sequence[DocMatch]:
    hits = load_documentation().search(words, limit) if words else []
    several = sum(one[0] != SOFT for one in set(words)) > 1
    least = [hit for hit in hits if hit.coverage >= LEAST_COVERAGE]
    return [hit for hit in least if hit.named > 0 or (several and hit.coverage > SURE_COVERAGE)]


def _quote_documentation(question: str, language: str) -> GuideReply:
    answers = find_answers(question)
    best: dict[DocSection, list[str]] = {}
    for words, hits in answers:
        if hits:
            best.setdefault(hits[0].section, []).extend(words)
    if not best:
        return _with_model_button(say(language, "unknown"), language)
    with_steps = len(best) == 1 and bool(pattern("how").search(question))
    parts = [
        _quote(section, language, words, with_steps=with_steps)
        for section, words in list(best.items())[:MAX_QUOTATIONS]
    ]
    pages = {section.page for section in best}
    others = (hit.section for _, hits in answers for hit in hits if hit.section.page not in pages)
    if len(best) == 1 and (other := next(others, None)):
        parts.append(say(language, "also", **_link(other, language)))
    if not all(hits for _, hits in answers):
        parts.append(say(language, "rest"))
    return GuideReply("\n\n".join(parts))


def _quote(section: DocSection, language: str, words: Sequence[str] = (), *, with_steps: bool = False) -> str:
    """Return a quotation; `with_steps`: of the first section too, if this is the text before it."""
    link, documentation = _link(section, language), load_documentation()
    shown = [section]
    if with_steps and not section.heading:
        after = documentation.sections[documentation.sections.index(section) + 1 :]
        shown += [one for one in after[:1] if one.page == section.page]
    parts, whole = [say(language, "quote", **link)], bool(section.heading)
    for one in shown:
        text, uncut = quote_section(one, words)
        text = documentation.link_pages(one.page, text)
        parts += [f"**{one.heading}**", text] if one.heading else [text]
        whole = whole and uncut
    return "\n\n".join(parts if whole else [*parts, say(language, "more", **link)])


def _link(section: DocSection, language: str) -> dict[str, str]:
    title = translate_title(section.page, section.title, language)
    return {"title": title, "link": page_link(section.page)}
