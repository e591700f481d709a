"""Families of Debian's font packages that the pages are set in; some are kept for testing only."""

SERIF = [
    "Liberation Serif", "Latin Modern Roman", "TeX Gyre Termes", "TeX Gyre Pagella", "TeX Gyre Schola",
    "TeX Gyre Bonum", "Caladea", "EB Garamond 12", "Linux Libertine O", "DejaVu Serif",
]  # fmt: skip
SANS = [
    "Liberation Sans", "Latin Modern Sans", "TeX Gyre Heros", "Carlito", "DejaVu Sans", "TeX Gyre Adventor",
    "Linux Biolinum O",
]  # fmt: skip
MONO = ["Liberation Mono", "Latin Modern Mono", "DejaVu Sans Mono", "TeX Gyre Cursor"]
