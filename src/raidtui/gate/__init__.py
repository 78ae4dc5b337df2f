"""Whether a disk may be written to. The only issuer of permission, and small on purpose."""

from raidtui.gate.admit import Admitted, admit, admit_for_recovery, readmit
from raidtui.gate.blank import is_blank, make_blank, prove_zero
from raidtui.gate.locks import holders
from raidtui.gate.look import taken
from raidtui.gate.permit import Permit
from raidtui.inventory.reasons import Explanation

PROBLEMS: dict[str, Explanation] = {
    "disk-gone": Explanation(
        "The disk is not there any more",
        "It was unplugged, or failed so badly that the kernel dropped it.",
        "Re-seat the disk, look at `dmesg`, then plan again.",
    ),
    "disk-changed": Explanation(
        "Not the disk that was planned with",
        "Serial, worldwide name, size, this appearance of the disk (diskseq) or the boot differ from the plan's.",
        "Plan again: `raidtui plan`.",
    ),
    "disk-taken": Explanation(
        "Somebody else's data appeared on a disk of the run",
        "Before the run wrote to the disk, it found data there that it had not put there.",
        "The disk was left as it is. If nobody needs what is on it: `wipefs -a`, then `raidtui recover`.",
    ),
    "disk-twice": Explanation("A disk was asked for twice", "One disk cannot play two parts.", "Bind each disk once."),
    "not-blank": Explanation(
        "The disk could not be made blank",
        "Zeroes were written or the disk was discarded, and something else was read back.",
        "Look at `dmesg` and the disk's SMART log.",
    ),
    "permit-closed": Explanation("A permit was used after it was given back", "This is a bug.", "Report it."),
    "cancelled": Explanation("Cancelled", "The operator ended it.", "Start it again."),
}
"""Problems that the gate raises beside the reasons of `inventory.REASONS`."""

__all__ = [
    "PROBLEMS",
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
