"""An environment in which programs of ours start from compiled modules, as an installed one does.

The modules are compiled into a folder that is thrown away, wherever the sources lie and whatever
the caller's environment says about compiling.
"""

import os
from pathlib import Path


def compiled_environment(folder: Path) -> dict[str, str]:
    """Return the environment; the first start in it compiles, and does not count."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "pycache")}
