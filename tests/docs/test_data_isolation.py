"""Component tests: each row of docs/internals/data-isolation.md is verified by existing tests."""

from __future__ import annotations

import pytest

from tests.docs.blocks import ROOT

SUITES = "packages/roebot-testing/src/roebot_testing/agent/conformance"
PAGE = ROOT / "docs/internals/data-isolation.md"
ROWS = [line.split("|")[1].strip() for line in PAGE.read_text().splitlines() if line.startswith("| ")][1:]
VERIFIED_BY: dict[str, tuple[tuple[str, str], ...]] = {
    "messages": (
        ("tests/component/dispatch/test_conversation_privacy.py", "test_each_chat_has_a_thread_of_its_own"),
        ("tests/contract/agent/test_who_sees_what.py", "test_what_was_said_in_a_thread_is_shown_in_it_alone"),
        ("tests/contract/store/test_store.py", "test_isolation_decides_what_a_conversation_is"),
    ),
    "messages with `isolation: member`": (
        ("tests/contract/store/test_store.py", "test_member_isolation_splits_one_topic"),
    ),
    "memory of a person": (
        (
            "tests/unit/agent/middleware/test_memory.py",
            "test_a_group_has_its_own_and_no_person_meets_theirs_there",
        ),
        (f"{SUITES}/memory.py", "test_nothing_crosses_from_one_scope_to_another"),
        ("tests/component/agent/test_memory.py", "test_what_others_wrote_is_never_a_persons_own_fact"),
        ("tests/bot/features/agent_management/test_memory_command.py", "test_a_person_sees_their_own"),
    ),
    "memory of a group": (
        ("tests/component/agent/test_memory.py", "test_two_people_in_a_group_and_each_alone"),
        ("tests/bot/features/agent_management/test_memory_command.py", "test_a_group_sees_the_groups"),
    ),
    "memory shown by `/memory`": (
        (
            "tests/bot/features/agent_management/test_memory_of_chats.py",
            "test_the_agent_uses_the_memory_that_the_command_shows",
        ),
    ),
    "uploads": (
        (
            "tests/component/dispatch/test_conversation_privacy.py",
            "test_a_file_goes_to_the_thread_of_its_chat_and_not_into_a_new_one",
        ),
        ("tests/contract/agent/test_who_sees_what.py", "test_uploads_of_a_thread_are_its_own"),
        ("tests/contract/agent/test_who_sees_what.py", "test_files_of_a_thread_are_announced_in_it_alone"),
        (f"{SUITES}/uploads.py", "test_threads_are_apart"),
    ),
    "artifacts": (
        (
            "tests/component/dispatch/test_conversation_privacy.py",
            "test_what_the_agent_presents_goes_to_the_chat_that_asked",
        ),
        ("tests/contract/agent/test_who_sees_what.py", "test_artifacts_of_a_thread_are_its_own"),
    ),
    "sandbox: files and commands": (
        ("tests/contract/agent/test_who_sees_what.py", "test_tools_work_in_the_thread_of_their_run"),
        (f"{SUITES}/sandbox.py", "test_threads_do_not_see_each_other"),
        (f"{SUITES}/attacks_files.py", "test_paths_of_another_thread"),
        ("tests/sandbox/test_guards.py", "test_every_thread_has_a_user_of_its_own"),
    ),
    "subagents": (("tests/component/agent/test_subagents.py", "test_a_task_is_done_by_an_agent_of_its_own"),),
    "sessions of MCP servers": (
        ("tests/contract/mcp/test_sessions.py", "test_conversations_do_not_share_a_program"),
    ),
    "tools found with `tool_search`": (
        (
            "tests/unit/agent/middleware/test_deferred_tools.py",
            "test_what_is_found_can_be_called_and_stays_for_the_thread_alone",
        ),
    ),
    "selected model, agent and plan mode": (
        (
            "tests/contract/store/test_store.py",
            "test_a_choice_is_of_one_conversation_and_outlives_its_thread",
        ),
    ),
    "skills, bundled and custom": (
        ("tests/component/agent/test_lead_sandbox.py", "test_skills_are_there_to_be_read_and_nothing_else"),
        ("tests/sandbox/test_shared.py", "test_a_command_cannot_write_what_all_threads_share"),
        (
            "tests/bot/features/agent_management/test_skill_commands.py",
            "test_members_see_the_list_and_switch_nothing",
        ),
    ),
    "list and state of MCP servers": (
        ("tests/bot/features/agent_management/test_mcp_command.py", "test_it_is_for_admins"),
    ),
    "custom agents": (
        (
            "tests/bot/features/agent_management/test_agent_command.py",
            "test_the_agent_of_an_account_is_left_by_admins_only",
        ),
    ),
    "everything above, in the console and API": (
        ("tests/component/server/test_request_guard.py", "test_nothing_is_told_without_the_token"),
    ),
}


def test_every_row_names_its_tests() -> None:
    assert list(VERIFIED_BY) == ROWS


@pytest.mark.parametrize("row", ROWS)
def test_row_is_verified_by_existing_tests(row: str) -> None:
    for path, name in VERIFIED_BY[row]:
        assert f"def {name}(" in (ROOT / path).read_text(), f"{path} has no {name}"


def test_required_kinds_of_data_are_listed() -> None:
    rows = " ".join(ROWS)
    for kind in ("memory", "uploads", "artifacts", "sandbox", "skills", "messages"):
        assert kind in rows
