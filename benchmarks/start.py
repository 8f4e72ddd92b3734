"""How long one waits before the first answer, in processor time, against `import pandas`."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench

ROUNDS = 9
POLICY = "version: 1\nroles: {quasi: [zip, age]}\nbudgets: {k: {at_least: 2}}\n"


def processor_time(*arguments: str) -> float:
    """Run a program of Python; return the seconds of processor time that it took."""
    # Modules are compiled once, as an installation has them, and not at every start.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPATH"] = str(_bench.ROOT)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], env=env, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    asked = _bench.options(__doc__, records=10)
    with tempfile.TemporaryDirectory() as folder:
        table, policy = Path(folder, "people.csv"), Path(folder, "policy.yaml")
        table.write_text("zip,age\n" + "1011,34\n" * asked.records)
        policy.write_text(POLICY)
        check = ("-m", "anonrisk", "check", str(table), "--policy", str(policy))
        programs: dict[str, tuple[tuple[str, ...], float]] = {
            "`import pandas, anonrisk`": (("-c", "import pandas, anonrisk"), 1.15),
            "`anonrisk --help`": (("-m", "anonrisk", "--help"), 0.5),
            "`anonrisk --version`": (("-m", "anonrisk", "--version"), 0.5),
            "`anonrisk check` of ten rows": (check, 1.4),
        }
        rows = []
        for what, (program, bar) in programs.items():
            ours, pandas = [], []
            for _ in range(ROUNDS + 1):
                ours.append(processor_time(*program))
                pandas.append(processor_time("-c", "import pandas"))
            # The first round compiles.
            rows.append(_bench.compared(what, ours[1:], pandas[1:], bar))
    _bench.report(
        "start",
        "Starting, in processor time, against `import pandas`",
        _bench.machine("numpy", "pandas"),
        rows,
        write=not asked.no_write,
    )


if __name__ == "__main__":
    main()
