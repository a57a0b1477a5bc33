"""E-mail messages, notebooks, and pictures that are converted."""

from __future__ import annotations

import io
import json
from email.message import EmailMessage

import pytest
from PIL import Image

from agent.uploads.documents.child import Bounds, convert_document
from agent.uploads.documents.kinds import DocumentKind
from tests.unit.agent.uploads.documents.test_readers import read, text_of

pytestmark = pytest.mark.may_block


def test_an_email_message() -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "Zoë <a@x.test>", "b@x.test", "Größe |"
    message.set_content("<p>Only 10<sup>6</sup></p>", subtype="html")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="plan.pdf")
    report, text = read(DocumentKind.EMAIL, message.as_bytes())
    assert text == ("From: Zoë <a@x.test>  \nTo: b@x.test  \nSubject: Größe \\|  \n\nOnly 10⁶\n\n\n")
    assert report.notes == ["Its attachments are not included: plan.pdf. Save and send them separately."]
    plain = b"Subject: =?gb2312?B?suLK1A==?=\nContent-Type: text/plain; charset=gbk\n\n" + "测试".encode(
        "gbk"
    )
    assert text_of(DocumentKind.EMAIL, plain) == "Subject: 测试  \n\n测试\n\n"


def test_an_attached_message_is_read_once() -> None:
    inner, outer = EmailMessage(), EmailMessage()
    inner["From"], inner["Subject"] = "c@x.test", "Offer"
    inner.set_content("Ten.")
    inner.add_alternative("<p>Ten</p>", subtype="html")
    outer["Subject"] = "Fwd"
    outer.set_content("See below.")
    outer.add_attachment(inner)
    text = text_of(DocumentKind.EMAIL, outer.as_bytes())
    assert " ".join(text.split()) == "Subject: Fwd See below. From: c@x.test Subject: Offer Ten."


def test_a_text_in_an_unknown_charset() -> None:
    head = "Subject: Hi\nContent-Type: text/plain; charset=x-unknown\nContent-Transfer-Encoding: 8bit"
    assert text_of(DocumentKind.EMAIL, f"{head}\n\nGrüße".encode()).endswith("Grüße\n\n")


def test_text_attachments_of_an_alternative_are_noted() -> None:
    mail = EmailMessage()
    mail["Subject"] = "Hi"
    mail.set_content("Plain.")
    mail.add_alternative("<p>Plain</p>", subtype="html")
    rich = mail.get_payload(1)
    assert isinstance(rich, EmailMessage)
    rich.make_mixed()
    rich.add_attachment("a;b", filename="list.txt")
    report, text = read(DocumentKind.EMAIL, mail.as_bytes())
    assert "list.txt" in report.notes[0]
    assert text.endswith("\n\nPlain.\n\n")


def test_form_fields_are_their_visible_values() -> None:
    page = b"""<p>Name <input value=Ada> <input type=hidden value=x> <input type=password value=y>
    <select><option>one<option selected>two</select> <textarea>three
    four</textarea></p>"""
    assert text_of(DocumentKind.WEB, page).split() == ["Name", "Ada", "two", "three", "four"]


def test_a_notebook() -> None:
    image = {"image/png": "AAAA", "text/plain": ["<Figure>"]}
    outputs = [
        {"text": ["1\n", "2\n"]},
        {"ename": "KeyError", "evalue": "x"},
        {"data": image},
        {"data": {"text/latex": "x"}},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "Text"]},
        {"cell_type": "code", "source": "print(1)\n```", "outputs": outputs},
    ]
    report, text = read(DocumentKind.NOTEBOOK, json.dumps({"cells": cells}).encode())
    assert text == (
        "# Title\nText\n\n````python\nprint(1)\n```\n````\n\n```output\n1\n2\n```\n\n"
        "```output\nKeyError: x\n```\n\n```output\n<Figure>\n```\n\n"
    )
    assert report.notes[0] == "Outputs of cells that are neither text nor pictures are not included."


@pytest.mark.parametrize("form", ["BMP", "TIFF"])
def test_a_picture_that_models_can_not_see_is_converted(form: str) -> None:
    source, pictures = io.BytesIO(), io.BytesIO()
    Image.new("RGB", (80, 80), "red").save(source, form)
    source.seek(0)
    bounds = Bounds(seconds=60, soft_seconds=60, memory=0, markdown=1_000, pictures=100_000)
    report = convert_document(DocumentKind.PICTURE, source, io.BytesIO(), bounds, pictures=pictures)
    assert [one.label for one in report.pictures] == ["picture-1"]
    assert pictures.getvalue().startswith(b"\xff\xd8")
