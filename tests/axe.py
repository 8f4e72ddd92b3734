"""axe-core: finds in a page what keeps people out who do not see it or use no mouse.

It is no part of this repository. `python3 dev.py setup` runs this file, which fetches the version
of `pins/axe-core.txt` from npm's registry into a folder that git ignores.
"""

from __future__ import annotations

import base64
import hashlib
import io
import sys
import tarfile
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[1]
PIN = ROOT / "tests" / "pins" / "axe-core.txt"
SCRIPT = ROOT / ".axe" / "axe.min.js"


def fetch(pin: str, script: Path) -> str:
    """Fetch it unless it is there; say what was done, or why it cannot be had."""
    mark = script.with_name("anonrisk-stamp")
    if script.exists() and mark.exists() and mark.read_text() == pin:
        return "there"
    address, wanted = pin.split()
    try:
        with urllib.request.urlopen(address, timeout=30) as answer:
            packed = answer.read()
    except OSError as error:
        # Without a network the tests run all the same, and say what they leave out.
        return f"not fetched, so that tests which ask it are skipped: {address}: {error}"
    if f"sha512-{base64.b64encode(hashlib.sha512(packed).digest()).decode()}" != wanted:
        sys.exit(f"{address} is not what {PIN.name} says")
    script.parent.mkdir(exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(packed)) as package:
        script.write_bytes(package.extractfile(f"package/{script.name}").read())
    mark.write_text(pin)
    return "fetched"


if __name__ == "__main__":
    print(f"axe-core: {fetch(PIN.read_text(encoding='utf-8'), SCRIPT)}")
