"""Types that several threads use for the first time at once."""

import subprocess
import sys

PROGRAM = """
from __future__ import annotations
import sys, threading, types
import msgspec
from raidtui.model.type_info import ready

sys.setswitchinterval(1e-6)
SOURCE = "from __future__ import annotations\\nimport msgspec\\n" + "class In(msgspec.Struct):\\n" + "".join(
    f"    f{i}: dict[str, int | None] = {{}}\\n" for i in range(40)) + "class Out(msgspec.Struct):\\n" + "".join(
    f"    g{i}: In | None = None\\n" for i in range(20))
DATA = b'{"g0":{"f39":{"a":1}},"g19":{"f38":{"b":2}}}'
for number in range(100):
    module = types.ModuleType(f"made{number}")
    sys.modules[module.__name__] = module
    exec(SOURCE, module.__dict__)
    gate = threading.Barrier(8)

    def use():
        gate.wait()
        decoder = msgspec.json.Decoder(ready(module.Out))
        for _ in range(5):
            assert decoder.decode(DATA).g19.f38 == {"b": 2}

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_the_first_use_by_eight_threads_at_once_does_not_crash():
    """Without `ready`, this program ends with SIGSEGV."""
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (0, "")
