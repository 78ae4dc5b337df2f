"""An engine that says whatever its file tells it to: stands where ssh would. Imports nothing of raidtui.

The file (HOSTILE_ENGINE) holds what is written at the start, on stderr, and after each request, as lists of chunks
`[text, times]`, text as latin-1; `{ID}` is the request's number, `{N}` counts. `end`: `exit` at the end of its words
(with the code in `exit`), `hang`, or `serve` until stdin ends, or until nothing is asked for some seconds.
"""

import json
import os
import signal
import sys
import time

with open(os.environ["HOSTILE_ENGINE"], encoding="ascii") as file:
    PLAN = json.load(file)


def write(fd: int, chunks: list, number: int = 0) -> None:
    for text, times in chunks:
        if "{N}" in text:
            for count in range(1, times + 1):
                write(fd, [[text.replace("{N}", str(count)), 1]], number)
            continue
        data = text.replace("{ID}", str(number)).encode("latin-1")
        many = max(1, min(times, (1 << 16) // max(1, len(data))))
        block = data * many
        for _ in range(times // many):
            rest = memoryview(block)
            while rest:
                rest = rest[os.write(fd, rest) :]


try:
    write(2, PLAN.get("stderr", []))
    write(1, PLAN.get("start", []))
    if PLAN.get("end") == "serve":
        signal.alarm(10)
        for line in sys.stdin.buffer:
            signal.alarm(PLAN.get("linger_s", 3))
            asked = json.loads(line)
            write(1, PLAN["answers"].get(asked["method"], PLAN["answers"].get("*", [])), asked["id"])
    elif PLAN.get("end") == "hang":
        time.sleep(3600)
except BrokenPipeError:
    pass
sys.stdout = sys.stderr = None
os._exit(PLAN.get("exit", 0))
