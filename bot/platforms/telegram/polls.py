"""Polls and checklists."""

from __future__ import annotations

from collections.abc import Sequence

from bot import content
from bot.content import ChecklistTask, PollOption
from bot.domain import Quotation
from bot.platforms.payload import Json, Malformed, get_int, get_object, get_objects, get_string
from bot.platforms.telegram.attachments import read_file
from bot.platforms.telegram.formatted_text import read_formatted
from bot.platforms.telegram.locations import read_place
from bot.platforms.telegram.names import chat_name, user_name


def read_poll(poll: Json) -> Quotation:
    """Return a `Poll` as content. Raises Malformed."""
    question = "\n".join(
        filter(
            None,
            [
                read_formatted(poll, "question", "question_entities").text,
                read_formatted(poll, "description", "description_entities").text,
                _describe_media(get_object(poll, "media")),
            ],
        )
    )
    correct = poll.get("correct_option_ids")
    right = correct if isinstance(correct, list) else [poll.get("correct_option_id")]
    has_votes = get_int(poll, "total_voter_count") > 0
    options = [
        PollOption(
            _option_text(option, is_right=at in right),
            get_int(option, "voter_count", -1) if has_votes else -1,
        )
        for at, option in enumerate(get_objects(poll, "options"))
    ]
    return content.poll(question, options, *_describe_poll(poll))


def _describe_poll(poll: Json) -> Sequence[str]:
    explanation = read_formatted(poll, "explanation", "explanation_entities").text
    return [
        "quiz" if get_string(poll, "type") == "quiz" else "",
        "anonymous" if poll.get("is_anonymous") is True else "",
        "several answers allowed" if poll.get("allows_multiple_answers") is True else "",
        "closed" if poll.get("is_closed") is True else "",
        f"explanation: {explanation}" if explanation else "",
    ]


def _option_text(option: Json, *, is_right: bool) -> str:
    by = _person_of(option, "added_by")
    notes = [
        _describe_media(get_object(option, "media")),
        "(correct answer)" if is_right else "",
        f"(added by {by})" if by else "",
    ]
    return " ".join(filter(None, [read_formatted(option, "text", "text_entities").text, *notes]))


def _describe_media(media: Json) -> str:
    """Return a `PollMedia` as one line: a link's address, a place, or a file name."""
    if url := get_string(get_object(media, "link"), "url"):
        return url
    if media.get("location") is not None or media.get("venue") is not None:
        return read_place(media).text.replace("\n", ", ")
    if media.get("sticker") is not None:
        return f"[sticker {get_string(get_object(media, 'sticker'), 'emoji')}]"
    file = read_file(media, "")
    return f"[{file.filename}]" if file is not None else ""


def read_checklist(checklist: Json) -> Quotation:
    """Return a `Checklist` as content. Raises Malformed."""
    tasks = [
        ChecklistTask(
            text=read_formatted(task, "text", "text_entities").text,
            done=get_int(task, "completion_date") > 0,
            by=_person_of(task, "completed_by"),
        )
        for task in get_objects(checklist, "tasks")
    ]
    return content.checklist(read_formatted(checklist, "title", "title_entities").text, tasks)


def name_option(poll: Json, option_id: str) -> str:
    """Return the text of a poll's option, or "" if it does not exist. Raises Malformed."""
    options = get_objects(poll, "options")
    return next((get_string(one, "text") for one in options if one.get("persistent_id") == option_id), "")


def name_tasks(checklist: Json, ids: object) -> list[str]:
    """Return the texts of a checklist's tasks with these ids, in checklist order. Raises Malformed."""
    if not isinstance(ids, list):
        raise Malformed("the task ids are not a list")
    return [get_string(one, "text") for one in get_objects(checklist, "tasks") if one.get("id") in ids]


def _person_of(parent: Json, role: str) -> str:
    """Return the `role` of an option or task: a user, or a chat on whose behalf a person acted."""
    chat = get_object(parent, f"{role}_chat")
    return chat_name(chat) if chat else user_name(get_object(parent, f"{role}_user"))
