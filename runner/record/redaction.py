"""Redaction at the journal boundary: no sink behind it can show a secret.

Values of secret variables are replaced by `<var:NAME>`, longest first, in every text of an event's
body and in text artifacts. Structure (tags, addresses, digests of the envelope) is left
alone: what people or devices wrote stands only in the fields named below.

May be imported by: runner.record, runner.cli, tests. Imports: runner.model.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from runner.model.event import Event, EventBody
from runner.model.secret import spellings

_FREE_TEXT: Final = frozenset({"message", "text", "detail", "details", "hint", "report"})


class Redactor:
    """Replaces the values of `secrets` (pairs of name and value) in every spelling.

    A name may have several values: plans of one run bind it differently. Empty values are skipped.
    """

    def __init__(self, secrets: Iterable[tuple[str, str]]) -> None:
        forms = {form: name for name, value in secrets for form in spellings(value)}
        longest_first = sorted(forms.items(), key=lambda item: (-len(item[0]), item))
        self._texts = tuple((form, f"<var:{name}>") for form, name in longest_first)
        self._bytes = tuple(
            (form.encode("utf-8", "surrogatepass"), mark.encode()) for form, mark in self._texts
        )

    def redact_text(self, text: str) -> str:
        """Return `text` without secrets."""
        for value, mark in self._texts:
            text = text.replace(value, mark)
        return text

    def redact_bytes(self, data: bytes) -> bytes:
        """Return UTF-8 `data` without secrets."""
        for value, mark in self._bytes:
            data = data.replace(value, mark)
        return data

    def redact_event(self, event: Event) -> Event:
        """Return `event` with no secret in its body; the same object when there was none."""
        if not self._bytes:
            return event
        encoded = msgspec.msgpack.encode(event.body)
        if not any(value in encoded for value, _ in self._bytes):
            return event
        plain = self._redact_structure(msgspec.to_builtins(event.body))
        return replace(event, body=msgspec.convert(plain, EventBody))

    def _redact_structure(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: self._redact_value(part) if key in _FREE_TEXT else self._redact_structure(part)
                for key, part in value.items()
            }
        return value

    def _redact_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.redact_text(value)
        if isinstance(value, dict):
            return {self.redact_text(str(k)): self._redact_value(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self._redact_value(part) for part in value]
        return value
