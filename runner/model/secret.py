"""How a value is spelled in the texts that quote it.

Pure. A secret must be found also where a report, a script, a page source or an error message has
escaped it: as JSON, as JSON within JSON (a selector in a script line), as XML, as Python's quoting.

May be imported by: everyone. Imports: nothing of ours.
"""

import json
from collections.abc import Iterator
from xml.sax.saxutils import escape


def spellings(value: str) -> tuple[str, ...]:
    """Return every spelling of `value`, the longest first; none of an empty value."""
    if not value:
        return ()
    found = {value, *_json(value), *_xml(value), repr(value)[1:-1]}
    found.update(twice for once in _json(value) for twice in _json(once))
    return tuple(sorted(found, key=lambda text: (-len(text), text)))


def _json(value: str) -> Iterator[str]:
    for ascii_only in (False, True):
        quoted = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield quoted
        yield quoted.replace("'", "\\'")


def _xml(value: str) -> Iterator[str]:
    for quotes in (
        {},
        {'"': "&quot;"},
        {'"': "&quot;", "'": "&apos;"},
        {'"': "&quot;", "'": "&#39;"},
    ):
        yield escape(value, quotes)
