"""Android through a real adb server."""
