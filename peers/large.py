#!/usr/bin/env python3
"""Many rows: landmarks by Mercer beside scikit-learn's Nystroem + RidgeCV, the same number of them, the same kernel, in one run.

kin40k and protein, 70/30, standardised; both choose λ (scikit-learn by RidgeCV over 25 values, its efficient leave-one-out; Mercer by
exact leave-one-out over λ and four exponents). Mercer's time is the whole program, reading included. Then rows predicted a second.
usage: python peers/large.py DATA [landmarks …]     (default: 1000 3000)
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import ROOT, versions

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline


def program() -> Path:
    subprocess.run(["cargo", "build", "--release", "-q", "-p", "mercer-cli"], cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "mercer"


def save(path: Path, x: np.ndarray, y: np.ndarray) -> None:
    names = ",".join([f"x{j + 1}" for j in range(x.shape[1])] + ["y"])
    np.savetxt(path, np.column_stack([x, y]), delimiter=",", header=names, comments="", fmt="%.17g")


def split(folder: Path, name: str) -> tuple[np.ndarray, ...]:
    data = np.loadtxt(folder / name, delimiter=",", skiprows=1)
    order = np.random.default_rng(0).permutation(len(data))
    cut = int(0.7 * len(data))
    train, test = data[order[:cut]], data[order[cut:]]
    mean, spread = train[:, :-1].mean(0), train[:, :-1].std(0)
    scaled = lambda part: (part[:, :-1] - mean) / np.where(spread > 0, spread, 1)
    return scaled(train), train[:, -1], scaled(test), test[:, -1]


def compare(mercer: Path, folder: Path, temporary: Path, name: str, landmarks: int) -> None:
    x, y, x_test, y_test = split(folder, name)
    save(temporary / "train.csv", x, y)
    save(temporary / "test.csv", x_test, y_test)
    for lengthscale in (np.sqrt(x.shape[1]), np.sqrt(x.shape[1]) / 2):
        started = time.perf_counter()
        subprocess.run(
            [mercer, "fit", temporary / "train.csv", "--target", "y", "--kernel", f"gaussian(lengthscale={float(lengthscale)!r})",
             "--scale", "none", "--rank", str(landmarks), "--exponent", "1..2.5:0.5", "--output", temporary / "m.mercer",
             "--quiet", "--threads", "2"], check=True)
        ours = time.perf_counter() - started
        out = subprocess.run([mercer, "predict", temporary / "m.mercer", temporary / "test.csv", "--json"], check=True,
                             capture_output=True, text=True)
        predicted = np.array(json.loads(out.stdout)["predictions"]["prediction"], float)
        rmse = np.sqrt(np.mean((predicted - y_test) ** 2))
        started = time.perf_counter()
        theirs = make_pipeline(Nystroem(gamma=0.5 / lengthscale**2, n_components=landmarks, random_state=0),
                               RidgeCV(alphas=np.logspace(-7, 3, 25)))
        theirs.fit(x, y)
        their_time = time.perf_counter() - started
        their_rmse = np.sqrt(np.mean((theirs.predict(x_test) - y_test) ** 2))
        print(f"{name}, {len(y)} rows, {landmarks} landmarks, lengthscale {lengthscale:.3g}: mercer {ours:.1f} s, RMSE {rmse:.4f}; "
              f"Nystroem + RidgeCV {their_time:.1f} s = {their_time / ours:.1f} times, RMSE {their_rmse:.4f}", flush=True)


def clocked(run) -> tuple[float, float]:
    """Seconds on the wall and of processors, children included."""
    cpu = lambda: sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    started, before = time.perf_counter(), cpu()
    run()
    return time.perf_counter() - started, cpu() - before


def predict(mercer: Path, folder: Path, temporary: Path, repeats: int = 5) -> None:
    """100,000 rows against 5,000 training rows, 8 features: the program on CSV, and KernelRidge in one call and in blocks."""
    x, y, _, _ = split(folder, "kin40k.csv")
    rows = np.random.default_rng(1).normal(size=(100_000, x.shape[1]))
    save(temporary / "train.csv", x[:5000], y[:5000])
    save(temporary / "new.csv", rows, np.zeros(len(rows)))
    subprocess.run([mercer, "fit", temporary / "train.csv", "--target", "y", "--kernel", "gaussian(lengthscale=2)", "--scale", "none",
                    "--lambda", "1e-5", "--exact", "--no-diagnostics", "--output", temporary / "m.mercer", "--quiet"], check=True)
    model = KernelRidge(kernel="rbf", gamma=1 / 8, alpha=0.05).fit(x[:5000], y[:5000])
    model.predict(rows[:2000])
    contestants = {
        "mercer, CSV to Parquet": lambda: subprocess.run(
            [mercer, "predict", temporary / "m.mercer", temporary / "new.csv", "--output", temporary / "p.parquet", "--quiet",
             "--threads", "2"], check=True),
        "KernelRidge in blocks of 2,000": lambda: [model.predict(rows[at:at + 2000]) for at in range(0, len(rows), 2000)],
        "KernelRidge in one call": lambda: model.predict(rows),
    }
    # In turn, so that what else the machine does meets all of them.
    clocks = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, run in contestants.items():
            clocks[name].append(clocked(run))
    medians = {name: np.median(times, axis=0) for name, times in clocks.items()}
    ours, ours_cpu = medians["mercer, CSV to Parquet"]
    for name, (wall, cpu) in medians.items():
        print(f"prediction, {name}: {len(rows) / wall:,.0f} rows/s (median of {repeats}), {len(rows) / cpu:,.0f} a processor second; "
              f"{wall / ours:.2f} times mercer's time, {cpu / ours_cpu:.2f} times its processor time", flush=True)


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    mercer = program()
    versions()
    with tempfile.TemporaryDirectory() as temporary:
        predict(mercer, folder, Path(temporary))
        for landmarks in [int(text) for text in sys.argv[2:]] or [1000, 3000]:
            for name in ("kin40k.csv", "protein.csv"):
                compare(mercer, folder, Path(temporary), name, landmarks)


if __name__ == "__main__":
    main()
