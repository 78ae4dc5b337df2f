"""The command palette: everything that can be reached by a word, with its key. Moves of the cursor come last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import msgspec
from rich.text import Text
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.screen import Screen

from raidtui.base.text import clean
from raidtui.model.problem import ProblemError
from raidtui.tui.shared import SCREENS, SharedApp

if TYPE_CHECKING:
    from raidtui.model.describe import Field
    from raidtui.tui.compose.edit import Change
    from raidtui.tui.draft import Draft
    from raidtui.tui.screens.compose import ComposeScreen

_MOST: Final = 12
"""Most hits of one sort (options, results, …) for one query."""
_MOVES: Final = ("cursor", "pane", "step", "scroll", "page", "switch_mode", "move", "focus", "other_pane", "to_outline")
"""Actions that only go somewhere: they are offered last."""


class Command(NamedTuple):
    """One line of the palette."""

    words: str
    help: str
    run: Callable[[], object]
    key: str = ""
    late: bool = False
    """True for a move, which comes after all else."""

    @property
    def text(self) -> str:
        return f"{self.words}  {self.key}" if self.key else self.words


class Explained(msgspec.Struct, frozen=True):
    """A problem code as `raidtui explain` has it."""

    code: str
    title: str
    meaning: str
    way_out: str


class Everything(Provider):
    """Commands of the present screen, screens, layouts, workloads, options, scenarios, results and problem codes."""

    def __init__(self, screen: Screen[Any], match_style: Any = None) -> None:
        super().__init__(screen, match_style)
        self._things: list[list[Command]] = []
        self._explained: tuple[Explained, ...] | None = None
        """None until the engine was asked for the problem codes."""

    @property
    def _raidtui(self) -> SharedApp:
        return cast(SharedApp, self.app)

    async def startup(self) -> None:
        kinds, scenarios = await self._of_kinds(), await asyncio.to_thread(self._scenarios)
        self._things = [self._screens(), list(self._own()), kinds, scenarios]

    async def discover(self) -> Hits:
        own = sorted(self._bindings(), key=lambda command: command.late)
        for command in own:
            yield DiscoveryHit(command.text, command.run, text=command.text, help=command.help)

    async def search(self, query: str) -> Hits:
        commands = [*self._bindings(), *(command for sort in self._things for command in sort)]
        commands += await asyncio.to_thread(self._results, query)
        commands += await self._codes(query)
        matcher, words = self.matcher(query), query.casefold().split()
        for command in commands:
            hay = f"{command.words} {command.help}".casefold()
            if not all(word in hay for word in words) and matcher.match(command.words) <= 0:
                continue
            title = command.words.casefold()
            score = 0.3 + 0.4 * all(word in title for word in words) + 0.3 * title.startswith(query.casefold().strip())
            shown = Text(command.words)
            shown.highlight_words(words, "bold underline", case_sensitive=False)
            if command.key:
                shown.append(f"  {command.key}", "dim")
            yield Hit(score * (0.3 if command.late else 1), shown, command.run, text=command.text, help=command.help)

    def _bindings(self) -> Iterator[Command]:
        """Yield the keys that work on the present screen."""
        keys: dict[str, list[str]] = {}
        found = list(self.screen.active_bindings.values())
        for active in found:
            keys.setdefault(active.binding.action, []).append(self.app.get_key_display(active.binding))
        seen = set()
        for active in found:
            binding = active.binding
            if binding.system or not active.enabled or not binding.tooltip or binding.action in seen:
                continue
            seen.add(binding.action)
            name = binding.action.partition("(")[0].rpartition(".")[2]
            yield Command(binding.description or binding.tooltip, binding.tooltip,
                          partial(self.app.run_action, binding.action, active.node),
                          " ".join(dict.fromkeys(keys[binding.action])), name.startswith(_MOVES))  # fmt: skip

    def _screens(self) -> list[Command]:
        return [
            Command(f"Screen {name.capitalize()}", does, partial(self.app.switch_mode, name), str(number))
            for number, (name, does) in enumerate(SCREENS.items(), 1)
        ]

    def _own(self) -> Iterator[Command]:
        """Yield the entries of the draft."""
        document = self._raidtui.draft.document
        for section in ("layouts", "workloads", "roles"):
            for name in document.get(section) or ():
                words = f"{section.removesuffix('s').capitalize()} {clean(name)}"
                yield Command(words, "of this scenario", partial(self._go, (section, name)))

    async def _of_kinds(self) -> list[Command]:
        """Return what can be added to the draft, and every option."""
        from raidtui.model.describe import Kinds
        from raidtui.tui.compose.edit import add_layout, add_preset, layer_offers, takes_layer

        try:
            kinds: Kinds = await self._raidtui.link.call("describe", None, Kinds)
        except ProblemError:
            return []
        found: list[Command] = []
        for offer in layer_offers(kinds, takes_layer):
            add = partial(add_layout, kind=offer.kind, given=offer.given, word=offer.words)
            about = f"{offer.kind.title}: {_first(offer.kind.help)}"
            found.append(Command(f"Add layout {offer.words}", about, partial(self._change, add), "l"))
        for preset in kinds.presets:
            add = partial(add_preset, preset=preset)
            found.append(Command(f"Add workload {preset.name}", preset.title, partial(self._change, add), "w"))
        for kind in (*kinds.layers, *kinds.workloads, kinds.role, kinds.policy):
            found += [
                Command(f"Option {name} of {kind.kind}", _first(field.help),
                        partial(self._option, kind.kind, field.name, f"{kind.kind}.{name}: {field.help}"))
                for name, field in _options(kind.fields)
            ]  # fmt: skip
        return found

    def _scenarios(self) -> list[Command]:
        from raidtui.tui.compose.files import beginnings

        return [
            Command(f"Scenario {one.words}", one.note, partial(self._begin, one.name, f"begin from {one.words}"))
            for one in beginnings() if not one.note.startswith("result")
        ]

    def _results(self, query: str) -> list[Command]:
        """Return the kept results with all words of the query; `result` alone finds the newest."""
        from raidtui.front.library import library

        words = " ".join(word for word in query.split() if word.casefold() not in ("result", "results"))
        with suppress(ProblemError), library() as known:
            return [
                Command(f"Result {clean(one.scenario, 60)} {clean(one.started[:16].replace('T', ' '))}",
                        f"{clean(one.title, 100)} · {clean(one.host, 60)} · {clean(one.run, 60)}",
                        partial(self._raidtui.open_result, one.path), "5")
                for one in islice((one for one in known.search(words) if not one.problem), _MOST)
            ]  # fmt: skip
        return []

    async def _codes(self, query: str) -> list[Command]:
        """Return the problem codes in which every word of the query is found."""
        words = query.casefold().split()
        if self._explained is None:
            self._explained = ()
            with suppress(ProblemError):
                self._explained = await self._raidtui.link.call("explain", {"code": ""}, tuple[Explained, ...])
        found = [one for one in self._explained
                 if all(word in f"{one.code} {one.title} {one.meaning}".casefold() for word in words)]  # fmt: skip
        found.sort(key=lambda one: not one.code.startswith(tuple(words)))
        return [Command(f"Problem {one.code}", one.title, partial(self._explain, one)) for one in found[:_MOST]]

    def _explain(self, one: Explained) -> None:
        from raidtui.tui.widgets.dialog import Told

        self.app.push_screen(Told(f"{one.code}: {one.title}", f"{one.meaning}\n\n→ {one.way_out}"))

    async def _compose(self, then: Callable[[ComposeScreen], object]) -> None:
        """Show the screen Compose, then do something on it."""
        await self.app.switch_mode("compose")
        screen = cast("ComposeScreen", self.app.screen)
        screen.call_after_refresh(then, screen)

    async def _go(self, path: tuple[str, ...]) -> None:
        await self._compose(lambda screen: screen.go(path))

    async def _begin(self, name: str, what: str) -> None:
        await self._compose(lambda screen: screen.begin_from(name, what))

    async def _change(self, change: Callable[[Draft], Change]) -> None:
        await self._compose(lambda screen: screen.change(lambda: change(self._raidtui.draft)))

    async def _option(self, kind: str, name: str, words: str) -> None:
        def shown(screen: ComposeScreen) -> None:
            if not screen.go_to_option(kind, name):
                screen.notify(words, timeout=12, markup=False)

        await self._compose(shown)


def _options(fields: Sequence[Field], above: str = "") -> Iterator[tuple[str, Field]]:
    for field in fields:
        yield f"{above}{field.name}", field
        yield from _options(field.fields, f"{above}{field.name}.")


def _first(text: str) -> str:
    return text.partition(". ")[0]
