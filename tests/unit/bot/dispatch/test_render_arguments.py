"""What people are shown of a tool call that waits for them: all of it that fits, and no trick."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.dispatch.tool_arguments import (
    MAX_ARGUMENTS,
    MAX_CHARACTERS,
    MAX_LINE,
    MAX_LINES,
    fingerprint_call,
    render_arguments,
    render_complete,
    render_tool_name,
)
from bot.features.approvals.requests import read_request
from bot.render.ast import CodeBlock, Paragraph
from bot.render.parse import parse
from bot.texts import Texts

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner, max_size=4),
    max_leaves=12,
)
HOSTILE = st.text(alphabet="`~\n\r\u2028\u202e\x00 >-#|a:", max_size=80)


def inside(args: Any) -> str:
    """What the block says."""
    block = render_arguments(args, str).block
    assert block.startswith("```\n")
    assert block.endswith("\n```")
    return block[4:-4]


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ({"path": "a"}, "path: a"),
        ({"count": 3, "deep": {"a": [1, "ü"]}}, 'count: 3\ndeep: {"a": [1, "ü"]}'),
        ({"on": True, "off": None}, "on: true\noff: null"),
        ({"text": "one\ntwo"}, "text:\n  one\n  two"),
        ({"text": "one\r\ntwo"}, "text:\n  one\n  two"),
        ({"text": "one\npath: /"}, "text:\n  one\n  path: /"),
        ({"text": " padded"}, 'text: " padded"'),
        ({"text": ""}, 'text: ""'),
        ({"text": "rm x\u202ecod"}, "text: rm x\\u202ecod"),
        ({"text": "a\x1b[2Jb\u200bc\U000e0041"}, "text: a\\u001b[2Jb\\u200bc\\U000e0041"),
        ({"text": "a\rb"}, "text: a\\u000db"),
        ({"a\nb": "c"}, "a\\u000ab: c"),
        ({"": "path: /", "  b": "c"}, '"": path: /\nb: c'),
        (["a", 1], '["a", 1]'),
        ("rm -rf", "rm -rf"),
        (7, "7"),
    ],
)
def test_each_argument_is_a_line_that_nothing_can_pass_for(args: Any, shown: str) -> None:
    assert inside(args) == shown


@pytest.mark.parametrize("args", [{}, None, "", []])
def test_no_arguments_are_no_block(args: Any) -> None:
    assert render_arguments(args, str).block == ""


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ({"password": "hunter2"}, "password: ***"),
        ({"apiKey": "k"}, "apiKey: ***"),
        ({"auth": {"X-Api-Key": "k", "Accept": "x"}}, 'auth: {"X-Api-Key": "***", "Accept": "x"}'),
        ({"headers": [{"Authorization": "Bearer b"}]}, 'headers: [{"Authorization": "***"}]'),
        ({"token": {"value": "t"}}, "token: ***"),
        ({"token": ""}, 'token: ""'),
        ({"max_tokens": 5, "tokenizer": "x"}, "max_tokens: 5\ntokenizer: x"),
        ({"url": "https://x/?k=very-secret"}, "url: https://x/?k=***"),
        ({"headers": ["very-secret"]}, 'headers: ["***"]'),
    ],
)
def test_secrets_are_hidden_by_their_names_and_by_what_they_are(args: Any, shown: str) -> None:
    block = render_arguments(args, lambda text: text.replace("very-secret", "***")).block
    assert block == f"```\n{shown}\n```"


@pytest.mark.parametrize(
    ("args", "hidden"),
    [
        ({"path": "a"}, 0),
        ({"path": "***"}, 0),
        ({"password": ""}, 0),
        ({"password": "hunter2"}, 7),
        ({"password": "***"}, 3),
        ({"token": {"value": "t"}, "n": [{"api_key": 1234}]}, 14 + 4),
        ({"url": "https://x/?k=very-secret"}, 11),
        ({"a": "very-secret very-secret", "secret": "very-secret"}, 33),
        ({f"n{number}": "a" for number in range(MAX_ARGUMENTS)} | {"cookie": "c" * 5000}, 5000),
    ],
)
def test_an_approver_sees_how_much_is_hidden(args: dict[str, Any], hidden: int) -> None:
    def mask(text: str) -> str:
        return text.replace("very-secret", "***")

    def ask(given: Any) -> str:
        return read_request({"type": "approval", "tool": "t", "args": given}, Texts("en"), mask).text

    assert render_arguments(args, mask).hidden == hidden
    assert (f"Characters hidden: {hidden:,}." in ask(args)) is bool(hidden)
    if hidden:
        others = {name: value if name == "n0" else f"{value}x" for name, value in args.items()}
        texts = [ask(args)] + [ask(others)] * (others != args)
        marks = [re.findall("fingerprint `([0-9a-f]{16})`", text)[0] for text in texts]
        assert fingerprint_call("t", args) in marks
        assert fingerprint_call("t", args, b"another process") not in marks
        assert len(set(marks)) == len(marks), "it differs with each call"
        assert ask(args) == texts[0], "the same call has the same one"


def test_the_whole_text_says_the_size_of_each_hidden_value() -> None:
    shown = render_complete("t", {"password": "hunter2", "deep": {"token": "x" * 1234}, "path": "a"}, str)
    assert shown == 't\n\npassword: *** [… 7 …]\n\ndeep: {"token": "*** [… 1,234 …]"}\n\npath: a\n'


def test_a_long_value_shows_its_beginning_and_its_end() -> None:
    found = render_arguments({"content": f"begin {'x' * 9000} end"}, str)
    assert found.block.startswith("```\ncontent: begin xxx")
    assert found.block.endswith("xxx end\n```")
    assert len(found.block) < MAX_CHARACTERS + 100
    assert found.omitted == 9010 - MAX_CHARACTERS
    assert f"[… {found.omitted:,} …]" in found.block


def test_a_secret_is_hidden_before_anything_is_cut() -> None:
    text = "x" * (MAX_CHARACTERS - MAX_CHARACTERS // 3 - 4) + "very-secret" + "y" * MAX_CHARACTERS
    block = render_arguments({"content": text}, lambda found: found.replace("very-secret", "***")).block
    assert "very" not in block


def test_a_value_of_many_lines_shows_the_first_and_the_last() -> None:
    found = render_arguments({"script": "\n".join(f"line {number}" for number in range(100))}, str)
    lines = found.block.splitlines()
    assert len(lines) == MAX_LINES + 4
    assert lines[2] == "  line 0"
    assert lines[-2] == "  line 99"
    lacking = sum(len(f"line {number}") + 1 for number in range(MAX_LINES // 2, 100 - MAX_LINES // 2))
    assert found.omitted == lacking


def test_of_many_arguments_the_last_ones_are_only_counted() -> None:
    found = render_arguments({f"a{number:02}": "xy" for number in range(MAX_ARGUMENTS + 3)}, str)
    assert len(found.block.splitlines()) == MAX_ARGUMENTS + 2
    assert found.omitted == 3 * len("a00xy")


def test_what_is_nested_without_end_is_cut_off() -> None:
    deep: Any = "core"
    for _ in range(5000):
        deep = [deep]
    assert "nested values" in inside({"deep": deep})


@given(
    st.dictionaries(HOSTILE, VALUES | HOSTILE, min_size=1, max_size=30)
    | VALUES.filter(bool)
    | HOSTILE.filter(bool)
)
def test_nothing_in_it_ends_the_block(args: Any) -> None:
    found = render_arguments(args, str)
    before, block, after = parse(f"above\n\n{found.block}\n\nbelow").blocks
    assert isinstance(before, Paragraph)
    assert isinstance(block, CodeBlock)
    assert isinstance(after, Paragraph)
    assert "```" not in found.block[3:-3]


@given(st.dictionaries(st.text(max_size=300), st.text(max_size=4000), max_size=40))
def test_it_is_bounded(args: dict[str, str]) -> None:
    assert len(render_arguments(args, str).block) < 4 * MAX_CHARACTERS


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("bash", "`bash`"),
        ("mcp__files.read-all", "`mcp__files.read-all`"),
        ("a`b **c**\n", "`a?b???c???`"),
        ("x" * 100, f"`{'x' * 80}`"),
        ("", "`?`"),
        (None, "`?`"),
    ],
)
def test_the_name_of_a_tool_is_no_markup(name: Any, shown: str) -> None:
    assert render_tool_name(name) == shown


class TestPurpose:
    """What the model says that its command does stands above the command, never in its place."""

    def asked(self, tool: str, **args: Any) -> str:
        return read_request({"type": "approval", "tool": tool, "args": args}, Texts("en"), str).text

    def test_it_stands_above_the_command(self) -> None:
        title, purpose, block = self.asked("bash", command="rm -r a", description="Tidy up").split("\n\n")
        assert title == "🔐 **Approval needed:** `bash`"
        assert purpose == "What I want to do, in my own words: `Tidy up`"
        assert block == "```\nrm -r a\n```", "nothing is shown twice"

    def test_what_its_line_does_not_show_stays_among_the_arguments(self) -> None:
        for description in ("Tidy\nup", "y" * (MAX_LINE + 1), "x\u202ey"):
            *_, block = self.asked("bash", command="ls", description=description).split("\n\n")
            assert "description:" in block

    @pytest.mark.guard(
        "the agent's description of a command is quoted",
        "bot/features/approvals/requests.py",
        'texts("approval_purpose", purpose=quoted(purpose, MAX_LINE)) if purpose',
        'texts("approval_purpose", purpose=purpose) if purpose',
        against="a forged request",
    )
    def test_it_is_one_short_line_without_markup(self) -> None:
        lines = self.asked("bash", command="ls", description="**x**\n\n" + "y" * 999).split("\n\n")
        assert lines[1].startswith("What I want to do, in my own words: `**x** yyy")
        assert len(lines[1]) < MAX_LINE + 60

    @pytest.mark.parametrize("value", ["", "  ", None, 5, ["a"]])
    def test_without_one_there_is_no_line(self, value: Any) -> None:
        assert "What I want to do" not in self.asked("bash", command="ls", description=value)

    @pytest.mark.guard(
        "only a command has a description of its own",
        "bot/features/approvals/requests.py",
        'if value.get("tool") == COMMAND and isinstance',
        "if isinstance",
        against="hidden content",
    )
    def test_another_tools_description_is_an_argument(self) -> None:
        assert "What I want to do" not in self.asked("create_issue", description="It is broken")
