"""Where each document's results go, decided for a whole run before any document is opened.

Knows names only: it opens nothing and never looks at the output folder.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

MAX_COMPONENT_BYTES = 180  # leaves room for `.pages`, a number and a temporary ending below the usual 255
_OWN_ENDINGS = (".pages", ".md", ".json", ".html", ".jsonl")
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"\\|?*\ud800-\udfff]')


def assign_names(wanted: Sequence[tuple[str, str]]) -> list[str]:
    """One output name per (name, ending), all different even where case does not count.

    The only one of its name keeps it. Those that share one get their ending (`x.pdf`, `x.png`), and where
    that is taken too, a number (`x.pdf-2`). Names stay inside the output folder.
    """
    safe = [_safe_name(name) for name, _ in wanted]
    num_wanting = Counter(map(_key, safe))
    taken = {key for key, count in num_wanting.items() if count == 1}
    next_number: Counter[str] = Counter()
    names = []
    for name, (_, ending) in zip(safe, wanted, strict=True):
        if num_wanting[_key(name)] > 1:
            name = _first_free(name + _UNSAFE.sub("_", ending.lower()), taken, next_number)
            taken.add(_key(name))
        names.append(name)
    return names


def _first_free(base: str, taken: set[str], next_number: Counter[str]) -> str:
    """`base`, or `base-2`, `base-3`, ...; `next_number` remembers where to go on, so many twins stay cheap."""
    name = base
    while _key(name) in taken:
        next_number[_key(base)] += 1
        name = f"{base}-{next_number[_key(base)] + 1}"
    return name


def _key(name: str) -> str:
    """Equal for names that some file system takes for the same."""
    return unicodedata.normalize("NFC", name).casefold()


def _safe_name(name: str) -> str:
    parts = [part for part in name.split("/") if part] or ["_"]
    folders = [_not_an_output(_safe_component(part)) for part in parts[:-1]]
    return "/".join([*folders, _safe_component(parts[-1])])


def _not_an_output(folder: str) -> str:
    """A folder called like one of our own results (`report.pages`) must not mix with it."""
    return f"{folder}_" if folder.lower().endswith(_OWN_ENDINGS) else folder


def _safe_component(part: str) -> str:
    """A name that every file system takes: no dots in front, nothing unprintable, not too long."""
    part = _UNSAFE.sub("_", part)
    visible = part.lstrip(".")
    part = ("_" * (len(part) - len(visible)) + visible).rstrip(" .") or "_"
    return part.encode()[:MAX_COMPONENT_BYTES].decode(errors="ignore")
