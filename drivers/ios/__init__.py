"""iOS through WebDriverAgent."""
