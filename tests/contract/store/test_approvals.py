"""Who asked for the work decides an approval, or an admin; what others say waits. On every database."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain import ChatKind, InboundMessage, Isolation, IsolationPolicy, Part, PartKind, PartState, Sender
from bot.store import Database
from bot.store.admission_types import Admission, Refusal, Verdict
from bot.store.approval_rules import APPROVERS, ApprovalRules
from bot.store.audit import AuditEvent, list_audit_entries
from bot.store.interrupts import Decision, DecisionOutcome, DecisionWord, decide_approval, open_interrupt
from bot.store.retries import find_last_answered, open_retry
from bot.store.turns import Begin, PartChange, Resume, claim_turn, load_turn, save_turn, set_run
from bot.turn import Turn, TurnKind, TurnState

from .inbound_messages import ANN, BEN, QUEUE, accept, admission, changed, message, refused

ASKED = "b1"
EVE = Sender("9", "Eve")
"""An admin."""
CHOICES = ("Approve", "reject")
PRIVATE, GROUP = ChatKind.PRIVATE, ChatKind.GROUP


def said(text: str, sender: Sender = ANN, kind: ChatKind = GROUP, **more: object) -> Admission:
    """Words in the conversation of the question."""
    reply = ASKED if kind is GROUP else ""
    of = message(text, kind=kind, reply_to=reply, sender=sender)
    return admission(of, is_admin=sender is EVE, **more)


def click(text: str = "Approve", sender: Sender = ANN, kind: ChatKind = GROUP) -> Admission:
    return admission(pressed(text, sender, kind), is_admin=sender is EVE)


def pressed(text: str, sender: Sender, kind: ChatKind = GROUP) -> InboundMessage:
    return message(text, message_id=ASKED, reply_to=ASKED, sender=sender, clicked=True, kind=kind)


async def begun(db: Database, kind: ChatKind = GROUP, **more: object) -> Turn:
    """A turn of Ann's, at work."""
    [accepted] = await accept(db, admission(message("go", kind=kind), **more))
    turn = (await db.transact(claim_turn, accepted.conversation, 101.0)).turn
    assert turn is not None
    return turn


async def stands(db: Database, turn: Turn, kind: ChatKind = GROUP, question: str = "i1") -> None:
    """The turn's run stopped for an approval, which stands in the chat."""
    await db.transact(open_interrupt, turn, question, CHOICES)
    part = Part(0, PartKind.TEXT, "May it?", PartState.FINAL, ASKED, choices=CHOICES)
    seen = (turn.address, turn.conversation, [ASKED]) if kind is GROUP else None
    await db.transact(save_turn, turn.id, [PartChange(part)], 102.0, state=TurnState.DONE, seen=seen)


async def asking(db: Database, kind: ChatKind = GROUP, **more: object) -> Turn:
    turn = await begun(db, kind, **more)
    await stands(db, turn, kind)
    return turn


async def next_turn(db: Database, conversation: int) -> Turn | None:
    """What is worked on next; what was worked on before is done."""
    claim = await db.transact(claim_turn, conversation, 103.0)
    turn = claim.turn if isinstance(claim, Begin | Resume) else None
    if turn is not None:
        await db.transact(save_turn, turn.id, [], 104.0, state=TurnState.DONE)
    return turn


async def heard(db: Database, conversation: int) -> list[tuple[str, list[str]]]:
    """What is worked on from here, in its order: the question that is answered, and the texts."""
    found = []
    while (turn := await next_turn(db, conversation)) is not None:
        found.append((turn.answers, [one.text for one in turn.messages]))
    return found


@pytest.mark.parametrize("kind", [PRIVATE, GROUP])
@pytest.mark.parametrize("words", ["Approve", "yes", "rather take another one"])
async def test_any_words_of_who_asked_decide(db: Database, kind: ChatKind, words: str) -> None:
    asked = await asking(db, kind)
    [taken] = await accept(db, said(words, kind=kind))
    assert (taken.kind, taken.conversation) == (TurnKind.CHAT, asked.conversation)
    await accept(db, said("and then", kind=kind))
    assert await heard(db, asked.conversation) == [("i1", [words]), ("", ["and then"])]


