#!/usr/bin/env python3
"""Model selection side by side: leave-one-out over lengthscales, λ and exponents against what others offer for the same.

Same data, same run, two threads each; medians of three (slow peers run once). Every part says what work it compares.
liquidSVM and RLScore are old: pip install "setuptools<81" numpy wheel, then liquidSVM --no-build-isolation; RLScore's sources are fetched here.
usage: pip install -r peers/requirements.txt && python peers/selection.py [--data ../shared/data] [--parts a,b,c,d] [--quick]
--quick times GridSearchCV on one lengthscale instead of ten and says so.
"""
import argparse
import subprocess
import sys
import time
from pathlib import Path

from common import ROOT, build, in_child, median, ours, temporary_folder, versions

LENGTHSCALES, LAMBDAS = "0.5..50:10", "1e-7..1e3:25"

GRID_SEARCH = """
import json, sys, time
import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold
data = np.loadtxt(sys.argv[1], delimiter=",")
x, y = data[:, :-1], data[:, -1]
lengthscales = [float(v) for v in sys.argv[2].split(",")]
n = len(y)
started = time.perf_counter()
grid = {"gamma": [1 / (2 * l * l) for l in lengthscales], "alpha": list(n * np.logspace(-7, 3, 25))}
search = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=KFold(10, shuffle=True, random_state=0),
                      scoring="neg_mean_squared_error", refit=True)
search.fit(x, y - y.mean())
print(json.dumps({"seconds": time.perf_counter() - started, "check": float(np.sqrt(-search.best_score_))}))
"""

# The fastest exact way in NumPy: one eigendecomposition per lengthscale, leverages for every λ (exponent 2, no offset).
LEVERAGES = """
import json, sys, time
import numpy as np
data = np.loadtxt(sys.argv[1], delimiter=",")
x, y = data[:, :-1], data[:, -1] - data[:, -1].mean()
lengthscales = [float(v) for v in sys.argv[2].split(",")]
n = len(y)
seconds = []
for _ in range(int(sys.argv[3])):
    started = time.perf_counter()
    squares = (x * x).sum(1)
    distances = np.maximum(squares[:, None] + squares[None, :] - 2 * x @ x.T, 0)
    best = np.inf
    for l in lengthscales:
        d, q = np.linalg.eigh(np.exp(-distances / (2 * l * l)))
        z, q2 = q.T @ y, q * q
        inverse = 1 / (np.maximum(d, 0)[:, None] + (n - 1) * np.logspace(-7, 3, 25)[None, :])
        residuals = (q @ (z[:, None] * inverse)) / (q2 @ inverse)
        best = min(best, np.sqrt((residuals ** 2).mean(0)).min())
    seconds.append(time.perf_counter() - started)
print(json.dumps({"seconds": seconds, "check": best}))
"""

HIMALAYA = """
import json, sys, time
import numpy as np
from himalaya.kernel_ridge import KernelRidgeCV
data = np.loadtxt(sys.argv[1], delimiter=",")
x, y = data[:, :-1], data[:, -1] - data[:, -1].mean()
n = len(y)
started = time.perf_counter()
for l in [float(v) for v in sys.argv[2].split(",")]:
    KernelRidgeCV(kernel="rbf", kernel_params={"gamma": 1 / (2 * l * l)}, alphas=n * np.logspace(-7, 3, 25), cv=10).fit(x, y)
print(json.dumps({"seconds": time.perf_counter() - started}))
"""

