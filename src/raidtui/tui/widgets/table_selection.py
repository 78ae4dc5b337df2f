"""Selected rows of a table: single ones, and ranges that grow and shrink with the cursor."""

from __future__ import annotations

from collections.abc import Callable, Sequence


class Selection:
    """Keys that are selected. A range goes from its anchor to the cursor, on top of what was selected before."""

    def __init__(self, selectable: Callable[[str], bool] | None = None) -> None:
        self.keys: frozenset[str] = frozenset()
        self._selectable = selectable or (lambda key: True)
        self._anchor: str | None = None
        self._before: frozenset[str] = frozenset()
        self.sticky = False
        """True if plain movements extend the range, too."""

    def replace(self, keys: frozenset[str]) -> bool:
        """Return True if the selection changed. Keys that cannot be selected are left out."""
        wanted = frozenset(key for key in keys if self._selectable(key))
        changed, self.keys = wanted != self.keys, wanted
        return changed

    def toggle(self, key: str) -> bool:
        """Return True if the key could be toggled."""
        self.end_range()
        return self.replace(self.keys ^ {key})

    def begin_range(self, key: str, sticky: bool = False) -> None:
        """Anchors a range, where there is none."""
        self.sticky = self.sticky or sticky
        if self._anchor is None:
            self._anchor, self._before = key, self.keys

    def extend_to(self, key: str, keys: Sequence[str]) -> bool:
        """The range now ends at `key`. Whether that made a difference."""
        if self._anchor is None or self._anchor not in keys or key not in keys:
            return False
        first, last = sorted((keys.index(self._anchor), keys.index(key)))
        return self.replace(self._before | frozenset(keys[first : last + 1]))

    def end_range(self) -> None:
        """Keep the selection as it is."""
        self._anchor, self.sticky = None, False

    def keep(self, keys: Sequence[str]) -> bool:
        """Forgets what is no longer there. Whether that made a difference."""
        return bool(self.keys) and self.replace(self.keys & frozenset(keys))
