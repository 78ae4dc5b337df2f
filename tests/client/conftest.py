"""The command line's made-up plans and records are used here, too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))
