"""The process that the tests of `grid.lab.host` start, as `sweepgrid lab host` is one."""

import sys

import trio

from drivers.android.server import connect, open_adb_server
from grid.lab.fleet import parse_spec
from grid.lab.host import serve_lab


async def main(text: str) -> None:
    await serve_lab(parse_spec(text), adb_server=open_adb_server, connect=connect)


if __name__ == "__main__":
    trio.run(main, sys.argv[-1])
