"""Limits of Block Kit: the real SDK posts one block at each limit and one beyond it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.slack.blocks import ANY, BLOCK_LIMITS, MARKDOWN_LIMIT, BlockLimit

from .slack_sdk_client import refusal, refused

Json = dict[str, Any]
Shape = Callable[[int], Json]


def text(size: int, kind: str = "plain_text") -> Json:
    return {"type": kind, "text": "x" * size}


def many(count: int, one: Callable[[int], Any]) -> list[Any]:
    return [one(number) for number in range(count)]


def button(number: int = 0, **more: Any) -> Json:
    return {"type": "button", "action_id": f"a{number}", "text": text(1), **more}


def actions(*elements: Json) -> Json:
    return {"type": "actions", "elements": [*elements]}


def menu(kind: str, **more: Any) -> Json:
    return actions({"type": kind, "action_id": "a", **more})


def option(number: int = 0, **more: Any) -> Json:
    return {"text": text(1), "value": f"v{number}", **more}


def confirmed(**parts: Json) -> Json:
    usual = {key: text(1) for key in ("title", "text", "confirm", "deny")}
    return actions(button(confirm={**usual, **parts}))


def image(**more: Any) -> Json:
    return {"type": "image", "image_url": "https://example.org/a.png", "alt_text": "a", **more}


def video(**more: Any) -> Json:
    links = {"video_url": "https://example.org/v", "thumbnail_url": "https://example.org/t"}
    return {"type": "video", "title": text(1), "alt_text": "a", **links, **more}


def table(rows: Sequence[Any], **more: Any) -> Json:
    return {"type": "table", "rows": [*rows], **more}


def icon(number: int) -> Json:
    return {"type": "icon_button", "icon": "trash", "text": text(1), "action_id": f"i{number}"}


def feedback(
    positive: Json | None = None,
    negative: Json | None = None,
    value: str = "y",
    no: str = "n",
    label: str = "Good",
    no_label: str = "Bad",
) -> Json:
    good = {"text": positive or text(1), "value": value, "accessibility_label": label}
    bad = {"text": negative or text(1), "value": no, "accessibility_label": no_label}
    buttons = {"type": "feedback_buttons", "action_id": "f", "positive_button": good, "negative_button": bad}
    return {"type": "context_actions", "elements": [buttons]}


def entry(**more: Any) -> Json:
    return {
        "type": "input",
        "label": text(1),
        "element": {"type": "plain_text_input", "action_id": "a"},
        **more,
    }


def divider(number: int) -> Json:
    return {"type": "divider"}


def cell(size: int = 1) -> Json:
    return text(size, "raw_text")


SHAPES: dict[tuple[str, str], Shape] = {
    (ANY, "block_id"): lambda size: {"type": "divider", "block_id": "x" * size},
    (ANY, "action_id"): lambda size: actions(button(action_id="x" * size)),
    ("plain_text", "text"): lambda size: {"type": "section", "text": text(size)},
    ("mrkdwn", "text"): lambda size: {"type": "section", "text": text(size, "mrkdwn")},
    ("raw_text", "text"): lambda size: table([[cell(size)]]),
    ("section", "fields"): lambda size: {"type": "section", "fields": many(size, lambda _: text(1))},
    ("section", "fields[].text"): lambda size: {"type": "section", "fields": [text(size)]},
    ("header", "text"): lambda size: {"type": "header", "text": text(1)},
    ("header", "text.text"): lambda size: {"type": "header", "text": text(size)},
    ("context", "elements"): lambda size: {"type": "context", "elements": many(size, lambda _: text(1))},
    ("actions", "elements"): lambda size: actions(*many(size, button)),
    ("context_actions", "elements"): lambda size: {"type": "context_actions", "elements": many(size, icon)},
    ("markdown", "text"): lambda size: {"type": "markdown", "text": "x" * size},
    ("image", "image_url"): lambda size: image(image_url="x" * size),
    ("image", "alt_text"): lambda size: image(alt_text="x" * size),
    ("image", "title.text"): lambda size: image(title=text(size)),
    ("video", "title.text"): lambda size: video(title=text(size)),
    ("video", "author_name"): lambda size: video(author_name="x" * size),
    ("table", "rows"): lambda size: table(many(size, lambda _: [cell()])),
    ("table", "rows[]"): lambda size: table([many(size, lambda _: cell())]),
    ("table", "column_settings"): lambda size: table([[cell()]], column_settings=many(size, lambda _: {})),
    ("card", "title.text"): lambda size: {"type": "card", "title": text(size)},
    ("card", "subtitle.text"): lambda size: {"type": "card", "subtitle": text(size)},
    ("card", "body.text"): lambda size: {"type": "card", "body": text(size)},
    ("carousel", "elements"): lambda size: {
        "type": "carousel",
        "elements": many(size, lambda _: {"type": "card", "title": text(1)}),
    },
    ("container", "child_blocks"): lambda size: {"type": "container", "child_blocks": many(size, divider)},
    ("container", "title.text"): lambda size: {
        "type": "container",
        "title": text(size),
        "child_blocks": [divider(0)],
    },
    ("container", "subtitle.text"): lambda size: {
        "type": "container",
        "subtitle": text(size),
        "child_blocks": [divider(0)],
    },
    ("input", "label.text"): lambda size: entry(label=text(size)),
    ("input", "hint.text"): lambda size: entry(hint=text(size)),
    ("button", "text"): lambda size: actions(button()),
    ("button", "text.text"): lambda size: actions(button(text=text(size))),
    ("button", "value"): lambda size: actions(button(value="x" * size)),
    ("button", "url"): lambda size: actions(button(url="x" * size)),
    ("button", "accessibility_label"): lambda size: actions(button(accessibility_label="x" * size)),
    ("feedback_buttons", "positive_button"): lambda size: feedback(),
    ("feedback_buttons", "negative_button"): lambda size: feedback(),
    ("feedback_buttons", "positive_button.text.text"): lambda size: feedback(positive=text(size)),
    ("feedback_buttons", "negative_button.text.text"): lambda size: feedback(negative=text(size)),
    ("feedback_buttons", "positive_button.value"): lambda size: feedback(value="x" * size),
    ("feedback_buttons", "negative_button.value"): lambda size: feedback(no="x" * size),
    ("feedback_buttons", "positive_button.accessibility_label"): lambda size: feedback(label="x" * size),
    ("feedback_buttons", "negative_button.accessibility_label"): lambda size: feedback(no_label="x" * size),
    (ANY, "placeholder.text"): lambda size: menu("users_select", placeholder=text(size)),
    (ANY, "confirm.title.text"): lambda size: confirmed(title=text(size)),
    (ANY, "confirm.text.text"): lambda size: confirmed(text=text(size)),
    (ANY, "confirm.confirm.text"): lambda size: confirmed(confirm=text(size)),
    (ANY, "confirm.deny.text"): lambda size: confirmed(deny=text(size)),
    ("static_select", "options"): lambda size: menu("static_select", options=many(size, option)),
    ("static_select", "option_groups"): lambda size: menu("static_select", option_groups=many(size, option)),
    ("multi_static_select", "options"): lambda size: menu("multi_static_select", options=many(size, option)),
    ("multi_static_select", "option_groups"): lambda size: menu(
        "multi_static_select", option_groups=many(size, option)
    ),
    ("overflow", "options"): lambda size: menu("overflow", options=many(size, option)),
    ("checkboxes", "options"): lambda size: menu("checkboxes", options=many(size, option)),
    ("radio_buttons", "options"): lambda size: menu("radio_buttons", options=many(size, option)),
    (ANY, "options[].text.text"): lambda size: menu("overflow", options=[option(text=text(size))]),
    (ANY, "options[].value"): lambda size: menu("overflow", options=[option(value="x" * size)]),
    (ANY, "options[].description.text"): lambda size: menu(
        "overflow", options=[option(description=text(size))]
    ),
}
"""A block for each limit, with the limited field of a size."""


@pytest.fixture
def where(slack: SlackEmulator) -> str:
    return slack.people.says("hi").channel


async def problems(web: AsyncWebClient, where: str, *blocks: Json) -> list[str]:
    """Return Slack's reasons for its refusal of blocks, which it gives in two places."""
    answer = await refusal(web.chat_postMessage(channel=where, text="x", blocks=[*blocks]))
    assert answer["error"] == "invalid_blocks"
    found = [str(one) for one in answer["errors"]]
    assert answer["response_metadata"]["messages"] == [f"[ERROR] {one}" for one in found]
    return found


