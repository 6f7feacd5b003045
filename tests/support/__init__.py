"""Support for tests: makers of values."""
