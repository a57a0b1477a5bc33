"""Scans and pictures in documents reach models with vision."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from langchain_core.messages import HumanMessage
from PIL import Image, ImageDraw

from agent.uploads.documents.child import Bounds, convert_document
from agent.uploads.documents.converter import Converter, ConvertLimits
from agent.uploads.documents.kinds import DocumentKind
from agent.uploads.documents.pdf import NO_TEXT, SCAN
from agent.uploads.documents.pictures import PICTURES, SIDE, SMALLEST, PictureWriter, convert_picture
from agent.uploads.documents.report import DAMAGED, DocumentPicture, Report
from agent.uploads.documents.web import LINKED
from agent.uploads.folders import ThreadFolders
from agent.uploads.inline_images import ShowLimits, with_uploads
from agent.uploads.store import UploadStore, split_images
from tests.harness import documents

pytestmark = pytest.mark.may_block
THREAD = "t-1"
# The time for pictures passes also while other processes have the processor.
PATIENT = Converter(ConvertLimits(seconds=300))
BOUNDS = Bounds(seconds=60, soft_seconds=60, memory=0, markdown=1_000_000, pictures=10_000_000)
UPLOADS = "/mnt/user-data/uploads"


def picture(color: str = "red", size: tuple[int, int] = (200, 120), mode: str = "RGB") -> Image.Image:
    """A picture with a black cross."""
    made = Image.new("RGB", size, color)
    ImageDraw.Draw(made).line((0, 0, *size), fill="black", width=3)
    return made.convert(mode)


def encoded(image: Image.Image, kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    image.save(file, kind)
    return file.getvalue()


def scan(*colors: str) -> bytes:
    """A PDF file whose pages are pictures."""
    first, *others = (picture(color, (620, 877)) for color in colors)
    file = io.BytesIO()
    first.save(file, "PDF", save_all=True, append_images=others)
    return file.getvalue()


def slides(*pictures: bytes) -> bytes:
    from pptx import Presentation

    deck = Presentation()
    page = deck.slides.add_slide(deck.slide_layouts[5])
    page.shapes.title.text = "Photos"
    for one in pictures:
        page.shapes.add_picture(io.BytesIO(one), 0, 0)
    file = io.BytesIO()
    deck.save(file)
    return file.getvalue()


DRAWING = (
    '<w:p><w:r><w:drawing xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
    '<wp:inline><wp:docPr id="1" name="x" descr="{about}"/><a:graphic><a:graphicData><pic:pic><pic:blipFill>'
    '<a:blip {how}="p1"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing>'
    "</w:r></w:p>"
)


def word(content: bytes, how: str = "r:embed", target: str = "media/image1.png") -> bytes:
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/image"
    relations = documents.RELATIONS.partition("<Relationship Id")[0]
    mode = ' TargetMode="External"' if how == "r:link" else ""
    relation = f'<Relationship Id="p1" Type="{kind}" Target="{target}"{mode}/></Relationships>'
    types = documents.TYPES.replace(
        "<Override", '<Default Extension="png" ContentType="image/png"/><Override'
    )
    parts: dict[str, Any] = {
        "[Content_Types].xml": types,
        "word___rels__document.xml.rels": f"{relations}{relation}",
        "word__media__image1.png": content,
    }
    body = documents.paragraph("Look:") + DRAWING.format(about="a cross", how=how)
    return documents.word(body, **parts)


def read(
    kind: DocumentKind, content: bytes, bounds: Bounds = BOUNDS
) -> tuple[Report, str, list[Image.Image]]:
    """The report, the Markdown and the images of a document that is read here."""
    markdown, images = io.BytesIO(), io.BytesIO()
    report = convert_document(kind, io.BytesIO(content), markdown, bounds, pictures=images)
    at, found = 0, []
    for one in report.pictures:
        found.append(Image.open(io.BytesIO(images.getvalue()[at : at + one.size])))
        at += one.size
    assert at == len(images.getvalue())
    assert {one.format for one in found} <= {"JPEG"}
    return report, markdown.getvalue().decode(), found


def test_the_pages_of_a_scan() -> None:
    report, text, images = read(DocumentKind.PDF, scan("red", "blue"))
    assert (report.problem, report.notes) == ("", [SCAN])
    assert text.startswith("## Page 1\n\n(no text)\n\n(picture page-1)\n\n## Page 2\n\n")
    assert [one.label for one in report.pictures] == ["page-1", "page-2"]
    assert [one.getpixel((600, 20))[2] > 200 for one in images] == [False, True]


def strips(*colors: str) -> bytes:
    """A PDF file of one page without text, composed of strips as some scanners do."""
    from pypdf import PdfReader, PdfWriter, Transformation

    writer = PdfWriter()
    page = writer.add_blank_page(620, 300 * len(colors))
    for at, color in enumerate(colors):
        file = io.BytesIO()
        picture(color, (620, 300)).save(file, "PDF")
        strip = PdfReader(file).pages[0]
        page.merge_transformed_page(strip, Transformation().translate(0, 300 * at))
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


def test_a_page_in_strips_is_one_picture() -> None:
    report, text, [image] = read(DocumentKind.PDF, strips("red", "blue", "green"))
    assert (report.problem, report.notes) == ("", [SCAN])
    assert text == "## Page 1\n\n(no text)\n\n(picture page-1)\n\n"
    assert max(image.size) == SIDE
    below, above = image.getpixel((5, image.height - 20)), image.getpixel((image.width - 5, 20))
    assert (below[0] > 200, above[1] > 100) == (True, True)


def test_a_drawing_without_text_is_a_picture() -> None:
    report, text, images = read(DocumentKind.PDF, drawn(b"0 0 1 rg 10 10 100 60 re f"))
    assert (report.notes, len(images)) == ([SCAN], 1)
    assert "(picture page-1)" in text


def test_a_blank_page_is_no_picture() -> None:
    report, _, images = read(DocumentKind.PDF, drawn(b""))
    assert (report.problem, images) == (NO_TEXT, [])


def drawn(content: bytes) -> bytes:
    """A PDF file whose page has this content stream."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, NameObject

    writer = PdfWriter()
    page = writer.add_blank_page(200, 100)
    stream = DecodedStreamObject()
    stream.set_data(content)
    page[NameObject("/Contents")] = writer._add_object(stream)
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


