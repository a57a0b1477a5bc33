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
        f"{SERVED}::test_nobody_comes_in_without_the_token",
    ),
    Mutation(
        "strangers",
        "service: no page of a browser comes in",
        HTTP_GUARD,
        'return (403, detail) if "origin" in headers else None',
        "return None",
        f"{SERVED}::test_no_page_of_a_browser_comes_in",
    ),
    Mutation(
        "strangers",
        "service: it does not start for others without a token",
        SERVICE,
        "if token is None and not is_loopback(host):",
        "if False:",
        f"{SERVED}::test_it_does_not_start_otherwise",
    ),
    Mutation(
        "strangers",
        "service: a token is long enough",
        SERVICE,
        "if token is not None and len(token) < MIN_TOKEN_LENGTH:",
        "if False:",
        f"{SERVED}::test_it_does_not_start_otherwise",
    ),
    Mutation(
        "paths",
        "service: a sandbox's name has a grammar",
        SERVICE,
        "if not _NAME.fullmatch(name):",
        "if False:",
        f"{SERVED}::test_a_name_has_a_grammar",
    ),
    Mutation(
        "memory",
        "service: a request has an end",
        "agent/shared/json_routes.py",
        "if size > self._largest_body:",
        "if False:",
        f"{SERVED}::test_a_body_has_an_end",
    ),
    Mutation(
        "processes left behind",
        "service: a command ends with who asked",
        SERVICE,
        "    finally:\n        command.cancel()",
        "    finally:\n        pass",
        f"{SERVED}::test_a_command_ends_with_who_asked",
    ),
    Mutation(
        "paths",
        "remote: nothing is made outside of the thread's folders",
        FILES,
        "if not (place.mount.writable or self.all_writable) or not place.below:",
        "if False:",
        f"{COPIED}::test_nothing_is_made_or_removed_elsewhere",
    ),
    Mutation(
        "links",
        "remote: no file with a second name",
        FILES,
        "and status.st_nlink == 1",
        "",
        f"{COPIED}::test_a_tree_leaves_out_what_cannot_travel",
    ),
    Mutation(
        "disk fill",
        "remote: a tree has an end",
        FILES,
        "if len(self.found) > self.most:",
        "if False:",
        f"{COPIED}::test_a_tree_has_an_end",
    ),
    Mutation(
        "paths",
        "remote: only what was asked for is taken",
        REMOTE,
        "if expected is None or entry.kind != expected.kind or entry.size > expected.size:",
        "if False:",
        f"{STRANGERS}::test_only_what_was_asked_for_is_taken",
    ),
    Mutation(
        "disk fill",
        "remote: the home takes what it has room for",
        REMOTE,
        "if entry.size >= room or entries < 0 or not self._make_folder(entry):",
        "if not self._make_folder(entry):",
        f"{KEPT}::test_more_than_the_home_takes_is_not_kept",
    ),
    Mutation(
        "output flood",
        "remote: a line has an end",
        WIRE,
        "if len(buffer) > LINE_BYTES:",
        "if False:",
        f"{STRANGERS}::test_too_much_is_cut",
    ),
    Mutation(
        "output flood",
        "remote: an answer has an end",
        WIRE,
        "if len(body) > limit:",
        "if False:",
        f"{STRANGERS}::test_too_much_is_cut",
    ),
    Mutation(
        "output flood",
        "remote: what is said is cut",
        REMOTE,
        "if len(result.output) <= most:",
        "if True:",
        f"{STRANGERS}::test_too_much_is_cut",
    ),
)