# RLScore's sources as the registry has them. Its compiled parts (not used by leave-one-out) do not compile for Python 3.11 and NumPy 2:
# empty modules take their place, and names that NumPy and Python have dropped are given back.
RLSCORE = """
import builtins, inspect, json, sys, time, types
import numpy as np
np.mat, sys.modules["numpy.linalg.linalg"], inspect.getargspec = np.asmatrix, np.linalg, inspect.getfullargspec
for name in ("learner._rls", "learner._global_rankrls", "learner._two_step_rls", "learner._steepest_descent_mmc", "utilities.swapped",
             "learner._interactive_rls_classifier", "learner._greedy_rls", "utilities._sampled_kronecker_products"):
    sys.modules["rlscore." + name] = types.ModuleType(name)
sys.path.insert(0, sys.argv[4])
from rlscore.learner.rls import LeaveOneOutRLS
data = np.loadtxt(sys.argv[1], delimiter=",")
x, y = data[:, :-1], data[:, -1] - data[:, -1].mean()
n = len(y)
seconds = []
for _ in range(int(sys.argv[3])):
    started = time.perf_counter()
    best = np.inf
    for l in [float(v) for v in sys.argv[2].split(",")]:
        found = LeaveOneOutRLS(x, y, kernel="GaussianKernel", gamma=1 / (2 * l * l), regparams=list((n - 1) * np.logspace(-7, 3, 25)))
        best = min(best, np.min(found.cv_performances))
    seconds.append(time.perf_counter() - started)
print(json.dumps({"seconds": seconds, "check": float(np.sqrt(best))}))
"""

# Its loader asks for a configuration variable that Python no longer has.
LIQUID = """
import json, sys, sysconfig, time
import numpy as np
known = sysconfig.get_config_var
sysconfig.get_config_var = lambda name: known("EXT_SUFFIX" if name == "SO" else name)
import liquidSVM
data = np.loadtxt(sys.argv[1], delimiter=",")
x, y = data[:, :-1], data[:, -1]
started = time.perf_counter()
model = liquidSVM.lsSVM(x, (y - y.mean()) / y.std(), threads=2, folds=5, grid_choice=0, display=0)
print(json.dumps({"seconds": time.perf_counter() - started}), flush=True)
import os
os._exit(0)  # its own clean-up at the end fails
"""


def lengthscale_list(spec: str) -> str:
    low, rest = spec.split("..")
    high, count = rest.split(":")
    import numpy as np

    return ",".join(repr(float(v)) for v in np.logspace(np.log10(float(low)), np.log10(float(high)), int(count)))


def standardised(folder: str, data: Path, name: str, rows: int | None = None) -> Path:
    import numpy as np

    table = np.loadtxt(data / f"{name}.csv", delimiter=",", skiprows=1)
    if rows is not None:
        table = table[np.random.default_rng(0).permutation(len(table))[:rows]]
    x = (table[:, :-1] - table[:, :-1].mean(0)) / table[:, :-1].std(0)
    path = Path(folder) / f"{name}.csv"
    np.savetxt(path, np.column_stack([x, table[:, -1]]), delimiter=",", fmt="%.17g")
    return path


def attempt(what: str, code: str, *arguments: object) -> dict | None:
    """A peer that is not installed, or fails, is said to be."""
    try:
        return in_child(code, *[argument() if callable(argument) else argument for argument in arguments])
    except Exception as problem:
        error = getattr(problem, "stderr", "") or str(problem)
        print(f"  {what}: could not be run ({error.strip().splitlines()[-1][:100]})")
        return None


def rlscore_sources(folder: str) -> Path:
    """RLScore's sources, unpacked."""
    import tarfile

    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "-d", folder, "rlscore"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    archive = next(Path(folder).glob("rlscore-*.tar.gz"))
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    return archive.with_name(archive.name.removesuffix(".tar.gz"))


def line(what: str, theirs: float, mine: float, asked: str) -> None:
    print(f"  {what}: {theirs:.2f} s; mercer {mine:.3f} s, {theirs / mine:.1f} × faster (asked: {asked})")


