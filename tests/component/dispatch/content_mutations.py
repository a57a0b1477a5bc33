"""Guards of what comes with messages and of who sends them, each with the mutation that removes it."""

from __future__ import annotations

from tests.harness.mutation import Mutation

QUOTED = "tests/component/dispatch/test_quotations.py"
DISCORD_EDITED = "tests/platforms/discord/test_message_edits.py"
SLACK_SENDER, SLACK_SENT = "bot/platforms/slack/directory.py", "tests/platforms/slack/test_sender_identity.py"
SLACK_SHARED = "tests/platforms/slack/test_shared_messages.py"

CONTENT_MUTATIONS = (
    Mutation(
        "unwanted mentions",
        "Discord: an answer notifies nobody but those whom it mentions",
        "bot/platforms/discord/outbound.py",
        'return {"parse": [], "replied_user"',
        'return {"parse": ["everyone"], "replied_user"',
        "tests/platforms/discord/test_outbound.py::test_nobody_is_pinged_by_what_a_text_names",
    ),
    Mutation(
        "answers to edits",
        "Discord: a pin of a message that was edited long ago calls nobody",
        "bot/platforms/discord/inbound.py",
        "calls = edited and found.addressed and now - at <= RECENT_EDIT",
        "calls = edited and found.addressed",
        f"{DISCORD_EDITED}::test_a_pin_of_a_message_that_was_edited_long_ago_calls_nobody",
    ),
    Mutation(
        "answers to edits",
        "Discord: the preview of a link is no edit",
        "bot/platforms/discord/inbound.py",
        "at = parse_time(edited) if edited else found.sent_at",
        "at = parse_time(edited) if edited else now",
        f"{DISCORD_EDITED}::test_an_edit_comes_after_any_preview",
    ),
    Mutation(
        "flooded conversations",
        "a message that is replied to is cut",
        "bot/bus/quotation_limits.py",
        "text = _cut_text(one.text, min(MAX_CONTEXT_CHARACTERS, context_room))",
        "text = _cut_text(one.text, context_room)",
        f"{QUOTED}::test_a_long_message_that_is_replied_to_is_cut",
    ),
    Mutation(
        "flooded conversations",
        "all that comes along with a message is cut together",
        "bot/bus/quotation_limits.py",
        "            context_room -= len(text)\n",
        "",
        f"{QUOTED}::test_many_long_previews_are_cut_together",
    ),
    Mutation(
        "mistaken identity",
        "Slack: people of other organizations are guests",
        SLACK_SENDER,
        "theirs, limited or teams.isdisjoint(theirs))",
        "theirs, limited)",
        f"{SLACK_SENT}::test_what_slack_says_of_people",
    ),
    Mutation(
        "mistaken identity",
        "Slack: guests are told apart",
        SLACK_SENDER,
        "theirs, limited or teams.isdisjoint(theirs))",
        "theirs, teams.isdisjoint(theirs))",
        f"{SLACK_SENT}::test_a_guest",
    ),
    Mutation(
        "mistaken identity",
        "Slack: one whom Slack does not describe is a guest",
        SLACK_SENDER,
        "    guest: bool = True\n",
        "    guest: bool = False\n",
        f"{SLACK_SENT}::test_one_whom_slack_does_not_describe_is_a_guest",
    ),
    Mutation(
        "mistaken identity",
        "Slack: what is said in a shared recording is not the forwarder's",
        "bot/platforms/slack/messages.py",
        "known = (one for one in others.quotations if one.kind is not QuotationKind.TRANSCRIPT)",
        "known = others.quotations",
        f"{SLACK_SHARED}::test_what_is_said_in_a_shared_clip_is_not_said_by_who_shares_it",
    ),
    Mutation(
        "undeleted words",
        "Telegram: an erased person is removed from threads in memory",
        "bot/platforms/telegram/adapter.py",
        "self._session.inbound.forget_person(person)",
        "pass",
        "tests/platforms/telegram/test_reply_threads.py::test_what_an_erased_person_said_does_not_come_back",
    ),
)
