"""Talking to QEMU: its machine protocol (QMP), one JSON message a line over a unix socket."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec


class QmpError(Exception):
    """QEMU refused a command, or does not answer."""


class Qmp:
    """One connection. QEMU serves one at a time, so keep it short. Use as a context manager."""

    def __init__(self, path: Path, timeout_s: float = 30.0) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self._buffer = bytearray()
        self.events: list[dict[str, Any]] = []
        deadline = time.monotonic() + timeout_s
        try:
            _connect(self._socket, path, deadline)
            self._receive(deadline)
            self.command("qmp_capabilities", timeout_s=timeout_s)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Qmp:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def command(self, name: str, /, timeout_s: float = 30.0, **arguments: Any) -> Any:
        """What QEMU returns. Raises QmpError when it refuses or does not answer in time."""
        message: dict[str, Any] = {"execute": name}
        if arguments:
            message["arguments"] = arguments
        try:
            self._socket.sendall(msgspec.json.encode(message) + b"\n")
        except OSError as error:
            raise QmpError(f"{name}: QEMU is gone ({error.strerror})") from error
        deadline = time.monotonic() + timeout_s
        while True:
            answer = self._receive(deadline)
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise QmpError(f"{name}: {answer['error'].get('desc', answer['error'])}")
            self.events.append(answer)

    def wait_event(self, name: str, timeout_s: float, **data: Any) -> dict[str, Any]:
        """The next event (or one that came meanwhile) of that name whose data holds these values."""
        deadline = time.monotonic() + timeout_s
        while True:
            for event in self.events:
                if event.get("event") == name and data.items() <= event.get("data", {}).items():
                    self.events.remove(event)
                    return event
            self.events.append(self._receive(deadline))

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise QmpError("QEMU does not answer")
            self._socket.settimeout(left_s)
            try:
                chunk = self._socket.recv(65536)
            except TimeoutError as error:
                raise QmpError("QEMU does not answer") from error
            except OSError as error:
                raise QmpError(f"QEMU is gone ({error.strerror})") from error
            if not chunk:
                raise QmpError("QEMU is gone")
            self._buffer += chunk
        line, _, rest = self._buffer.partition(b"\n")
        self._buffer = bytearray(rest)
        answer: dict[str, Any] = msgspec.json.decode(line)
        return answer


def _connect(sock: socket.socket, path: Path, deadline: float) -> None:
    while True:
        sock.settimeout(max(0.1, deadline - time.monotonic()))
        try:
            return sock.connect(str(path))
        except OSError as error:
            if time.monotonic() > deadline:
                raise QmpError(f"QEMU does not answer on {path} ({error})") from error
            time.sleep(0.05)
