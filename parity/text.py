"""Text from anywhere, made harmless and made to fit a terminal of 80 columns."""

from __future__ import annotations

import textwrap
import unicodedata

WIDTH = 80


def printable(text: str) -> str:
    """Control characters, escape sequences and bidirectional marks shown as escapes."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def cells(text: str) -> int:
    """Columns of a terminal that a text takes: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def cut(text: str, width: int) -> str:
    """At most ``width`` columns; the middle goes, since both ends of a path tell most."""
    if cells(text) <= width:
        return text
    room = width - 1
    head = _taken(text, room // 2)
    tail = _taken(text[::-1], room - cells(head))[::-1]
    return f"{head}~{tail}"


def column(text: str, width: int) -> str:
    """A name, harmless, cut and filled up to exactly ``width`` columns."""
    fitted = cut(printable(text), width)
    return fitted + " " * (width - cells(fitted))


def wrap(text: str, start: str, *, indent: str = "") -> list[str]:
    """Break at spaces to fit the width; words longer than a line are cut in the middle."""
    room = WIDTH - len(start) - len(indent or "  ")
    words = " ".join(cut(word, room) for word in text.split(" "))
    return textwrap.wrap(
        words,
        WIDTH,
        initial_indent=start,
        subsequent_indent=start + (indent or "  "),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _taken(text: str, room: int) -> str:
    """The beginning of a text, as much as fits."""
    for end, character in enumerate(text):
        room -= _cells(character)
        if room < 0:
            return text[:end]
    return text
