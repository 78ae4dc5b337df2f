"""The hosts of a run on the screen Run: a block for each, and the key that goes from one to the next."""

from __future__ import annotations

import made_hosts
import pytest
from pictures import same_picture
from pilot import LARGE, SMALL, drive, until

from raidtui.model.host import STORAGE
from raidtui.tui.run.hosts_pane import BLOCK_LINES, HostsPane, host_lines
from raidtui.tui.run.shown_run import Story


def told(count: int = 2, seconds: int = 30) -> Story:
    story = Story()
    story.take(made_hosts.records(count, seconds))
    return story


def lines(story: Story, at_s: float | None = None, width: int = 100) -> list[str]:
    moment = story.now() if at_s is None else story.at(at_s)
    return [line.plain for line in host_lines(story, moment, 0, width)]


def test_the_storage_server_comes_first_then_every_client_with_its_numbers():
    found = lines(told())
    assert len(found) == 3 * BLOCK_LINES
    wanted = {
        0: [STORAGE], 1: ["read 60,000 IOPS, 246 MB/s"], 2: ["to-c1", "out 250"],
        4: ["clients-1", "root@10.10.1.2", "nvme1n1"], 5: ["read 21,000 IOPS, 86.0 MB/s"],
        6: ["1.5 of 4", "eth1 in 88.2 out 1.9 MB/s"], 8: ["clients-2"], 9: ["100 % !"],
    }  # fmt: skip
    missing = [(number, words) for number, of in wanted.items() for words in of if words not in found[number]]
    assert not missing, found


def test_no_line_is_wider_than_the_pane_and_long_ago_numbers_are_not_shown():
    story = told()
    narrow = lines(story, width=35)
    assert max(map(len, narrow)) <= 35
    assert "CPU 1.5 of 4 in 88.2 out 1.9 MB/s" in narrow[6]
    assert "loads nothing now" in lines(story, 0.5)[5]
    assert "21,000" not in lines(story, 0.5)[5]


@pytest.mark.parametrize(("name", "size"), [("hosts-80", SMALL), ("hosts-120", (120, 40)), ("hosts-200", LARGE)])
def test_the_pane_at_each_size(stage, name, size):
    seen = made_hosts.records()
    stage.answers(follow={"events": seen, "until": "never", "then": []})
    app = stage.app()

    async def talk(pilot):
        await until(pilot, lambda: app.link_state.up)
        app.follow_run(made_hosts.RUN)
        await until(pilot, lambda: app.desk.story.view.seq >= seen[-1].seq and app.current_mode == "run")
        await until(pilot, lambda: "hosts" in app.screen._panes)
        pane = app.screen.query_one(HostsPane)
        await pilot.press("h")
        if size == SMALL:
            assert pane.display, "the first press shows the pane"
            assert pane.marked == 0
            await pilot.press("h")
        assert pane.marked == 1
        await pilot.press("h", "space")
        await same_picture(pilot, name)
        await pilot.press("h", "H")
        assert pane.marked == 2, "round and back"

    drive(app, talk, size)


def test_a_run_on_one_server_has_no_pane_of_hosts(stage):
    from recorded import RUN, records

    stage.answers(follow={"events": records(), "until": "never", "then": []})
    app = stage.app()

    async def talk(pilot):
        await until(pilot, lambda: app.link_state.up)
        app.open_run(RUN)
        await until(pilot, lambda: app.desk.story.view.seq >= records()[-1].seq and app.current_mode == "run")
        assert not app.screen.query_one(HostsPane).display
        assert app.screen.check_action("host", (1,)) is False
        await pilot.press("h")
        assert not app.screen.query_one(HostsPane).display

    drive(app, talk)
