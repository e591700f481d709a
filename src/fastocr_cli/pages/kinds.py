"""Which files are documents: by content first, by ending where content cannot be asked.

Knows the first bytes of files, and neither PyMuPDF nor Pillow.
"""

import re
from pathlib import Path
from typing import Literal

Kind = Literal["pdf", "image"]

IMAGE_ENDINGS = frozenset({".png", ".apng", ".jpg", ".jpeg", ".jpe", ".jfif", ".tif", ".tiff", ".webp", ".gif", ".bmp"})
ENDINGS = IMAGE_ENDINGS | {".pdf"}

_IMAGE_STARTS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_BMP_HEADER_SIZES = {12, 16, 40, 52, 56, 64, 108, 124}
_PDF_START = re.compile(rb"(\xef\xbb\xbf)?\s*%PDF-")
_HEAD_BYTES = 1024  # the PDF specification lets other bytes come before the header, up to here


def has_document_ending(path: str) -> bool:
    """Whether the name promises a PDF or an image; case does not matter."""
    return Path(path).suffix.lower() in ENDINGS


def kind_of(path: str | Path) -> Kind | None:
    """What the file's first bytes say it is; None for anything that is not read.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        head = file.read(_HEAD_BYTES)
    if head.startswith(_IMAGE_STARTS) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP") or _is_bmp(head):
        return "image"
    if _PDF_START.match(head):
        return "pdf"
    # Junk before the header is believed only where the name agrees: any text may mention "%PDF-".
    return "pdf" if b"%PDF-" in head and Path(path).suffix.lower() == ".pdf" else None


def _is_bmp(head: bytes) -> bool:
    """`BM` alone begins many a text, so the size of the second header is looked at too."""
    return head[:2] == b"BM" and int.from_bytes(head[14:18], "little") in _BMP_HEADER_SIZES
