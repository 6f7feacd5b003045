"""The only composition root. Nothing imports it."""
