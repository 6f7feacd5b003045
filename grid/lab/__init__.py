"""Virtual devices that real clients cannot tell from phones at the wire."""
