"""What the guide answers by which rule, and that it says nothing of its own."""

import re
import time

import pytest

from agent.guide.chart import begin_chart
from agent.guide.quotation import OMITTED, QUOTED, cut_section
from agent.guide.replies import CHART, GuideReply, answer_question, find_answers, find_hits
from agent.guide.wording import load_wording
from agent.shared.documentation import load_documentation, page_link, translate_title
from tests.unit.agent.guide.questions import ANSWERED, LEADING, OUT_OF_SCOPE

TOOLS = frozenset({"ask_clarification", "schedule", "bash", "read_file", "write_file", "present_files"})
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_SPACE = re.compile(r"[\s*]+")


def plain(text: str) -> str:
    """Return a text without links and emphasis, on one line."""
    return _SPACE.sub(" ", _LINK.sub(r"\1", text)).strip()


def known_texts() -> tuple[str, list[re.Pattern[str]]]:
    """Return the whole documentation, and the fixed texts as patterns."""
    documentation = load_documentation()
    pages = " ".join(plain(text) for text in documentation.pages.values())
    fixed = [text for language in ("en", "zh") for text in load_wording()[language].values()]
    titles = "(?:.{1,60})"
    patterns = [re.compile(re.sub(r"\\\{\w+\\\}", titles, re.escape(plain(text)))) for text in fixed]
    return pages, patterns


PAGES, FIXED = known_texts()


def foreign_sentences(text: str) -> list[str]:
    """Return the paragraphs that are neither in the documentation nor a fixed text."""
    found = []
    for paragraph in re.split(r"\n\s*\n", text):
        said = plain(paragraph)
        if said in {OMITTED, ""} or said in PAGES or any(pattern.fullmatch(said) for pattern in FIXED):
            continue
        # A table with some of its rows.
        if paragraph.startswith("|") and all(plain(row) in PAGES for row in paragraph.splitlines()):
            continue
        if any(
            said in plain(text) for language in ("en", "zh") for text in load_wording()[language].values()
        ):
            continue
        found.append(said)
    return found


@pytest.mark.parametrize("question", [*OUT_OF_SCOPE, *LEADING])
def test_nothing_is_said_that_is_not_in_the_documentation(question: str) -> None:
    reply = answer_question(question, TOOLS)
    assert reply.text
    assert foreign_sentences(reply.text) == []


@pytest.mark.parametrize("question", OUT_OF_SCOPE)
def test_what_the_documentation_does_not_say_is_refused_with_a_button(question: str) -> None:
    reply = answer_question(question, TOOLS)
    language = "zh" if re.search(r"[\u4e00-\u9fff]", question) else "en"
    wording = load_wording()[language]
    assert reply.text in {wording["unknown"], wording["needs_model"], wording["secrets"]}
    assert reply.options == [wording["suggest_model"], wording["suggest_can"]]


@pytest.mark.parametrize("question", LEADING)
def test_leading_questions_are_never_confirmed(question: str) -> None:
    text = answer_question(question, TOOLS).text
    assert not re.match(r"(?i)(?:yes|no|right|correct|是的|对|不是)\b", text)
    assert "xoxb" not in text


def test_the_right_section_is_among_the_first_two() -> None:
    missed = []
    for question, page in ANSWERED.items():
        first = [hit.section.page for hit in find_hits(question)[:2]]
        text = answer_question(question, TOOLS).text
        if page not in first or page_link(page) not in text:
            missed.append(question)
        assert foreign_sentences(text) == [], question
    assert len(missed) <= len(ANSWERED) // 10, missed


@pytest.mark.parametrize(
    ("english", "chinese", "key"),
    [
        ("What can you do for my team?", "你能为我的团队做什么？", "can"),
        ("Summarize this article: …", "总结一下这篇文章：……", "needs_model"),
        ("What is our Slack token?", "我们的 Slack 令牌是什么？", "secrets"),
    ],
)
def test_first_questions_that_get_a_fixed_text(english: str, chinese: str, key: str) -> None:
    for language, question in (("en", english), ("zh", chinese)):
        wording = load_wording()[language]
        reply = answer_question(question, TOOLS)
        assert reply.text.endswith(wording[key].format(intro=wording["intro"])[-20:])
        assert wording["suggest_model"] in reply.options


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What's 15% of 2,340?", "15% × 2,340 = **351**"),
        ("2340 的 15% 是多少？", "15% × 2,340 = **351**"),
    ],
)
def test_a_sum_is_computed(question: str, said: str) -> None:
    assert answer_question(question, TOOLS) == GuideReply(said)


@pytest.mark.parametrize(
    ("question", "words", "text"),
    [
        ("Remind me every weekday at 9 …", "every weekday at 9", "Reminder"),
        ("remind us to stand up every day at 10:15", "stand up every day at 10:15", "Reminder"),
        ("每个工作日早上9点提醒我…", "每个工作日早上9点", "提醒"),
        ("提醒我每周一上午十点开会", "每周一上午十点开会", "提醒"),
    ],
)
def test_a_reminder_becomes_a_call_of_the_schedule_tool(question: str, words: str, text: str) -> None:
    [(name, arguments)] = answer_question(question, TOOLS).calls
    assert (name, arguments["action"], arguments["kind"]) == ("schedule", "create", "message")
    assert (" ".join(arguments["words"].split()), arguments["text"]) == (words, text)


