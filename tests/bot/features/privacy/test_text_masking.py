"""Quotations that are masked, and words that stay."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.features.privacy.text_masking import WHOLE_LETTERS, TextMask
from bot.store.person_data import MASK

SAID = "My sister Paula moved to a flat near the harbour, code 4711zebra."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SAID, f"{MASK}."),
        ("You wrote: “my sister paula\nmoved to a flat”. Nice.", f"You wrote: “{MASK}”. Nice."),
        ("The code is 4711zebra, as you said.", f"The code is {MASK}, as you said."),
        ("Call the sister in the flat.", "Call the sister in the flat."),
        ("Near the sea.", "Near the sea."),
        ("", ""),
    ],
)
def test_long_literal_passages_are_masked(text: str, expected: str) -> None:
    assert TextMask([SAID]).apply(text) == expected


WORDS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)
PIECES = st.one_of(
    WORDS,
    st.sampled_from(
        ["\n", " ", "\\", '"', "\\n", "\t", "\r\n", "\\\\", "👍", "a.b@example.org", "名字", " - " * 9]
    ),
)


def letters(text: str) -> list[str]:
    """The letters of a text, without those of escapes."""
    return re.findall(r"[^\W_]", re.sub(r"\\+[nrtbf]?", "", text))


def nest(text: str, depth: int) -> str:
    """A text in JSON strings."""
    for _ in range(depth):
        text = json.dumps({"said": text}, ensure_ascii=False)
    return text


@given(
    said=st.lists(PIECES, min_size=1, max_size=12)
    .map("".join)
    .filter(lambda text: len(letters(text)) >= WHOLE_LETTERS)
)
def test_no_word_of_a_message_stays(said: str) -> None:
    before, after = 'He read: "', '" and left.'
    shown = TextMask([said]).apply(f"{before}{said}{after}")
    assert shown.startswith(before)
    assert shown.endswith(after)
    assert letters(shown[len(before) : -len(after)]) == list("erased")


@pytest.mark.parametrize("depth", range(4))
def test_a_message_of_several_lines_is_masked_in_json(depth: int) -> None:
    said = "Milk, please\nBeetroot\nand nobody knows\nthe rest"
    assert TextMask([said]).apply(nest(f"It says: {said}.", depth)) == nest(f"It says: {MASK}.", depth)


def test_the_parts_of_a_message_with_a_long_gap_are_masked() -> None:
    said = f"this is a long passage {'-' * 20} sharp end"
    assert TextMask([said]).apply(f"I read: {said}.") == f"I read: {MASK}."


def test_quotations_in_json_are_masked() -> None:
    line = '- 2026-01-01 10:00 "Ann" "My sister Paula \\"moved to a flat" https://example.org/1'
    assert TextMask([SAID]).apply(line) == f'- 2026-01-01 10:00 "Ann" "{MASK}" https://example.org/1'


def test_a_cut_quotation_is_masked() -> None:
    assert TextMask([SAID]).apply('"My sister Paula moved to a fl…"') == f'"{MASK} fl…"'


def test_a_complete_short_message_is_masked() -> None:
    mask = TextMask(["Plum tree"])
    assert mask.apply("He said: plum tree!") == f"He said: {MASK}!"
    assert mask.apply("A tree with a plum.") == "A tree with a plum."
    assert mask.masked == 1


def test_a_complete_message_at_the_end_is_masked_as_far_as_it_goes() -> None:
    mask = TextMask(["Plum tree", "Plum tree in the yard of my aunt"])
    assert mask.apply("A plum tree") == f"A {MASK}"


def test_a_very_short_message_stays_in_other_texts() -> None:
    assert TextMask(["yes"]).apply("yes, we can") == "yes, we can"


def test_chinese_passages_are_masked() -> None:
    mask = TextMask(["我下周要去上海做心脏手术，请不要告诉别人。"])
    assert mask.apply("他说：我下周要去上海做心脏手术。天气很好。") == f"他说：{MASK}。天气很好。"
    assert mask.apply("我要去上海。") == "我要去上海。"


def test_addresses_are_masked() -> None:
    mask = TextMask(["write to a.b@example.org please"])
    assert mask.apply("Sent to A.B@example.org.").startswith(f"Sent to {MASK}")


def test_no_texts_mask_nothing() -> None:
    mask = TextMask([])
    assert mask.apply(SAID) == SAID


def test_labels_of_the_author_are_masked_with_their_text_and_names_in_prose_stay() -> None:
    said = (
        '- 10:00 "Ben" (telegram:2) "Ann \\"A\\" is here" (forward "Ann \\"A\\"": "hi")\n'
        '- 10:01 "Ann \\"A\\"" (telegram:1) "hm"\n- 10:02 "Annie" (telegram:1): "ok" -> "yes"\n'
        '- 10:03 "Ann" (telegram:11) "no"'
    )
    mask = TextMask([], ['Ann "A"'], "telegram:1")
    masked = (
        f'- 10:00 "Ben" (telegram:2) "Ann \\"A\\" is here" (forward "{MASK}": "hi")\n'
        f'- 10:01 "{MASK}" ({MASK}) "{MASK}"\n- 10:02 "{MASK}" ({MASK}) "{MASK}" -> "yes"\n'
        '- 10:03 "Ann" (telegram:11) "no"'
    )
    assert mask.apply(said) == masked
    assert mask.apply(masked) == masked
    assert mask.masked == 0
