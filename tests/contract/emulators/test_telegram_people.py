"""What people do beyond plain messages arrives with the fields that the Bot API documents."""

from __future__ import annotations

from telegram import Bot, Message, MessageOriginUser

from roebot_testing.emulators.telegram import TelegramEmulator

ADA = 7


async def last_message(bot: Bot) -> Message:
    """The last message of the bot's updates, as the SDK reads it."""
    updates = await bot.get_updates()
    message = updates[-1].message
    assert message is not None
    return message


async def test_a_pasted_table_is_plain_text(emulator: TelegramEmulator, bot: Bot) -> None:
    emulator.people.pastes_table([["Host", "Free"], ["mail-3", "2 GB"]], user=ADA)
    message = await last_message(bot)
    assert message.text == "Host\tFree\nmail-3\t2 GB"
    assert message.entities == ()


async def test_a_reply_to_another_chat_names_its_origin(emulator: TelegramEmulator, bot: Bot) -> None:
    team = emulator.people.make_group("Team", supergroup=True)
    root = emulator.people.says("The harbour opens at six.", user=8, name="Ben", chat=team)
    emulator.people.replies_across(
        "is that so?", to_chat=team, to_message=root.id, quoted="opens at six", user=ADA
    )
    message = await last_message(bot)
    assert message.external_reply and message.external_reply.chat and message.quote
    assert (message.external_reply.chat.id, message.external_reply.message_id) == (team, root.id)
    origin = message.external_reply.origin
    assert isinstance(origin, MessageOriginUser) and origin.sender_user.first_name == "Ben"
    assert (message.quote.text, message.quote.position) == ("opens at six", 12)
    assert message.reply_to_message is None


async def test_a_reply_to_a_private_chat_hides_where_it_was(emulator: TelegramEmulator, bot: Bot) -> None:
    root = emulator.people.says("between us", user=8)
    emulator.people.replies_across("told me", to_chat=8, to_message=root.id, user=ADA)
    message = await last_message(bot)
    assert message.external_reply and message.external_reply.chat is None
    assert message.external_reply.message_id is None and message.quote is None


async def test_somebody_leaves_a_group(emulator: TelegramEmulator, bot: Bot) -> None:
    team = emulator.people.make_group("Team")
    emulator.people.joins(team, ADA)
    emulator.people.leaves(team, ADA)
    message = await last_message(bot)
    assert message.left_chat_member and message.left_chat_member.id == ADA


async def test_a_person_changes_name_and_loses_the_username(emulator: TelegramEmulator, bot: Bot) -> None:
    emulator.people.says("hi", user=ADA, name="Ada")
    emulator.people.renames_person(ADA, "Ada L.")
    emulator.people.says("hi", user=ADA)
    renamed = await last_message(bot)
    emulator.people.renames_person(ADA, "Ada L.", username="")
    emulator.people.says("hi", user=ADA)
    nameless = await last_message(bot)
    assert renamed.from_user and (renamed.from_user.first_name, renamed.from_user.username) == (
        "Ada L.",
        "person_7",
    )
    assert nameless.from_user and nameless.from_user.username is None


async def test_an_edit_can_add_a_mention(emulator: TelegramEmulator, bot: Bot) -> None:
    said = emulator.people.says("what is this?", user=ADA)
    emulator.people.edits(ADA, said.id, "@roebot_bot what is this?")
    edited = (await bot.get_updates())[-1].edited_message
    assert edited and [entity.type for entity in edited.entities] == ["mention"]