def without(value: Any, kind: str, name: str) -> Any:
    """Return a block in which objects of a kind lack a field."""
    if isinstance(value, list):
        return [without(one, kind, name) for one in value]
    if not isinstance(value, dict):
        return value
    dropped = name if value.get("type") == kind else ""
    return {key: without(below, kind, name) for key, below in value.items() if key != dropped}


def test_every_limit_has_a_block_that_violates_it() -> None:
    limits = [(limit.kind, limit.path) for limit in BLOCK_LIMITS]
    assert len(set(limits)) == len(limits)
    assert set(limits) == set(SHAPES)
    assert all(limit.most or limit.least or limit.required for limit in BLOCK_LIMITS)


@pytest.mark.parametrize("limit", BLOCK_LIMITS, ids=lambda limit: f"{limit.kind or 'any'}.{limit.path}")
async def test_what_is_at_a_limit_is_shown_and_beyond_it_refused(
    web: AsyncWebClient, where: str, limit: BlockLimit
) -> None:
    shape = SHAPES[limit.kind, limit.path]
    for size in filter(None, {limit.least, limit.most or 1}):
        assert (await web.chat_postMessage(channel=where, text="x", blocks=[shape(size)]))["ok"]
    if limit.most:
        [reason, *_] = await problems(web, where, shape(limit.most + 1))
        expected = (
            f"must be less than {limit.most + 1} characters",
            f"no more than {limit.most} items allowed",
        )
        assert reason.startswith(expected)
    if limit.least:
        [reason, *_] = await problems(web, where, shape(limit.least - 1))
        assert reason.startswith(f"must be more than {limit.least - 1} characters")
    if limit.required:
        [reason, *_] = await problems(web, where, without(shape(1), limit.kind, limit.path))
        assert reason.startswith(f"missing required field: {limit.path} ")


