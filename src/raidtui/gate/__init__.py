"""Whether a disk may be written to. The only issuer of permission, and small on purpose."""

from raidtui.gate.admit import Admitted, admit, admit_for_recovery, readmit
from raidtui.gate.blank import is_blank, make_blank, prove_zero
from raidtui.gate.locks import holders
from raidtui.gate.look import taken
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
