"""An engine that answers from a file: stands where ssh would, so that the command line is tested through a real pipe.

The file (FAKE_ENGINE) holds, by method: `{"result": …}`, `{"failure": […]}`, or `{"events": […], "die_after": N}`, where
the first connection dies after so many events. Requests are answered side by side, and each is appended to
FAKE_ENGINE.log; each connection is a line in FAKE_ENGINE.connections.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path

from raidtui.model.protocol import PROTOCOL

_TALKING = threading.Lock()


def main() -> None:
    path = os.environ["FAKE_ENGINE"]
    with open(path, encoding="utf-8") as file:
        answers = json.load(file)
    with open(path + ".connections", "a", encoding="utf-8") as log:
        log.write(f"{os.getpid()}\n")
    say({"type": "hello", "protocol": PROTOCOL, "version": "0.1.0", "host": "stor1", "root": True, "boot_id": "b"})
    for line in sys.stdin:
        request = json.loads(line)
        with open(path + ".log", "a", encoding="utf-8") as log:
            log.write(json.dumps({"method": request["method"], "params": request["params"]}) + "\n")
        threading.Thread(target=answer, args=(path, request, answers[request["method"]]), daemon=True).start()


def answer(path: str, request: dict, given: dict) -> None:
    number = request["id"]
    if "failure" in given:
        say({"type": "failure", "id": number, "problems": given["failure"]})
        return
    sent = 0
    for event in given.get("events", ()):
        if event.get("seq", 1) <= request["params"].get("after", 0):
            continue
        if sent == given.get("die_after") and not os.path.exists(path + ".died"):
            with open(path + ".died", "w", encoding="utf-8"):
                pass
            os._exit(255)
        say({"type": "event", "id": number, "event": event})
        sent += 1
        time.sleep(given.get("pause_s", 0))
    if "until" in given:
        # The run goes on until another connection has made this request.
        while f'"method": "{given["until"]}"' not in Path(path + ".log").read_text(encoding="utf-8"):
            time.sleep(0.02)
        for event in given["then"]:
            say({"type": "event", "id": number, "event": event})
    say({"type": "result", "id": number, "result": given.get("result")})


def say(message: dict) -> None:
    with _TALKING:
        print(json.dumps(message), flush=True)


if __name__ == "__main__":
    main()
