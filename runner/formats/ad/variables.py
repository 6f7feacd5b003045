"""Variables of `.ad` scripts: `${NAME}` and `${NAME:-default}`.

Pure. Text is expanded once, from left to right; what a value or a default brings in is not looked
at again. Anything that is not exactly a reference stays as it is. A reference with a default
needs no binding.

May be imported by: runner.formats.ad, runner.preflight, runner.cli. Imports: runner.errors,
runner.formats.ad.lexer, runner.formats.ad.script, runner.formats.ad.selector.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from runner.errors import InputError
from runner.formats.ad.lexer import escape_surrogates
from runner.formats.ad.script import Action, AdScript
from runner.formats.ad.selector import UNKNOWN

SHELL_PREFIX: Final = "AD_VAR_"
"""`AD_VAR_NAME` in the caller's environment binds NAME."""
RESERVED_PREFIX: Final = "AD_"
"""Names that only built-ins may have."""

BUILT_INS: Final = frozenset(
    {
        "AD_SESSION",
        "AD_FILENAME",
        "AD_PLATFORM",
        "AD_TARGET",
        "AD_DEVICE",
        "AD_DEVICE_ID",
        "AD_SHARD_INDEX",
        "AD_SHARD_COUNT",
        "AD_ARTIFACTS",
    }
)
"""Names that are bound when a plan runs."""

_KEY = re.compile(r"[A-Z_][A-Z0-9_]*\Z")
_NAME = r"[A-Za-z_][A-Za-z0-9_.]*"
_ENDS = r"\n\r\u2028\u2029"
_REFERENCE = re.compile(
    rf"(?P<escaped>\\\$\{{)"
    rf"|\$\{{(?P<name>{_NAME})(?:\}}|:-(?P<default>(?:[^\\}}]|\\[^{_ENDS}])*+)\}})"
    # A default that never closes, or breaks off at an escaped line end, stays as written.
    rf"|(?P<broken>\$\{{{_NAME}:-(?:[^\\}}]|\\[^{_ENDS}])*+(?:\\[{_ENDS}]|\\?\Z))"
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def expand(text: str, scope: Mapping[str, str]) -> str:
    """Return `text` with its references replaced.

    Reason: `variable_unbound`, with the `name` in the details.
    """
    if "$" not in text:
        return text

    def fill(found: re.Match[str]) -> str:
        name = found["name"]
        if name is None:
            return "${" if found["escaped"] else found[0]
        if name in scope:
            return scope[name]
        if found["default"] is not None:
            return _ESCAPE.sub(r"\1", found["default"])
        raise InputError(
            reason="variable_unbound",
            message=f"variable {name} is not bound",
            details={"name": name},
            hint=f"Pass -e {name}=VALUE, or write ${{{name}:-default}}.",
        )

    return _REFERENCE.sub(fill, text)


def expand_action(action: Action, scope: Mapping[str, str]) -> Action:
    """Return `action` with positionals, option texts and runtime texts expanded.

    Reason: `variable_unbound`.
    """
    return replace(
        action,
        positionals=tuple(expand(text, scope) for text in action.positionals),
        flags=_map_texts(action.flags, lambda text: expand(text, scope)),
        runtime=_map_texts(action.runtime, lambda text: expand(text, scope)),
    )


def neutralize(text: str) -> str:
    """Return a selector with every reference replaced by a word that fits where it stands.

    Behind a `=` that is a value of any key, elsewhere a term by itself.
    """
    if "$" not in text:
        return text

    def fill(found: re.Match[str]) -> str:
        if found["name"] is None:
            return found[0]
        return "true" if text.startswith("=", max(found.start() - 1, 0)) else "visible"

    return _REFERENCE.sub(fill, text)


def mask_references(text: str) -> str:
    """Return `text` with every character of a reference unknown; the others keep their places."""
    if "$" not in text:
        return text
    return _REFERENCE.sub(
        lambda found: found[0] if found["name"] is None else UNKNOWN * len(found[0]), text
    )


def required_names(text: str) -> tuple[str, ...]:
    """Return the names that `text` needs bound, in order of first use."""
    if "$" not in text:
        return ()
    return tuple(
        dict.fromkeys(
            found["name"]
            for found in _REFERENCE.finditer(text)
            if found["name"] and found["default"] is None
        )
    )


def find_reference(text: str, name: str) -> int | None:
    """Return where the first reference that needs `name` bound stands in `text`."""
    return next(
        (
            found.start()
            for found in _REFERENCE.finditer(text)
            if found["name"] == name and found["default"] is None
        ),
        None,
    )


def script_names(script: AdScript) -> tuple[tuple[str, int], ...]:
    """Return each name that a script's steps need, with the line of each use, in order."""
    return tuple(
        dict.fromkeys(
            (name, node.line)
            for node in script.nodes
            if isinstance(node, Action)
            for text in action_texts(node)
            for name in required_names(text)
        )
    )


def action_texts(action: Action) -> Iterator[str]:
    """Yield every text of an action that is expanded before it runs."""
    yield from action.positionals
    if action.flags:
        yield from walk_texts(action.flags)
    if action.runtime:
        yield from walk_texts(action.runtime)


def walk_texts(value: Any) -> Iterator[str]:
    """Yield every text inside a JSON value, keys apart."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from walk_texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from walk_texts(part)


def parse_assignment(text: str) -> tuple[str, str]:
    """Return the key and value of a `-e KEY=VALUE` argument.

    Reason: `variable_invalid`.
    """
    key, equals, value = text.partition("=")
    problem = "" if equals else "there is no `=`"
    problem = problem or key_problem(key)
    if not problem and not value.isascii() and escape_surrogates(value) != value:
        problem = "the value is not UTF-8"
    if problem:
        raise InputError(
            reason="variable_invalid",
            message=f"bad variable assignment {text!r}: {problem}",
            details={"assignment": escape_surrogates(text)},
        )
    return key, value


def key_problem(key: str) -> str:
    """Return what is wrong with the name of a user's variable, or an empty text."""
    if not _KEY.match(key):
        return f"key {key!r} is not made of upper-case letters, digits and underscores"
    if key.startswith(RESERVED_PREFIX):
        return f"key {key} begins with {RESERVED_PREFIX}, which is kept for built-in variables"
    return ""


def shell_scope(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the caller's environment binds; unusable names are skipped."""
    return {
        name.removeprefix(SHELL_PREFIX): value
        for name, value in environ.items()
        if name.startswith(SHELL_PREFIX) and not key_problem(name.removeprefix(SHELL_PREFIX))
    }


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _map_texts(part, change) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_map_texts(part, change) for part in value]
    return value
