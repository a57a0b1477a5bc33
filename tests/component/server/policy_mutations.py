"""Guards of the permission policy and of run identities, each with the mutation that removes it."""

from __future__ import annotations

from tests.harness.mutation import Mutation

POLICY, RULES = "bot/access/permissions.py", "tests/unit/bot/access/test_admin_scope.py"
RAW, RAW_TESTS = "bot/server/api/raw_runtime.py", "tests/component/server/test_raw_runtime.py"
TRUST, SIGNED = "agent/runtime/http/trust.py", "tests/runtime/test_signatures.py"
PROXY, TABLE = "bot/server/api/runtime_proxy.py", "tests/component/server/test_access_table.py"
SCOPE_TESTS = "tests/component/server/test_admin_scope.py"
CREATION = "agent/runtime/http/run_creation.py"
ROUTES = f"{TABLE}::test_every_route_and_every_caller[elsewhere]"
CHATS = "tests/component/server/test_commands_in_chats.py::test_every_command_in_chats[telegram]"
ANOTHER, IDENTITY = "admins of another account", "forged identities"

POLICY_MUTATIONS = (
    Mutation(
        ANOTHER,
        "an admin needs the role on every account concerned",
        POLICY,
        "return bool(covered) and all(",
        "return bool(covered) or all(",
        f"{RULES}::test_whom_somebody_decides_about",
    ),
    Mutation(
        ANOTHER,
        "what affects everybody needs an admin of all accounts",
        POLICY,
        '"" if rule.everywhere else target.scope',
        "target.scope",
        f"{RULES}::test_what_affects_everybody_needs_an_admin_of_all_accounts",
    ),
    Mutation(
        ANOTHER,
        "admins cannot act on admins and owners",
        POLICY,
        "if target.rank >= Role.ADMIN:",
        "if False:",
        "tests/unit/bot/access/test_granted_roles.py::test_who_may_give_what",
    ),
    Mutation(
        ANOTHER,
        "the role of a link counts on its own account only",
        "bot/access/policy.py",
        "if linked is Role.OWNER or origin.platform in LOCAL_PLATFORMS or origin.account == sender.account:",
        "if True:",
        f"{RULES}::test_the_role_of_a_link_counts_on_its_own_account",
    ),
    Mutation(
        ANOTHER,
        "conversations of another account are not read",
        "bot/server/api/local_chats.py",
        "    return may(services, by, Permission.READ, conversation_target(by, of))",
        "    return may(services, by, Permission.READ)",
        ROUTES,
    ),
    Mutation(
        ANOTHER,
        "the audit log is limited to the accounts of the caller",
        "bot/server/api/access.py",
        "    accounts = accounts_with(services, by, Permission.AUDIT)\n",
        "    accounts = None\n",
        ROUTES,
    ),
    Mutation(
        ANOTHER,
        "another account is not restarted",
        "bot/server/api/channels.py",
        "    check(services, by, Permission.ACCOUNTS, Target(account))\n",
        "",
        f"{TABLE}::test_an_account_is_restarted_by_its_own_admins_only",
    ),
    Mutation(
        ANOTHER,
        "memory and threads of another account are not reached",
        PROXY,
        "if permission in _OTHERS and not may(services, by, permission, target):",
        "if False:",
        ROUTES,
    ),
    Mutation(
        ANOTHER,
        "schedules of another account are not reached",
        "bot/server/api/schedules.py",
        "    return may(services, by, Permission.DIGESTS, Target(one.account, own=by.created_schedule(one)))",
        "    return may(services, by, Permission.DIGESTS)",
        ROUTES,
    ),
    Mutation(
        ANOTHER,
        "the text of an owner's schedule is not changed by admins",
        "bot/server/api/schedules.py",
        "    if body.text is not None:\n        _check_text(services, by, found)\n",
        "",
        f"{SCOPE_TESTS}::test_nobody_writes_what_is_asked_with_the_role_of_an_owner",
    ),
    Mutation(
        ANOTHER,
        "nothing is scheduled in the private chat of another person",
        "bot/server/api/schedules.py",
        "    _check_place(services, by, of)\n",
        "",
        f"{SCOPE_TESTS}::test_nothing_is_scheduled_in_the_private_chat_of_somebody_else",
    ),
    Mutation(
        ANOTHER,
        "the memory of other admins and of owners is not changed",
        PROXY,
        "if permission_for(call) is not Permission.CHANGE:",
        "if True:",
        f"{SCOPE_TESTS}::test_nobody_writes_into_the_memory_of_other_admins_and_owners",
    ),
    Mutation(
        ANOTHER,
        "the files of other admins and of owners are not changed",
        PROXY,
        "return [Target(scope, own=own, rank=rank)",
        "return [Target(scope, own=own)",
        f"{SCOPE_TESTS}::test_nobody_changes_the_files_of_other_admins_and_owners",
    ),
    Mutation(
        IDENTITY,
        "a conversation is not copied out of reach of an erasure",
        RAW,
        '                await self._check_copy(found["thread"])\n',
        "                pass\n",
        f"{RAW_TESTS}::test_only_ones_own_threads_are_reached",
    ),
    Mutation(
        IDENTITY,
        "a command of a raw run names no author",
        RAW,
        'without_authors(run["command"])',
        'run["command"]',
        f"{RAW_TESTS}::test_a_command_names_no_author",
    ),
    Mutation(
        IDENTITY,
        "the context of a run chooses no other thread",
        "agent/core/run_context.py",
        "for name, value in context.items() if name not in _OF_THE_RUN}",
        "for name, value in context.items()}",
        "tests/unit/agent/core/test_run_context.py::test_a_context_chooses_no_other_thread_or_run_for_hooks",
    ),
    Mutation(
        IDENTITY,
        "raw runs are on threads of the caller",
        RAW,
        "if not may(self._services, by, Permission.RAW_RUNS, Target(own=own)):",
        "if False:",
        f"{RAW_TESTS}::test_only_ones_own_threads_are_reached",
    ),
    Mutation(
        IDENTITY,
        "a thread of a conversation is not taken over by creating it",
        RAW,
        "if not own and not await db.transact(find_thread_conversations, thread):",
        "if not own:",
        f"{RAW_TESTS}::test_only_ones_own_threads_are_reached",
    ),
    Mutation(
        IDENTITY,
        "a raw run works for its caller",
        RAW,
        'run["context"] = {**run["context"], **identity}',
        'run["context"] = {**identity, **(body or {}).get("context", {})}  # type: ignore[attr-defined]',
        f"{RAW_TESTS}::test_a_run_works_for_who_calls_whatever_the_body_says",
    ),
    Mutation(
        IDENTITY,
        "each raw run is recorded",
        RAW,
        "        if call.is_run:\n            actor",
        "        if False:\n            actor",
        f"{RAW_TESTS}::test_each_run_is_written_down",
    ),
    Mutation(
        IDENTITY,
        "messages that join a run are not written through the port",
        RAW,
        "    if STEERING in first:",
        "    if False:",
        f"{RAW_TESTS}::test_what_is_let_through_besides",
    ),
    Mutation(
        IDENTITY,
        "an unsigned identity is refused",
        TRUST,
        "if not trusted and has_identity(sources):",
        "if False:",
        f"{SIGNED}::test_an_identity_that_nobody_signed_is_refused",
    ),
    Mutation(
        IDENTITY,
        "an unsigned answer to an interrupt is refused",
        CREATION,
        "    if body.command is not None:\n        require_trust",
        "    if False:\n        require_trust",
        f"{SIGNED}::test_an_identity_that_nobody_signed_is_refused",
    ),
    Mutation(
        IDENTITY,
        "an unsigned author of a message is refused",
        TRUST,
        "if not trusted and names_author(value):",
        "if False:",
        f"{SIGNED}::test_an_identity_that_nobody_signed_is_refused",
    ),
    Mutation(
        IDENTITY,
        "unsigned changes of a state are refused",
        "agent/runtime/http/threads.py",
        '    require_trust(trusted, "changes of a thread\'s state")\n',
        "",
        f"{SIGNED}::test_states_and_inboxes_are_the_bots_alone",
    ),
    Mutation(
        IDENTITY,
        "an identity stored with an assistant is ignored",
        TRUST,
        "return found if runtime.settings.signing_key is None else without_identity(found)",
        "return found",
        f"{SIGNED}::test_what_an_assistant_was_stored_with_is_no_identity",
    ),
    Mutation(
        IDENTITY,
        "a signature expires",
        "agent/shared/request_signature.py",
        " or abs(now - int(time)) > LIFETIME:",
        ":",
        f"{SIGNED}::test_a_signature_covers_all_of_a_request",
    ),
    Mutation(
        IDENTITY,
        "a signature covers the body",
        "agent/shared/request_signature.py",
        "hashlib.sha256(body).hexdigest())\n    return hmac",
        '"")\n    return hmac',
        f"{SIGNED}::test_a_signature_covers_all_of_a_request",
    ),
)