def test_the_pictures_of_a_word_document() -> None:
    report, text, [image] = read(DocumentKind.WORD, word(encoded(picture())))
    assert text == "Look:\n\n(picture picture-1: a cross)\n"
    assert (report.notes, image.size) == ([], (200, 120))


@pytest.mark.parametrize("target", ["http://127.0.0.1:9/x.png", "file:///etc/hostname", "x.png"])
def test_linked_pictures_are_not_opened(target: str) -> None:
    report, text, images = read(DocumentKind.WORD, word(b"", "r:link", target))
    assert (text, images) == ("Look:\n", [])
    assert report.notes == ["Its pictures (1) are not included."]


def test_the_pictures_of_slides_each_once() -> None:
    red, blue = encoded(picture("red")), encoded(picture("blue"))
    report, text, images = read(DocumentKind.SLIDES, slides(red, blue, red))
    assert [one.label for one in report.pictures] == ["slide-1", "slide-1-2"]
    assert text.endswith("(picture slide-1)\n\n(picture slide-1-2)\n\n")
    assert len(images) == 2


def workbook(*placed: tuple[str, str, bytes]) -> bytes:
    """An Excel workbook with a table, and pictures by sheet and cell."""
    import openpyxl
    from openpyxl.drawing.image import Image as SheetImage

    book = openpyxl.load_workbook(io.BytesIO(documents.workbook(Sales=documents.SALES, Photos=[["a"]])))
    for sheet, cell, content in placed:
        book[sheet].add_image(SheetImage(io.BytesIO(content)), cell)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def test_the_pictures_of_a_workbook_with_their_cells() -> None:
    red, blue = encoded(picture("red")), encoded(picture("blue"))
    made = workbook(("Sales", "E2", red), ("Photos", "B3", blue), ("Photos", "AA10", red))
    report, text, images = read(DocumentKind.WORKBOOK, made)
    assert (report.problem, report.notes, len(images)) == ("", [], 2)
    assert [one.label for one in report.pictures] == ["sheet-1", "sheet-2"]
    sales, photos = text.split("## Sheet: Photos")
    assert "1200.5 |" in sales
    assert sales.endswith("(picture sheet-1 at E2)\n\n")
    assert photos.endswith("(picture sheet-2 at B3)\n\n(picture sheet-1 at AA10)\n\n")
    assert "Pictures in cells" not in text


