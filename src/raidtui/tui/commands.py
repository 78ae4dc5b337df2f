"""The command palette: every action that has a key here, and every screen, by its words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.dom import DOMNode


class Everything(Provider):
    """Commands of the present screen, searched by a part of their words."""

    async def discover(self) -> Hits:
        for words, tooltip, action in self._actions():
            yield DiscoveryHit(words, self._runner(action), help=tooltip)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for words, tooltip, action in self._actions():
            score = max(matcher.match(words), matcher.match(tooltip))
            if score > 0:
                yield Hit(score, matcher.highlight(words), self._runner(action), help=tooltip)

    def _actions(self) -> Iterator[tuple[str, str, tuple[str, DOMNode]]]:
        """Description, tooltip, and (action, the node that it is run on)."""
        seen = set()
        for active in self.screen.active_bindings.values():
            binding = active.binding
            if binding.system or not active.enabled or not binding.tooltip or binding.action in seen:
                continue
            seen.add(binding.action)
            yield binding.description or binding.tooltip, binding.tooltip, (binding.action, active.node)

    def _runner(self, action: tuple[str, DOMNode]) -> Callable[[], Awaitable[None]]:
        words, node = action

        async def run() -> None:
            await self.app.run_action(words, node)

        return run
