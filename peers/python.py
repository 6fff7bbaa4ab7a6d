#!/usr/bin/env python3
"""The Python package beside the library and beside scikit-learn, in turns, in one run.

1. import time; 2. fit + predict through Python beside Rust at 2,000 rows; 3. 100,000 predictions from 5,000 training rows beside
scikit-learn's KernelRidge, with the memory they take; 4. a fit of 10,000 rows beside KernelRidge, with its memory.
Times are medians of rounds in which the two alternate, wall and CPU. usage: pip install ./crates/mercer-python scikit-learn && python
peers/python.py [SCALE], SCALE 0.2 for a quick look.
"""
import subprocess
import sys

from common import build, in_child, median, ours, problem, temporary_folder, versions

SCALE = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
ROUNDS = 5
LENGTHSCALE, LAMBDA = 2.0, 1e-4

START = """
import json, resource, sys, time
import numpy as np
path, rows = sys.argv[1], int(sys.argv[2])
data = np.loadtxt(path, delimiter=",")
x, y = np.ascontiguousarray(data[:, :-1]), np.ascontiguousarray(data[:, -1])
def usage():
    now = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), now.ru_utime + now.ru_stime, now.ru_maxrss * 1024
"""
MODELS = {
    "mercer": "import mercer\nmake = lambda: mercer.KernelRidge('rbf', gamma=0.125, reg_lambda=1e-4)\n",
    "scikit-learn": "from sklearn.kernel_ridge import KernelRidge\nmake = lambda: KernelRidge(kernel='rbf', gamma=0.125, alpha=1e-4 * len(y))\n",
}
FIT = """
make().fit(x[:50], y[:50]).predict(x[:50])
before = usage()
model = make().fit(x, y)
after = usage()
values = model.predict(x[:1000])
print(json.dumps({"seconds": after[0] - before[0], "cpu": after[1] - before[1], "base": before[2], "peak": after[2], "check": float(np.sum(values))}))
"""
BOTH = """
make().fit(x[:50], y[:50]).predict(x[:50])
def once():
    before = usage()
    make().fit(x, y).predict(x)
    after = usage()
    return after[0] - before[0], after[1] - before[1]
once()
found = [once() for _ in range(5)]
print(json.dumps({"seconds": sorted(f[0] for f in found)[2], "cpu": sum(f[1] for f in found)}))
"""
PREDICT = """
model = make().fit(x, y)
many = np.tile(x, (-(-rows // len(x)), 1))[:rows] + 0.01
model.predict(many[:100])
with open("/proc/self/clear_refs", "w") as peak:  # the peak of the fit would hide that of the prediction
    peak.write("5")
before = usage()
values = model.predict(many)
after = usage()
print(json.dumps({"seconds": after[0] - before[0], "cpu": after[1] - before[1], "base": before[2], "peak": after[2], "check": float(np.sum(values))}))
"""


def beside(title: str, task: str, path, rows: int) -> None:
    """The two in turns, and what they need above the interpreter and its tables."""
    found = {name: [] for name in MODELS}
    for _ in range(ROUNDS):
        for name, make in MODELS.items():
            found[name].append(in_child(START + make + task, path, rows))
    checks = [one["check"] for runs in found.values() for one in runs]
    assert max(checks) - min(checks) <= 1e-6 * max(1.0, abs(checks[0])), checks
    print(title)
    for name, runs in found.items():
        above = median(one["peak"] - one["base"] for one in runs)
        print(f"  {name:<13}{median(one['seconds'] for one in runs):8.2f} s wall {median(one['cpu'] for one in runs):8.2f} s CPU"
              f"{median(one['peak'] for one in runs) / 1e6:8.0f} MB peak {above / 1e6:8.0f} MB above the start")
    for what in ("seconds", "cpu", "peak"):
        ratios = [b[what] / a[what] for a, b in zip(found["mercer"], found["scikit-learn"])]
        print(f"    theirs / ours, {what}: {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def importing() -> None:
    code = "import time; t = time.perf_counter(); import mercer; print(time.perf_counter() - t)"
    alone = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(7)]
    code = code.replace("import mercer", "from mercer import KernelRidge")
    first = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(5)]
    code = code.replace("from mercer import", "from sklearn.kernel_ridge import")
    theirs = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(5)]
    print(f"import mercer: {median(alone) * 1000:.0f} ms; from mercer import KernelRidge: {median(first):.2f} s, "
          f"from sklearn.kernel_ridge import KernelRidge: {median(theirs):.2f} s")


def main() -> None:
    program = build()
    versions()
    importing()
    with temporary_folder() as folder:
        rows = int(2000 * SCALE)
        _, _, path = problem(folder, rows, 8)
        ratios = {"seconds": [], "cpu": []}
        for _ in range(ROUNDS):
            python = in_child(START + MODELS["mercer"] + BOTH, path, rows)
            rust = ours(program, "both", path, 5, LENGTHSCALE, LAMBDA)
            rust["seconds"] = median(rust["seconds"])
            for what in ratios:
                ratios[what].append(python[what] / rust[what])
        print(f"fit + predict of {rows} rows, Python / Rust: wall {median(ratios['seconds']):.3f} "
              f"({min(ratios['seconds']):.3f} to {max(ratios['seconds']):.3f}), CPU {median(ratios['cpu']):.3f}")
        rows, many = int(5000 * SCALE), int(100_000 * SCALE)
        _, _, path = problem(folder, rows, 8)
        beside(f"prediction of {many:,} rows from {rows:,}", PREDICT, path, many)
        rows = int(10_000 * SCALE)
        _, _, path = problem(folder, rows, 8)
        beside(f"fit of {rows:,} rows", FIT, path, rows)


if __name__ == "__main__":
    main()
