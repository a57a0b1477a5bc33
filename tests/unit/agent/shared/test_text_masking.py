"""Quotations that are masked, and words that stay."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.shared.envelope import (
    MentionedName,
    MessageEnvelope,
    QuotedText,
    parse_envelopes,
    render_envelope,
    render_quotation,
)
from agent.shared.text_masking import MASK, WHOLE_LETTERS, TextMask, mask_sentences
from bot.domain import QuotationKind

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
LETTERS = re.compile(r"[^\W_]")


def nest(text: str, levels: list[bool]) -> str:
    """A text in JSON strings, with or without escapes for letters beyond ASCII."""
    for is_ascii in levels:
        text = json.dumps({"said": text}, ensure_ascii=is_ascii)
    return text


def unnest(text: str, levels: list[bool]) -> str:
    for _ in levels:
        text = json.loads(text)["said"]
    return text


@pytest.mark.guard(
    "quotations within JSON strings are found",
    "agent/shared/escaped_text.py",
    "return view.decode() if ",
    "return None if ",
    against="kept words",
)
@given(
    said=st.lists(PIECES, min_size=1, max_size=12)
    .map("".join)
    .filter(lambda text: len(LETTERS.findall(text)) >= WHOLE_LETTERS),
    levels=st.lists(st.booleans(), max_size=3),
)
def test_no_word_of_a_message_stays_however_it_is_nested(said: str, levels: list[bool]) -> None:
    before, after = 'He read: "', '" and left.'
    masked = TextMask([said]).apply(nest(f"{before}{said}{after}", levels))
    shown = unnest(masked, levels)
    assert shown.startswith(before)
    assert shown.endswith(after)
    assert LETTERS.findall(shown[len(before) : -len(after)]) == list("erased")


LINES = "Milk, please\nBeetroot\nand nobody knows\nthe rest"


@pytest.mark.parametrize("depth", range(4))
def test_a_message_of_several_lines_is_masked_in_json(depth: int) -> None:
    levels = [True] * depth
    assert unnest(TextMask([LINES]).apply(nest(f"It says: {LINES}.", levels)), levels) == f"It says: {MASK}."


def test_the_parts_of_a_message_with_a_long_gap_are_masked() -> None:
    said = f"this is a long passage {'-' * 20} sharp end"
    assert TextMask([said]).apply(f"I read: {said}.") == f"I read: {MASK}."


def test_an_escape_that_begins_with_a_word_of_theirs_stays_valid() -> None:
    line = json.dumps("so:\n zebra yes")
    assert json.loads(TextMask(["n zebra yes"]).apply(line)) == f"so:{MASK}"


def test_short_words_before_and_after_a_change_are_masked() -> None:
    mask = TextMask([], ["telegram:1"])
    note = '["Ann \\"A\\"" (telegram:1) edited an earlier message. Before: "a \\"b\\"". Now: "c\\nd"]'
    assert mask.apply(note) == f'["{MASK}" ({MASK})]'
    assert mask.apply(note.replace(":1", ":2")) == note.replace(":1", ":2")
    assert json.loads(mask.apply(json.dumps([note]))) == [f'["{MASK}" ({MASK})]']


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
    assert not mask
    assert mask.apply(SAID) == SAID


def test_sentences_about_the_person_are_left_out() -> None:
    about = "The group plans a trip. Ann brings the tent. The code is 4711zebra. Annabel drives."
    assert mask_sentences(about, TextMask([SAID]), ["Ann"]) == "The group plans a trip. Annabel drives."
    assert mask_sentences("Ann said it.", TextMask([]), ["Ann"]) == ""


def test_sentences_with_a_message_of_several_lines_are_left_out() -> None:
    about = f"We meet. {LINES}. It rains."
    assert mask_sentences(about, TextMask([LINES]), []) == "We meet. It rains."


def test_the_other_sentences_stay_as_they_are() -> None:
    about = "- It costs 1.5.\n- Ann pays.\n\n- See /mnt/a.b/c.txt\n"
    assert mask_sentences(about, TextMask([]), ["Ann"]) == "- It costs 1.5.\n- See /mnt/a.b/c.txt"


EXTRACT = (
    '- 10:00 "Ben" (telegram:2) "Ann \\"A\\" is here" (forward "Ann \\"A\\"": "hi") https://example.org/1\n'
    '- 10:01 "Ann \\"A\\"" (telegram:1) "hm"\n- 10:02 "Annie" (telegram:1) "ok"\n'
    '- 10:03 "Ann" (telegram:11) "no"'
)
MASKED = (
    f'- 10:00 "Ben" (telegram:2) "Ann \\"A\\" is here" (forward "{MASK}": "hi") https://example.org/1\n'
    f'- 10:01 "{MASK}" ({MASK}) "{MASK}"\n- 10:02 "{MASK}" ({MASK}) "{MASK}"\n'
    '- 10:03 "Ann" (telegram:11) "no"'
)


def test_labels_of_the_author_are_masked_with_their_text_and_names_in_prose_stay() -> None:
    mask = TextMask([], ["telegram:1"], ['Ann "A"'])
    assert mask.apply(EXTRACT) == MASKED
    assert mask.apply(MASKED) == MASKED
    assert mask.masked == 0


def test_labels_within_json_are_masked() -> None:
    mask = TextMask([], ["telegram:1"], ["Ann"])
    said = '"Ben" (telegram:2) (quote "Ann": "hi") "Ann" (telegram:1)'
    found = json.loads(mask.apply(json.dumps({"said": said})))
    assert found == {"said": f'"Ben" (telegram:2) (quote "{MASK}": "hi") "{MASK}" ({MASK})'}


def test_a_quotation_that_only_has_a_name_loses_it() -> None:
    quoted = QuotedText("forward", "hi", name='Ann "A"')
    shown = TextMask([], [], ['Ann "A"']).apply(render_quotation(quoted))
    assert shown == f'<quotation kind="forward" name="{MASK}">\nhi\n</quotation>'
    assert TextMask([], [], ["\u200b"]).apply(shown) == shown
    other = render_quotation(QuotedText("forward", "hi", "telegram:2", "Ann"))
    assert TextMask([], [], ["Ann"]).apply(other) == other


@pytest.mark.parametrize("kind", [kind.value for kind in QuotationKind])
def test_the_name_goes_from_quotations_of_every_kind(kind: str) -> None:
    shown = [f'({kind} "Ann": "hi")', render_quotation(QuotedText(kind, "hi", name="Ann"))]
    assert not [one for one in shown if "Ann" in TextMask([], [], ["Ann"]).apply(one)]


def test_mentions_of_the_author_are_masked_in_envelopes() -> None:
    named = (
        MentionedName('@Ann "A" & co', "telegram:1"),
        MentionedName("@Ann", "telegram:11"),
        MentionedName("#ann", "telegram:-7"),
    )
    said = render_envelope(MessageEnvelope("telegram:2", "hi", mentions=named))
    for text in (said, json.dumps({"said": said})):
        shown = TextMask([], ["telegram:1"]).apply(text)
        assert shown.count(MASK) == 2
        assert "telegram:1)" not in shown
        assert "@Ann (telegram:11) | #ann (telegram:-7)" in shown
    [found] = parse_envelopes(TextMask([], ["telegram:1"]).apply(said))
    assert found.mentions == (MentionedName(f"@{MASK}", MASK), *named[1:])
