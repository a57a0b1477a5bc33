"""Detection of a text's encoding in a child: `python -m agent.uploads.documents.encoding_child LIMITS FROM`.

FROM is an inherited file descriptor. The process prints the encoding as its only line, {} for binary content.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from agent.uploads.documents.child import Bounds, discard_output
from agent.uploads.documents.text_encoding import detect_encoding


def main(arguments: Sequence[str]) -> int:
    """Detect the encoding, print its codec, and return 0."""
    limits, source = arguments
    output = discard_output()
    Bounds(**json.loads(limits)).apply()
    with os.fdopen(int(source), "rb") as file:
        found = detect_encoding(file.read())
    os.write(output, json.dumps({"codec": found.codec, "errors": found.errors} if found else {}).encode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