def concrete(program: Path, folder: str, data: Path, quick: bool) -> None:
    path = standardised(folder, data, "concrete")
    scales = lengthscale_list(LENGTHSCALES)
    ridge = ours(program, "surface", path, 3, LENGTHSCALES, LAMBDAS, "2")
    every = ours(program, "surface", path, 3, LENGTHSCALES, LAMBDAS, "0.1..2.9:0.1")
    mine, mine_all = median(ridge["seconds"]), median(every["seconds"])
    print(f"concrete, 10 lengthscales × 25 λ: mercer's exact leave-one-out and final fit {mine:.3f} s (RMSE "
          f"{ridge['check']:.4f}); with all 29 exponents {mine_all:.3f} s (RMSE {every['check']:.4f})")
    numpy_loo = in_child(LEVERAGES, path, scales, 3)
    assert abs(numpy_loo["check"] / min(min(row[0]) for row in ridge["scores"]) - 1) < 0.05, "the surfaces differ"
    line("NumPy eigh + leverages, same points, exponent 2", median(numpy_loo["seconds"]), mine, "≥ 2")
    line("the same against all exponents", median(numpy_loo["seconds"]), mine_all, "≥ 2")
    rlscore = attempt("RLScore", RLSCORE, path, scales, 1 if quick else 3, lambda: rlscore_sources(folder))
    if rlscore:
        assert abs(rlscore["check"] / numpy_loo["check"] - 1) < 1e-3, "RLScore's surface differs"
        line("RLScore's leave-one-out, same points, exponent 2, against all exponents", median(rlscore["seconds"]), mine_all, "≥ 2")
    himalaya = attempt("himalaya KernelRidgeCV", HIMALAYA, path, scales)
    if himalaya:
        line("himalaya KernelRidgeCV, 10-fold, same points", himalaya["seconds"], mine_all, "faster")
    liquid = attempt("liquidSVM", LIQUID, path)
    if liquid:
        line("liquidSVM lsSVM, its 10 × 10 grid, 5 folds", liquid["seconds"], mine, "–")
    few = scales.split(",")[4] if quick else scales
    grid = in_child(GRID_SEARCH, path, few)
    factor = 10 if quick else 1
    note = " (one lengthscale, times ten)" if quick else ""
    line(f"GridSearchCV(KernelRidge), 10-fold, 10 × 25{note}", factor * grid["seconds"], mine_all, "≥ 100")


def wine(program: Path, folder: str, data: Path, quick: bool) -> None:
    path = standardised(folder, data, "wine_white")
    result = ours(program, "surface", path, 3, "3.3", LAMBDAS, "2")
    mine = median(result["seconds"])
    print(f"wine_white, 4898 rows, 1 lengthscale × 25 λ: mercer {mine:.2f} s, {result['method']} (RMSE {result['check']:.4f})")
    grid = in_child(GRID_SEARCH, path, "3.3")
    line("GridSearchCV(KernelRidge), 10-fold", grid["seconds"], mine, "≥ 25")


def california(program: Path, folder: str, data: Path, quick: bool) -> None:
    path = standardised(folder, data, "california", 5000)
    result = ours(program, "surface", path, 3, LENGTHSCALES, LAMBDAS, "2", "between")
    mine = median(result["seconds"])
    print(f"california, 5000 rows, 10 lengthscales × 25 λ: mercer {mine:.2f} s, leave-one-out RMSE {result['check']:.0f} "
          f"(asked: 55,600 or less in less than 22.5 s), {result['chosen']}")
    liquid = attempt("liquidSVM", LIQUID, path)
    if liquid:
        line("liquidSVM lsSVM, its 10 × 10 grid, 5 folds", liquid["seconds"], mine, "faster")
    if not quick:
        numpy_loo = in_child(LEVERAGES, path, lengthscale_list(LENGTHSCALES), 1)
        line("NumPy eigh + leverages, same points", numpy_loo["seconds"][0], mine, "faster")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--parts", default="concrete,wine,california")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"skipped: there is no folder {options.data}")
        return
    program = build()
    versions()
    started = time.perf_counter()
    with temporary_folder() as folder:
        for part in options.parts.split(","):
            {"concrete": concrete, "wine": wine, "california": california}[part](program, folder, options.data, options.quick)
    print(f"{time.perf_counter() - started:.0f} s in all")


if __name__ == "__main__":
    main()
