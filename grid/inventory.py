"""The grid file: which adb servers and WebDriverAgent endpoints a run may use.

Pure but for `load_inventory`. The file is TOML and is ours: an unknown key is an error, and every
error names the key and its line. What the file states of devices is known without touching any.

May be imported by: grid, runner.cli, tests. Imports: runner.model, runner.errors.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from runner.errors import InputError
from runner.model.device import DeviceFacts
from runner.model.ids import DeviceId

Port: TypeAlias = Annotated[int, Meta(ge=1, le=65535)]
Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Duration: TypeAlias = (
    Annotated[int, Meta(ge=1)] | Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,8}(ms|s|m|h)$")]
)
"""`500ms`, `30s`, `2m`, `1h`; a bare number is milliseconds."""


class AdbEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One adb server. With `owned` the run starts a private one on `port` (0: any).

    `connect` lists TCP devices to connect when missing. `serials` restricts what is used; `None`
    means all that the server lists.
    """

    host: Text = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 5037
    owned: bool = False
    connect: tuple[Text, ...] = ()
    serials: tuple[Text, ...] | None = None
    tags: tuple[Text, ...] = ()


class WdaEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One WebDriverAgent: at `url`, or on `port` of the phone `udid` through usbmuxd.

    `usbmux` is the daemon's socket (`None`: the system's).
    """

    url: str = ""
    udid: str = ""
    usbmux: Text | None = None
    port: Port = 8100
    tags: tuple[Text, ...] = ()


class LabEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The lab that this file belongs to; written by `lab up`."""

    pid: int
    truth_url: str
    usbmux_socket: str = ""


class GridLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Time limits; the command line overrides them.

    `lease_ttl` ends the hold of a run that died; `return_grace` is how long plans wait for a
    device that went away.
    """

    step: Duration | None = None
    plan: Duration | None = None
    run: Duration | None = None
    lease_ttl: Duration = "15s"
    return_grace: Duration = "30s"


class Inventory(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One grid file."""

    version: Literal[1]
    adb: tuple[AdbEntry, ...] = ()
    wda: tuple[WdaEntry, ...] = ()
    lab: LabEntry | None = None
    limits: GridLimits = GridLimits()


def load_inventory(path: Path) -> Inventory:
    """Read a grid file. Reasons: `grid_file_unreadable`, `grid_file_invalid`."""
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise InputError(
            reason="grid_file_unreadable",
            message=f"the grid file {path} cannot be read: {error.strerror or error}",
            details={"path": str(path)},
        ) from error
    except UnicodeDecodeError as error:
        raise _invalid(str(path), 1, "", "it is not UTF-8 text") from error
    return parse_inventory(text, name=str(path))


def parse_inventory(text: str, *, name: str) -> Inventory:
    """Read the text of a grid file called `name`. Reasons: `grid_file_invalid`."""
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = _TOML_LINE.search(str(error))
        line = int(found["line"]) if found else text.count("\n") + 1
        raise _invalid(name, line, "", f"it is not TOML: {error}") from error
    try:
        inventory = msgspec.convert(table, Inventory)
    except (msgspec.ValidationError, RecursionError) as error:
        key = _key_of(str(error))
        why = str(error).partition(" - at `")[0]
        raise _invalid(name, _line_of(text, key), key, _lower(why)) from error
    for key, why in _contradictions(inventory):
        raise _invalid(name, _line_of(text, key), key, why)
    return inventory


def stated_facts(inventory: Inventory) -> tuple[DeviceFacts, ...]:
    """Return the devices that the file names, with what it states of them."""
    android = [
        DeviceFacts(
            id=DeviceId(serial),
            platform="android",
            serial=serial,
            is_virtual=inventory.lab is not None,
            tags=entry.tags,
        )
        for entry in inventory.adb
        for serial in entry.serials or ()
    ]
    ios = [
        DeviceFacts(
            id=device_id_of(entry),
            platform="ios",
            serial=entry.udid,
            is_virtual=inventory.lab is not None,
            tags=entry.tags,
            hardware_id=entry.udid,
        )
        for entry in inventory.wda
    ]
    return (*android, *ios)


