"""Events to bytes: terminal text, JUnit and JSON, computed from the journal alone."""
