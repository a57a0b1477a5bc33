"""What keeps prompts cacheable, each part with the mutation that removes it."""

from __future__ import annotations

from tests.harness.mutation import Mutation

TESTS = "tests/contract/agent/test_prompt_caching.py"
MARKS = "agent/models/prompt_caching.py"
AGAINST = "requests that cost their full price"

CACHE_MUTATIONS = (
    Mutation(
        AGAINST,
        "the end of the previous request is marked",
        MARKS,
        "for place in (last, answer - 1) if place >= 0",
        "for place in (last,) if place >= 0",
        f"{TESTS}::test_more_parallel_calls_than_the_cache_looks_back",
    ),
    Mutation(
        AGAINST,
        "notices of one request are not marked",
        MARKS,
        "find_marked(request.messages, count_tail(request.messages))",
        "find_marked(request.messages, 0)",
        f"{TESTS}::test_notices_of_one_request_are_not_cached",
    ),
    Mutation(
        AGAINST,
        "OpenRouter's requests for Anthropic's models are marked",
        "agent/models/compatible_chat.py",
        'startswith("anthropic/")',
        'startswith("nobody/")',
        f"{TESTS}::test_every_request_reads_the_previous_one[openrouter]",
    ),
    Mutation(
        AGAINST,
        "the system prompt keeps the first day of the conversation",
        "agent/middleware/current_date.py",
        "PROMPT.format(day=_render(days[FIRST]))",
        "PROMPT.format(day=_render(self._today().isoformat()))",
        f"{TESTS}::test_a_new_day_is_told_in_a_note",
    ),
    Mutation(
        AGAINST,
        "the system prompt keeps the memory of the conversation's beginning",
        "agent/middleware/memory.py",
        "        if text is not None and context.thread_id is not None:",
        "        if False:",
        f"{TESTS}::test_new_memory_waits_and_removed_memory_does_not",
    ),
    Mutation(
        AGAINST,
        "what belongs to a conversation follows what all of them share",
        "agent/middleware/model_response.py",
        "add_own(request.system_message, text)",
        "add_shared(request.system_message, text)",
        f"{TESTS}::test_conversations_of_different_people_share_the_beginning[anthropic]",
    ),
    Mutation(
        AGAINST,
        "what all conversations share has a mark of its own",
        MARKS,
        "[*marks[:ends], *blocks[ends:]]",
        "[*blocks[:-1], *marks[-1:]]",
        f"{TESTS}::test_conversations_of_different_people_share_the_beginning[anthropic]",
    ),
    Mutation(
        AGAINST,
        "what all conversations share has a mark of its own at OpenRouter",
        "agent/models/wire_messages.py",
        "for part in texts if at == system else texts[-1:]:",
        "for part in texts[-1:]:",
        f"{TESTS}::test_conversations_of_different_people_share_the_beginning[openrouter]",
    ),
    Mutation(
        "forgotten memory in the prompt",
        "what was removed from the memory leaves the prompt at once",
        "agent/memory/frozen_text.py",
        " and not lacks_content(now.text, self.snapshot.text)",
        "",
        f"{TESTS}::test_new_memory_waits_and_removed_memory_does_not",
    ),
    Mutation(
        AGAINST,
        "a first memory does not change the prompt of its conversation",
        "agent/middleware/memory.py",
        "        if text is not None:\n            shown",
        "        if text:\n            shown",
        "tests/unit/agent/middleware/test_memory.py::test_it_is_in_the_system_prompt_of_other_threads",
    ),
    Mutation(
        AGAINST,
        "tools that were found come last",
        "agent/middleware/deferred_tools.py",
        "tools=[*kept, *found]",
        "tools=[*found, *kept]",
        f"{TESTS}::test_a_promoted_tool_costs_one_miss",
    ),
    Mutation(
        AGAINST,
        "the content of files leaves in steps",
        "agent/uploads/inline_images.py",
        "start = find_first_shown([_measure(message, uploads, limits) for message in messages], limits)",
        "start = 0",
        f"{TESTS}::test_new_files_do_not_change_earlier_messages",
    ),
)
