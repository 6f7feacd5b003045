"""The product's version, in the one place that nothing has to be imported for.

May be imported by: everyone. Imports: nothing.
"""

VERSION = "0.1.0"
