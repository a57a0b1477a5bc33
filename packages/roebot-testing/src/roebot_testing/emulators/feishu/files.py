"""The IM methods about pictures and files (open.feishu.cn, im-v1 image, file and message-resource)."""

from __future__ import annotations

import orjson

from roebot_testing.emulators.api import CallResult
from roebot_testing.emulators.feishu import rules
from roebot_testing.emulators.feishu.call import FeishuCall
from roebot_testing.emulators.feishu.state import MERGED
from roebot_testing.emulators.feishu.workspace import FeishuWorkspace

IMAGE_LIMIT = 10 * 1024 * 1024
"""Bytes of a picture (im-v1 image/create)."""
FILE_LIMIT = 30 * 1024 * 1024
"""Bytes of a file (im-v1 file/create)."""
RESOURCE_LIMIT = 100 * 1024 * 1024
"""Bytes of a file that can be fetched (im-v1 message-resource/get)."""
IMAGE_SIDE = 12_000
GIF_SIDE = 2000
"""Longest side of a picture in pixels (im-v1 image/create)."""
_FORMATS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"BM", b"\0\0\1\0", b"II*\0", b"MM\0*")
"""First bytes of PNG, JPEG, GIF, BMP, ICO and TIFF."""
_BRANDS = {b"RIFF": (b"WEBP",), b"ftyp": (b"heic", b"heix", b"mif1")}


def upload_image(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`POST im/v1/images`: up to 10 MB in one of the known formats; the sides of PNG and GIF are checked."""
    data = _uploaded(call, IMAGE_LIMIT)
    if not _is_image(data):
        raise rules.IMAGE_FORMAT.refusal()
    most = GIF_SIDE if data.startswith(b"GIF8") else IMAGE_SIDE
    if max(_measure(data)) > most:
        raise rules.IMAGE_RESOLUTION.refusal()
    name = call.upload[0] if call.upload else ""
    return CallResult({"image_key": world.store("img", name, data, is_own=True).key})


def upload_file(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`POST im/v1/files`: up to 30 MB, not empty."""
    data = _uploaded(call, FILE_LIMIT)
    name, kind = str(call.body["file_name"]), str(call.body["file_type"])
    return CallResult({"file_key": world.store("file", name, data, is_own=True, file_type=kind).key})


def resource(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`GET im/v1/messages/:id/resources/:key?type=`: a file of a message."""
    message, key = world.message(call.args[0]), call.args[1]
    if message.chat.barrier is rules.NOT_IN_GROUP:
        raise rules.RESOURCE_OUTSIDE.refusal()
    if message.kind in (MERGED, "interactive"):
        raise rules.RESOURCE_KIND.refusal()
    file = world.files.get(key)
    if file is None or key not in orjson.dumps(message.content).decode():
        raise rules.RESOURCE_ELSEWHERE.refusal()
    if len(file.data) > RESOURCE_LIMIT:
        raise rules.RESOURCE_TOO_LARGE.refusal()
    return CallResult(None, message.chat.id, message.id, raw=file.data)


def _uploaded(call: FeishuCall, limit: int) -> bytes:
    if call.upload is None:
        raise rules.UPLOAD_MISSING.refusal()
    data = call.upload[1]
    if not data:
        raise rules.UPLOAD_EMPTY.refusal()
    if len(data) > limit:
        raise rules.UPLOAD_TOO_LARGE.refusal()
    return data


def _is_image(data: bytes) -> bool:
    if data.startswith(_FORMATS):
        return True
    kind = b"RIFF" if data.startswith(b"RIFF") else data[4:8]
    return data[8:12] in _BRANDS.get(kind, ())


def _measure(data: bytes) -> tuple[int, int]:
    """Return width and height of a PNG or GIF in pixels, or 0 for other formats."""
    if data.startswith(b"\x89PNG") and len(data) >= 24:
        return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    if data.startswith(b"GIF8") and len(data) >= 10:
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    return 0, 0
