"""Guards around MCP servers, each with the mutation that removes it."""

from __future__ import annotations

from tests.harness.mutation import Mutation

_CONTENTS = "tests/contract/mcp/test_contents.py"
_SIGN_IN = "tests/contract/mcp/test_sign_in.py"
_PAGES = "tests/component/server/test_mcp_sign_in.py"
_IMAGES = "tests/unit/agent/tools/test_image_check.py"
_RESULTS, _TRANSPORT = "agent/tools/result_files.py", "agent/mcp/guarded_transport.py"
_SIGN_INS, _SERVER_SIGN_IN = "agent/mcp/sign_ins.py", "agent/mcp/server_sign_in.py"
_BAD, _SENT = "malformed content", "oversized content"
_NETWORK, _FORGED, _ACCOUNT = "requests into the network", "a forged sign-in", "another's account"
_TWICE = "a call made twice"
_PLACES = f"{_SIGN_IN}::test_where_requests_of_a_sign_in_go"
MCP_MUTATIONS = (
    Mutation(
        _BAD,
        "an image of an MCP server is shown only if it can be read",
        _RESULTS,
        "if problem is not None:",
        "if False:",
        f"{_CONTENTS}::test_every_result_is_read_and_the_thread_goes_on[stdio]",
    ),
    Mutation(
        _BAD,
        "base64 of an MCP server is decoded strictly",
        "agent/tools/result_content.py",
        "(-len(packed) % 4), validate=True)",
        "(-len(packed) % 4))",
        "tests/unit/agent/tools/test_result_content.py::test_what_is_no_base64_is_named",
    ),
    Mutation(
        _BAD,
        "damaged extras of an MCP server's image are left out",
        "agent/tools/image_check.py",
        "if _is_whole(one) or _is_needed(one[4:8])]",
        "if True]",
        f"{_IMAGES}::test_a_damaged_extra_is_left_out",
    ),
    Mutation(
        _BAD,
        "results of MCP servers in a thread that was broken earlier become text",
        "agent/middleware/tool_results.py",
        "if all(_is_plain(message) for message in request.messages):",
        "if True:",
        f"{_CONTENTS}::test_a_thread_that_was_broken_earlier_answers",
    ),
    Mutation(
        _SENT,
        "a long result of an MCP server is cut, and the rest counted",
        _RESULTS,
        "if len(whole) > limit:",
        "if False:",
        f"{_CONTENTS}::test_what_is_stored_is_what_was_sent",
    ),
    Mutation(
        _SENT,
        "an image of an MCP server has at most as many pixels as models take",
        "agent/tools/image_check.py",
        "if max(size) > MAX_PIXELS:",
        "if False:",
        f"{_IMAGES}::test_what_is_too_wide_or_high_is_not_shown",
    ),
    Mutation(
        _NETWORK,
        "an MCP server refers only to public addresses",
        _TRANSPORT,
        "permitted=self._permitted",
        "permitted=lambda _: True",
        _PLACES,
    ),
    Mutation(
        _NETWORK,
        "an MCP server refers only to https, without a password",
        _TRANSPORT,
        'if url.scheme != "https" or url.userinfo:',
        "if False:",
        _PLACES,
    ),
    Mutation(
        _NETWORK,
        "the address that was checked is the one that a sign-in to an MCP server reaches",
        _TRANSPORT,
        "url.copy_with(host=addresses[0])",
        "url",
        _PLACES,
    ),
    Mutation(
        _NETWORK,
        "every request of a sign-in to an MCP server is checked",
        _SERVER_SIGN_IN,
        "make_sign_in_client, self._server, self._url, self._oauth.trusted_hosts, REQUEST_SECONDS",
        "lambda: httpx.AsyncClient(timeout=REQUEST_SECONDS, trust_env=False)",
        f"{_SIGN_IN}::test_a_server_does_not_lead_the_service_into_its_network",
    ),
    Mutation(
        _FORGED,
        "the callback of a sign-in to an MCP server has its state",
        _SIGN_INS,
        "(one for one in waiting if secrets.compare_digest(one.state.encode(), encoded))",
        "iter(waiting)",
        f"{_SIGN_IN}::test_links_and_callbacks_work_once_and_not_for_long",
    ),
    Mutation(
        _FORGED,
        "the callback of a sign-in to an MCP server works once",
        _SIGN_INS,
        "        self._pending.remove(pending)\n        if code and not error:",
        "        if code and not error:",
        f"{_SIGN_IN}::test_links_and_callbacks_work_once_and_not_for_long",
    ),
    Mutation(
        _FORGED,
        "the link of a sign-in to an MCP server expires",
        _SIGN_INS,
        "if now - one.started >= LINK_SECONDS]",
        "if False]",
        f"{_SIGN_IN}::test_links_and_callbacks_work_once_and_not_for_long",
    ),
    Mutation(
        _FORGED,
        "an MCP server's provider gets the challenge of PKCE",
        "agent/mcp/browser_auth.py",
        "self._sign_ins.set_provider_url(self.pending, url)",
        'self._sign_ins.set_provider_url(self.pending, url.replace("code_challenge", "c"))',
        f"{_SIGN_IN}::test_a_person_signs_in_and_uses_the_tools",
    ),
    Mutation(
        _FORGED,
        "the page of a sign-in to an MCP server links only to pages",
        "bot/server/api/mcp_sign_in.py",
        'if urlsplit(url).scheme not in {"http", "https"}:',
        "if False:",
        f"{_PAGES}::test_a_link_to_anything_but_a_page_is_not_shown",
    ),
    Mutation(
        _FORGED,
        "the audit log records whether a sign-in to an MCP server worked",
        "bot/server/api/mcp_sign_in.py",
        "    await _record(request.app.state.services, found)\n",
        "",
        f"{_PAGES}::test_what_comes_of_a_sign_in_is_audited",
    ),
    Mutation(
        _ACCOUNT,
        "people of a conversation have sessions of their own with an MCP server",
        "agent/mcp/server.py",
        "is_personal = self.sign_in is not None and not self.sign_in.is_shared",
        "is_personal = False",
        f"{_SIGN_IN}::test_each_person_has_an_account_of_their_own",
    ),
    Mutation(
        _ACCOUNT,
        "a group gets no link to sign in to an MCP server",
        _SERVER_SIGN_IN,
        'if context.chat_kind == "group":',
        "if False:",
        f"{_SIGN_IN}::test_a_link_is_not_given_to_a_group",
    ),
    Mutation(
        _ACCOUNT,
        "only admins sign in to an MCP server for everybody",
        _SERVER_SIGN_IN,
        'is_admin = not context.platform or "admin" in context.roles',
        "is_admin = True",
        f"{_SIGN_IN}::test_one_account_for_all_is_an_admins",
    ),
    Mutation(
        _TWICE,
        "a call of an MCP server's tool is not repeated if it may have arrived",
        "agent/mcp/session.py",
        "if why in _NEVER_DELIVERED and self.active_calls <= 1:",
        "if why in _NEVER_DELIVERED:",
        "tests/contract/mcp/test_sessions.py::test_calls_that_may_have_arrived_are_not_made_again",
    ),
    Mutation(
        _TWICE,
        "a call that was lost while its MCP server asked is not made again",
        "agent/mcp/live_calls.py",
        "            if _was_answered():\n",
        "            if False:\n",
        "tests/contract/mcp/test_conversation.py::test_an_answer_after_the_session_has_ended",
    ),
)
