"""Guards of approvals and link previews, each with the mutation that removes it."""

from __future__ import annotations

from tests.harness.mutation import Mutation

_RULES = "tests/component/dispatch/test_approval_rules.py"
_GUARDRAIL = "tests/unit/agent/middleware/test_guardrail.py"
_SUBAGENTS = "tests/component/agent/test_subagent_approvals.py"
_INBOX, _GRANTS = "bot/store/inbox.py", "bot/store/tool_grants.py"
APPROVAL_MUTATIONS = (
    Mutation(
        "a changed call",
        "an approval covers its arguments and directory",
        "agent/middleware/guardrail.py",
        "if not is_covered(answer, identity):",
        "if False:",
        f"{_GUARDRAIL}::test_an_approval_of_another_call_makes_none",
    ),
    Mutation(
        "a changed call",
        "the answer names the call that was shown",
        "bot/dispatch/run/request.py",
        '"covers": turn.covers}',
        '"covers": ""}',
        f"{_RULES}::test_the_answer_names_the_call_that_was_shown",
    ),
    Mutation(
        "an approved disaster",
        "forbidden commands are refused before anyone is asked",
        "agent/middleware/guardrail.py",
        'if rule := await self._find_forbidden(call["args"]):',
        'if rule := "":',
        f"{_GUARDRAIL}::test_what_is_forbidden_is_refused_before_anybody_is_asked",
    ),
    Mutation(
        "an approved disaster",
        "scripts inside of commands are read",
        "agent/guardrails/shell_commands.py",
        "if self.depth < MAX_DEPTH:",
        "if False:",
        "tests/unit/agent/guardrails/test_forbidden_commands.py",
    ),
    Mutation(
        "other people's requests",
        "an approval for a conversation is bound to its person",
        _GRANTS,
        "if not one.conversation or {one.person} == set(people)",
        "if True",
        f"{_RULES}::TestHere::test_it_is_for_the_requests_of_who_gave_it",
    ),
    Mutation(
        "forgotten approvals",
        "an approval for a conversation expires",
        _GRANTS,
        "(expires_at = 0 OR expires_at > :now)",
        "(expires_at = 0 OR expires_at > 0)",
        f"{_RULES}::TestHere::test_it_ends_after_a_week",
    ),
    Mutation(
        "approvals by members",
        "approvals for a conversation can be reserved for admins",
        "bot/store/interrupts.py",
        "(rules.here_admins and self.is_for_here(message.text))",
        "False",
        f"{_RULES}::TestHere::test_it_can_be_for_admins",
    ),
    Mutation(
        "one's own request",
        "another admin has to decide",
        "bot/store/approval_rules.py",
        "return is_admin and not is_requester",
        "return is_admin",
        f"{_RULES}::TestWhoDecides::test_nobody_decides_about_their_own_work_where_others_have_to",
    ),
    Mutation(
        "a misread question",
        "a question decides nothing",
        "bot/store/interrupts.py",
        "and not is_question(message.text))",
        "and True)",
        f"{_RULES}::TestAskingBack::test_it_is_answered_and_the_request_stays_open",
    ),
    Mutation(
        "a forged request",
        "questions lose the symbols of requests",
        "bot/dispatch/clarifications.py",
        'return _SYMBOLS.sub("", text).strip() if _SYMBOLS.search(text) else text',
        "return text",
        f"{_RULES}::TestClarifications::test_the_header_of_a_request_is_not_the_agents",
    ),
    Mutation(
        "a forged request",
        "questions offer no words that decide",
        "bot/dispatch/approvals.py",
        "if not decides_approval(one, texts))",
        "if one)",
        f"{_RULES}::TestClarifications::test_the_header_of_a_request_is_not_the_agents",
    ),
    Mutation(
        "hidden content",
        "a request that is too long has a file",
        "bot/dispatch/reply/delivery.py",
        "if outcome.question.complete:",
        "if False:",
        f"{_RULES}::test_a_request_that_is_too_long_has_a_file_with_all_of_it",
    ),
    Mutation(
        "mixed up answers",
        "a subagent's question gets its own answer",
        "agent/subagents/pause.py",
        "if known == identity:",
        "if True:",
        f"{_SUBAGENTS}::test_it_waits_over_a_restart",
    ),
    Mutation(
        "leaks without a click",
        "Telegram fetches no links",
        "bot/platforms/telegram/outbound.py",
        "{} if self._previews or plain not in _PREVIEWING else _NO_PREVIEW",
        "{}",
        "tests/platforms/telegram/test_outbound.py::test_telegram_fetches_no_link_of_an_answer",
    ),
    Mutation(
        "leaks without a click",
        "Discord fetches no links",
        "bot/platforms/discord/outbound.py",
        'return body if self._previews else {**body, "flags": NO_EMBEDS}',
        "return body",
        "tests/platforms/discord/test_outbound.py::test_discord_fetches_no_link_of_an_answer",
    ),
    Mutation(
        "leaks without a click",
        "Slack fetches no links",
        "bot/platforms/slack/client.py",
        '{"unfurl_links": previews, "unfurl_media": previews}',
        "{}",
        "tests/platforms/slack/test_outbound.py::test_slack_fetches_no_link_of_an_answer",
    ),
    Mutation(
        "leaks without a click",
        "the console loads no pictures of other hosts",
        "bot/server/api/request_guard.py",
        "img-src 'self' blob:;",
        "img-src *;",
        "tests/component/server/test_request_guard.py::test_everything_carries_the_protective_headers",
    ),
)
