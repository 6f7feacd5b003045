"""The contract between a format and a worker: intents out, observations in."""
