"""Guards of sandboxes on other machines, each with the mutation that removes it."""

from __future__ import annotations

from tests.harness.mutation import Mutation

SERVICE = "agent/sandbox/provisioner/service.py"
PROGRAM = "agent/sandbox/provisioner/__main__.py"
HTTP_GUARD = "agent/shared/http_guard.py"
FILES, WIRE = "agent/sandbox/provisioner/files.py", "agent/sandbox/provisioner/http_client.py"
REMOTE = "agent/sandbox/remote.py"
SERVED, COPIED = "tests/sandbox/test_provisioner.py", "tests/sandbox/test_provisioner_files.py"
STRANGERS, KEPT = "tests/sandbox/test_remote_authorization.py", "tests/sandbox/test_remote_files.py"

REMOTE_MUTATIONS = (
    Mutation(
        "unauthorized callers",
        "service: a token is required",
        HTTP_GUARD,
        'if scope["path"] in open_paths:',
        "if True:",
        f"{SERVED}::test_a_call_without_the_token_is_refused",
    ),
    Mutation(
        "unauthorized callers",
        "service: requests from web pages are rejected",
        HTTP_GUARD,
        'return RequestRefusal(403, detail) if "origin" in headers else None',
        "return None",
        f"{SERVED}::test_a_call_from_a_web_page_is_refused",
    ),
    Mutation(
        "unauthorized callers",
        "service: it does not start on a public address without a token",
        PROGRAM,
        "if token is None and not is_loopback(host):",
        "if False:",
        f"{SERVED}::test_a_service_with_wrong_settings_does_not_start",
    ),
    Mutation(
        "unauthorized callers",
        "service: short tokens are rejected",
        PROGRAM,
        "if token is not None and len(token) < MIN_TOKEN_LENGTH:",
        "if False:",
        f"{SERVED}::test_a_service_with_wrong_settings_does_not_start",
    ),
    Mutation(
        "paths",
        "service: sandbox names are validated",
        SERVICE,
        "if not _NAME.fullmatch(name):",
        "if False:",
        f"{SERVED}::test_an_invalid_name_is_refused",
    ),
    Mutation(
        "memory",
        "service: request size is limited",
        "agent/shared/json_routes.py",
        "if size > self._largest_body:",
        "if False:",
        f"{SERVED}::test_a_body_that_is_too_large_is_refused",
    ),
    Mutation(
        "processes left behind",
        "service: a command ends when its caller disconnects",
        SERVICE,
        "        if not command.cancelling():\n            command.cancel()",
        "        return",
        f"{SERVED}::test_a_command_ends_when_its_caller_leaves",
    ),
    Mutation(
        "paths",
        "remote: nothing is created outside the thread's folders",
        FILES,
        "if not (place.mount.writable or self.all_writable) or not place.below:",
        "if False:",
        f"{COPIED}::test_nothing_is_written_or_removed_outside",
    ),
    Mutation(
        "links",
        "remote: files with more than one hard link are rejected",
        FILES,
        "and status.st_nlink == 1",
        "",
        f"{COPIED}::test_a_tree_skips_what_is_not_transferred",
    ),
    Mutation(
        "disk fill",
        "remote: the size of a file tree is limited",
        FILES,
        "if len(self.found) > self.most:",
        "if False:",
        f"{COPIED}::test_a_tree_is_cut_at_its_limit",
    ),
    Mutation(
        "paths",
        "remote: only requested files are accepted",
        REMOTE,
        "if expected is None or entry.kind != expected.kind or entry.size > expected.size:",
        "if False:",
        f"{STRANGERS}::test_only_requested_files_are_stored",
    ),
    Mutation(
        "disk fill",
        "remote: files beyond the quota are rejected",
        REMOTE,
        "if entry.size >= room or entries < 0 or not self._make_folder(entry):",
        "if not self._make_folder(entry):",
        f"{KEPT}::test_files_beyond_the_limit_are_not_stored",
    ),
    Mutation(
        "output flood",
        "remote: line length is limited",
        WIRE,
        "if len(buffer) > LINE_BYTES:",
        "if False:",
        f"{STRANGERS}::test_too_much_output_is_cut",
    ),
    Mutation(
        "output flood",
        "remote: response size is limited",
        WIRE,
        "if len(body) > limit:",
        "if False:",
        f"{STRANGERS}::test_too_much_output_is_cut",
    ),
    Mutation(
        "output flood",
        "remote: output is truncated",
        REMOTE,
        "if len(result.output) <= most:",
        "if True:",
        f"{STRANGERS}::test_too_much_output_is_cut",
    ),
)
