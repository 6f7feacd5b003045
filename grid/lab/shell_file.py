"""Device commands on files: cat ls rm mkdir touch cp mv stat md5sum test.

May be imported by: grid.lab, tests. Imports: grid.lab.
"""

import hashlib
import posixpath
import stat
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from grid.lab.disk import FileStat
from grid.lab.shell_call import Call, DeviceCommand, os_error_text


def _split_options(call: Call) -> tuple[str, list[str]]:
    """Return the letters of the options, and the operands."""
    letters = ""
    operands: list[str] = []
    only_operands = False
    for arg in call.args:
        if arg == "--" and not only_operands:
            only_operands = True
        elif arg.startswith("-") and len(arg) > 1 and not only_operands:
            letters += arg.lstrip("-")
        else:
            operands.append(arg)
    return letters, operands


async def run_cat(call: Call) -> int:
    """`cat [FILE...]`, without files its input."""
    _, names = _split_options(call)
    status = 0
    for name in names or ["-"]:
        if name == "-":
            call.out_bytes(await call.read_all())
            continue
        try:
            call.out_bytes(call.system.disk.read(call.path(name)))
        except OSError as error:
            status = call.fail(f"{name}: {os_error_text(error)}")
    return status


async def run_ls(call: Call) -> int:
    """`ls [-l] [-d] [-a] [-1] [PATH...]`."""
    letters, names = _split_options(call)
    disk = call.system.disk
    status = 0
    for name in names or ["."]:
        path = call.path(name)
        try:
            found = disk.stat(path)
            if "d" in letters or not found.is_folder:
                entries = [(name, found)]
            else:
                entries = [(e, disk.stat(posixpath.join(path, e))) for e in disk.list_folder(path)]
        except OSError as error:
            status = call.fail(f"{name}: {os_error_text(error)}")
            continue
        for entry, entry_stat in entries:
            call.out(f"{_long_line(entry, entry_stat) if 'l' in letters else entry}\n")
    return status


def _long_line(name: str, found: FileStat) -> str:
    when = datetime.fromtimestamp(found.mtime, UTC)
    mode = stat.filemode(found.mode)
    return f"{mode} 1 shell shell {found.size:8d} {when:%Y-%m-%d %H:%M} {name}"


async def run_rm(call: Call) -> int:
    """`rm [-r] [-f] PATH...`."""
    letters, names = _split_options(call)
    if not names and "f" not in letters:
        return call.fail("Needs 1 argument")
    status = 0
    for name in names:
        path = call.path(name)
        if "f" in letters and not call.system.disk.exists(path):
            continue
        try:
            call.system.disk.remove(path, recursive="r" in letters or "R" in letters)
        except OSError as error:
            status = call.fail(f"{name}: {os_error_text(error)}")
    return status


async def run_mkdir(call: Call) -> int:
    """`mkdir [-p] PATH...`."""
    letters, names = _split_options(call)
    status = 0
    for name in names:
        try:
            call.system.disk.make_folder(call.path(name), parents="p" in letters)
        except OSError as error:
            status = call.fail(f"'{name}': {os_error_text(error)}")
    return status


async def run_touch(call: Call) -> int:
    """`touch FILE...`."""
    _, names = _split_options(call)
    status = 0
    for name in names:
        try:
            call.system.disk.append(call.path(name), b"")
        except OSError as error:
            status = call.fail(f"'{name}': {os_error_text(error)}")
    return status


async def run_copy(call: Call) -> int:
    """`cp FROM TO` and `mv FROM TO`, of one file."""
    _, names = _split_options(call)
    if len(names) != 2:
        return call.fail("Needs 2 arguments")
    source, target = (call.path(name) for name in names)
    disk = call.system.disk
    try:
        if disk.exists(target) and disk.stat(target).is_folder:
            target = posixpath.join(target, posixpath.basename(source))
        disk.write(target, disk.read(source), mode=disk.stat(source).mode & 0o777)
        if call.name == "mv":
            disk.remove(source)
    except OSError as error:
        return call.fail(f"{error.filename}: {os_error_text(error)}")
    return 0


async def run_stat(call: Call) -> int:
    """`stat [-c FORMAT] FILE...` with %n %s %a %Y %F."""
    words = list(call.args)
    pattern = "%n: %F, %s bytes, mode %a"
    if words[:1] == ["-c"] and len(words) > 1:
        pattern = words[1]
        del words[:2]
    status = 0
    for name in words:
        try:
            found = call.system.disk.stat(call.path(name))
        except OSError as error:
            status = call.fail(f"'{name}': {os_error_text(error)}")
            continue
        values = {
            "%n": name,
            "%s": str(found.size),
            "%a": f"{found.mode & 0o7777:o}",
            "%Y": str(found.mtime),
            "%F": "directory" if found.is_folder else "regular file",
        }
        line = pattern
        for key, value in values.items():
            line = line.replace(key, value)
        call.out(f"{line}\n")
    return status


async def run_md5sum(call: Call) -> int:
    """`md5sum [-b] FILE...`."""
    letters, names = _split_options(call)
    status = 0
    for name in names or ["-"]:
        try:
            is_input = name == "-"
            data = await call.read_all() if is_input else call.system.disk.read(call.path(name))
        except OSError as error:
            status = call.fail(f"{name}: {os_error_text(error)}")
            continue
        digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
        call.out(f"{digest}\n" if "b" in letters else f"{digest}  {name}\n")
    return status


async def run_test(call: Call) -> int:
    """`test EXPRESSION` and `[ EXPRESSION ]`; the status is the answer."""
    words = list(call.args)
    if call.name == "[":
        if not words or words[-1] != "]":
            return call.fail("missing ]", 2)
        words.pop()
    answer = _test(call, words)
    return call.fail("syntax error", 2) if answer is None else int(not answer)


def _test(call: Call, words: list[str]) -> bool | None:
    disk = call.system.disk
    match words:
        case []:
            return False
        case ["!", *rest]:
            inner = _test(call, rest)
            return None if inner is None else not inner
        case [text]:
            return bool(text)
        case ["-n", text]:
            return bool(text)
        case ["-z", text]:
            return not text
        case ["-e" | "-r" | "-w", name]:
            return disk.exists(call.path(name))
        case ["-f" | "-d" | "-s" as operator, name]:
            if not disk.exists(call.path(name)):
                return False
            found = disk.stat(call.path(name))
            return found.is_folder == (operator == "-d") and (operator != "-s" or found.size > 0)
        case [left, "=" | "==", right]:
            return left == right
        case [left, "!=", right]:
            return left != right
        case [left, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" as operator, right]:
            return _compare(left, operator, right)
        case _:
            return None


def _compare(left: str, operator: str, right: str) -> bool | None:
    try:
        a, b = int(left), int(right)
    except ValueError:
        return None
    answers = {"-eq": a == b, "-ne": a != b, "-lt": a < b, "-le": a <= b, "-gt": a > b}
    return answers.get(operator, a >= b)


FILE_COMMANDS: Final[Mapping[str, DeviceCommand]] = {
    "cat": run_cat,
    "ls": run_ls,
    "rm": run_rm,
    "mkdir": run_mkdir,
    "touch": run_touch,
    "cp": run_copy,
    "mv": run_copy,
    "stat": run_stat,
    "md5sum": run_md5sum,
    "test": run_test,
    "[": run_test,
}
