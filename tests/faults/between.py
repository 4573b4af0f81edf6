"""Small libraries in C that stand between a program and the system, made when a test needs one."""

import shutil
import subprocess
from pathlib import Path

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("tcc")


def compiled(name: str, folder: Path) -> Path:
    """The library made of `name`.c beside this file, for LD_PRELOAD."""
    library = folder / f"{name}.so"
    source = Path(__file__).parent / f"{name}.c"
    words = [str(COMPILER), "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
    subprocess.run(words, check=True, capture_output=True, text=True)
    return library
