"""Guards against clients without a credential, each with the mutation that removes it."""

from __future__ import annotations

from tests.harness.mutation import Mutation

PROTOCOL, TABLE = "agent/shared/http_protocol.py", "agent/shared/connection_table.py"
BODIES, FAILURES = "agent/shared/body_limits.py", "agent/shared/failure_limit.py"
SERVED = "tests/component/agent/test_http_protocol.py"
PLACES = "tests/unit/agent/shared/test_connection_table.py"
SIZES = "tests/unit/agent/shared/test_body_limits.py"
ROUTES = "tests/component/server/test_body_rules.py"
ATTEMPTS = "bot/server/api/credential_attempts.py"
GUESSED = "tests/component/server/test_guessing.py"
GUESSES = "tests/unit/agent/shared/test_failure_limit.py"

ACCESS_MUTATIONS = (
    Mutation(
        "slow clients",
        "half-sent headers are closed in time",
        PROTOCOL,
        "            return limits.header_seconds",
        '            return float("inf")',
        f"{SERVED}::test_half_sent_headers_are_closed_in_time",
    ),
    Mutation(
        "slow clients",
        "half-sent bodies are closed in time",
        PROTOCOL,
        "            return limits.body_seconds + credit / limits.body_rate",
        '            return float("inf")',
        f"{SERVED}::test_a_half_sent_body_is_closed_in_time",
    ),
    Mutation(
        "slow clients",
        "a body without a credential gets no time for its size",
        PROTOCOL,
        "credit = 0 if ANONYMOUS in self.cycle.scope else self._received - self._received_before",
        "credit = self._received - self._received_before",
        f"{SERVED}::test_an_anonymous_body_gets_no_time_for_its_size",
    ),
    Mutation(
        "slow clients",
        "a client that reads nothing is disconnected",
        PROTOCOL,
        "if now - self._unread_since > self._limits.response_seconds:",
        "if False:",
        f"{SERVED}::test_a_client_that_reads_nothing_is_disconnected",
    ),
    Mutation(
        "large requests",
        "complete headers have a size limit",
        PROTOCOL,
        "        if self._header_bytes > self._limits.header_bytes:",
        "        if False:",
        f"{SERVED}::test_large_headers_are_refused_however_they_are_sent",
    ),
    Mutation(
        "large requests",
        "incomplete headers have a size limit",
        PROTOCOL,
        "if self._unparsed > self._limits.header_bytes and not self.transport.is_closing():",
        "if False:",
        f"{SERVED}::test_large_headers_are_refused_however_they_are_sent",
    ),
    Mutation(
        "large requests",
        "requests sent ahead are limited",
        PROTOCOL,
        "        if len(self.pipeline) >= MAX_PIPELINED:",
        "        if False:",
        f"{SERVED}::test_requests_sent_ahead_are_limited",
    ),
    Mutation(
        "large requests",
        "the rest of a refused body is dropped up to a limit",
        PROTOCOL,
        "if self._discarded > MAX_DISCARDED and not self.transport.is_closing():",
        "if False:",
        f"{SERVED}::test_a_refused_body_is_dropped_up_to_a_limit",
    ),
    Mutation(
        "large requests",
        "a declared size over the limit is refused unread",
        BODIES,
        "        if _declared_size(scope) > rule.limit:",
        "        if False:",
        f"{SIZES}::test_a_declared_size_over_the_limit_is_refused_unread",
    ),
    Mutation(
        "large requests",
        "an undeclared size is refused once it exceeds the limit",
        BODIES,
        "        if self._size > self._rule.limit:",
        "        if False:",
        f"{SIZES}::test_an_undeclared_size_is_refused_once_it_exceeds_the_limit",
    ),
    Mutation(
        "large requests",
        "bodies without a credential share a budget",
        BODIES,
        "        if charge > self._limits.budget:",
        "        if False:",
        f"{SIZES}::test_strangers_share_a_budget_that_others_do_not_need",
    ),
    Mutation(
        "large requests",
        "sign-in has a limit of its own",
        "bot/server/api/body_rules.py",
        "        if path == SESSION_PATH:",
        "        if False:",
        f"{ROUTES}::test_a_route_has_its_limit",
    ),
    Mutation(
        "many connections",
        "connections of one address are limited",
        TABLE,
        "is_full_here = bool(connection.address) and len(peers) >= self.limits.per_address",
        "is_full_here = False",
        f"{SERVED}::test_a_full_address_makes_room_for_itself_and_leaves_others_alone",
    ),
    Mutation(
        "many connections",
        "connections are limited in total",
        TABLE,
        "if len(self._open) >= self.limits.total and not self._make_room(now):",
        "if False:",
        f"{SERVED}::test_connections_of_many_addresses_do_not_keep_others_out",
    ),
    Mutation(
        "many connections",
        "a connection with a request in progress is not closed for another",
        TABLE,
        "next((one for one in among if not one.has_request(now)), None)",
        "next(iter(among), None)",
        f"{PLACES}::test_the_oldest_idle_connection_of_an_address_makes_room",
    ),
    Mutation(
        "many connections",
        "half-sent bodies without a credential make room",
        PROTOCOL,
        "(phase is _Phase.BODY and ANONYMOUS not in self.cycle.scope)",
        "phase is _Phase.BODY",
        f"{SERVED}::test_half_sent_anonymous_bodies_make_room",
    ),
    Mutation(
        "guessing",
        "an address waits after too many failures",
        FAILURES,
        "            window.locked_until = now + self._seconds",
        "            window.locked_until = now",
        f"{GUESSES}::test_an_address_waits_after_its_last_attempt",
    ),
    Mutation(
        "guessing",
        "addresses of one IPv6 network are counted together",
        "agent/shared/address_group.py",
        "    return str(ipaddress.ip_network((address, IPV6_PREFIX), strict=False))",
        "    return str(address)",
        f"{GUESSES}::test_addresses_of_one_client_are_counted_together",
    ),
    Mutation(
        "guessing",
        "the memory of failures is bounded",
        FAILURES,
        "        if len(self._windows) > MAX_ENTRIES:",
        "        if False:",
        f"{GUESSES}::test_memory_is_bounded_and_guessers_are_remembered_longest",
    ),
    Mutation(
        "guessing",
        "bot: an address that guessed has to wait",
        ATTEMPTS,
        "        if wait and (guessable or not client.is_local):",
        "        if False:",
        f"{GUESSED}::test_a_bearer_token_cannot_be_guessed_on_and_on",
    ),
    Mutation(
        "guessing",
        "bot: other users of the machine cannot lock out its owner",
        ATTEMPTS,
        "        if wait and (guessable or not client.is_local):",
        "        if wait:",
        f"{GUESSED}::test_other_users_of_this_machine_cannot_lock_out_its_owner",
    ),
    Mutation(
        "guessing",
        "bot: a weak token is limited on this machine too",
        "bot/server/api/sessions.py",
        "find, guessable=self._token.is_weak)",
        "find, guessable=False)",
        f"{GUESSED}::test_a_weak_token_is_limited_on_this_machine_too",
    ),
    Mutation(
        "guessing",
        "bot: sign-in links are limited",
        "bot/server/api/sign_in.py",
        "await attempts.check(request.scope, CredentialKind.LINK, partial(known.redeem, code))",
        "await known.redeem(code)",
        f"{GUESSED}::test_a_link_cannot_be_guessed_and_stays_good_elsewhere",
    ),
    Mutation(
        "guessing",
        "bot: pairing codes are limited",
        "bot/server/api/access.py",
        """await attempts.check(
        request.scope, CredentialKind.PAIRING_CODE, approve, detail=by.person, guessable=True
    )""",
        "await approve()",
        f"{GUESSED}::test_pairing_codes_are_limited_for_who_guesses",
    ),
    Mutation(
        "guessing",
        "bot: webhook signatures are limited",
        "bot/server/api/channels.py",
        "await attempts.check(request.scope, CredentialKind.WEBHOOK, delivery.deliver, detail=account)",
        "await delivery.deliver()",
        "tests/component/server/test_webhooks.py::test_wrong_secrets_from_one_address_keep_no_other_out",
    ),
    Mutation(
        "guessing",
        "bot: the audit log does not grow with every guess",
        ATTEMPTS,
        "        if failure.is_first or failure.locks:",
        "        if True:",
        f"{GUESSED}::test_guesses_are_counted_and_audited_without_end_or_secrets",
    ),
    Mutation(
        "guessing",
        "bot: the audit log does not grow with every address",
        ATTEMPTS,
        "if is_known or self._audited > AUDITED_PER_HOUR:",
        "if is_known:",
        f"{GUESSED}::test_many_addresses_do_not_fill_the_audit_log",
    ),
    Mutation(
        "guessing",
        "runtime: an address that guessed has to wait",
        "agent/shared/http_guard.py",
        "        wait = failures.retry_after(client.host)",
        "        wait = 0",
        "tests/runtime/test_guessing_tokens.py::test_a_token_cannot_be_guessed_on_and_on",
    ),
)
