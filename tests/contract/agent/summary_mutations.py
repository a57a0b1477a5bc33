"""Guards of long conversations when they are summarized, each with the mutation that removes it."""

from __future__ import annotations

from tests.harness.mutation import Mutation

CUT, CUT_TESTS = "agent/middleware/summary_cut.py", "tests/unit/agent/middleware/test_summary_cut.py"
SUMMARIES, CHUNKS = "agent/middleware/summarization.py", "agent/middleware/rolling_summary.py"
MESSAGE = "agent/middleware/summary_message.py"
SUMMARY_TESTS = "tests/unit/agent/middleware/test_summarization.py"
TRANSCRIPT_TESTS = "tests/unit/agent/uploads/test_transcripts.py"
GRAPH, GRAPH_TESTS = "agent/harness/compaction.py", "tests/unit/agent/harness/test_compaction.py"
CLIENT, CLIENT_TESTS = "bot/runtime/compaction.py", "tests/contract/runtime_interface/test_compaction.py"

SUMMARY_MUTATIONS = (
    Mutation(
        "broken conversations",
        "a tool call and its result stay together",
        CUT,
        "cut = _move_off_pairs(messages, cut)",
        "cut = cut",
        f"{CUT_TESTS}::test_no_result_is_ever_without_its_call",
    ),
    Mutation(
        "lost words",
        "the last message of a person stays",
        CUT,
        "return [at for at in range(cut) if at not in asked]",
        "return list(range(cut))",
        f"{CUT_TESTS}::test_the_last_message_of_a_person_stays_when_its_turn_is_cut",
    ),
    Mutation(
        "lost words",
        "the request stays when another message joined its turn",
        CUT,
        "return {found[0], *(found[-1:] if is_in_progress else [])} if found else set()",
        "return {found[0]} if found else set()",
        f"{CUT_TESTS}::test_the_request_and_the_newest_message_that_joined_its_turn_stay",
    ),
    Mutation(
        "lost words",
        "the skills in use are named again",
        MESSAGE,
        "_render_skills(skills),",
        '"",',
        f"{SUMMARY_TESTS}::test_skills_in_use_are_named_again_also_in_the_next_summary",
    ),
    Mutation(
        "confused conversations",
        "the summary stands after the request it belongs to",
        MESSAGE,
        "if not place.id or is_new_request:",
        "if not place.id:",
        f"{SUMMARY_TESTS}::test_the_summary_says_what_it_is_and_stands_after_the_request_it_belongs_to",
    ),
    Mutation(
        "confused conversations",
        "nothing in a summary closes its tag",
        MESSAGE,
        'return escape_text(_OWN_TAG.sub("&lt;", text), *_OWN_TAGS)',
        "return escape_text(text)",
        f"{SUMMARY_TESTS}::test_the_summary_says_what_it_is_and_stands_after_the_request_it_belongs_to",
    ),
    Mutation(
        "broken conversations",
        "a call whose result is not stored yet stays",
        SUMMARIES,
        "cut = _without_open_calls(request.messages, cut, stored)",
        "cut = cut",
        f"{SUMMARY_TESTS}::test_a_call_that_lacks_its_result_is_never_summarized_itself",
    ),
    Mutation(
        "lost words",
        "an earlier summary is continued as one",
        CHUNKS,
        "self.summary = self._earlier",
        'self.summary = ""',
        f"{SUMMARY_TESTS}::test_an_earlier_summary_is_continued_as_one_and_not_as_a_message",
    ),
    Mutation(
        "lost words",
        "an unfinished to-do list stays in view",
        MESSAGE,
        "_render_todos(state),",
        '"",',
        f"{SUMMARY_TESTS}::test_the_to_do_list_stays_in_view_while_work_remains",
    ),
    Mutation(
        "lost words",
        "a summary that is not shorter is not used",
        GRAPH,
        "if after >= before.sum_all:",
        "if False:",
        f"{GRAPH_TESTS}::test_a_summary_that_is_not_shorter_is_thrown_away",
    ),
    Mutation(
        "wasted tokens",
        "a cut saves a quarter of what triggers it",
        CUT,
        "* WORTHWHILE >= limit for kind",
        ">= 0 for kind",
        f"{CUT_TESTS}::test_a_cut_that_saves_too_little_is_not_made",
    ),
    Mutation(
        "wasted tokens",
        "system prompt and tools are no reason to summarize more",
        CUT,
        "if grown * SIGNIFICANT < before[last] or not grown:",
        "if True:",
        f"{CUT_TESTS}::test_system_prompt_and_tools_are_no_reason_to_summarize_more",
    ),
    Mutation(
        "wasted tokens",
        "usage from before a summary does not trigger the next one",
        CUT,
        "if message.id in cuts:",
        "if False:",
        f"{CUT_TESTS}::test_usage_from_before_a_summary_is_out_of_date",
    ),
    Mutation(
        "refused requests",
        "a conversation that is too long for the provider is summarized and sent again",
        SUMMARIES,
        "if error.category != Category.CONTEXT or not cut:",
        "if True:",
        f"{SUMMARY_TESTS}::test_a_conversation_that_is_too_long_for_the_provider_is_summarized_and_sent_again",
    ),
    Mutation(
        "lost words",
        "what goes is kept in a file that the summary names",
        MESSAGE,
        "_render_transcripts(transcripts or StoredTranscripts()),",
        '"",',
        f"{SUMMARY_TESTS}::test_what_goes_is_kept_in_a_file_that_the_summary_names",
    ),
    Mutation(
        "kept words",
        "a person is erased from transcripts",
        "agent/uploads/transcripts.py",
        "text = MASK if theirs and all(theirs) else eraser.erase(entry.text)",
        "text = eraser.erase(entry.text)",
        f"{TRANSCRIPT_TESTS}::test_a_person_is_erased_with_the_answers_to_them_alone",
    ),
    Mutation(
        "kept words",
        "nothing in a transcript passes for the beginning of a message",
        "agent/uploads/transcripts.py",
        'f" {line}" if line.startswith(MARK) else line for',
        "line for",
        f"{TRANSCRIPT_TESTS}::test_text_is_kept_as_it_is_except_what_looks_like_the_beginning_of_a_message",
    ),
    Mutation(
        "kept words",
        "an answer is known to answer a message that an earlier cut removed",
        MESSAGE,
        "extra |= {ASKED: asked} if asked else {}",
        "",
        f"{SUMMARY_TESTS}::test_an_answer_is_known_to_answer_a_message_that_an_earlier_cut_removed",
    ),
    Mutation(
        "repeated summaries",
        "the same request summarizes once",
        GRAPH,
        'if done is not None and done["key"] == order.key:',
        "if False:",
        f"{GRAPH_TESTS}::test_the_same_request_summarizes_once",
    ),
    Mutation(
        "repeated summaries",
        "a request that was started is continued",
        CLIENT,
        "await runs.find(thread_id, request.key) or await _start(client, request, assistant)",
        "await _start(client, request, assistant)",
        f"{CLIENT_TESTS}::test_a_thread_is_summarized_once_for_each_key",
    ),
    Mutation(
        "broken conversations",
        "only threads of the lead agent are summarized",
        CLIENT,
        'if found is None or found["graph_id"] != LEAD_GRAPH:',
        "if found is None:",
        f"{CLIENT_TESTS}::test_an_assistant_of_another_graph_has_none",
    ),
    Mutation(
        "broken conversations",
        "a thread with an open question is left alone",
        CLIENT,
        "if open_interrupts(state):",
        "if False:",
        f"{CLIENT_TESTS}::test_a_thread_that_waits_for_an_answer_is_left_alone",
    ),
)