async def test_the_words_of_refusals_are_slacks(web: AsyncWebClient, where: str) -> None:
    """The examples of grafana-cold-storage/oncall#5121 and adobe/spacecat-api-service#176."""
    section = {"type": "section", "text": text(3001, "mrkdwn")}
    assert await problems(web, where, section) == [
        "must be less than 3001 characters [json-pointer:/blocks/0/text/text]"
    ]
    assert await problems(web, where, divider(0), actions(*many(26, button))) == [
        "no more than 25 items allowed [json-pointer:/blocks/1/elements]"
    ]
    assert await problems(web, where, {"type": "section"}) == [
        "must define either `text` or `fields` [json-pointer:/blocks/0/type]"
    ]
    assert await problems(web, where, actions(button(1), button(1))) == [
        '`action_id` "a1" already exists [json-pointer:/blocks/0/elements/1/action_id]'
    ]


async def test_a_message_has_fifty_blocks(web: AsyncWebClient, where: str) -> None:
    reason = ["no more than 50 items allowed [json-pointer:/blocks]"]
    assert (await web.chat_postMessage(channel=where, text="x", blocks=many(50, divider)))["ok"]
    assert await problems(web, where, *many(51, divider)) == reason
    headings = "\n\n".join(f"# {number}\n\ntext" for number in range(25))
    markdown = {"type": "markdown", "text": headings}
    assert (await web.chat_postMessage(channel=where, text="x", blocks=[markdown]))["ok"]
    assert await problems(web, where, markdown, divider(0)) == reason
    posted = await web.chat_postMessage(channel=where, text="x")
    update = web.chat_update(channel=where, ts=posted["ts"], text="x", blocks=[markdown, divider(0)])
    assert await refused(update) == "invalid_blocks"


@pytest.mark.parametrize(
    ("markdown", "count"),
    [
        ("one\n\ntwo\n\n- three\n\n> four\n\n```\n# five\n```", 1),
        ("# one\n\ntwo\n\n---\n\nthree", 4),
        ("# one\n# two\n\n| a |\n| - |\n| b |\n\nthree", 4),
        ("", 1),
    ],
)
async def test_markdown_becomes_blocks(web: AsyncWebClient, where: str, markdown: str, count: int) -> None:
    block = {"type": "markdown", "text": markdown or "x"}
    assert (await web.chat_postMessage(channel=where, text="x", blocks=[block, *many(50 - count, divider)]))[
        "ok"
    ]
    await problems(web, where, block, *many(51 - count, divider))


async def test_all_markdown_of_a_message_has_one_limit(web: AsyncWebClient, where: str) -> None:
    half = {"type": "markdown", "text": "x" * (MARKDOWN_LIMIT // 2)}
    assert (await web.chat_postMessage(channel=where, text="x", blocks=[half, half]))["ok"]
    more = web.chat_postMessage(
        channel=where, text="x", blocks=[half, half, {"type": "markdown", "text": "x"}]
    )
    assert await refused(more) == "msg_blocks_too_long"


async def test_a_message_has_one_table(web: AsyncWebClient, where: str) -> None:
    one = table([[cell()]])
    answer = await refusal(web.chat_postMessage(channel=where, text="x", blocks=[one, one]))
    assert (answer["error"], answer["errors"]) == ("invalid_attachments", ["only_one_table_allowed"])


@pytest.mark.parametrize("blocks", ["{", '{"blocks": []}', '["divider"]', '[{"text": "x"}]'])
async def test_blocks_are_a_list_of_objects_with_types(web: AsyncWebClient, where: str, blocks: str) -> None:
    """docs.slack.dev, chat.postMessage: invalid_blocks_format."""
    call = web.api_call("chat.postMessage", json={"channel": where, "text": "x", "blocks": blocks})
    assert await refused(call) == "invalid_blocks_format"
