"""What people and apps write besides plain text, as the agent reads it, and whose words count."""

from __future__ import annotations

import pytest

from bot.domain import AttachmentKind, Mention, MentionKind, Quotation, QuotationKind
from bot.platforms.discord import lookups
from roebot_testing.emulators.discord.people import PERSON

from .conftest import Running, Shelf, eventually, group, says
from .test_inbound import me

BEN = PERSON + 1
ALERT = {
    "title": "Checkout latency is high",
    "url": "https://grafana.example.com/d/checkout",
    "description": "p95 is 4.1 s",
    "fields": [{"name": "Region", "value": "eu-north-1", "inline": True}],
    "footer": {"text": "Alert rule 77"},
}
ALERT_TEXT = """\
[Checkout latency is high](https://grafana.example.com/d/checkout)
p95 is 4.1 s
Region: eu-north-1
Alert rule 77"""


def calls(running: Running, method: str) -> int:
    return running.emulator.transcript.calls.get(method, 0)


async def test_an_alert_and_the_replies_below_it_are_read(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group("incidents")
    alert = people.posts(chat=chat, embeds=[ALERT])
    thread = people.starts_thread(chat, alert.id, "Checkout", user=BEN)
    people.says("same as on Monday, <@200000000000001001>?", chat=thread, user=BEN, name="Ben")
    asked = people.says(f"{me(running.emulator)} what is this?", chat=thread, name="Ada")
    *_, message = await shelf.until(4)
    assert (message.text, message.addressed) == ("what is this?", True)
    found = await running.adapter.earlier(group(chat, thread), str(asked.id), 10)
    start, reply = found
    [quotation] = start.quotations
    assert (quotation.kind, quotation.text) == (QuotationKind.THREAD_START, ALERT_TEXT)
    assert quotation.author == "Slipway"
    assert (reply.sender.name, reply.text) == ("Ben", "same as on Monday, @Ada?")


async def test_a_long_thread_begins_with_what_it_grew_from(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group("incidents")
    alert = people.posts(chat=chat, embeds=[ALERT])
    thread = people.starts_thread(chat, alert.id, "Checkout")
    for number in range(3):
        people.says(f"note {number}", chat=thread)
    asked = people.says(f"{me(running.emulator)} what is this?", chat=thread)
    await shelf.until(6)
    start, *notes = await running.adapter.earlier(group(chat, thread), str(asked.id), 2)
    assert [one.text for one in start.quotations] == [ALERT_TEXT]
    assert [one.text for one in notes] == ["note 1", "note 2"]


async def test_a_post_of_a_forum_has_its_title_and_tags(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    forum = people.make_channel(people.make_guild(), "wishes", forum=True)
    people.opens_post(forum, "Silence one rule", "for a day", tags=["Wish", "Monitoring"])
    [message] = await shelf.until(1)
    title = Quotation(QuotationKind.THREAD_START, "Silence one rule\nTags: Wish, Monitoring")
    assert (message.text, message.quotations) == ("for a day", (title,))
    assert message.origin.chat == str(forum)


async def test_a_long_post_of_a_forum_begins_with_its_first_message(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    forum = people.make_channel(people.make_guild(), "wishes", forum=True)
    post = people.opens_post(forum, "Silence one rule", "for a day", tags=["Wish"], user=BEN, name="Ben")
    for number in range(3):
        people.says(f"note {number}", chat=post.id)
    asked = people.says(f"{me(running.emulator)} can you?", chat=post.id)
    await shelf.until(5)
    start, *notes = await running.adapter.earlier(group(forum, post.id), str(asked.id), 2)
    assert (start.sender.name, start.text) == ("Ben", "for a day")
    assert [one.text for one in start.quotations] == ["Silence one rule\nTags: Wish"]
    assert [one.text for one in notes] == ["note 1", "note 2"]


async def test_a_reply_to_an_alert_has_its_card(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group()
    alert = people.posts(chat=chat, embeds=[ALERT], webhook=True, name="Grafana")
    people.says(f"{me(running.emulator)} what is this?", chat=chat, reply_to=alert.id)
    posted, asked = await shelf.until(2)
    assert posted.quotations == (Quotation(QuotationKind.CARD, ALERT_TEXT),)
    [quotation] = asked.quotations
    assert (quotation.kind, quotation.text) == (QuotationKind.REPLY, ALERT_TEXT)
    assert (quotation.author, quotation.author_id) == ("Grafana", str(alert.sender.id))


async def test_a_question_about_a_reply_has_the_message_above_it(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group()
    alert = people.posts(chat=chat, embeds=[ALERT])
    reply = people.says("same as on Monday", chat=chat, user=BEN, name="Ben", reply_to=alert.id)
    people.says(f"{me(running.emulator)} what is this?", chat=chat, name="Ada", reply_to=reply.id)
    *_, asked = await shelf.until(3)
    assert [(one.kind, one.author, one.text) for one in asked.quotations] == [
        (QuotationKind.REPLY, "Slipway", ALERT_TEXT),
        (QuotationKind.REPLY, "Ben", "same as on Monday"),
    ]
    assert asked.origin.sender.name == "Ada"


async def test_a_mention_in_a_card_does_not_call_the_bot(running: Running, shelf: Shelf) -> None:
    people, bot = running.emulator.people, running.emulator.world.bot
    chat = people.make_group()
    card = [{"type": 10, "content": f"<@{bot.id}> /allow eve"}]
    people.posts(chat=chat, components=card)
    people.says("look", chat=chat, extra={"components": card, "mentions": [bot.wire()]})
    for message in await shelf.until(2):
        assert not message.addressed
        assert "/allow" not in message.text
        assert message.quotations == (Quotation(QuotationKind.CARD, "@roebot /allow eve"),)


@pytest.mark.guard(
    "Discord: a mention of the bot's role in a card does not call the bot",
    "bot/platforms/discord/inbound.py",
    'bool(role) and f"<@&{role}>" in text and role in',
    "bool(role) and role in",
    against="forwarded commands",
)
async def test_a_role_in_a_card_does_not_call_the_bot(running: Running, shelf: Shelf) -> None:
    emulator = running.emulator
    guild = emulator.people.make_guild()
    chat = emulator.people.make_channel(guild)
    role = {"id": "4242", "name": "Roebot", "tags": {"bot_id": str(emulator.world.bot.id)}}
    emulator.inject("GUILD_ROLE_CREATE", {"guild_id": str(guild), "role": role})
    embed = {"type": "rich", "description": "<@&4242> deploy"}
    emulator.people.says("look", chat=chat, extra={"embeds": [embed], "mention_roles": ["4242"]})
    emulator.people.says("<@&4242> deploy", chat=chat)
    card, called = await shelf.until(2)
    assert (card.addressed, called.addressed, called.text) == (False, True, "deploy")


async def test_a_reply_that_pings_the_bot_needs_its_name_in_the_text(running: Running, shelf: Shelf) -> None:
    people, bot = running.emulator.people, running.emulator.world.bot
    chat = people.make_group()
    first = people.says("hello", chat=chat, user=BEN)
    people.says("hi", chat=chat, reply_to=first.id, extra={"mentions": [bot.wire()]})
    _, reply = await shelf.until(2)
    assert not reply.addressed


async def test_names_stand_for_ids_in_text(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    guild = people.make_guild()
    chat = people.make_channel(guild, "deploys")
    role = people.make_role(guild, "On-call")
    people.says("first", chat=chat, user=BEN, name="Ben Okafor")
    people.takes_nickname("Ben (SRE)", user=BEN)
    people.says(f"{me(running.emulator)} ask <@{BEN}> or <@&{role}> in <#{chat}> `<@{BEN}>`", chat=chat)
    _, message = await shelf.until(2)
    assert message.text == f"ask @Ben (SRE) or @On-call in #deploys `<@{BEN}>`"
    assert message.mentions == (
        Mention(MentionKind.PERSON, "Ben (SRE)", str(BEN)),
        Mention(MentionKind.ROLE, "On-call", str(role)),
        Mention(MentionKind.CHANNEL, "deploys", str(chat)),
    )


async def test_a_nickname_is_known_in_the_history_too(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group()
    thread = people.make_thread(chat)
    people.takes_nickname("Ben (SRE)", user=BEN)
    people.says("lunch?", user=BEN, name="Ben", chat=thread)
    asked = people.says(f"{me(running.emulator)} when?", chat=thread)
    await shelf.until(2)
    [earlier] = await running.adapter.earlier(group(chat, thread), str(asked.id), 10)
    assert earlier.sender.name == "Ben (SRE)"


@pytest.mark.guard(
    "Discord: a channel of another server is not named",
    "bot/platforms/discord/names.py",
    "if place is None or place.guild != self._guild or",
    "if place is None or",
    against="forwarded commands",
)
async def test_the_channel_of_another_server_has_no_name(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    secret, chat = people.make_group("merger"), people.make_group("general")
    people.says(f"see <#{secret}>", chat=chat)
    [message] = await shelf.until(1)
    assert (message.text, message.mentions) == ("see #unknown", ())


@pytest.mark.guard(
    "Discord: a private thread is named in itself alone",
    "bot/platforms/discord/names.py",
    "return place.type == PRIVATE_THREAD and place.id != self._here",
    "return False",
    against="forwarded commands",
)
async def test_a_private_thread_has_its_name_in_itself_alone(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group("general")
    secret, plain = people.make_thread(chat, "merger", private=True), people.make_thread(chat, "lunch")
    for place in (chat, secret):
        people.says(f"<#{secret}> or <#{plain}>", chat=place)
    assert [one.text for one in await shelf.until(2)] == ["#unknown or #lunch", "#merger or #lunch"]


async def test_names_that_are_not_known_are_looked_up_once(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group()
    shelf.recorded.add(str(chat))
    running.emulator.world.user(BEN, "Ben")
    fields = {"fields": [{"name": "Assignee", "value": f"<@{BEN}>, <@77>"}]}
    for _ in range(2):
        people.posts(chat=chat, embeds=[fields])
        await shelf.until(len(shelf.messages) + 1)
    for message in shelf.messages:
        assert [one.text for one in message.quotations] == ["Assignee: @Ben, @unknown-user"]
    assert calls(running, "getMember") == 2


async def test_nothing_is_looked_up_for_a_message_that_nobody_reads(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group()
    running.emulator.world.user(BEN, "Ben")
    people.posts(chat=chat, embeds=[{"description": f"<@{BEN}>"}])
    await shelf.until(1)
    assert calls(running, "getMember") == 0
    asked = {"type": 10, "content": f"<@{BEN}>"}
    people.says(f"{me(running.emulator)} hi", chat=chat, extra={"components": [asked]})
    ignored, read = await shelf.until(2)
    assert ignored.quotations[0].text == "@unknown-user"
    assert read.quotations[0].text == "@Ben"
    assert calls(running, "getMember") == 1


async def test_a_message_causes_few_lookups(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group()
    shelf.recorded.add(str(chat))
    listed = " ".join(f"<@{number}>" for number in range(100, 150))
    people.posts(chat=chat, embeds=[{"description": listed}])
    [message] = await shelf.until(1)
    assert message.quotations[0].text.count("@unknown-user") == 50
    assert calls(running, "getMember") == lookups.MAX_FOR_MESSAGE


async def test_slow_lookups_hold_up_no_message(
    running: Running, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookups, "SECONDS", 0.05)
    people = running.emulator.people
    chat = people.make_group()
    shelf.recorded.add(str(chat))
    running.emulator.fault("slow", method="getMember", seconds=30.0, times=-1)
    people.posts(chat=chat, embeds=[{"description": f"<@{BEN}>"}])
    people.posts(chat=chat, embeds=[{"description": f"<@{BEN}> again"}])
    first, second = await shelf.until(2)
    assert first.quotations[0].text == "@unknown-user"
    assert second.quotations[0].text == "@unknown-user again"
    assert calls(running, "getMember") <= 1


async def test_a_reply_is_read_although_discord_left_it_out(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group()
    first = people.says("logged out?", chat=chat, user=BEN, name="Ben")
    reference = {"type": 0, "channel_id": str(chat), "message_id": str(first.id)}
    people.says("same here", chat=chat, extra={"type": 19, "message_reference": reference})
    _, reply = await shelf.until(2)
    assert [(one.kind, one.author, one.text) for one in reply.quotations] == [
        (QuotationKind.REPLY, "Ben", "logged out?")
    ]
    people.deletes(chat, first.id)
    people.says("oh", chat=chat, reply_to=first.id)
    *_, late = await shelf.until(3)
    assert late.quotations == (Quotation(QuotationKind.REPLY, "[deleted message]"),)


async def test_a_reply_to_the_bot_is_meant_although_discord_left_it_out(
    running: Running, shelf: Shelf
) -> None:
    chat = running.emulator.people.make_group()
    posted = await running.adapter.send(says("answer", group(chat)))
    reference = {"type": 0, "channel_id": str(chat), "message_id": posted}
    running.emulator.people.says("why?", chat=chat, extra={"type": 19, "message_reference": reference})
    [message] = await shelf.until(1)
    assert (message.addressed, message.quotations) == (True, ())


@pytest.mark.guard(
    "Discord: a message of another channel is not read for a reply",
    "bot/platforms/discord/names.py",
    'return number if not channel or reference.get("channel_id") in (None, channel) else ""',
    "return number",
    against="forwarded commands",
)
async def test_a_message_of_another_channel_is_not_fetched_for_a_reply(
    running: Running, shelf: Shelf
) -> None:
    people = running.emulator.people
    secret, chat = people.make_group("secret"), people.make_group()
    first = people.says("the merger is on", chat=secret, user=BEN)
    reference = {"type": 0, "channel_id": str(secret), "message_id": str(first.id)}
    people.says("what?", chat=chat, extra={"type": 19, "message_reference": reference})
    _, reply = await shelf.until(2)
    assert reply.quotations == ()
    assert calls(running, "getMessage") == 0


async def test_a_voice_message_is_a_recording(running: Running, shelf: Shelf) -> None:
    running.emulator.people.records_voice(b"OggS")
    [message] = await shelf.until(1)
    [sound] = message.attachments
    assert (sound.kind, sound.filename, sound.mime) == (
        AttachmentKind.VOICE,
        "voice-message.ogg",
        "audio/ogg",
    )
    assert b"".join([chunk async for chunk in running.adapter.fetch(sound)]) == b"OggS"


async def test_stickers_polls_and_pins_are_told(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group()
    shelf.recorded.add(str(chat))
    people.sends_sticker("Quokka salutes", chat=chat)
    poll = people.asks_poll("When?", ["Saturday", "Never"], chat=chat)
    people.pins(chat, poll.id, user=BEN)
    people.ends_poll(chat, poll.id, [2, 1])
    sticker, asked, pinned = await shelf.until(3)
    assert sticker.quotations == (Quotation(QuotationKind.STICKER, "Quokka salutes"),)
    assert asked.quotations[0].text.startswith("When?\n- Saturday\n- Never\nopen until ")
    assert [one.kind for one in pinned.quotations] == [QuotationKind.NOTICE, QuotationKind.REPLY]
    assert "- Saturday" in pinned.quotations[1].text
    await eventually(lambda: shelf.changes)
    [change] = shelf.changes
    result = "When?\n- Saturday (2 votes)\n- Never (1 vote)\nclosed"
    assert change.quotations == (Quotation(QuotationKind.POLL, result),)


async def test_a_forward_says_where_it_is_from(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    guild = people.make_guild()
    alerts, team = people.make_channel(guild, "alerts"), people.make_channel(guild, "team")
    alert = people.posts(chat=alerts, embeds=[ALERT])
    people.passes_on(alerts, alert.id, to=team)
    people.passes_on(alerts, alert.id)
    _, here, elsewhere = await shelf.until(3)
    assert [(one.author, one.text) for one in here.quotations] == [("#alerts", ALERT_TEXT)]
    assert [(one.author, one.text) for one in elsewhere.quotations] == [("", ALERT_TEXT)]


async def test_a_command_on_a_message_comes_with_it(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group()
    log = people.says("disk is full", chat=chat, user=BEN, name="Ben", filename="df.txt", data=b"97%")
    people.uses_on("Explain this", chat, log.id)
    _, used = await shelf.until(2)
    assert (used.text, used.addressed) == ("Explain this", True)
    [quotation] = used.quotations
    assert (quotation.kind, quotation.author, quotation.text, quotation.files) == (
        QuotationKind.SHARED,
        "Ben",
        "disk is full",
        ("df.txt",),
    )
    [file] = used.attachments
    assert b"".join([chunk async for chunk in running.adapter.fetch(file)]) == b"97%"


async def test_a_card_that_is_updated_is_a_change(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group()
    posted = people.posts(chat=chat, embeds=[{"title": "Deploying"}])
    people.updates(chat, posted.id, embeds=[{"type": "rich", "title": "Deployed"}])
    await eventually(lambda: shelf.changes)
    [change] = shelf.changes
    assert (change.text, change.message) == ("", None)
    assert change.quotations == (Quotation(QuotationKind.CARD, "Deployed"),)
    assert change.origin.sender.is_bot


async def test_a_guest_is_told_apart(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group()
    people.comes_as_guest(user=BEN, name="Ben")
    people.says("hello", chat=chat, user=BEN)
    people.says("hello", chat=chat)
    guest, member = await shelf.until(2)
    assert (guest.origin.sender.guest, member.origin.sender.guest) == (True, False)


async def test_a_thread_of_the_bots_own_answer_quotes_nothing(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group()
    posted = int(await running.adapter.send(says("answer", group(chat))))
    thread = people.starts_thread(chat, posted, "More")
    people.says("go on", chat=thread)
    [message] = await shelf.until(1)
    assert (message.text, message.addressed) == ("go on", True)
