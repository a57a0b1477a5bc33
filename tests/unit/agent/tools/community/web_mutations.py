"""Guards of web tools, files and subagents, each with the mutation that removes it."""

from __future__ import annotations

from tests.harness.mutation import Mutation

GUARD, FETCHING = "agent/tools/community/guard.py", "agent/tools/community/fetching.py"
BUDGET = "agent/harness/subagent_budget.py"
_HERE = "tests/unit/agent/tools/community"
GUARDED, FETCHED = f"{_HERE}/test_guard.py", f"{_HERE}/test_fetching.py"
PATHS, KINDS = "tests/sandbox/test_no_host_path.py", "tests/component/agent/test_subagent_types.py"
LONG_TASKS = "tests/component/agent/test_subagent_conversations.py"

WEB_MUTATIONS = (
    Mutation(
        "private addresses",
        "every address of a host has to be public",
        "agent/shared/public_address.py",
        "if not all(permitted(address) for address in found):",
        "if not any(permitted(address) for address in found):",
        f"{GUARDED}::test_one_address_inside_is_enough_to_refuse_a_host",
    ),
    Mutation(
        "private addresses",
        "the connection is made to the address that was checked",
        GUARD,
        "request.url.copy_with(host=address),",
        "request.url,",
        f"{GUARDED}::test_a_public_host_is_asked_by_its_name",
    ),
    Mutation(
        "private addresses",
        "redirects are checked like the first address",
        GUARD,
        "addresses = await self._guard.addresses(request.url)",
        "addresses = await self._guard.resolve(request.url.host, request.url.port or 80)",
        f"{GUARDED}::test_a_redirect_is_judged_like_a_first_address",
    ),
    Mutation(
        "private addresses",
        "only ports of the web are allowed",
        GUARD,
        "if self.ports is not None and port not in self.ports:",
        "if False:",
        f"{GUARDED}::test_addresses_of_another_kind",
    ),
    Mutation(
        "private addresses",
        "services with a key are not asked for private addresses",
        "agent/tools/community/tavily.py",
        "await guard.addresses(parse_url(url))",
        "parse_url(url)",
        f"{_HERE}/test_services.py::test_no_service_hears_of_an_address_inside",
    ),
    Mutation(
        "memory",
        "a compressed body is unpacked up to the limit",
        FETCHING,
        "return decompressor.decompress(chunk, most)",
        "return decompressor.decompress(chunk)",
        f"{FETCHED}::test_a_bomb_is_cut_where_it_unpacks",
    ),
    Mutation(
        "rejected requests",
        "Tavily: a question has at most 400 characters",
        "agent/tools/community/tavily.py",
        '" ".join(query.split())[:QUERY_CHARACTERS]',
        "query",
        f"{_HERE}/test_strict_services.py::test_every_question_is_accepted",
    ),
    Mutation(
        "rejected requests",
        "Jina: the time limit is at most 180 seconds",
        "agent/tools/community/jina.py",
        "str(min(math.ceil(settings.timeout_seconds), MOST_SECONDS))",
        "str(math.ceil(settings.timeout_seconds))",
        f"{_HERE}/test_strict_services.py::test_each_service_reads_a_page",
    ),
    Mutation(
        "lost text",
        "a page in which no article is found is read whole",
        "agent/tools/community/readable.py",
        "whole = _read_article(root, url) or whole",
        "whole = _read_article(root, url)",
        f"{_HERE}/test_readable.py::test_a_large_page_takes_no_seconds",
    ),
    Mutation(
        "host paths",
        "errors of tools show the paths of the sandbox",
        "agent/middleware/tool_calls.py",
        "text = mask_folders(str(error), folders) if folders else str(error)",
        "text = str(error)",
        f"{PATHS}::test_the_error_of_any_tool_has_the_paths_of_the_sandbox",
    ),
    Mutation(
        "host paths",
        "errors of tools show no other folders",
        "agent/middleware/tool_calls.py",
        "redact_line(hide_host_folders(text), most=ERROR_CHARACTERS)",
        "redact_line(text, most=ERROR_CHARACTERS)",
        f"{PATHS}::test_the_error_of_any_tool_has_the_paths_of_the_sandbox",
    ),
    Mutation(
        "broken threads",
        "halves of characters are not stored",
        "agent/middleware/answer_repair.py",
        "return message if is_valid_text(parts) else message.model_copy(update=clean_strings(parts))",
        "return message",
        "tests/unit/agent/core/test_valid_text.py::test_an_answer_with_half_a_character_does_not_break_the_thread",
    ),
    Mutation(
        "endless subagents",
        "turns are counted across summaries",
        BUDGET,
        'turns = state.get("turns") or sum(',
        "turns = sum(",
        f"{LONG_TASKS}::test_a_summary_does_not_reset_the_budget",
    ),
    Mutation(
        "powerful subagents",
        "a type has only the tools that it names",
        "agent/subagents/kinds.py",
        "return [one for one in tools if self.allows_tool(one.name)]",
        "return list(tools)",
        f"{KINDS}::test_a_tool_that_the_type_has_not_is_not_called",
    ),
)