def test_pictures_inside_cells_of_a_workbook() -> None:
    parts = {"xl/media/image7.png": encoded(picture()), "xl/media/image8.emf": b"no picture for Pillow"}
    made = documents.rewritten(documents.workbook(Sales=documents.SALES), parts)
    report, text, _ = read(DocumentKind.WORKBOOK, made)
    assert [one.label for one in report.pictures] == ["picture-1"]
    assert text.endswith("## Pictures in cells and elsewhere\n\n(picture picture-1)\n\n")


@pytest.mark.parametrize(
    "change",
    [
        {"xl/worksheets/_rels/sheet1.xml.rels": "<broken"},
        {"xl/drawings/drawing1.xml": "<x"},
        {"xl/drawings/_rels/drawing1.xml.rels": "<Relationships/>"},
        {"xl/media/image1.png": b"no picture"},
    ],
    ids=["relations", "drawing", "images", "picture"],
)
def test_a_damaged_picture_costs_no_table(change: dict[str, str | bytes]) -> None:
    made = documents.rewritten(workbook(("Sales", "E2", encoded(picture()))), change)
    report, text, _ = read(DocumentKind.WORKBOOK, made)
    if report.problem:
        assert report.problem == DAMAGED
    else:
        assert "1200.5 |" in text
        assert "at E2" not in text


def page(*sources: str) -> bytes:
    tags = "".join(f"<p>Look: <img src='{source}' alt='a cross'></p>" for source in sources)
    return f"<html><body><h1>Photos</h1>{tags}</body></html>".encode()


def test_the_pictures_inside_a_web_page() -> None:
    data = base64.b64encode(encoded(picture())).decode()
    sources = [
        f"data:image/png;base64,{data}",
        "data:image/png;base64,!",
        f"data:image/png,{quote(encoded(picture('blue')))}",
    ]
    report, text, images = read(DocumentKind.WEB, page(*sources))
    shown = ["(picture picture-1: a cross)", "a cross", "(picture picture-2: a cross)"]
    assert text == "\n\n".join(["# Photos", *(f"Look: {one}" for one in shown)]) + "\n"
    assert (report.notes, len(images)) == ([], 2)


@pytest.mark.parametrize(
    "source", ["http://127.0.0.1:9/x.png", "file:///etc/hostname", "a.png", "//x.test/a"]
)
def test_pictures_outside_of_a_web_page_are_not_loaded(source: str) -> None:
    report, text, images = read(DocumentKind.WEB, page(source))
    assert (text, images, report.notes) == ("# Photos\n\nLook: a cross\n", [], [LINKED])


def test_only_so_many_pictures() -> None:
    many = [encoded(picture("red", (100 + number, 100))) for number in range(PICTURES + 2)]
    report, _, images = read(DocumentKind.SLIDES, slides(*many))
    assert len(images) == PICTURES
    assert report.notes == [f"Only the first {PICTURES} of its pictures are included."]
    pages = scan(*[f"#{number * 11:02x}{255 - number * 11:02x}80" for number in range(PICTURES + 2)])
    report, text, images = read(DocumentKind.PDF, pages)
    assert (len(images), text.count("## Page")) == (PICTURES, PICTURES + 2)


@pytest.mark.parametrize("bounds", [{"pictures": 2_000}, {"soft_seconds": 0.0}], ids=["bytes", "time"])
def test_pictures_are_left_out_before_text(bounds: dict[str, Any]) -> None:
    limits = {"seconds": 60, "soft_seconds": 60, "memory": 0, "markdown": 10_000, "pictures": 10_000_000}
    report, text, images = read(DocumentKind.SLIDES, slides(encoded(picture())), Bounds(**limits | bounds))
    assert (report.problem, images) == ("", [])
    assert "## Slide 1: Photos" in text
    assert "Its pictures (1) are not included." in report.notes


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA", "CMYK"])
def test_every_kind_of_image_becomes_jpeg(mode: str) -> None:
    kind = "TIFF" if mode == "CMYK" else "PNG"
    made = convert_picture(encoded(picture(mode=mode), kind))
    assert made is not None
    assert Image.open(io.BytesIO(made)).size == (200, 120)


