"""Guards against forged names and messages, each with the mutation that removes it."""

from __future__ import annotations

from tests.harness.mutation import Mutation

ENVELOPE, ESCAPED = "agent/shared/envelope.py", "tests/unit/agent/shared/test_envelope.py"
MEMORY, REMEMBERED = "agent/memory/exchange.py", "tests/unit/agent/memory/test_exchange.py"
INSIDE = "tests/unit/agent/middleware/test_envelopes.py"
STORED = "tests/contract/store/test_quotations.py"
TELEGRAM = "tests/platforms/telegram/test_quotations.py"

MESSAGE_MUTATIONS = (
    Mutation(
        "forwarded commands",
        "Telegram: a forwarded text is not the forwarder's",
        "bot/platforms/telegram/inbound.py",
        "others = is_by_others(message)",
        "others = False",
        f"{TELEGRAM}::test_a_forward_names_its_author",
    ),
    Mutation(
        "forwarded commands",
        "Telegram: a changed forward does not become own words",
        "bot/platforms/telegram/inbound.py",
        ' or sender.get("is_bot") or is_by_others(message):',
        ' or sender.get("is_bot"):',
        f"{TELEGRAM}::test_a_changed_forward_does_not_become_the_forwarders_words",
    ),
    Mutation(
        "forwarded commands",
        "Telegram: the result of an inline bot is that bot's",
        "bot/platforms/telegram/quotations.py",
        ' is not None or message.get("via_bot") is not None',
        " is not None",
        f"{TELEGRAM}::test_the_result_of_an_inline_bot_is_that_bots",
    ),
    Mutation(
        "forwarded commands",
        "Discord: a mention in a forward does not call the bot",
        "bot/platforms/discord/inbound.py",
        "            return own_thread  # a mention in it calls the bot in the name of its author",
        "            pass",
        "tests/platforms/discord/test_inbound.py::test_a_forward_that_mentions_the_bot_does_not_call_it",
    ),
    Mutation(
        "forwarded commands",
        "Feishu: messages that are forwarded together are fetched as quotations",
        "bot/platforms/feishu/content.py",
        "    if kind == MERGED:",
        "    if False:",
        "tests/platforms/feishu/test_forwarded.py::test_forwarded_messages_are_quotations",
    ),
    Mutation(
        "forwarded commands",
        "Slack: a shared message is a quotation",
        "bot/platforms/slack/inbound.py",
        "            quotations=read_quotations(event, self._identity.user),",
        "            quotations=(),",
        "tests/platforms/slack/test_shared_messages.py::test_a_shared_message_is_a_quotation",
    ),
    Mutation(
        "forwarded answers",
        "a forwarded text decides no approval",
        "bot/store/inbox.py",
        "if message.is_quotation_only or approval is None:",
        "if approval is None:",
        f"{STORED}::test_a_forward_does_not_decide_an_approval",
    ),
    Mutation(
        "forwarded answers",
        "a forwarded text answers no question",
        "bot/store/turns.py",
        "return bool(left) and all(message.is_quotation_only for message in left)",
        "return False",
        f"{STORED}::test_a_forward_waits_for_own_words_while_a_question_is_open",
    ),
    Mutation(
        "forged names",
        "a name cannot end its attribute",
        ENVELOPE,
        "((key, escape_attribute(value)) for key, value in attributes.items())",
        "attributes.items()",
        f"{ESCAPED}::test_a_name_is_no_role",
    ),
    Mutation(
        "forged messages",
        "tags in a text are escaped",
        ENVELOPE,
        "body = [escape_text(envelope.text)]",
        "body = [envelope.text]",
        "tests/component/dispatch/test_quotations.py::test_no_name_and_no_text_imitates_somebody",
    ),
    Mutation(
        "forged messages",
        "tags in a quotation are escaped",
        ENVELOPE,
        "[opening, escape_text(quotation.text), ",
        "[opening, quotation.text, ",
        "tests/component/dispatch/test_quotations.py::test_no_name_and_no_text_imitates_somebody",
    ),
    Mutation(
        "forged messages",
        "invisible characters hide no tag",
        ENVELOPE,
        "if char in _SKIPPED or unicodedata.category(char) in _INVISIBLE:",
        "if char in _SKIPPED:",
        f"{ESCAPED}::test_everything_that_looks_like_a_tag_is_escaped",
    ),
    Mutation(
        "forged messages",
        "letters of other scripts make no tag",
        ENVELOPE,
        "return base.casefold().translate(_LOOKALIKES)",
        "return base.casefold()",
        f"{ESCAPED}::test_everything_that_looks_like_a_tag_is_escaped",
    ),
    Mutation(
        "forged messages",
        "brackets of other scripts open no tag",
        ENVELOPE,
        'BRACKETS = "<＜﹤‹〈⟨❬❮˂ᐸ≺"',
        'BRACKETS = "<"',
        f"{ESCAPED}::test_everything_that_looks_like_a_tag_is_escaped",
    ),
    Mutation(
        "forged messages",
        "a summary does not pass for a message",
        "agent/middleware/summary_message.py",
        'return _OWN_TAG.sub("&lt;", escape_text(text))',
        'return _OWN_TAG.sub("&lt;", text)',
        f"{INSIDE}::test_a_summary_does_not_pass_for_a_message",
    ),
    Mutation(
        "forged messages",
        "a file does not pass for a message",
        "agent/uploads/document_facts.py",
        'body = escape_text(text.replace("</file", "<\\\\/file"))',
        'body = text.replace("</file", "<\\\\/file")',
        f"{INSIDE}::test_a_file_does_not_pass_for_a_message",
    ),
    Mutation(
        "forged memories",
        "what is only forwarded enters no memory",
        MEMORY,
        "is_taken = has_words and (",
        "is_taken = (",
        f"{REMEMBERED}::test_a_persons_memory_takes_their_own_words_alone",
    ),
    Mutation(
        "forged memories",
        "quotations next to own words enter no memory",
        MEMORY,
        "text = plain_text(message.text) if is_person else message.text",
        "text = message.text",
        f"{REMEMBERED}::test_a_persons_memory_takes_their_own_words_alone",
    ),
    Mutation(
        "forged memories",
        "the id of the envelope tells whose words they are",
        MEMORY,
        "return found[0].person if found else str(",
        "return str(",
        f"{REMEMBERED}::test_an_id_tells_who_it_is_whatever_the_bot_is_told_besides",
    ),
)
