"""Questions with buttons: all choices show, and a click is an answer of its author that counts once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.platforms.base import AsksChoice, EditsMessages
from roebot_testing.conformance.bench import Stage, address_of
from roebot_testing.conformance.driver import ANN_IN_TEAM, BEN, BEN_IN_TEAM, Ability
from roebot_testing.conformance.needs import needs
from roebot_testing.conformance.suite import Suite
from roebot_testing.running import eventually

CHOICES = ("Berlin", "北京 🏯", 'a "quoted" & <tagged> one', "Paris")
LONG = "a choice that says at length what it is all about: "
"""Choices have 60 characters at most (`bot.dispatch.dispatcher.LONGEST_CHOICE`)."""


class Choices(Suite):
    @needs(AsksChoice)
    async def test_a_question_shows_its_choices(self, stage: Stage) -> None:
        question = stage.message("Which **city**?", await stage.reply_address(), choices=CHOICES)
        await stage.post(question)
        assert stage.one().choices == CHOICES
        assert stage.one().text == "Which city?"

    @needs(AsksChoice)
    async def test_it_has_room_for_as_many_as_it_says(self, stage: Stage) -> None:
        assert isinstance(stage.adapter, AsksChoice)
        many = tuple(f"choice {number}" for number in range(stage.adapter.most_choices))
        assert len(many) >= 2
        await stage.post(stage.message("Which?", await stage.reply_address(), choices=many))
        assert stage.one().choices == many

    @needs(AsksChoice, EditsMessages)
    async def test_a_reply_that_grew_ends_in_its_choices(self, stage: Stage) -> None:
        reply = stage.reply(await stage.reply_address())
        await reply.frame("Which")
        assert stage.one().choices == ()
        await reply.finish("Which city?", CHOICES)
        assert stage.one().choices == CHOICES
        assert stage.one().text == "Which city?"
        assert not stage.one().growing

    @needs(AsksChoice)
    @pytest.mark.parametrize("choice", [*CHOICES, LONG + "this", "🏯" * 60])
    async def test_a_click_says_the_whole_choice(self, stage: Stage, choice: str) -> None:
        heard = await stage.receive("ask me")
        choices = (LONG + "other", choice, "🏯" * 59)
        question = await stage.post(stage.message("Which?", address_of(heard), choices=choices))
        await stage.platform.clicks(question, choice)
        answer = (await stage.inbox.until(2))[1]
        assert answer.text == choice
        assert answer.addressed
        assert answer.origin.reply_to == question
        assert answer.origin.sender.id == heard.origin.sender.id
        assert answer.origin.chat == heard.origin.chat
        assert answer.origin.chat_kind is heard.origin.chat_kind

    @needs(AsksChoice)
    async def test_after_a_click_the_question_is_settled(self, stage: Stage) -> None:
        question = await stage.post(stage.message("Which?", await stage.reply_address(), choices=CHOICES))
        await stage.platform.clicks(question, "Paris")
        await stage.inbox.until(2)
        await eventually(lambda: stage.one().choices == ())
        assert "Which?" in stage.one().text

    @needs(AsksChoice, EditsMessages)
    async def test_words_that_are_there_before_the_sign_stay(self, stage: Stage) -> None:
        """Keep the text that the service writes below a settled question; the adapter adds no mark to it."""
        question = stage.message("Which?", await stage.reply_address(), choices=CHOICES)
        message_id = await stage.post(question)
        words = replace(question, text="Which? ✓ Paris, by Ann", choices=())
        stage.inbox.meanwhile = lambda: stage.edit(words, message_id)
        await stage.platform.clicks(message_id, "Paris")
        await stage.inbox.until(2)
        await eventually(lambda: stage.one().text == words.text)
        await stage.moments()
        assert stage.one().text == words.text
        assert stage.one().choices == stage.one().chosen == ()

    @needs(AsksChoice, Ability.GROUPS)
    async def test_in_a_group_the_answer_is_that_of_who_clicked(self, stage: Stage) -> None:
        ben = (await stage.receive("hi", BEN)).origin.sender.id
        address = await stage.reply_address(at=ANN_IN_TEAM)
        question = await stage.post(stage.message("Which?", address, choices=CHOICES))
        await stage.platform.clicks(question, "Berlin", BEN_IN_TEAM)
        answer = (await stage.inbox.until(3))[2]
        assert answer.text == "Berlin"
        assert answer.origin.sender.id == ben
        assert (answer.origin.chat, answer.origin.topic) == (address.chat, address.topic)
        assert answer.addressed

    @needs(AsksChoice, Ability.REPEATS)
    async def test_a_click_that_comes_twice_is_one_answer(self, stage: Stage) -> None:
        question = await stage.post(stage.message("Which?", await stage.reply_address(), choices=CHOICES))
        stage.platform.repeats()
        await stage.platform.clicks(question, "Paris")
        await eventually(lambda: stage.inbox.duplicates)
        await stage.moments()
        assert stage.inbox.texts.count("Paris") == 1

    @needs(AsksChoice)
    async def test_a_click_that_is_not_its_authors_to_make_leaves_the_buttons(self, stage: Stage) -> None:
        question = await stage.post(stage.message("Which?", await stage.reply_address(), choices=CHOICES))
        stage.inbox.forbids = "Not yours."
        await stage.platform.clicks(question, "Paris")
        await eventually(lambda: stage.inbox.asked >= 2)
        await stage.moments()
        assert next(seen.choices for seen in stage.seen() if seen.id == question) == CHOICES
        assert not _shown_as_chosen(stage, "Paris")
        stage.inbox.forbids = None
        await stage.platform.clicks(question, "Berlin")
        assert (await stage.inbox.until(2))[1].text == "Berlin"
        await eventually(lambda: not next(seen.choices for seen in stage.seen() if seen.id == question))

    @needs(AsksChoice)
    async def test_of_two_clicks_at_once_only_the_one_that_counts_is_shown(self, stage: Stage) -> None:
        question = await stage.post(stage.message("Which?", await stage.reply_address(), choices=CHOICES))
        stage.inbox.closed = "It is answered already."
        stage.inbox.hold()
        await stage.platform.clicks(question, "Berlin")
        await stage.platform.clicks(question, "Paris")
        await eventually(lambda: stage.inbox.held)
        stage.inbox.release()
        counted = (await stage.inbox.until(2))[1].text
        await eventually(lambda: not next(seen.choices for seen in stage.seen() if seen.id == question))
        await stage.moments()
        vain = "Paris" if counted == "Berlin" else "Berlin"
        assert stage.inbox.texts.count(vain) == 0
        assert not _shown_as_chosen(stage, vain)

    @needs(AsksChoice)
    async def test_a_click_is_not_settled_before_it_is_stored(self, stage: Stage) -> None:
        question = await stage.post(stage.message("Which?", await stage.reply_address(), choices=CHOICES))
        stage.inbox.hold()
        await stage.platform.clicks(question, "Paris")
        await eventually(lambda: stage.inbox.held)
        await stage.moments()
        assert stage.one().choices == CHOICES
        stage.inbox.release()
        await stage.inbox.until(2)
        await eventually(lambda: stage.one().choices == ())


def _shown_as_chosen(stage: Stage, choice: str) -> list[str]:
    """Return the texts that show this choice as chosen."""
    signs = [sign for seen in stage.seen() for sign in (*seen.chosen, seen.text, *seen.versions)]
    return [sign for sign in signs if choice in sign]
