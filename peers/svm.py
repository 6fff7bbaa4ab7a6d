#!/usr/bin/env python3
"""Support vector machines: ours beside scikit-learn (LIBSVM) and scikit-learn-intelex, in turns, in one run.

Every fit runs in a process of its own with two threads, after a small fit of every (rows/200)-th row that is not timed. The primal objective ½‖f‖² + C Σ loss is computed here, by one
function, from each one's dual coefficients and offset (the better of its own offset and the best one).
usage: python peers/svm.py DATA [case …]   cases: california-1 california-10 california-100 kin40k-10 parkinsons-10
       svmguide1-10 a9a-1 grid-hinge grid-insensitive; all but the slowest by default
"""
import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from common import ROOT, THREADS, median, versions

import numpy as np

ROUNDS = int(os.environ.get("ROUNDS", "3"))
# name: kind, file, rows, gamma, C, relative gap (so that our objective is at most theirs), standardised
CASES = {
    "california-1": ("svr", "california.csv", None, 1 / 8, 1.0, 5e-6, True),
    "california-10": ("svr", "california.csv", None, 1 / 8, 10.0, 1e-5, True),
    "california-100": ("svr", "california.csv", None, 1 / 8, 100.0, 1e-5, True),
    "kin40k-10": ("svr", "kin40k.csv", 20000, 1 / 8, 10.0, 1e-5, True),
    "parkinsons-10": ("svr", "parkinsons_total.csv", None, 1 / 20, 10.0, 5e-5, True),
    "svmguide1-10": ("svc", "class/svmguide1_train.csv", None, 1.0, 10.0, 1e-4, True),
    "a9a-1": ("svc", "class/a9a.csv.gz", None, 1 / 123, 1.0, 2e-6, False),
}
EPSILON = 0.1

THEIRS = """
import sys, time, json
import numpy as np
which, kind, path, gamma, c, out = sys.argv[1:]
if which == "intelex":
    from sklearnex.svm import SVC, SVR
else:
    from sklearn.svm import SVC, SVR
data = np.load(path)
x, y = np.ascontiguousarray(data[:, :-1]), np.ascontiguousarray(data[:, -1])
make = lambda: SVR(gamma=float(gamma), C=float(c), epsilon=0.1, cache_size=2000) if kind == "svr" else \\
    SVC(gamma=float(gamma), C=float(c), cache_size=2000)
step = len(y) // 200
make().fit(x[::step], y[::step])
started = time.perf_counter()
model = make().fit(x, y)
seconds = time.perf_counter() - started
alpha = np.zeros(len(y))
alpha[model.support_] = model.dual_coef_[0]
np.save(out, np.append(alpha, model.intercept_[0]))
print(json.dumps({"seconds": seconds}))
"""

GRID = """
import sys, time, json
import numpy as np
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.svm import SVC, SVR
kind, path, gammas, bounds = sys.argv[1:]
data = np.load(path)
x, y = np.ascontiguousarray(data[:, :-1]), np.ascontiguousarray(data[:, -1])
grid = {"gamma": [float(g) for g in gammas.split(",")], "C": [float(c) for c in bounds.split(",")]}
model = SVC(cache_size=500) if kind == "svc" else SVR(epsilon=0.1, cache_size=500)
search = GridSearchCV(model, grid, cv=PredefinedSplit(np.arange(len(y)) % 5), n_jobs=2, refit=False,
                      scoring="accuracy" if kind == "svc" else "neg_mean_squared_error")
started = time.perf_counter()
search.fit(x, y)
seconds = time.perf_counter() - started
print(json.dumps({"seconds": seconds, "best": float(-search.best_score_ if kind == "svr" else 1 - search.best_score_)}))
"""


def load(folder: Path, name: str, rows, standardised: bool) -> np.ndarray:
    opened = gzip.open if name.endswith(".gz") else open
    with opened(folder / name, "rt") as file:
        data = np.loadtxt(file, delimiter=",", skiprows=1)[:rows]
    if standardised:
        columns = slice(None) if set(np.unique(data[:, -1])) - {-1.0, 1.0} else slice(None, -1)
        spread = data[:, columns].std(0)
        data[:, columns] = (data[:, columns] - data[:, columns].mean(0)) / np.where(spread > 0, spread, 1)
    return data


def primal(data: np.ndarray, kind: str, gamma: float, c: float, solution: np.ndarray) -> float:
    x, y, alpha, offset = data[:, :-1], data[:, -1], solution[:-1], solution[-1]
    support = np.flatnonzero(alpha)
    squares = (x**2).sum(1)
    fitted = np.empty(len(y))
    for start in range(0, len(y), 1000):
        rows = slice(start, start + 1000)
        distances = squares[rows, None] + squares[support] - 2 * x[rows] @ x[support].T
        fitted[rows] = np.exp(-gamma * np.maximum(distances, 0)) @ alpha[support]

    def losses(b: float) -> float:
        value = fitted + b
        return np.maximum(np.abs(y - value) - EPSILON, 0).sum() if kind == "svr" else np.maximum(1 - y * value, 0).sum()

    from scipy.optimize import minimize_scalar

    best = minimize_scalar(losses, bracket=(offset - 0.01, offset + 0.01), tol=1e-12).fun
    return 0.5 * alpha @ fitted + c * min(losses(offset), best)


