"""Guards of runs: clients on several loops, limits, and models that answer badly."""

from __future__ import annotations

from tests.harness.mutation import Mutation

TOGETHER = "tests/component/agent/test_ten_clients.py"
SEVERAL = "tests/component/agent/test_several_clients.py"
LIMITS = "tests/unit/agent/middleware/test_run_limits.py"
LOOPS = "tests/unit/agent/middleware/test_loop_detection.py"
REPAIR = "tests/unit/agent/middleware/test_answer_repair.py"
ARGUMENTS = "tests/unit/agent/middleware/test_tool_arguments.py"
TROUBLE = "tests/component/agent/test_run_trouble.py::test_a_run_ends_with_a_text_and_the_next_message_works"

RUN_MUTATIONS = (
    Mutation(
        "event loops",
        "connections belong to the loop that uses them",
        "agent/models/http.py",
        "        loop = asyncio.get_running_loop()\n        if loop not in self._open:\n            # Reads",
        "        loop = next(iter(self._open), asyncio.get_running_loop())\n"
        "        if loop not in self._open:\n            # Reads",
        f"{SEVERAL}::test_ten_clients_on_two_loops",
    ),
    Mutation(
        "event loops",
        "MCP sessions belong to the loop that uses them",
        "agent/mcp/pool.py",
        "        if self._loop is None or self._loop is asyncio.get_running_loop():",
        "        if True:",
        f"{TOGETHER}::test_graphs_of_the_lead_agent_with_mcp_servers_on_several_loops[http]",
    ),
    Mutation(
        "blocking calls",
        "graphs of the factory work with blocking calls",
        "agent/harness/blocking_calls.py",
        "return process_loop().iterate(parts)",
        "return super().stream(input, config, **options)",
        f"{TOGETHER}::test_graphs_of_the_factory_between_clients",
    ),
    Mutation(
        "blocking calls",
        "blocking hooks take part in asynchronous runs",
        "agent/middleware/blocking_hooks.py",
        "    if not added:\n        return one",
        "    if True:\n        return one",
        f"{TOGETHER}::test_graphs_of_the_factory_between_clients",
    ),
    Mutation(
        "endless runs",
        "a call beyond the limit is refused",
        "agent/middleware/run_limits.py",
        "        if exceeded is not None:\n            _log_limit",
        "        if False:\n            _log_limit",
        f"{LIMITS}::test_calls_beyond_the_limit_in_one_answer_are_refused",
    ),
    Mutation(
        "endless runs",
        "the answer at the limit has no calls",
        "agent/middleware/run_limits.py",
        "    bare = without_calls(answer, cut)",
        "    bare = without_calls(answer, [])",
        f"{LIMITS}::test_a_model_that_calls_for_ever_is_warned_and_ends_with_what_it_did",
    ),
    Mutation(
        "endless runs",
        "an answer that does not fit is not requested",
        "agent/core/run_meter.py",
        "            if used + step > limit:",
        "            if False:",
        f"{LIMITS}::test_an_answer_that_does_not_fit_is_not_requested",
    ),
    Mutation(
        "endless runs",
        "subagents count for their run",
        "agent/core/run_meter.py",
        "        context.run(_current.set, meter)",
        "        pass",
        f"{LIMITS}::test_subagents_count_for_the_run_and_end_with_it",
    ),
    Mutation(
        "endless runs",
        "repeated calls with the same results end a run",
        "agent/middleware/loop_detection.py",
        "        if _count_repeats(answer, steps) + 1 >= self._stop_at:",
        "        if False:",
        f"{TROUBLE}[the same call for ever-en]",
    ),
    Mutation(
        "endless runs",
        "polling with changing results is no loop",
        "agent/middleware/loop_detection.py",
        "            most = max(most, results.count(results[-1]))",
        "            most = max(most, len(results))",
        f"{TROUBLE}[polling that makes progress-en]",
    ),
    Mutation(
        "imprecise models",
        "a call written as text is made",
        "agent/middleware/answer_repair.py",
        "    if found is None:\n        return answer",
        "    if True:\n        return answer",
        f"{TROUBLE}[a call written as text-en]",
    ),
    Mutation(
        "imprecise models",
        "an example of a call in a text is not made",
        "agent/core/written_calls.py",
        '    if not text.rstrip().endswith(end) or kind.sub("", text).strip():\n',
        "    if False:\n",
        "tests/unit/agent/core/test_written_calls.py::test_other_texts_stay_texts",
    ),
    Mutation(
        "imprecise models",
        "each call of an answer has its own id",
        "agent/middleware/call_ids.py",
        "if not known or known in seen else known)",
        "if not known else known)",
        f"{TROUBLE}[one id for two calls-en]",
    ),
    Mutation(
        "imprecise models",
        "each id is there once in a conversation",
        "agent/middleware/call_ids.py",
        "        while not new or new in taken:",
        "        while not new:",
        f"{REPAIR}::test_a_thread_has_each_id_once_and_results_follow_their_calls",
    ),
    Mutation(
        "imprecise models",
        "an unpaired surrogate in a tool call does not break the thread",
        "agent/core/valid_text.py",
        '    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")',
        "    return text",
        f"{TROUBLE}[half an emoji-en]",
    ),
    Mutation(
        "imprecise models",
        "arguments that break off are not used",
        "agent/middleware/dangling.py",
        "            elif (args := parse_arguments(text)) is not None:",
        '            elif (args := parse_arguments(text) or call["args"]) is not None:',
        f"{TROUBLE}[cut off in its arguments-en]",
    ),
    Mutation(
        "imprecise models",
        "an answer that was cut off says so",
        "agent/models/calls.py",
        "                _mark_cut_off(message, cut_off_note(locale))",
        "                pass",
        f"{TROUBLE}[cut off in its text-en]",
    ),
    Mutation(
        "imprecise models",
        "arguments are fitted to the tool's schema",
        "agent/middleware/tool_arguments.py",
        "return await handler(fit_request(request))",
        "return await handler(request)",
        f"{ARGUMENTS}::test_a_tool_with_a_json_schema_gets_values_of_its_types",
    ),
    Mutation(
        "imprecise models",
        "the name of a tool is corrected before it is stored",
        "agent/middleware/tool_arguments.py",
        "return with_answer(response, correct_names(answer, known))",
        "return response",
        f"{ARGUMENTS}::test_a_name_is_corrected_before_it_is_stored_and_the_tool_runs",
    ),
    Mutation(
        "imprecise models",
        "a question is asked whatever its options look like",
        "agent/middleware/clarification.py",
        '    found = fit_arguments(_OPTIONS, {"options": value}).args["options"]',
        "    found = value",
        f"{ARGUMENTS}::test_a_question_is_asked_whatever_its_options_look_like",
    ),
    Mutation(
        "imprecise models",
        "a to-do list has one item in progress while work remains",
        "agent/middleware/todo_items.py",
        "    if doing or not waiting:",
        "    if True:",
        "tests/unit/agent/middleware/test_todo.py::test_exactly_one_item_is_in_progress_and_the_model_is_told",
    ),
    Mutation(
        "imprecise models",
        "one invalid memory fact does not discard the others",
        "agent/memory/patch_entries.py",
        '        if (fact := _select_fact(entries, f"add.{at}", one)) is not None',
        '        if (fact := _select_fact(entries, f"add.{at}", one)) is not None and not entries.problems',
        "tests/unit/agent/memory/test_merge.py::test_one_bad_fact_costs_no_other",
    ),
)
