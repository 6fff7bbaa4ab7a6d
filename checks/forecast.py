#!/usr/bin/env python3
"""Times of `mercer plan` beside those of `mercer fit`, method by method.

usage: forecast.py PATH_TO_MERCER [FACTOR]

Every line is a plan and a fit with the same options, one after the other; the ratio must be within FACTOR (4, for machines on
which other programs run; 2 is what an idle one should keep to). Fits of less than a tenth of a second are not compared.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

CASES = [
    (2000, ["--exponent", "1.5..2:0.5"]),
    (4000, ["--exponent", "1.5..2:0.5"]),
    (3000, []),
    (6000, []),
    (4000, ["--lambda", "1e-4"]),
    (8000, ["--lambda", "1e-4"]),
    (20000, ["--rank", "500"]),
    (20000, ["--rank", "1500"]),
    (100000, ["--rank", "300"]),
    (10000, ["--lambda", "1e-4", "--solver", "conjugate-gradients"]),
    (10000, ["--lambda", "1e-4", "--solver", "conjugate-gradients", "--memory", "300M"]),
    (20000, ["--loss", "huber", "--lambda", "1e-4", "--rank", "300"]),
    (5000, ["--loss", "absolute", "--rank", "100"]),
    (4000, ["--loss", "epsilon-insensitive(epsilon=0.1)", "--lambda", "1e-4"]),
]


def main() -> int:
    mercer = Path(sys.argv[1]).resolve()
    factor = float(sys.argv[2]) if len(sys.argv) > 2 else 4.0
    worst = 1.0
    with tempfile.TemporaryDirectory() as folder:
        for rows, options in CASES:
            table = Path(folder) / f"{rows}.csv"
            if not table.exists():
                generate = [mercer, "generate", "friedman1", "--rows", str(rows), "--noise", "1", "--output", table]
                subprocess.run(generate, check=True)
            line = [table, "--target", "y", "--kernel", "gaussian", "--json", *options]

            def run(command):
                return json.loads(subprocess.run([mercer, command, *line], check=True, capture_output=True).stdout)

            said = next(method for method in run("plan")["methods"] if method["is_chosen"])
            took = run("fit")["seconds"]
            ratio = said["seconds"] / took
            print(f"{rows:7d} {' '.join(options):60s} said {said['seconds']:8.2f} s, took {took:8.2f} s, ratio {ratio:5.2f}")
            if took >= 0.1:
                worst = max(worst, ratio, 1.0 / ratio)
    print(f"largest factor {worst:.2f}, allowed {factor}")
    return 0 if worst <= factor else 1


if __name__ == "__main__":
    sys.exit(main())