async def test_who_leaves_an_approval_stands_in_the_audit(db: Database) -> None:
    asked = await asking(db)
    leaving = message("/new", kind=GROUP, reply_to=ASKED, sender=BEN)
    for _ in range(2):
        await accept(db, admission(leaving, Verdict.COMMAND, new_thread=True))
    [entry] = await db.transact(list_audit_entries)
    assert (entry.person, entry.name, entry.account, entry.chat) == ("telegram:8", "Ben", "tg", "c1")
    assert entry.deed == AuditEvent("approval", f"turn {asked.id}", "left")


async def test_a_click_of_who_asked_decides_once(db: Database) -> None:
    asked = await asking(db)
    [told] = await refused(db, click(), click("reject"))
    assert told.text == "stale"
    assert await heard(db, asked.conversation) == [("i1", ["Approve"])]
    for one in (click(), click(sender=BEN), click(sender=EVE)):
        assert [told.text for told in await refused(db, one)] == ["stale"]
    assert await heard(db, asked.conversation) == []


async def test_the_click_that_decided_may_come_again_while_another_is_asked(db: Database) -> None:
    asked = await asking(db)
    first = click()
    assert await refused(db, first) == []
    assert await heard(db, asked.conversation) == [("i1", ["Approve"])]
    [other] = await accept(db, admission(message("go", kind=GROUP, sender=BEN)))
    theirs = (await db.transact(claim_turn, other.conversation, 105.0)).turn
    assert theirs is not None
    await db.transact(open_interrupt, theirs, "i2", CHOICES)
    part = Part(0, PartKind.TEXT, "May it?", PartState.INTENDED, choices=CHOICES)
    await db.transact(save_turn, theirs.id, [PartChange(part)], 106.0, state=TurnState.DELIVERING)
    assert await refused(db, first) == []
    assert await accept(db, first) == []


@pytest.mark.guard(
    "a link of another account makes nobody another admin",
    "bot/store/interrupts.py",
    'sender.id.removeprefix(f"{platform}:") if sender.account else sender.key',
    "sender.id",
    against="one's own request",
)
@pytest.mark.parametrize("account", ["", "far"])
async def test_who_asked_stays_who_asked_in_the_console(db: Database, account: str) -> None:
    """Where another admin has to decide, a link from another account makes nobody another one."""
    asked = await asking(db)
    ann = replace(ANN, id="telegram:7", account=account) if account else ANN
    rules = ApprovalRules(lambda _people, _topic: (APPROVERS["others"],))
    [told] = await refused(db, admission(pressed("Approve", ann), is_admin=True, approvals=rules))
    assert told.text == "approval_foreign_others"
    assert await refused(db, admission(pressed("Approve", EVE), is_admin=True, approvals=rules)) == []
    assert await heard(db, asked.conversation) == [("i1", ["Approve"])]


async def test_a_click_of_somebody_else_is_refused_and_changes_nothing(db: Database) -> None:
    asked = await asking(db)
    for _ in range(2):
        [told] = await refused(db, click(sender=BEN))
        assert told.text == "foreign"
    assert await heard(db, asked.conversation) == []
    assert await accept(db, click(sender=BEN)) == []
    assert await refused(db, click()) == []
    assert await heard(db, asked.conversation) == [("i1", ["Approve"])]


async def test_the_refusal_names_its_event(db: Database) -> None:
    await asking(db)
    one = admission(pressed("Approve", BEN))
    assert await refused(db, one) == [Refusal(one.message.event_id, "foreign")]


async def test_who_writes_in_the_name_of_the_group_decides_nothing(db: Database) -> None:
    """Several people share its id, and one of them may be blocked."""
    team = Sender("c1", "Operations")
    [asked] = await accept(db, admission(message("go", sender=team, kind=GROUP)))
    turn = (await db.transact(claim_turn, asked.conversation, 101.0)).turn
    assert turn is not None
    await stands(db, turn)
    assert [one.text for one in await refused(db, click(sender=team))] == ["foreign"]
    await accept(db, said("Approve", team))
    assert await heard(db, asked.conversation) == []
    given, rules = Decision(DecisionWord.ONCE), ApprovalRules()
    by_command = await db.transact(decide_approval, turn, 0, 103.0, given, is_admin=True, rules=rules)
    assert by_command == (DecisionOutcome.FOREIGN, 0)
    await accept(db, click(sender=EVE))
    assert [answers for answers, _ in await heard(db, asked.conversation)] == ["i1", ""]


