"""Tuning in Compose: every setting can be set and seen, by the same forms as everything else."""

from __future__ import annotations

from compose_pilot import at_line, at_option, drawn, lines, opened, previewed, typed
from made_compose import BOUND
from pilot import LARGE, drive, until

TUNING = ("layouts", "raid5", "md", "tuning")


async def go_to(pilot, screen, *path) -> None:
    screen.focus_pane("form")
    screen.query_one("#form").go_to(path)
    await pilot.pause()
    assert screen.query_one("#form").row.path == path


def test_an_array_and_its_disks_are_tuned_by_keys_alone(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid5")
        await at_option(pilot, screen, "stripe_cache_size")
        await pilot.press("enter")
        await typed(pilot, "4096")
        await pilot.press("enter")
        await go_to(pilot, screen, *TUNING, "disks", "scheduler")
        await pilot.press("space")
        await go_to(pilot, screen, *TUNING, "device", "read_ahead")
        await pilot.press("enter")
        await typed(pilot, "4MiB")
        await pilot.press("enter")
        assert app.draft.document["layouts"]["raid5"]["md"]["tuning"] == {
            "stripe_cache_size": 4096, "disks": {"scheduler": "none"}, "device": {"read_ahead": "4MiB"},
        }  # fmt: skip
        await until(pilot, lambda: ", tuned" in drawn(screen))
        assert any("stripe_cache_size" in line and "4096" in line for line in lines(screen, "#form"))
        (view,) = [view for view in screen.preview.layouts if view.name == "raid5"]
        assert any("queue/scheduler" in command[-1] for command in view.build)
        assert not view.problems

    drive(app, talk, LARGE)


def test_a_setting_that_cannot_be_tuned_is_marked_at_its_option(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid10")
        await at_option(pilot, screen, "group_thread_cnt")
        await pilot.press("enter")
        await typed(pilot, "2")
        await pilot.press("enter")
        await previewed(pilot, screen)
        await until(pilot, lambda: any("has no stripe cache" in problem.message for problem in screen.preview.problems))
        row = next(row for row in screen.query_one("#form")._rows if row.field.name == "group_thread_cnt")
        assert "has no stripe cache" in row.wrong

    drive(app, talk, LARGE)
