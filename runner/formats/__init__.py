"""Readers and interpreters, one package a format. Formats know no devices."""
