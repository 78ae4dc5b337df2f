"""Where the rest of a cell went, in a line below the cells."""

from __future__ import annotations

from raidtui.base.text import clean
from raidtui.model.result import Result
from raidtui.results.accounting import accounts
from raidtui.results.extract import extract
from raidtui.results.rates import unit_of
from raidtui.results.where import cell_words
from raidtui.tui.results.sheet import signs


def account_words(result: Result) -> dict[str, str]:
    """By cell; nothing for bare disks and cells that are not valid."""
    one, cells = extract(result), {cell.id: cell for cell in result.cells}
    names = ({name: name for name in one.layouts}, {name: name for name in one.workloads})
    return {
        id_: signs(clean(cell_words(found, unit_of([cells[id_]])), 4096))
        for found in accounts([one], names[:1], names[1:])
        for id_ in found.cells
    }
