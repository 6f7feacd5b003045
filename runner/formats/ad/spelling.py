"""The command that somebody meant who wrote a word that is none.

Pure. May be imported by: runner.formats.ad. Imports: runner.formats.ad.commands.
"""

from difflib import get_close_matches
from typing import NamedTuple

from runner.formats.ad.commands import COMMANDS, RENAMED


class UnknownWord(NamedTuple):
    """What to say about a word that is no command, and the closest one, if any is close."""

    message: str
    nearest: str | None


def explain_unknown(word: str) -> UnknownWord:
    """Return what to say about an unknown word."""
    nearest = RENAMED.get(word) or next(
        iter(get_close_matches(word.lower()[:80], COMMANDS, n=1, cutoff=0.6)), None
    )
    advice = f"; the closest is `{nearest}`" if nearest else ""
    return UnknownWord(f"there is no command {word[:80]!r}{advice}", nearest)
