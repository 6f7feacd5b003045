"""The command that somebody meant who wrote a word that is none.

Pure. May be imported by: runner.formats.ad. Imports: runner.formats.ad.commands.
"""

from difflib import get_close_matches

from runner.formats.ad.commands import COMMANDS, RENAMED


def nearest_command(word: str) -> str | None:
    """Return the closest command to an unknown word, if any is close."""
    return RENAMED.get(word) or next(
        iter(get_close_matches(word.lower()[:80], COMMANDS, n=1, cutoff=0.6)), None
    )


def spell_unknown(word: str) -> str:
    """Return what to say about an unknown word."""
    nearest = nearest_command(word)
    return f"there is no command {word[:80]!r}" + (
        f"; the closest is `{nearest}`" if nearest else ""
    )
