"""What happened: the journal of a run and its artifacts."""
