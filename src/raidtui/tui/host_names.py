"""The dialog that names the hosts of the draft."""

from __future__ import annotations

from collections.abc import Callable

from raidtui.front.hosts import host_words, hosts_of
from raidtui.model.problem import ProblemError
from raidtui.tui.draft import host_groups
from raidtui.tui.shared import SharedApp
from raidtui.tui.widgets.dialog import AskText


def ask_hosts(app: SharedApp, then: Callable[[], None]) -> None:
    """Ask for the ssh destinations of the draft's groups of hosts; `then` is called when they were given."""
    named = {group: app.hosts.get(group, ()) for group in host_groups(app.draft)}
    example = f"{next(iter(named), 'clients')}=root@10.0.0.1,root@10.0.0.2"
    asked = f"As the storage server reaches them over ssh: {example}"

    def take(text: str | None) -> None:
        if text is not None:
            app.hosts = hosts_of(text.split())
            then()

    app.push_screen(AskText("Hosts", asked, value=" ".join(host_words(named)), check=_wrong), take)


def _wrong(text: str) -> str:
    """Return what is wrong with the words that name hosts; empty if nothing is."""
    try:
        hosts_of(text.split())
    except ProblemError as error:
        return error.problems[0].message
    return ""
