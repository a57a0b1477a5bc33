"""Names that become mentions: whole words, the longest first, in running text alone, on every platform."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain import Mention, MentionKind
from bot.platforms.discord.renderer import DISCORD_TEXT_LIMIT, mention_in_discord, render_discord
from bot.platforms.feishu.renderer import mention_in_card
from bot.platforms.slack.renderer import MARKDOWN_LIMIT, SLACK, render_slack
from bot.platforms.telegram.entity_renderer import render_entities
from bot.platforms.telegram.rich_renderer import rich_markdown
from bot.render.mentions import (
    MAX_MENTIONS,
    MAX_SIGNS,
    find_in_markdown,
    find_mentions,
    names_in,
    write_mentions,
)

RTL, ZERO, JOINER = "\u202e", "\u200b", "\u200d"


def person(name: str, identity: str) -> Mention:
    return Mention(MentionKind.PERSON, name, identity)


NAMES = (
    person("Lena", "1"),
    person("Lena Okoro", "2"),
    person("Bob", ""),
    person("a_b*c", "4"),
    person("O'Neil", "5"),
    person("李雷", "6"),
    Mention(MentionKind.CHANNEL, "deploys", "7"),
)


def ids(text: str, names: tuple[Mention, ...] = NAMES) -> list[str]:
    return [one.mention.id for one in find_in_markdown(text, names)]


@pytest.mark.guard(
    "a mention is a whole word",
    "bot/render/mentions.py",
    "if found and _ends_word(text, found.end()):",
    "if found:",
    against="unwanted mentions",
)
@pytest.mark.guard(
    "code and links mention nobody",
    "bot/render/mentions.py",
    "opaque = _list_opaque(piece) if places else []",
    "opaque: list[tuple[int, int]] = []",
    against="unwanted mentions",
)
@pytest.mark.guard(
    "quotes and tables mention nobody",
    "bot/render/mentions.py",
    "token.map is not None and not hidden",
    "token.map is not None",
    against="unwanted mentions",
)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@Lena", ["1"]),
        ("Hi @Lena, see #deploys.", ["1", "7"]),
        ("@Lena Okoro and @Lena", ["2", "1"]),
        ("**@Lena** and *@Lena Okoro*", ["1", "2"]),
        ("- @Lena's turn\n- [ ] @Lena’s", ["1", "1"]),
        ("# @Lena\n\n@Lena:", ["1", "1"]),
        ("@O'Neil @O’Neil", ["5", "5"]),
        ("@a\\_b\\*c and @a_b*c", ["4", "4"]),
        ("(@Lena) “@Lena”", ["1", "1"]),
        ("请@李雷，看 @Lena看", ["6", "1"]),
        # Other words.
        ("@lena @LENA Lena", []),
        ("@Lenas @Lena_x @Lena2 @Lénax", []),
        ("@Lena-Marie @Lena.Okoro @Lena@x.org @Lena's2", []),
        ("lena@Lena x/@Lena \\@Lena @@Lena #@Lena", []),
        ("@Lena/node @Lena/", ["1"]),
        ("@李雷雷", []),
        ("#deploys-eu x#deploys /#deploys", []),
        ("@deploys #Lena", []),
        (f"@Lena{RTL}x @Lena{ZERO} @Lena{JOINER}x @Lena\u0301", []),
        # A name that stays.
        ("@Bob @Bob Lena", []),
        # Code, links, quotes and tables.
        ("`@Lena` ``x @Lena``", []),
        ("```\n@Lena\n```\n\n    @Lena", []),
        ("[@Lena](https://x.org) ![@Lena](https://x.org) <https://x.org/@Lena>", []),
        ("https://x.org/,@Lena/x http://x.org/?a=(@Lena", []),
        ("> @Lena\nlazy @Lena\n\n- > @Lena", []),
        ("| @Lena |\n|---|\n| @Lena |", []),
        ("> quoted @Lena\n\nsaid @Lena", ["1"]),
    ],
)
def test_where_a_name_is_a_mention(text: str, expected: list[str]) -> None:
    assert ids(text) == expected


def test_the_longest_name_counts_even_if_it_stays() -> None:
    names = (person("Lena", "1"), person("Lena Okoro", ""))
    assert ids("@Lena Okoro and @Lena", names) == ["1"]
    assert ids("@Lena Okor and @Lena", names) == ["1", "1"]


def test_only_names_that_a_text_may_have_are_searched() -> None:
    assert [one.id for one in names_in("@Lena Okoro and @a\\_b\\*c", NAMES)] == ["1", "2", "4"]
    assert [one.id for one in names_in("@O’Neil", NAMES)] == ["5"]
    assert names_in("#Lena", NAMES) == ()


def test_a_message_has_a_limited_number() -> None:
    text = "@Lena " * (MAX_MENTIONS + 5)
    assert len(find_in_markdown(text, NAMES)) == MAX_MENTIONS
    assert len(find_in_markdown("\n\n".join(["@Lena"] * (MAX_MENTIONS + 5)), NAMES)) == MAX_MENTIONS
    assert find_mentions("@x " * MAX_SIGNS + "@Lena", NAMES) == []


PIECES = [
    "@Lena",
    "@Lena Okoro",
    "Lena",
    "@",
    "#",
    "deploys",
    "#deploys",
    " ",
    "\n",
    "\n\n",
    "`",
    "```\n",
    "> ",
]
PIECES += [
    "[",
    "](https://x.org)",
    "*",
    "_",
    "|",
    "\\",
    "- ",
    "x",
    "1",
    "李",
    ".",
    "'s",
    ZERO,
    "\u0301",
    "<@1>",
]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=25).map("".join)


@given(texts)
def test_places_are_in_order_and_hold_their_names(text: str) -> None:
    end = 0
    for place in find_in_markdown(text, NAMES):
        assert place.start >= end
        assert text[place.start : place.end].replace("\\", "") == place.mention.label
        end = place.end
        before, after = text[place.start - 1 : place.start], text[end : end + 1]
        assert not (before.isascii() and before.isalnum())
        assert not (after.isascii() and (after.isalnum() or after == "_"))


@given(texts)
def test_the_rest_of_a_text_stays(text: str) -> None:
    written, _ = write_mentions(text, NAMES, lambda one: f"\ue000{one.label}\ue001", limit=10_000)
    if "\\@" not in text and "\ue000" not in text and "\ue001" not in text:
        assert re.sub("[\ue000\ue001]", "", written) == text


@pytest.mark.guard(
    "mentions never make a message too long",
    "bot/render/mentions.py",
    "if not shown or grows > room:",
    "if not shown:",
    against="unwanted mentions",
)
@given(texts, st.integers(0, 200))
def test_a_text_never_outgrows_its_limit(text: str, limit: int) -> None:
    written, _ = write_mentions(text, NAMES, lambda _: "<@1234567890123456>", limit=limit)
    assert len(written) <= max(limit, len(text))


class TestPlatforms:
    @pytest.mark.guard(
        "Slack: a mention has an id of Slack's form",
        "bot/platforms/slack/renderer.py",
        "if pattern is None or not pattern.fullmatch(mention.id):",
        "if pattern is None:",
        against="unwanted mentions",
    )
    def test_slack(self) -> None:
        names = (person("Lena", "U0LENA"), Mention(MentionKind.CHANNEL, "deploys", "C0DEPLOYS"))
        assert render_slack("@Lena: #deploys `@Lena`", names) == "<@U0LENA>: <#C0DEPLOYS> `@Lena`"
        assert render_slack("@Lena", (person("Lena", "S0LENA"),)) == "@Lena"
        long = "@Lena " + "x" * (MARKDOWN_LIMIT - 7)
        assert len(render_slack(long, names)) <= MARKDOWN_LIMIT

    @pytest.mark.guard(
        "Slack: written mentions and commands stay text",
        "bot/platforms/slack/renderer.py",
        'return _CONTROL.sub("\\u200b", markdown) if "<" in markdown else markdown',
        "return markdown",
        against="unwanted mentions",
    )
    @pytest.mark.parametrize(
        "forged",
        [
            "<@U1>",
            "<@W012|x>",
            "<#C1|x>",
            "<!channel>",
            "<!here>",
            "<!everyone>",
            "<!group>",
            "<!subteam^S1>",
            "<!date^1>",
        ],
    )
    def test_slack_commands_stay_text_from_their_first_character(self, forged: str) -> None:
        shown = render_slack(forged)
        assert shown != forged
        assert shown.replace(ZERO, "") == forged
        for end in range(len(forged)):
            assert shown.startswith(render_slack(forged[:end])), "a stream can go on from each beginning"

    @pytest.mark.parametrize(
        "kept",
        [
            "<!DOCTYPE html>",
            "<!doctype html>",
            "<!-- x -->",
            "<#if x>",
            "List<@NonNull T>",
            "a <b> c",
            "<https://x.org>",
            "x <- y",
        ],
    )
    def test_other_angle_brackets_stay_on_slack(self, kept: str) -> None:
        assert render_slack(kept) == kept

    @pytest.mark.parametrize("whole", ["<!channel>", "<@U1>"])
    def test_text_around_a_tag_does_not_become_a_mention_on_slack(self, whole: str) -> None:
        for at in range(1, len(whole)):
            assert whole not in render_slack(f"{whole[:at]}<b></b>{whole[at:]}")

    @pytest.mark.parametrize("whole", ["<#123>", "<@123>", "<@&123>"])
    def test_text_around_a_tag_does_not_become_a_mention_on_discord(self, whole: str) -> None:
        for at in range(1, len(whole)):
            assert whole not in render_discord(f"{whole[:at]}<b></b>{whole[at:]}")

    def test_slack_counts_what_it_adds(self) -> None:
        parts = SLACK.split("<@U1> " * 4000)
        assert len(parts) > 1
        assert all(len(render_slack(part)) <= MARKDOWN_LIMIT for part in parts)

    def test_slack_mentions_a_user_group(self) -> None:
        oncall = Mention(MentionKind.ROLE, "oncall", "S0ONCALL")
        assert render_slack("@oncall, look", (oncall,)) == "<!subteam^S0ONCALL>, look"
        assert render_slack("@oncall, look", (replace(oncall, id="U0LENA"),)) == "@oncall, look"

    def test_discord(self) -> None:
        names = (
            person("Lena", "111"),
            Mention(MentionKind.CHANNEL, "deploys", "222"),
            Mention(MentionKind.ROLE, "oncall", "333"),
        )
        content, written = mention_in_discord("@Lena and @Lena: #deploys, @oncall", names)
        assert content == "<@111> and <@111>: <#222>, <@&333>"
        assert written == names
        assert mention_in_discord("x" * DISCORD_TEXT_LIMIT, names)[1] == ()
        full = "@Lena" + "x" * 0 + " y" * ((DISCORD_TEXT_LIMIT - 5) // 2)
        assert len(mention_in_discord(full, (person("Lena", "1" * 19),))[0]) <= DISCORD_TEXT_LIMIT

    @pytest.mark.guard(
        "Discord: written mentions stay text",
        "bot/platforms/discord/renderer.py",
        'return _MENTION.sub("\\u200b", markdown) if "<" in markdown else markdown',
        "return markdown",
        against="unwanted mentions",
    )
    def test_discord_mentions_of_a_text_lose_their_power(self) -> None:
        for forged in ("<@5>", "<@!5>", "<@&5>", "<#5>"):
            assert render_discord(forged) != forged
            assert render_discord(forged).replace(ZERO, "") == forged

    def test_telegram_entities(self) -> None:
        rendered = render_entities("👍 **@Lena** and `@Lena`, [@Lena](https://x.org)", (person("Lena", "5"),))
        found = [
            (one.offset, one.length, one.user) for one in rendered.entities if one.type == "text_mention"
        ]
        assert found == [(3, 5, "5")]
        forged = render_entities("[@Lena](tg://user?id=5)").entities
        assert [one for one in forged if one.type in ("text_mention", "text_link")] == []

    @pytest.mark.guard(
        "Telegram: mentions do not cross formatting",
        "bot/platforms/telegram/entity_renderer.py",
        "mark.style not in _WRAPS or mark.start > place.start or mark.end < place.end",
        "mark.style not in _WRAPS",
        against="unwanted mentions",
    )
    def test_telegram_entities_do_not_cross(self) -> None:
        rendered = render_entities("**@Lena** Okoro", (person("Lena Okoro", "5"),))
        assert [one.type for one in rendered.entities] == ["bold"]
        assert (
            render_entities("> @Lena\n\n```\n@Lena\n```", (person("Lena", "5"),)).entities[0].type
            == "blockquote"
        )

    def test_telegram_rich_messages(self) -> None:
        names = (person("Lena", "5"), person("x", "-7"))
        assert rich_markdown("Hi **@Lena**!", names) == "Hi **[@Lena](tg://user?id=5)**\\!"
        for text in ("> @Lena", "| @Lena |\n|---|\n| x |", "`@Lena`", "[@Lena](https://x.org)", "@x"):
            assert "tg://" not in rich_markdown(text, names)
        assert "](tg://" not in rich_markdown("[@Lena](tg://user?id=5)", names)

    def test_a_rich_message_has_a_limited_number(self) -> None:
        """Not each of its texts."""
        many = "\n\n".join(["**@Lena** @Lena", "- @Lena"] * MAX_MENTIONS)
        assert rich_markdown(many, (person("Lena", "5"),)).count("tg://user?id=5") == MAX_MENTIONS

    @pytest.mark.parametrize(
        "text", ["`x`@Lena", "**x**@Lena", "@Lena**s**", "@Lena`s`", "[x](https://x.org)@Lena"]
    )
    def test_formatting_does_not_divide_words_in_rich_messages(self, text: str) -> None:
        assert "tg://" not in rich_markdown(text, (person("Lena", "5"),))

    @pytest.mark.guard(
        "Feishu: a mention has the id of a person",
        "bot/platforms/feishu/renderer.py",
        "mention.kind is MentionKind.PERSON and _OPEN_ID.fullmatch(mention.id)",
        "mention.kind is MentionKind.PERSON",
        against="unwanted mentions",
    )
    def test_feishu(self) -> None:
        names = (person("李雷", "ou_1"), person("Lena", "all"))
        assert mention_in_card("请 @李雷 看 <at id=all></at>", names) == (
            f"请 <at id=ou_1></at> 看 <{ZERO}at id=all><{ZERO}/at>"
        )
        assert mention_in_card("@Lena", names) == "@Lena"
