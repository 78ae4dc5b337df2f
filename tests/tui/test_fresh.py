"""Verdicts belong to the draft that they were made for."""

from __future__ import annotations

import copy

from made_compose import BOUND, DISKS, IDS, previewed

from raidtui.model.protocol import DiskList
from raidtui.tui.compose.document import put
from raidtui.tui.compose.fresh import Judged, Verdicts
from raidtui.tui.disks.hotplug import changes

CHUNK = ("layouts", "raid5", "md", "chunk")
BROKEN = BOUND._replace(document=put(BOUND.document, CHUNK, "3KiB"))


def _verdicts(draft, lineage=0):
    found = Verdicts()
    found.take(Judged(previewed(draft), draft, DISKS, lineage))
    return found


def test_the_answer_to_an_equal_draft_is_fresh():
    preview, fresh = _verdicts(BROKEN).of(copy.deepcopy(BROKEN), DISKS, 0)
    assert fresh
    assert preview.problems


def test_a_corrected_value_loses_its_problem_at_once_and_others_keep_theirs():
    twice = BROKEN._replace(document=put(BROKEN.document, ("layouts", "raid10", "md", "chunk"), "5KiB"))
    mended = twice._replace(document=put(twice.document, CHUNK, "64KiB"))
    preview, fresh = _verdicts(twice).of(mended, DISKS, 0)
    assert not fresh
    places = {problem.place for problem in preview.problems}
    assert places
    assert all("raid10" in place for place in places)
    assert not next(view for view in preview.layouts if view.name == "raid5").problems


def test_another_draft_with_the_same_names_gets_nothing_of_it():
    assert _verdicts(BROKEN).of(BOUND, DISKS, 1) == (None, False)


def test_other_disks_make_a_verdict_old():
    assert not _verdicts(BOUND).of(BOUND, DISKS[:5], 0)[1]


def test_an_earlier_draft_gets_its_own_verdict_back():
    found = _verdicts(BROKEN)
    found.take(Judged(previewed(BOUND), BOUND, DISKS, 0))
    preview, fresh = found.of(BROKEN, DISKS, 1)
    assert fresh
    assert preview.problems


def _listed(disks, boot="b"):
    return DiskList("raidtui.disks/1", "stor1", boot, tuple(disks))


def test_a_disk_that_went_is_told_with_its_role():
    (said,) = changes(_listed(DISKS), _listed(DISKS[1:]), {"data": IDS[:2]})
    assert said.alarming
    assert IDS[0] in said.words
    assert said.words.endswith("is gone; role data has it")


def test_many_disks_are_told_in_one_sentence_and_another_boot_is_no_change():
    (said,) = changes(_listed(()), _listed(DISKS), {})
    assert said.words == "6 disks are there now"
    assert not said.alarming
    assert not list(changes(_listed(DISKS), _listed((), "other"), {}))
    assert not list(changes(None, _listed(DISKS), {}))