def test_transparent_images_are_on_white() -> None:
    made = convert_picture(encoded(Image.new("RGBA", (60, 60), (0, 0, 0, 0))))
    assert made is not None
    assert Image.open(io.BytesIO(made)).getpixel((5, 5)) == (255, 255, 255)


def test_large_images_are_scaled_down_and_small_ones_left_out() -> None:
    made = convert_picture(encoded(picture(size=(4_000, 2_000))))
    assert made is not None
    assert Image.open(io.BytesIO(made)).size == (SIDE, SIDE // 2)
    assert convert_picture(encoded(picture(size=(SMALLEST - 1, 500)))) is None


@pytest.mark.parametrize(
    "content", [b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff" + b"x" * 99, encoded(picture())[:99]]
)
def test_what_is_no_image(content: bytes) -> None:
    assert convert_picture(content) is None
    assert PictureWriter(io.BytesIO(), 9_999).add(content, "picture-1") == ""


def test_a_bomb_is_not_unpacked() -> None:
    assert convert_picture(encoded(Image.new("1", (30_000, 30_000)))) is None


def test_images_are_cut_as_reported_and_nothing_else(tmp_path: Path) -> None:
    one, two = encoded(picture("red"), "JPEG"), encoded(picture("blue"), "JPEG")
    file = tmp_path / "images"
    file.write_bytes(one + two)
    sizes = [DocumentPicture("page-1", len(one)), DocumentPicture("page-2", len(two))]
    assert list(split_images(file, sizes)) == [one, two]
    assert list(split_images(file, [*sizes, DocumentPicture("page-3", 5)])) == [one, two]
    assert list(split_images(file, [DocumentPicture("page-1", 5), DocumentPicture("page-2", 5)])) == [one[:5]]
    assert list(split_images(file, [DocumentPicture("page-1", -1)])) == []
    assert list(split_images(tmp_path / "none", [])) == []


async def put(store: UploadStore, name: str, content: bytes) -> Any:
    async with store.batch(THREAD) as batch:
        await batch.begin(name)
        await batch.write(content)
        return (await batch.commit())[0]


async def test_they_are_stored_beside_the_document_and_deleted_with_it(tmp_path: Path) -> None:
    folders = ThreadFolders(tmp_path)
    store = UploadStore(folders, converter=PATIENT)
    kept = await put(store, "letter.pdf", scan("red", "blue"))
    assert kept.markdown.pictures == [f"{UPLOADS}/letter-page-{number}.jpg" for number in (1, 2)]
    assert await store.list_uploads(THREAD) == [kept]
    folder = folders.area(THREAD, "uploads")
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["letter-page-1.jpg", "letter-page-2.jpg", "letter.md", "letter.pdf"]
    again = await put(store, "letter.pdf", scan("green"))
    assert again.markdown.pictures == [f"{UPLOADS}/letter-2-page-1.jpg"]
    await store.delete(THREAD, "letter-2.pdf")
    assert sorted(path.name for path in folder.iterdir()) == names
    (folder / "letter-page-1.jpg").unlink()
    await store.delete(THREAD, "letter.pdf")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("vision", [False, True])
async def test_a_model_with_vision_sees_them(tmp_path: Path, vision: bool) -> None:
    store = UploadStore(ThreadFolders(tmp_path), converter=PATIENT)
    kept = await put(store, "letter.pdf", scan("red", "blue", "green"))
    message = HumanMessage("What does it say?", additional_kwargs={"files": [{"filename": "letter.pdf"}]})
    [shown] = await with_uploads([message], THREAD, store, ShowLimits(vision=vision, images=2))
    first, second, third = kept.markdown.pictures
    if not vision:
        assert isinstance(shown.content, str)
        assert "It also contains pictures (3), which you can't see." in shown.content
        return
    text, *blocks = shown.content
    assert f"Pictures in it, shown below: {first}, {second}" in text["text"]
    assert f"Pictures in it that you can open with view_image: {third}" in text["text"]
    assert [block.get("text") or block["mime_type"] for block in blocks] == [
        first,
        "image/jpeg",
        second,
        "image/jpeg",
    ]
