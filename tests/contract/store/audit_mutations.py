"""Guards of the audit log and of signed callbacks, each with the mutation that removes it."""

from __future__ import annotations

from tests.harness.mutation import Mutation

CHAIN, CALLBACK = "bot/store/audit_chain.py", "bot/platforms/feishu/callback.py"
LOG, FEISHU = "tests/contract/store/test_audit_chain.py", "tests/platforms/feishu/test_callback.py"
FORGED = f"{LOG}::test_a_forgery_is_found"

AUDIT_MUTATIONS = (
    Mutation(
        "forged callbacks",
        "the signature of a callback is checked before its body is decrypted",
        CALLBACK,
        "        signed = self._check_signature(request)\n        payload = self._decode_body(request.body)",
        "        payload = self._decode_body(request.body)\n        signed = self._check_signature(request)",
        f"{FEISHU}::test_nothing_is_decrypted_before_its_signature_holds",
    ),
    Mutation(
        "forged callbacks",
        "an unsigned callback carries no event",
        CALLBACK,
        '        if not signed and kind != "url_verification":',
        "        if False:",
        f"{FEISHU}::test_every_refusal_is_the_same_answer",
    ),
    Mutation(
        "forged callbacks",
        "every refused callback gets the same answer",
        CALLBACK,
        "            return _json_answer(401, _REFUSED)",
        '            return _json_answer(401, {"detail": str(refused)})',
        f"{FEISHU}::test_every_refusal_is_the_same_answer",
    ),
    Mutation(
        "forged callbacks",
        "an old callback is refused",
        CALLBACK,
        "        if not fresh or abs(self._clock.now() - int(stamp)) > FRESH_SECONDS:",
        "        if not fresh:",
        f"{FEISHU}::test_replayed_requests_are_refused",
    ),
    Mutation(
        "changes of the audit log",
        "the seal of an audit event covers its action",
        CHAIN,
        "row.account, row.action, digests]",
        "row.account, digests]",
        FORGED,
    ),
    Mutation(
        "changes of the audit log",
        "the seal of an audit event covers its personal fields",
        CHAIN,
        "        if changed:\n",
        "        if False:\n",
        FORGED,
    ),
    Mutation(
        "changes of the audit log",
        "a gap in the audit log is reported",
        CHAIN,
        "        if row.position > expected:\n",
        "        if False:\n",
        FORGED,
    ),
    Mutation(
        "changes of the audit log",
        "a cut at the end of the audit log is reported",
        CHAIN,
        "    if last.position < head.position:\n",
        "    if False:\n",
        FORGED,
    ),
    Mutation(
        "changes of the audit log",
        "the start of the audit log can't be forged",
        CHAIN,
        '    mac = _anchor_mac(key, anchor) if anchor.position else ""\n',
        '    mac = found.mac if found is not None else ""\n',
        FORGED,
    ),
    Mutation(
        "changes of the audit log",
        "sealing the audit log needs the key",
        CHAIN,
        "    return hmac.new(key, ",
        '    return hmac.new(b"", ',
        f"{LOG}::test_a_rewritten_chain_needs_the_key",
    ),
    Mutation(
        "changes of the audit log",
        "an erased field of an audit event holds no other text",
        CHAIN,
        "if salt else text == MASK",
        "if salt else True",
        f"{LOG}::test_a_mask_does_not_hide_another_text",
    ),
    Mutation(
        "changes of the audit log",
        "a cut audit log does not grow over the gap",
        CHAIN,
        "    last = max(_last_link(connection), head, key=lambda link: link.position)\n",
        "    last = _last_link(connection)\n",
        f"{LOG}::test_what_was_cut_off_stays_visible_when_the_log_grows",
    ),
    Mutation(
        "changes without a trace",
        "a command that changes something is audited",
        "bot/commands/registry.py",
        "        if not self.audited or refused or shows:\n",
        "        if True:\n",
        "tests/component/dispatch/test_audited_commands.py::test_what_changes_something_is_recorded",
    ),
    Mutation(
        "a flooded audit log",
        "a rating is stored when it changes, ten times at most",
        "bot/store/ratings.py",
        "return not known or (known[0] != deed.detail and len(known) < MAX_RATINGS)",
        "return True",
        "tests/component/dispatch/test_ratings.py::test_a_rating_is_stored_when_it_changes",
    ),
)
