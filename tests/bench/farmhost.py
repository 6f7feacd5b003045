"""The farm's process: the lab's phones and their adb server, until standard input closes."""

import os
import sys
from typing import Final

import msgspec
import trio

from drivers.android.server import connect, open_adb_server
from grid.lab.fleet import FleetInfo, parse_spec, run_fleet

MAX_LIFE_S: Final = 900.0


async def serve(specification: str) -> None:
    with trio.move_on_after(MAX_LIFE_S):
        async with trio.open_nursery() as nursery:

            async def run(task_status: trio.TaskStatus[FleetInfo]) -> None:
                await run_fleet(
                    parse_spec(specification),
                    adb_server=open_adb_server,
                    connect=connect,
                    task_status=task_status,
                )

            info = await nursery.start(run)
            os.write(1, msgspec.json.encode(info) + b"\n")
            async with trio.lowlevel.FdStream(os.dup(0)) as owner:
                async for _ in owner:
                    pass
            nursery.cancel_scope.cancel()


if __name__ == "__main__":
    trio.run(serve, sys.argv[-1])
