"""Which device, whose turn, and what came back."""
