"""PyMuPDF without the layout analyser that it would import along: a network's runtime that notes each use in the
user's cache folder, half a second and 90 MB, for nothing here.

The other files of this room take `pymupdf` and `mupdf` from here.
"""

import sys

_UNWANTED = [name for name in ("pymupdf.layout", "pymupdf4llm") if name not in sys.modules]

sys.modules |= dict.fromkeys(_UNWANTED)  # type: ignore[arg-type]  # None: Python takes it for not importable
try:
    import pymupdf
    from pymupdf import mupdf
finally:
    for _name in _UNWANTED:
        del sys.modules[_name]  # whoever wants it can import it after us

__all__ = ["mupdf", "pymupdf"]