def test_a_reminder_without_the_tool_names_the_command() -> None:
    assert "/digest" in answer_question("Remind me every day at 9 to eat", frozenset()).text


@pytest.mark.parametrize(
    ("question", "form", "page"),
    [
        ("How do I connect you to Slack?", "#/accounts/connect/slack", "howto/connect-slack"),
        ("怎么把你接入飞书？", "#/accounts/connect/feishu", "howto/connect-feishu"),
        ("Connect a model", "#/models/connect", "howto/choose-a-model"),
        ("连接模型", "#/models/connect", "howto/choose-a-model"),
        ("Can I use Ollama?", "#/models/connect", "howto/choose-a-model"),
    ],
)
def test_a_form_is_offered_with_its_section(question: str, form: str, page: str) -> None:
    text = answer_question(question, TOOLS).text
    assert f"]({form})" in text
    assert page_link(page) in text
    assert foreign_sentences(text) == []


def test_a_chart_is_drawn_or_why_not_is_said() -> None:
    assert answer_question("Draw a chart from sample data", TOOLS) is CHART
    assert answer_question("", TOOLS, has_table=True) is CHART
    wording = load_wording()["en"]
    assert begin_chart("en", [], frozenset(), "sample") == GuideReply(wording["no_files"])
    assert begin_chart("en", [], TOOLS, "Draw a chart of the attached CSV").text == wording["no_table"]


def test_every_button_is_answered() -> None:
    for language in ("en", "zh"):
        wording = load_wording()[language]
        for key in (one for one in wording if one.startswith("suggest_")):
            reply = answer_question(wording[key], TOOLS)
            assert reply is CHART or reply.calls or reply.text != wording["unknown"], wording[key]


def test_a_long_section_is_cut_between_paragraphs() -> None:
    code = "```text\na\n\nb\n```"
    text, whole = cut_section("\n\n".join(["Do this:", code, "x" * 1100, "y" * 900]))
    assert (text, whole) == (f"Do this:\n\n{code}", False)
    table = "\n".join(["| a |", "|---|", *["| x |"] * 900])
    text, whole = cut_section(table)
    assert len(text) < 2 * QUOTED and text.startswith("| a |\n|---|") and not whole


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who may approve a tool call?", "**Choose who decides**"),
        ("How long does an approval request stay open?", "The request stays open for one day"),
        ("When does an approval expire?", "expires after one day"),
        ("How do I revoke an API token?", "`roebot token revoke ci` revokes one"),
        ("Can it read PDFs and Excel sheets?", "| Excel (`.xlsx`, `.xlsm`) |"),
        ("谁可以审批工具调用？多久过期？", "expires after one day"),
        ("怎么断开 Telegram 机器人？", "**Disconnect an account**"),
    ],
)
def test_the_paragraph_that_answers_is_quoted(question: str, said: str) -> None:
    text = answer_question(question, TOOLS).text
    assert said in text
    assert foreign_sentences(text) == []


def test_each_part_of_a_question_is_answered() -> None:
    text = answer_question("How do I create a backup? How do I write a skill?", TOOLS).text
    assert page_link("howto/back-up-and-restore") in text
    assert page_link("howto/write-skills") in text
    for language, question in (
        ("en", "How do I create a backup? Who founded Roebot?"),
        ("zh", "怎么备份数据？公司总部在哪里？"),
    ):
        text = answer_question(question, TOOLS).text
        assert page_link("howto/back-up-and-restore") in text
        assert text.endswith(load_wording()[language]["rest"])


def test_a_statement_before_a_question_is_not_answered() -> None:
    [words] = [words for words, _ in find_answers("We have 20 people. How do I create a backup?")]
    assert "people" not in words


def test_a_long_text_is_answered_soon() -> None:
    started = time.monotonic()
    assert answer_question("move all the things, stop it? " * 5000).text
    assert time.monotonic() - started < 5


def test_a_chinese_filler_word_does_not_sink_a_question() -> None:
    assert find_hits("麻烦劳驾备份数据")[0].section.page == "howto/back-up-and-restore"


def test_every_page_has_a_chinese_title() -> None:
    documentation = load_documentation()
    titles = {one.page: one.title for one in documentation.sections}
    same = [page for page, title in titles.items() if translate_title(page, title, "zh") == title]
    assert same == []


def test_both_languages_have_the_same_texts() -> None:
    english, chinese = load_wording()["en"], load_wording()["zh"]
    assert english.keys() == chinese.keys()
    for key, text in english.items():
        assert re.findall(r"\{\w+\}", text) == re.findall(r"\{\w+\}", chinese[key]), key