@pytest.mark.parametrize("deciding", [click(sender=EVE), said("Approve ", EVE), said("REJECT", EVE)])
async def test_an_admin_decides_by_a_click_or_an_answer(db: Database, deciding: Admission) -> None:
    asked = await asking(db)
    [taken] = await accept(db, deciding)
    assert not taken.refused
    [(answers, _)] = await heard(db, asked.conversation)
    assert answers == "i1"


@pytest.mark.parametrize("sender", [BEN, EVE])
async def test_other_words_of_others_wait_for_the_decision(db: Database, sender: Sender) -> None:
    asked = await asking(db)
    [waits, notice] = await accept(db, said("what is the weather?", sender))
    assert (waits.kind, waits.refused) == (TurnKind.CHAT, False)
    assert (notice.kind, notice.refused) == (TurnKind.NOTICE, True)
    assert [part.content for part in (await db.transact(load_turn, notice.turn)).parts] == ["waits"]
    assert await accept(db, said("hello?", sender)) != []
    assert await heard(db, asked.conversation) == []
    await accept(db, said("Approve"))
    texts = ["what is the weather?", "hello?"]
    assert await heard(db, asked.conversation) == [("i1", ["Approve"]), ("", texts)]


async def test_they_are_told_once(db: Database) -> None:
    await asking(db)
    counts = [len(await accept(db, said("hello", sender))) for sender in (BEN, BEN, EVE, BEN)]
    assert counts == [2, 1, 2, 1]


async def test_what_was_accepted_before_the_question_is_no_decision(db: Database) -> None:
    asked = await begun(db)
    [early] = await accept(
        db, admission(message("Approve", kind=GROUP, reply_to=asked.messages[0].message_id))
    )
    assert early.conversation == asked.conversation
    await stands(db, asked)
    assert await heard(db, asked.conversation) == []
    await accept(db, said("reject"))
    assert await heard(db, asked.conversation) == [("i1", ["reject"]), ("", ["Approve"])]


async def test_nor_is_what_comes_before_it_can_be_read(db: Database) -> None:
    asked = await begun(db, PRIVATE)
    await db.transact(open_interrupt, asked, "i1", CHOICES)
    [_, notice] = await accept(db, said("and one more thing", kind=PRIVATE))
    assert notice.refused, "it waits, and is told so"
    await stands(db, asked, PRIVATE)
    assert await heard(db, asked.conversation) == []
    await accept(db, said("Approve", kind=PRIVATE))
    expected = [("i1", ["Approve"]), ("", ["and one more thing"])]
    assert await heard(db, asked.conversation) == expected


@pytest.mark.parametrize(
    ("state", "words", "decides"),
    [
        (PartState.PLANNED, "no, wait", False),
        (PartState.PLANNED, "approve", True),
        (PartState.POSTED, "no, wait", False),
        (PartState.INTENDED, "no, wait", True),
        (PartState.FINAL, "no, wait", True),
    ],
)
async def test_it_can_be_read_as_soon_as_its_post_is_on_its_way(
    db: Database, state: PartState, words: str, decides: bool
) -> None:
    asked = await begun(db, PRIVATE)
    await db.transact(open_interrupt, asked, "i1", CHOICES)
    parts = [
        Part(0, PartKind.TEXT, "I looked.", PartState.FINAL, "b0"),
        Part(1, PartKind.TEXT, "May it?", state, choices=CHOICES),
        Part(2, PartKind.TEXT, "", PartState.FINAL, "b2"),
    ]
    changes = [PartChange(part) for part in parts]
    await db.transact(save_turn, asked.id, changes, 102.0, state=TurnState.DELIVERING)
    await accept(db, said(words, kind=PRIVATE))
    await db.transact(save_turn, asked.id, [], 103.0, state=TurnState.DONE)
    assert await heard(db, asked.conversation) == ([("i1", [words])] if decides else [])


async def test_an_answer_that_is_offered_decides_while_the_question_is_sent(db: Database) -> None:
    asked = await begun(db, PRIVATE)
    await db.transact(open_interrupt, asked, "i1", CHOICES)
    [_] = await accept(db, said("Reject", kind=PRIVATE))
    await stands(db, asked, PRIVATE)
    assert await heard(db, asked.conversation) == [("i1", ["Reject"])]


async def test_a_full_queue_does_not_keep_the_decision_out(db: Database) -> None:
    asked = await asking(db)
    for number in range(QUEUE + 1):
        await accept(db, said(f"m{number}", BEN))
    [taken] = await accept(db, said("Approve"))
    assert not taken.refused
    first, second = await heard(db, asked.conversation)
    assert first == ("i1", ["Approve"])
    assert len(second[1]) == QUEUE


