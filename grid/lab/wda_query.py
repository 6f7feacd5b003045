"""Element look-up as WebDriverAgent does it: by id, class, predicate, class chain, link and XPath.

Pure. Results stand in document order; a selector that cannot be read is *invalid selector*.

May be imported by: grid.lab, tests. Imports: grid.lab.{wda_error,wda_predicate,wda_source}, lxml.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from lxml import etree
from msgspec import Struct

from grid.lab.wda_error import WdaError
from grid.lab.wda_predicate import Predicate, matches, parse_predicate
from grid.lab.wda_source import TYPE_PREFIX, XcuiElement, attribute_of, xml_tree

Found: TypeAlias = tuple[XcuiElement, ...]

MAX_CHAIN_LINKS: Final = 100
_ANY: Final = frozenset({f"{TYPE_PREFIX}Any", "*"})
_LINK: Final = re.compile(r"(?P<step>/?\*\*/|/)?(?P<type>\*|[A-Za-z]+)")
_FILTER: Final = re.compile(
    r"\[(?:`(?P<own>(?:[^`]|``)+)`|\$(?P<inner>(?:[^$]|\$\$)+)\$|(?P<index>-?[1-9]\d{0,8}))\]"
)


class _Filter(Struct, frozen=True):
    """One bracket of a link: the element's own predicate, a descendant's, or a 1-based index."""

    predicate: Predicate | None = None
    is_inner: bool = False
    index: int = 0


class _Link(Struct, frozen=True):
    """One link of a class chain."""

    type: str
    is_deep: bool
    filters: tuple[_Filter, ...]


def find_elements(scope: XcuiElement, using: str, value: str) -> Found:
    """Return the descendants of `scope` that the selector names."""
    finder = _FINDERS.get(using)
    if finder is None:
        raise WdaError(
            "invalid selector", f"no strategy {using!r}; there are: {', '.join(_FINDERS)}"
        )
    return finder(scope, value)


def _below(scope: XcuiElement) -> Iterable[XcuiElement]:
    found = scope.walk()
    next(found)
    return found


def _by_identifier(scope: XcuiElement, value: str) -> Found:
    # XCTest's identifier match looks at the label, too.
    return tuple(node for node in scope.walk() if value in {node.identifier, node.label} - {""})


def _by_class(scope: XcuiElement, value: str) -> Found:
    _check_type(value)
    return tuple(node for node in _below(scope) if value in _ANY or node.type == value)


def _by_predicate(scope: XcuiElement, value: str) -> Found:
    predicate = parse_predicate(value)
    return tuple(node for node in scope.walk() if _fulfils(node, predicate))


def _by_link(scope: XcuiElement, value: str) -> Found:
    name, wanted = _split_link(value)
    return tuple(node for node in _below(scope) if attribute_of(node, name) == wanted)


def _by_partial_link(scope: XcuiElement, value: str) -> Found:
    name, wanted = _split_link(value)
    return tuple(node for node in _below(scope) if wanted in str(attribute_of(node, name) or ""))


def _split_link(value: str) -> tuple[str, str]:
    name, equals, wanted = value.partition("=")
    if not equals:
        raise WdaError("invalid selector", f"link text {value!r} is not of the form name=value")
    return name, wanted


def _by_chain(scope: XcuiElement, value: str) -> Found:
    found: Found = (scope,)
    for link in _parse_chain(value):
        found = _follow(found, link)
    return found


def _follow(parents: Found, link: _Link) -> Found:
    candidates: list[XcuiElement] = []
    seen: set[int] = set()
    for parent in parents:
        for node in _below(parent) if link.is_deep else parent.children:
            if id(node) not in seen and (link.type in _ANY or node.type == link.type):
                seen.add(id(node))
                candidates.append(node)
    for bracket in link.filters:
        candidates = _apply(candidates, bracket)
    return tuple(candidates)


def _apply(candidates: list[XcuiElement], bracket: _Filter) -> list[XcuiElement]:
    if bracket.predicate is None:
        at = bracket.index - 1 if bracket.index > 0 else len(candidates) + bracket.index
        return candidates[at : at + 1] if at >= 0 else []
    predicate = bracket.predicate
    if bracket.is_inner:
        return [n for n in candidates if any(_fulfils(below, predicate) for below in _below(n))]
    return [node for node in candidates if _fulfils(node, predicate)]


def _parse_chain(text: str) -> tuple[_Link, ...]:
    links: list[_Link] = []
    at = 0
    while at < len(text):
        head = _LINK.match(text, at)
        if head is None or (links and not head["step"]) or len(links) == MAX_CHAIN_LINKS:
            raise WdaError("invalid selector", f"cannot read the class chain {text!r} at {at}")
        _check_type(head["type"])
        at = head.end()
        filters: list[_Filter] = []
        while at < len(text) and text[at] == "[":
            bracket = _FILTER.match(text, at)
            if bracket is None:
                raise WdaError("invalid selector", f"cannot read the class chain {text!r} at {at}")
            filters.append(_parse_filter(bracket))
            at = bracket.end()
        links.append(_Link(head["type"], (head["step"] or "").endswith("**/"), tuple(filters)))
    if not links:
        raise WdaError("invalid selector", "the class chain is empty")
    return tuple(links)


def _parse_filter(bracket: re.Match[str]) -> _Filter:
    if bracket["index"]:
        return _Filter(index=int(bracket["index"]))
    if bracket["own"]:
        return _Filter(predicate=parse_predicate(bracket["own"].replace("``", "`")))
    inner = parse_predicate(bracket["inner"].replace("$$", "$"))
    return _Filter(predicate=inner, is_inner=True)


def _by_xpath(scope: XcuiElement, value: str) -> Found:
    root = xml_tree(scope)
    try:
        result = root.getroottree().xpath(value)
    except (etree.XPathError, ValueError) as error:
        raise WdaError("invalid selector", f"cannot use the XPath {value!r}: {error}") from error
    order = dict(zip(root.iter(), scope.walk(), strict=True))
    found: list[XcuiElement] = []
    for node in result if isinstance(result, list) else (None,):
        if not isinstance(node, etree._Element):  # noqa: SLF001 - lxml's only name for the type.
            raise WdaError("invalid selector", f"the XPath {value!r} gives no elements")
        found.append(order[node])
    return tuple(found)


def _fulfils(node: XcuiElement, predicate: Predicate) -> bool:
    return matches(predicate, lambda name: attribute_of(node, name))


def _check_type(name: str) -> None:
    if name not in _ANY and not re.fullmatch(rf"{TYPE_PREFIX}[A-Z][A-Za-z]*", name):
        raise WdaError("invalid selector", f"{name!r} is not an XCUIElementType")


_FINDERS: Final[Mapping[str, Callable[[XcuiElement, str], Found]]] = {
    "accessibility id": _by_identifier,
    "id": _by_identifier,
    "name": _by_identifier,
    "class name": _by_class,
    "predicate string": _by_predicate,
    "class chain": _by_chain,
    "xpath": _by_xpath,
    "link text": _by_link,
    "partial link text": _by_partial_link,
}
