"""What runs next: the books of a run, the policy and the scheduler."""
