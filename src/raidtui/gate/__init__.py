"""Permission to write to a disk. This package is the only issuer, and small on purpose."""

from raidtui.gate.admit import Admitted, admit, admit_for_recovery, readmit
from raidtui.gate.blank import is_blank, make_blank, prove_zero
from raidtui.gate.last_look import taken
from raidtui.gate.locks import holders
from raidtui.gate.permit import Permit

__all__ = [
    "Admitted",
    "Permit",
    "admit",
    "admit_for_recovery",
    "holders",
    "is_blank",
    "make_blank",
    "prove_zero",
    "readmit",
    "taken",
]
