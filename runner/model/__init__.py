"""The waist: values that every part agrees on. Imports nothing but `runner.errors`."""
