"""One composition model under all formats: closure, pins, expansion and addresses."""
