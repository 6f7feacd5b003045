"""One virtual Android phone of a lab that another program commands, and what it was asked."""

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import trio
from msgspec import Struct

from grid.lab.control import lab_trace, lab_truth
from grid.lab.trace import MAX_ENTRIES
from tests.e2e.tool import lab_of
from tests.fidelity.agent_device import OldReader, open_old_reader

CALL_LIMIT_S: Final = 20.0


class LabPhone(Struct, frozen=True):
    """The phone, by its address and by the lab's control server."""

    serial: str
    truth_url: str

    def requests(self) -> list[str]:
        """Return all that it was ever asked, oldest first."""
        entries = _ask(lab_trace, self)["entries"]
        assert len(entries) < MAX_ENTRIES, "the trace has lost its beginning"
        return [entry["text"] for entry in entries]

    def truth(self) -> dict[str, Any]:
        """Return its state and that of its apps."""
        return _ask(lab_truth, self)


@contextmanager
def open_lab_reader(folder: Path) -> Iterator[tuple[OldReader, LabPhone]]:
    """Run a lab of one phone, and yield the command line of agent-device for it."""
    own = folder / "agent-device"
    own.mkdir()
    with lab_of(folder, android=1, ios=0) as path:
        grid = tomllib.loads(path.read_text())
        (adb,) = grid["adb"]
        (serial,) = adb["serials"]
        with open_old_reader(own, adb_port=adb["port"]) as reader:
            yield reader, LabPhone(serial, grid["lab"]["truth_url"])


def _ask(call: Any, phone: LabPhone) -> dict[str, Any]:
    async def ask() -> dict[str, Any]:
        with trio.fail_after(CALL_LIMIT_S):
            return dict(await call(phone.truth_url, phone.serial))

    return trio.run(ask)