def command(guard: str, file: str, old: str, new: str) -> Mutation:
    """Return a guard of commands in chats."""
    return Mutation(ANOTHER, f"commands: {guard}", file, old, new, CHATS)


COMMAND_MUTATIONS = (
    command(
        "without access, none is carried out",
        "bot/bus/admission.py",
        "        if role < Role.MEMBER:\n            return self._admit_stranger",
        "        if role < Role.STRANGER:\n            return self._admit_stranger",
    ),
    command(
        "each requires its permission",
        "bot/commands/registry.py",
        "        if self.may_use(command):",
        "        if True:",
    ),
    command(
        "roles and limits of another account are not changed",
        "bot/commands/targets.py",
        "    return call.may(permission, Target(entry.scope))",
        "    return True",
    ),
    command(
        "access requests on another account are not shown",
        "bot/commands/people.py",
        "    return [one for one in here if call.may(Permission.GRANT, Target(one.account))]",
        "    return found",
    ),
    command(
        "the audit log is limited to the accounts of the caller",
        "bot/commands/service.py",
        "limit=AUDIT_SHOWN, person=person, accounts=accounts)",
        "limit=AUDIT_SHOWN, person=person)",
    ),
    command(
        "another account is not restarted",
        "bot/commands/service.py",
        "    known = sorted(one for one in states if call.may(Permission.ACCOUNTS, Target(one)))",
        "    known = sorted(states)",
    ),
    command(
        "schedules of another account are not reached",
        "bot/commands/digest.py",
        "call.may(Permission.DIGESTS, Target(one.account))",
        "call.may(Permission.DIGESTS)",
    ),
)