async def test_what_follows_a_decision_does_not_join_it(db: Database) -> None:
    asked = await asking(db)
    await accept(db, said("hello", BEN))
    await accept(db, click())
    await accept(db, said("thanks"))
    expected = [("i1", ["Approve"]), ("", ["hello", "thanks"])]
    assert await heard(db, asked.conversation) == expected


async def test_a_fresh_thread_lets_go_what_waited(db: Database) -> None:
    asked = await asking(db, PRIVATE)
    await accept(db, said("hello", BEN, PRIVATE))
    assert await next_turn(db, asked.conversation) is None
    await accept(db, admission(message("/new"), Verdict.COMMAND, new_thread=True))
    assert await heard(db, asked.conversation) == [("i1", []), ("", ["hello"])]
    [told] = await refused(db, click(kind=PRIVATE))
    assert told.text == "stale"


async def test_so_does_a_retry(db: Database) -> None:
    asked = await asking(db, PRIVATE)
    await db.transact(set_run, asked.id, "run-1", 1)
    [command] = await accept(db, admission(message("/retry"), Verdict.COMMAND))
    commanding, answered = (
        (await db.transact(load_turn, command.turn)).turn,
        await db.transact(find_last_answered, asked.conversation),
    )
    assert commanding is not None
    assert answered is not None
    thread = answered.thread_id
    await db.transact(
        open_retry, commanding, answered, checkpoint="cp", thread_id=thread, text="ok", now=105.0
    )
    assert await heard(db, asked.conversation) == [("i1", []), ("", ["go"])]
    [told] = await refused(db, click(kind=PRIVATE))
    assert told.text == "stale"


async def test_who_asked_first_decides_all_that_follows(db: Database) -> None:
    asked = await asking(db)
    await accept(db, click(sender=EVE))
    deciding = (await db.transact(claim_turn, asked.conversation, 103.0)).turn
    assert deciding is not None
    assert (deciding.answers, deciding.askers) == ("i1", (ANN,))
    again = (await db.transact(load_turn, deciding.id)).turn
    assert again is not None
    assert again.askers == (ANN,)
    await stands(db, deciding, question="i2")
    assert len(await refused(db, click(sender=BEN))) == 1
    await accept(db, said("Approve"))
    assert await heard(db, asked.conversation) == [("i2", ["Approve"])]


async def test_an_ordinary_turn_goes_on_with_nobodys_work(db: Database) -> None:
    asked = await asking(db)
    await accept(db, click(), said("thanks"))
    decided, thanks = await next_turn(db, asked.conversation), await next_turn(db, asked.conversation)
    assert decided is not None
    assert thanks is not None
    assert (decided.askers, thanks.askers) == ((ANN,), ())


async def test_a_clarification_is_answered_by_anybody(db: Database) -> None:
    asked = await begun(db)
    await db.transact(open_interrupt, asked, "i1")
    part = Part(0, PartKind.TEXT, "Which?", PartState.FINAL, ASKED, choices=CHOICES)
    seen = (asked.address, asked.conversation, [ASKED])
    await db.transact(save_turn, asked.id, [PartChange(part)], 102.0, state=TurnState.DONE, seen=seen)
    [taken] = await accept(db, said("the blue one", BEN))
    assert not taken.refused
    assert await heard(db, asked.conversation) == [("i1", ["the blue one"])]


async def test_where_members_are_apart_a_click_of_another_is_refused_too(db: Database) -> None:
    policy = IsolationPolicy(Isolation.MEMBER)
    asked = await asking(db, policy=policy)
    ben = admission(pressed("Approve", BEN), policy=policy)
    assert len(await refused(db, ben)) == 1
    assert await heard(db, asked.conversation) == []


async def test_a_decision_stays_the_bare_word(db: Database) -> None:
    asked = await begun(db, PRIVATE)
    first = message("go", message_id=asked.messages[0].message_id)
    await stands(db, asked, PRIVATE)
    await accept(db, changed(first, "go on"))
    await accept(db, said("Approve", kind=PRIVATE))
    deciding = await next_turn(db, asked.conversation)
    assert deciding is not None
    assert deciding.notes == ()
    await accept(db, said("thanks", kind=PRIVATE))
    later = await next_turn(db, asked.conversation)
    assert later is not None
    assert [note.after for note in later.notes] == ["go on"]
