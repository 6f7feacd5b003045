"""What to run, what it means, and how a run goes."""