def child(code: str, *arguments: object) -> dict:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def build() -> Path:
    subprocess.run(["cargo", "build", "--release", "-q", "-p", "mercer", "--example", "timing_svm"], cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "examples" / "timing_svm"


def ours(program: Path, *arguments: object) -> dict:
    environment = {**os.environ, "MERCER_THREADS": THREADS}
    command = [str(program), *map(str, arguments)]
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def fit(program: Path, folder: Path, temporary: Path, case: str) -> None:
    kind, name, rows, gamma, c, gap, standardised = CASES[case]
    data = load(folder, name, rows, standardised)
    np.save(temporary / "data.npy", data)
    np.savetxt(temporary / "data.csv", data, delimiter=",", fmt="%.17g")
    seconds: dict[str, list[float]] = {}
    objective = {}
    for _ in range(ROUNDS):
        for which in ("mercer", "intelex", "libsvm"):
            if which == "mercer":
                found = ours(program, kind, temporary / "data.csv", 1, gamma, c, EPSILON, gap, 8_000_000_000, temporary / "a.txt")
                solution = np.loadtxt(temporary / "a.txt")
                taken, extra = found["seconds"][0], f"gap {found['gap']:.1e}, peak {found['peak_bytes'] / 1e9:.1f} GB"
            else:
                taken = child(THEIRS, which, kind, temporary / "data.npy", gamma, c, temporary / "a.npy")["seconds"]
                solution = np.load(temporary / "a.npy")
            seconds.setdefault(which, []).append(taken)
            if which not in objective:
                objective[which] = primal(data, kind, gamma, c, solution)
    print(f"{case}: mercer {median(seconds['mercer']):.2f} s, objective {objective['mercer']:.8g} ({extra})")
    for which in ("intelex", "libsvm"):
        ratio = median(theirs / mine for theirs, mine in zip(seconds[which], seconds["mercer"]))
        worse = objective[which] / objective["mercer"] - 1
        print(f"  {which} {median(seconds[which]):.2f} s = {ratio:.1f} times; its objective is {worse:+.1e} of ours", flush=True)


def grid(program: Path, folder: Path, temporary: Path, case: str) -> None:
    kind = "svc" if case == "grid-hinge" else "svr"
    rows = int(os.environ.get("GRID_ROWS", "5000"))
    data = load(folder, "kin40k.csv", 40000, True)[:rows]
    if kind == "svc":
        data[:, -1] = np.where(data[:, -1] > 0, 1.0, -1.0)
    np.save(temporary / "data.npy", data)
    np.savetxt(temporary / "data.csv", data, delimiter=",", fmt="%.17g")
    gammas = ",".join(f"{g:.6g}" for g in np.geomspace(0.005, 0.5, int(os.environ.get("GRID_GAMMAS", "10"))))
    bounds = ",".join(f"{c:.6g}" for c in np.geomspace(0.1, 100, int(os.environ.get("GRID_CS", "10"))))
    run = lambda: ours(program, kind, temporary / "data.csv", 1, 1, 1, EPSILON, 1e-3, 1, "grid", gammas, bounds)
    # Seconds against minutes: ours in several processes, half of them before theirs and half after, theirs once.
    before = [run() for _ in range((ROUNDS + 1) // 2)]
    theirs = child(GRID, kind, temporary / "data.npy", gammas, bounds)
    times = [one["seconds"] for one in before] + [run()["seconds"] for _ in range(ROUNDS // 2)]
    found, seconds = before[0], median(times)
    print(f"{case}, {rows} rows, 5 folds × {len(gammas.split(','))} γ × {len(bounds.split(','))} C: mercer {seconds:.2f} s ({min(times):.2f}–{max(times):.2f}), "
          f"{found['points']} points fitted, {found['dropped']} of them not on all folds, best {found['best']:.5f}, gap {found['gap']:.0e}", flush=True)
    print(f"  GridSearchCV, 2 jobs {theirs['seconds']:.1f} s = {theirs['seconds'] / seconds:.0f} times, best {theirs['best']:.5f}", flush=True)


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    for case in sys.argv[2:]:
        if case not in CASES and case not in ("grid-hinge", "grid-insensitive"):
            sys.exit(f"no case {case!r}; there are {', '.join(CASES)}, grid-hinge and grid-insensitive")
    program = build()
    versions()
    import importlib.metadata

    print(f"scikit-learn-intelex {importlib.metadata.version('scikit-learn-intelex')}")
    with tempfile.TemporaryDirectory() as temporary:
        for case in sys.argv[2:] or CASES:
            (fit if case in CASES else grid)(program, folder, Path(temporary), case)


if __name__ == "__main__":
    main()
