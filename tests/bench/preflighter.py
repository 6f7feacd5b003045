"""The process that `tests.bench.preflight` measures: `sweepgrid check`, and what it used."""

import json
import os
import resource
import sys

from runner.cli.entry import main


def run(folder: str) -> None:
    status: object = None
    try:
        main(["check", folder, "--root", folder])
    except SystemExit as end:
        status = end.code
    used = resource.getrusage(resource.RUSAGE_SELF)
    report = {"exit": status, "rss_kb": used.ru_maxrss, "cpu_s": used.ru_utime + used.ru_stime}
    os.write(1, json.dumps(report).encode())


if __name__ == "__main__":
    run(sys.argv[1])
