"""Data shipped with the product: lab apps, example flows and commented configuration."""
