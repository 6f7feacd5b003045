"""Reading many sources at once: from the cache what was read before, the rest on all processors.

Helper processes get bytes and give bytes; they open no file, and none is started for a few
sources. Where helpers cannot be had, the caller reads alone, which takes longer and gives the
same. Results come in the order of the sources, while later ones are still being read.

May be imported by: runner.preflight, runner.cli. Imports: runner.formats.ad, runner.preflight.
"""

import gc
import hashlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from threading import Thread
from typing import Final, final

from runner.formats.ad.reader import AdLevel, read_bytes
from runner.formats.ad.reading import encode_source
from runner.preflight.cache import Key, ReadingCache

CACHE_FROM: Final = 50
"""Fewer sources are read anew: that is sooner done than looking them up."""
HELPERS_FROM: Final = 400
"""Fewer sources are read by the caller alone: helpers take a moment to start."""
_HELPERS_AT_MOST: Final = 16
_CHUNK: Final = 128


@final
class BulkReader:
    """Reads sources with a cache and helper processes; made by `open_bulk`.

    `notices` tell what could not be had; they are complete when the reader is closed.
    """

    def __init__(self, cache: ReadingCache | None, *, helpers: int, helpers_from: int) -> None:
        self._cache = cache
        self._helpers = helpers
        self._helpers_from = helpers_from
        self._keeping: list[Thread] = []
        self.notices: list[str] = []

    def read(self, files: Sequence[bytes], *, level: AdLevel) -> Iterator[bytes | None]:
        """Yield what was read from each file, in order; `None` where the caller must read."""
        if len(files) < CACHE_FROM:
            yield from (None for _ in files)
            return
        keys = [_key_of(data, level) for data in files]
        known = [None] * len(keys) if self._cache is None else self._cache.get(keys)
        missing = [number for number, value in enumerate(known) if value is None]
        fresh = self._read_missing([files[number] for number in missing], level)
        kept: list[tuple[Key, bytes]] = []
        for key, value in zip(keys, known, strict=True):
            read = next(fresh) if value is None else value
            if value is None and read is not None:
                kept.append((key, read))
            yield read
        if self._cache is not None and kept:
            # Nobody waits for it: what follows needs another processor than the disk does.
            thread = Thread(target=self._cache.put, args=(kept,), name="keeping readings")
            self._keeping.append(thread)
            thread.start()

    def close(self) -> None:
        """Wait until everything is kept that was read."""
        while self._keeping:
            self._keeping.pop().join()
        if self._cache is not None:
            self.notices += self._cache.notices

    def _read_missing(self, files: list[bytes], level: AdLevel) -> Iterator[bytes | None]:
        done = 0
        if len(files) >= self._helpers_from and self._helpers > 1:
            try:
                for value in self._read_with_helpers(files, level):
                    yield value
                    done += 1
            except (BrokenExecutor, OSError, EOFError, ImportError) as error:
                self.notices.append(f"reading without helper processes: {error!r}")
        yield from map(_read, files[done:], repeat(level))

    def _read_with_helpers(self, files: list[bytes], level: AdLevel) -> Iterator[bytes | None]:
        from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415  # Cold start.
        from multiprocessing import get_context  # noqa: PLC0415  # Cold start.

        # Not a fork of this process: what it has open stays its own.
        context = get_context("forkserver")
        context.set_forkserver_preload([__name__])
        with ProcessPoolExecutor(self._helpers, mp_context=context, initializer=_begin) as pool:
            try:
                yield from pool.map(_read, files, repeat(level), chunksize=_CHUNK)
            except GeneratorExit:
                pool.shutdown(cancel_futures=True)
                raise


@contextmanager
def open_bulk(
    *,
    cache_folder: Path | None,
    helpers: int | None = None,
    helpers_from: int = HELPERS_FROM,
) -> Iterator[BulkReader]:
    """Open a reader with a cache in `cache_folder`, without one if that is `None`."""
    bulk = BulkReader(
        None if cache_folder is None else ReadingCache(cache_folder),
        helpers=_count_processors() if helpers is None else helpers,
        helpers_from=helpers_from,
    )
    try:
        yield bulk
    finally:
        bulk.close()


def _begin() -> None:
    """Begin in a helper: no collections, and no life after the caller's, however that ended."""
    gc.disable()
    Thread(target=_end_with_parent, name="ends with the caller", daemon=True).start()


def _end_with_parent() -> None:
    from multiprocessing import parent_process  # noqa: PLC0415  # Cold start.

    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def _read(data: bytes, level: AdLevel) -> bytes | None:
    return encode_source(read_bytes(data, level=level))


def _key_of(data: bytes, level: AdLevel) -> Key:
    return hashlib.sha256(level.encode() + b"\0" + data).digest()


def _count_processors() -> int:
    try:
        usable = len(os.sched_getaffinity(0))
    except AttributeError:  # Not on every system.
        usable = os.cpu_count() or 1
    return min(usable, _HELPERS_AT_MOST)
