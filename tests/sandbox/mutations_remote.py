"""The guards of sandboxes on other machines: of the service against its callers, and of a home against it."""

from __future__ import annotations

from tests.sandbox.mutation import Mutation

SERVICE = "agent/sandbox/provisioner/service.py"
HTTP_GUARD = "agent/shared/http_guard.py"
FILES, WIRE = "agent/sandbox/provisioner/files.py", "agent/sandbox/provisioner/http_client.py"
REMOTE = "agent/sandbox/remote.py"
SERVED, COPIED = "tests/sandbox/test_provisioner.py", "tests/sandbox/test_provisioner_files.py"
STRANGERS, KEPT = "tests/sandbox/test_remote_authorization.py", "tests/sandbox/test_remote_files.py"

REMOTE_MUTATIONS = (
    Mutation(
        "strangers",
        "service: the token is asked for",
        HTTP_GUARD,
        'return None if hmac.compare_digest(sent.encode("latin-1"), expected) else (401, detail)',
        "return None",
        f"{SERVED}::test_a_call_without_the_token_is_refused",
    ),
    Mutation(
        "strangers",
        "service: no page of a browser comes in",
        HTTP_GUARD,
        'return (403, detail) if "origin" in headers else None',
        "return None",
        f"{SERVED}::test_a_call_from_a_web_page_is_refused",
    ),
    Mutation(
        "strangers",
        "service: it does not start for others without a token",
        SERVICE,
        "if token is None and not is_loopback(host):",
        "if False:",
        f"{SERVED}::test_a_service_with_wrong_settings_does_not_start",
    ),
    Mutation(
        "strangers",
        "service: a token is long enough",
        SERVICE,
        "if token is not None and len(token) < MIN_TOKEN_LENGTH:",
        "if False:",
        f"{SERVED}::test_a_service_with_wrong_settings_does_not_start",
    ),
    Mutation(
        "paths",
        "service: a sandbox's name has a grammar",
        SERVICE,
        "if not _NAME.fullmatch(name):",
        "if False:",
        f"{SERVED}::test_an_invalid_name_is_refused",
    ),
    Mutation(
        "memory",
        "service: a request has an end",
        "agent/shared/json_routes.py",
        "if size > self._largest_body:",
        "if False:",
        f"{SERVED}::test_a_body_that_is_too_large_is_refused",
    ),
    Mutation(
        "processes left behind",
        "service: a command ends with who asked",
        SERVICE,
        "    finally:\n        command.cancel()",
        "    finally:\n        pass",
        f"{SERVED}::test_a_command_ends_when_its_caller_leaves",
    ),
    Mutation(
        "paths",
        "remote: nothing is made outside of the thread's folders",
        FILES,
        "if not (place.mount.writable or self.all_writable) or not place.below:",
        "if False:",
        f"{COPIED}::test_nothing_is_written_or_removed_outside",
    ),
    Mutation(
        "links",
        "remote: no file with a second name",
        FILES,
        "and status.st_nlink == 1",
        "",
        f"{COPIED}::test_a_tree_skips_what_is_not_transferred",
    ),
    Mutation(
        "disk fill",
        "remote: a tree has an end",
        FILES,
        "if len(self.found) > self.most:",
        "if False:",
        f"{COPIED}::test_a_tree_is_cut_at_its_limit",
    ),
    Mutation(
        "paths",
        "remote: only what was asked for is taken",
        REMOTE,
        "if expected is None or entry.kind != expected.kind or entry.size > expected.size:",
        "if False:",
        f"{STRANGERS}::test_only_requested_files_are_stored",
    ),
    Mutation(
        "disk fill",
        "remote: the home takes what it has room for",
        REMOTE,
        "if entry.size >= room or entries < 0 or not self._make_folder(entry):",
        "if not self._make_folder(entry):",
        f"{KEPT}::test_files_beyond_the_limit_are_not_stored",
    ),
    Mutation(
        "output flood",
        "remote: a line has an end",
        WIRE,
        "if len(buffer) > LINE_BYTES:",
        "if False:",
        f"{STRANGERS}::test_too_much_output_is_cut",
    ),
    Mutation(
        "output flood",
        "remote: an answer has an end",
        WIRE,
        "if len(body) > limit:",
        "if False:",
        f"{STRANGERS}::test_too_much_output_is_cut",
    ),
    Mutation(
        "output flood",
        "remote: what is said is cut",
        REMOTE,
        "if len(result.output) <= most:",
        "if True:",
        f"{STRANGERS}::test_too_much_output_is_cut",
    ),
)
