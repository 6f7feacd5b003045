"""All checks over the closure of a sweep; the only maker of a `CheckedPlan`."""
