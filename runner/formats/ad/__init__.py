"""The `.ad` script format: reader, digests, selectors and interpreter."""
