"""Markdown for cards: measured in bytes of the request, no mentions, no pictures that would be refused."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.feishu.cards import build_card, dump_json, summarize
from bot.platforms.feishu.renderer import FEISHU, FEISHU_CARD_LIMIT, card_markdown, feishu_bytes
from roebot_testing.emulators.feishu.card_rules import CARD_LIMIT

from .conftest import group

ANY = st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=400)


def in_request(text: str) -> int:
    """The bytes that a text takes in a request, by the JSON library itself."""
    return len(orjson.dumps(orjson.dumps(text).decode())) - len(orjson.dumps(orjson.dumps("").decode()))


@given(ANY)
def test_the_measure_is_never_too_small(text: str) -> None:
    assert feishu_bytes(text) >= in_request(text)


@given(ANY, ANY)
def test_the_measure_adds_up(one: str, other: str) -> None:
    assert feishu_bytes(one + other) == feishu_bytes(one) + feishu_bytes(other)


@pytest.mark.parametrize("text", ["plain", "中文", "👍🏽", 'quote "x"', "a\\b", "tab\tline\n"])
def test_the_measure_is_exact_where_it_matters(text: str) -> None:
    assert feishu_bytes(text) == in_request(text)


@pytest.mark.parametrize(
    "unit",
    [
        "word ",
        "中文字",
        "👍🏽 ",
        '"\\"',
        "<at id=all></at> ",
        "- point\n",
        "| a | b |\n",
        "```\nx\n```\n",
        "| a | b |\n| - | - |\n\n",
    ],
)
def test_every_part_fits_into_a_request(unit: str) -> None:
    markdown = unit * (200_000 // len(unit.encode()))
    parts = FEISHU.split(markdown)
    assert len(parts) > 1
    for part in parts:
        assert feishu_bytes(part) <= FEISHU_CARD_LIMIT
        where = group("oc_0123456789abcdef", "omt_0123456789abcdef")
        whole = build_card(part, where, choices=["x" * 20] * 5)
        body = {"card": {"type": "card_json", "data": dump_json(whole)}, "sequence": 2**31 - 1}
        assert len(orjson.dumps(body)) < CARD_LIMIT
        assert (
            len(orjson.dumps({"msg_type": "interactive", "content": dump_json(build_card(part, where))}))
            < CARD_LIMIT
        )


def test_chinese_is_measured_in_bytes() -> None:
    assert len(FEISHU.split("中" * 8_000)) == 1
    assert len(FEISHU.split("中" * 9_000)) == 2


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("plain **bold**", "plain **bold**"),
        ("<at id=all></at>", "<\u200bat id=all><\u200b/at>"),
        ("<AT email=x>", "<\u200bAT email=x>"),
        ("`<at id=all>`", "`<\u200bat id=all>`"),
        ("<attic> a < b", "<attic> a < b"),
        ("![alt](https://example.org/a.png)", "[alt](https://example.org/a.png)"),
        ("`![a](b)`", "`![a](b)`"),
        ("```</at>\nx\n```", "```<\u200b/at>\nx\n```"),
        ("wow!", "wow!"),
        ("```\n![a](b)\n```\n![c](d)", "```\n![a](b)\n```\n[c](d)"),
        ("~~~md\n```\n![a](b)\n~~~", "~~~md\n```\n![a](b)\n~~~"),
    ],
)
def test_mentions_and_pictures_lose_their_power(markdown: str, shown: str) -> None:
    assert card_markdown(markdown) == shown


@given(
    st.lists(
        st.sampled_from(["<at", "</at>", "<AT ", "`", "```\n", "\n", "![", "](", " x ", "!"]), max_size=20
    )
)
def test_no_mention_gets_through(pieces: list[str]) -> None:
    shown = card_markdown("".join(pieces)).lower()
    assert "<at>" not in shown
    assert "<at " not in shown
    assert "</at" not in shown


TABLE = "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_tables_beyond_the_limit_become_code() -> None:
    assert card_markdown("\n\n".join([TABLE] * 3)) == "\n\n".join([TABLE] * 3)
    shown = card_markdown("\n\n".join([TABLE] * 5) + "\n\nend")
    code = f"```\n{TABLE}\n```"
    assert shown == "\n\n".join([TABLE] * 3 + [code] * 2) + "\n\nend"


def test_a_quoted_table_becomes_quoted_code() -> None:
    quoted = "\n".join(f"> {line}" for line in TABLE.replace("1", "`1`").split("\n"))
    shown = card_markdown("\n\n".join([TABLE] * 3 + [quoted]))
    assert shown.endswith(f"> ```\n{quoted}\n> ```")


def test_tables_in_code_are_not_counted() -> None:
    code = f"```\n{TABLE}\n```"
    text = "\n\n".join([code] * 5 + [TABLE] * 3)
    assert card_markdown(text) == text


def test_the_summary_is_one_short_line() -> None:
    assert summarize("# Title\n\n- **a**\n- b") == "Title • a • b"
    assert len(summarize("word " * 500)) == 120
    assert summarize("") == ""


def test_a_card_that_streams_has_a_stop_button_and_one_that_stands_has_none() -> None:
    growing, standing = build_card("x", group("oc_1"), streaming=True), build_card("x", group("oc_1"))
    assert growing["config"]["streaming_mode"] is True
    assert [element["tag"] for element in growing["body"]["elements"]] == ["markdown", "button"]
    assert standing["config"] == {
        "streaming_mode": False,
        "update_multi": True,
        "summary": {"content": "x"},
    }
    assert [element["tag"] for element in standing["body"]["elements"]] == ["markdown"]