def duration_ms(duration: Duration) -> int:
    """Return a duration of a grid file in milliseconds."""
    if isinstance(duration, int):
        return duration
    digits = duration.rstrip("hms")
    return int(digits) * _UNITS_MS[duration.removeprefix(digits)]


def device_id_of(entry: WdaEntry) -> DeviceId:
    """Return the name of the phone behind `entry`: its UDID, else where it listens."""
    return DeviceId(entry.udid or urlsplit(entry.url).netloc)


_UNITS_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
_TOML_LINE: Final = re.compile(r"at line (?P<line>\d+)")
_PATH: Final = re.compile(r"at `\$(?P<path>[^`]*)`")
_FIELD: Final = re.compile(r"field `(?P<field>[^`]+)`")
_KEY_PART: Final = re.compile(r"\.?(?P<name>[A-Za-z_][\w-]*)|\[(?P<index>\d+|\.\.\.)\]")
_HEADER: Final = re.compile(r"\s*\[\[?\s*(?P<name>[\w-]+)\s*\]\]?")


def _key_of(text: str) -> str:
    """Return the key that a conversion error is about, as `adb[0].port`."""
    path = _PATH.search(text)
    field = _FIELD.search(text)
    key = path["path"].lstrip(".") if path else ""
    return ".".join(part for part in (key, field["field"] if field else "") if part)


def _line_of(text: str, key: str) -> int:
    """Return the line where `key` stands, else that of the nearest table around it, else 1."""
    parts = [m["name"] or m["index"] for m in _KEY_PART.finditer(key)]
    lines = text.splitlines()
    index = int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else 0
    headers = [n for n, line in enumerate(lines) if _is_header(line, parts[:1])]
    if len(headers) <= index:
        return next((n + 1 for n, line in enumerate(lines) if _assigns(line, parts[:1])), 1)
    start = headers[index]
    names = [part for part in parts[1:] if not part.isdigit()][:1]
    for number in range(start + 1, len(lines)):
        if _HEADER.match(lines[number]):
            break
        if _assigns(lines[number], names):
            return number + 1
    return start + 1


def _is_header(line: str, names: list[str]) -> bool:
    found = _HEADER.match(line)
    return found is not None and [found["name"]] == names


def _assigns(line: str, names: list[str]) -> bool:
    return bool(names) and line.partition("=")[0].strip().strip("\"'") == names[0]


def _contradictions(inventory: Inventory) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for index, adb in enumerate(inventory.adb):
        if adb.port == 0 and not adb.owned:
            yield f"adb[{index}].port", "port 0 is for a server that the run owns"
        for serial in adb.serials or ():
            if serial in seen:
                yield f"adb[{index}].serials", f"device {serial!r} stands in the file twice"
            seen.add(serial)
    for index, wda in enumerate(inventory.wda):
        yield from _wda_contradictions(f"wda[{index}]", wda)
        name = device_id_of(wda)
        if name in seen:
            yield f"wda[{index}]", f"device {name!r} stands in the file twice"
        seen.add(name)


def _wda_contradictions(key: str, entry: WdaEntry) -> Iterator[tuple[str, str]]:
    if not entry.url and not entry.udid:
        yield key, "an entry needs `url`, or `udid` for a phone on usbmuxd"
    if entry.url and entry.usbmux is not None:
        yield f"{key}.usbmux", "an entry has either `url` or `usbmux`, not both"
    if not entry.url:
        return
    try:
        parts = urlsplit(entry.url)
        is_good = parts.scheme == "http" and bool(parts.hostname) and parts.port != 0
    except ValueError:  # A port that is no number, or a broken IPv6 address.
        is_good = False
    if not is_good:
        yield f"{key}.url", f"{entry.url!r} is not http://HOST:PORT"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _invalid(name: str, line: int, key: str, why: str) -> InputError:
    where = f"{name}:{line}"
    what = f"`{key}`: {why}" if key else why
    return InputError(
        reason="grid_file_invalid",
        message=f"the grid file is not valid: {where}: {what}",
        details={"path": name, "line": line, "key": key},
    )
