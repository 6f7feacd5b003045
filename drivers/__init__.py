"""How to act on and look at one device. Drivers know no formats."""
