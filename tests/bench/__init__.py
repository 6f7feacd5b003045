"""The table of measured figures: `python -m tests.bench`, or `make bench`.

Nothing here is a test and nothing asserts a time: a figure is printed beside its bar.
"""
