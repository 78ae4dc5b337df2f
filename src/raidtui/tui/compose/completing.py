"""Words that complete what is being typed into an option: names and values of properties, choices, examples. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from raidtui.model.describe import Field
from raidtui.tui.compose.value_text import entry_of, is_word_list


class Word(NamedTuple):
    """One word that may be taken."""

    text: str
    note: str = ""


class Completions(NamedTuple):
    """Words that fit the part of a text at the cursor."""

    words: tuple[Word, ...] = ()
    start: int = 0
    end: int = 0
    """The part of the text that a word replaces."""
    begun: bool = False
    """True if a part of a word is typed, so that the first word is meant."""

    def taken(self, text: str, number: int) -> tuple[str, int]:
        """Return the text with this word in it, and the cursor behind the word."""
        word = self.words[number].text
        return text[: self.start] + word + text[self.end :], self.start + len(word)


def completions(field: Field, text: str, cursor: int) -> Completions:
    """Return the words that fit at the cursor; none for options whose words are not known."""
    if field.by_name and field.entries:
        return _named(field, text, cursor)
    if is_word_list(field):
        start, end = _token(text, cursor)
        others = (text[:start] + text[end:]).split()
        return _fitting([Word(one) for one in field.choices if one not in others], text[start:end], start, end)
    if field.type == "text" and field.examples and not field.many:
        return _fitting([Word(one) for one in field.examples], text, 0, len(text))
    return Completions()


def _token(text: str, cursor: int) -> tuple[int, int]:
    """Return start and end of the word at the cursor."""
    start = text.rfind(" ", 0, cursor) + 1
    end = text.find(" ", cursor)
    return start, len(text) if end < 0 else end


def _named(field: Field, text: str, cursor: int) -> Completions:
    start, end = _token(text, cursor)
    name, sign, value = text[start:end].partition("=")
    if sign and cursor > start + len(name):
        entry = entry_of(field, name)
        words = [Word(one) for one in (*entry.choices, *entry.examples)] if entry else []
        return _fitting(words, value, start + len(name) + 1, end)
    others = {word.partition("=")[0] for word in (text[:start] + text[end:]).split()}
    words = [Word(_begin(one), one.help) for one in field.entries if one.name not in others]
    return _fitting(words, name + sign, start, start + len(name) + len(sign))


def _begin(entry: Field) -> str:
    """Return the name up to where its value, or the rest of the name, is typed."""
    return entry.name if entry.name.endswith("@") else f"{entry.name}="


def _fitting(words: Sequence[Word], typed: str, start: int, end: int) -> Completions:
    """Return the words that fit what is typed, those that begin so first; all of them if it is nothing, or a whole word."""
    whole = any(word.text == typed for word in words)
    found = [*_ranked(words, typed.lower()), *(words if whole else ())] if typed else words
    return Completions(tuple(dict.fromkeys(found)), start, end, begun=bool(typed) and not whole)


def _ranked(words: Sequence[Word], typed: str) -> Iterator[Word]:
    yield from (word for word in words if word.text.lower().startswith(typed))
    if len(typed) > 1:
        yield from (word for word in words if typed in word.text.lower())
        yield from (word for word in words if typed in word.note.lower())
