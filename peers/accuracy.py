#!/usr/bin/env python3
"""Accuracy of the automatic mode beside tuned peers on tabular regression data: RMSE / max y on held-out rows.

Split s: the rows in the order of default_rng(s).permutation, the first 70 % for training. friedman1 is generated, and
its error is against the function without noise; the sets in SUBSAMPLED are cut to 3000 rows. Inputs and target are
standardised for the peers that need it. A method that fails is shown as failed and ranks last on that set.
usage: pip install -r peers/requirements.txt && python peers/accuracy.py [--data ../shared/data] [--splits 10 | 0-2]
       [--sets a,b] [--methods a,b] [--output table.md] [--cache results.jsonl] [--only-cached] [--program mercer]
       [--threads 2]
The cache keeps finished results by set, split, method and version (of mercer: the program's hash), so that a run that
was stopped goes on; failures are tried again. mercer has 60 s of wall time per fit, so it needs a machine to itself.
"""
import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path

from common import ROOT, THREADS, temporary_folder

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

BUDGET = "60s"
# The sets, with the figure to be reached where the issue names one.
SETS = {"concrete": 0.060, "concrete_slump": 0.007, "yacht": 0.0072, "wine_white": 0.074, "energy": 0.0106,
        "boston": 0.0555, "parkinsons_total": 0.030, "friedman1": 0.0085, "california": None, "kin40k": None,
        "elevators": None}
SUBSAMPLED = {"california": 3000, "kin40k": 3000, "elevators": 3000}


def load(name: str, folder: Path):
    """Inputs, target, and what predictions are compared with; None where there is no such file."""
    if name == "friedman1":
        random = np.random.default_rng(1)
        x = random.uniform(size=(2000, 10))
        f = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
        return x, f + random.normal(size=len(f)), f
    path = folder / f"{name}.csv"
    if not path.is_file():
        return None
    data = np.loadtxt(path, delimiter=",", skiprows=1)
    if name in SUBSAMPLED:
        data = data[np.random.default_rng(0).permutation(len(data))[:SUBSAMPLED[name]]]
    return data[:, :-1], data[:, -1], data[:, -1]


def build() -> Path:
    subprocess.run(["cargo", "build", "--release", "-q", "-p", "mercer-cli"], cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "mercer"


def standardised(predict):
    """Wraps a method so that it sees inputs and target with mean 0 and standard deviation 1 on the training rows."""
    def wrapped(x, y, test, **rest):
        mean, scale = x.mean(0), x.std(0)
        scale[scale == 0] = 1
        return predict((x - mean) / scale, (y - y.mean()) / y.std(), (test - mean) / scale, **rest) * y.std() + y.mean()
    return wrapped


def mercer(x, y, test, threads, program):
    names = [f"x{j + 1}" for j in range(x.shape[1])]
    write = partial(np.savetxt, delimiter=",", fmt="%.17g", comments="")
    run = partial(subprocess.run, check=True, capture_output=True, text=True)
    with temporary_folder() as folder:
        train, rows, model, output = (Path(folder) / name for name in ("train.csv", "test.csv", "m.mercer", "p.csv"))
        write(train, np.column_stack([x, y]), header=",".join([*names, "y"]))
        write(rows, test, header=",".join(names))
        run([program, "fit", train, "--target", "y", "--budget", BUDGET, "--output", model, "--quiet",
             "--threads", str(threads)])
        run([program, "predict", model, rows, "--output", output, "--quiet"])
        column = output.read_text().split("\n", 1)[0].split(",").index("prediction")
        return np.loadtxt(output, delimiter=",", skiprows=1, usecols=column, ndmin=1)


def gammas(x):
    return [1 / (2 * length**2) for length in np.sqrt(x.shape[1]) * np.array([0.25, 0.5, 1, 2, 4])]


def search(model, grid, folds, x, y, test):
    # Folds are blocks of consecutive rows; the split has shuffled the rows.
    return GridSearchCV(model, grid, cv=folds, scoring="neg_mean_squared_error").fit(x, y).predict(test)


@standardised
def kernel_ridge(x, y, test, threads):
    return search(KernelRidge(kernel="rbf"), {"gamma": gammas(x), "alpha": np.logspace(-5, 0, 6)}, 5, x, y, test)


@standardised
def svr(x, y, test, threads):
    grid = {"gamma": gammas(x), "C": [1, 10, 100], "epsilon": [0.01, 0.1]}
    return search(SVR(cache_size=1000), grid, 3 if len(y) > 2000 else 5, x, y, test)


@standardised
def gaussian_process(x, y, test, threads):
    rows = np.random.default_rng(0).permutation(len(y))[:1500]
    kernel = ConstantKernel() * RBF(np.ones(x.shape[1])) + WhiteKernel()
    model = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=0).fit(x[rows], y[rows])
    if len(rows) < len(y):
        model = GaussianProcessRegressor(model.kernel_, normalize_y=True, optimizer=None).fit(x, y)
    return model.predict(test)


def lightgbm(x, y, test, threads):
    from lightgbm import LGBMRegressor

    model = LGBMRegressor(n_estimators=500, learning_rate=0.05, n_jobs=threads, random_state=0, verbose=-1)
    return model.fit(x, y).predict(test)


@standardised
def xrfm(x, y, test, threads):
    import torch
    from xrfm import xRFM

    x, y, test = (np.asarray(a, dtype=np.float32) for a in (x, y, test))
    part = np.random.default_rng(0).permutation(len(y))
    validation, train = np.split(part, [round(0.2 * len(y))])
    model = xRFM(device=torch.device("cpu"), tuning_metric="mse", random_state=0, n_threads=threads, verbose=False)
    model.fit(x[train], y[train], x[validation], y[validation])
    return np.asarray(model.predict(test), dtype=float).reshape(-1)


METHODS = {"mercer": mercer, "KernelRidge": kernel_ridge, "SVR": svr, "GaussianProcess": gaussian_process,
           "LightGBM": lightgbm, "xRFM": xrfm}


def versions(methods, program) -> dict:
    peers = {"LightGBM": "lightgbm", "xRFM": "xrfm"}
    named = {m: peers.get(m, "scikit-learn") for m in methods if m != "mercer"}
    named = {m: f"{package} {version(package)}" for m, package in named.items()}
    if "mercer" in methods:
        own = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip()
        named["mercer"] = f"{own} ({hashlib.sha256(Path(program).read_bytes()).hexdigest()[:8]})"
    return named


def measure(predict, data, split: int, threads: int) -> dict:
    x, y, truth = data
    order = np.random.default_rng(split).permutation(len(y))
    train, test = np.split(order, [round(0.7 * len(y))])
    started, cpu = time.perf_counter(), sum(os.times()[:4])
    try:
        predicted = predict(x[train], y[train], x[test], threads=threads)
        if predicted.shape != (len(test),) or not np.isfinite(predicted).all():
            raise ValueError(f"{np.isfinite(predicted).sum()} finite predictions for {len(test)} rows")
        result = {"error": float(np.sqrt(np.mean((predicted - truth[test]) ** 2)) / y.max())}
    except Exception as problem:  # whatever a peer throws: to be shown in the table
        told = getattr(problem, "stderr", None) or f"{type(problem).__name__}: {problem}"
        result = {"failed": " ".join(told.split())[:200]}
    # Processor time beside wall time: far less of it tells of a crowded machine.
    return {**result, "seconds": time.perf_counter() - started, "cpu": sum(os.times()[:4]) - cpu, "threads": threads}


def ranks(errors):
    """Ranks from 1, equal values sharing the mean of theirs."""
    errors = np.array(errors)
    return [(errors < e).sum() + ((errors == e).sum() + 1) / 2 for e in errors]


def table(results: dict, sets, methods, splits) -> list[str]:
    lines = ["| set | figure | " + " | ".join(methods) + " |", "|---|---|" + "---|" * len(methods)]
    ranked, failures, unranked = [], [], []
    for name in sets:
        cells = []
        for method in methods:
            found = [results[name, s, method] for s in splits if (name, s, method) in results]
            errors = [r["error"] for r in found if "error" in r]
            cell = f"{np.mean(errors):.4f}" if errors else "–"
            if len(errors) > 1:
                cell += f" ± {np.std(errors, ddof=1):.4f}"
            if errors and len(errors) < len(splits):
                cell += f" ({len(errors)})"
            failed = [r["failed"] for r in found if "failed" in r]
            if failed:
                cell += f" **failed {len(failed)}**"
                failures.append(f"- {method} failed on {name} ({len(failed)} of {len(found)} splits): {failed[0]}")
            cells.append(cell)
        figure = "" if SETS[name] is None else f"{SETS[name]:g}"
        lines.append(f"| {name} | {figure} | " + " | ".join(cells) + " |")
        # Ranks from the splits that every method has, so that all saw the same rows.
        shared = [s for s in splits if all((name, s, m) in results for m in methods)]
        means = [np.mean([results[name, s, m].get("error", np.inf) for s in shared]) if shared else 0 for m in methods]
        ranked.append(ranks(means)) if shared else unranked.append(name)
    if ranked:
        lines.append("| mean rank | | " + " | ".join(f"{r:.2f}" for r in np.mean(ranked, axis=0)) + " |")
    fits = {m: [r["seconds"] for (n, s, k), r in results.items() if k == m and n in sets and s in splits]
            for m in methods}
    lines += ["", f"RMSE / max y, mean ± standard deviation over {len(splits)} splits (if fewer: how many)."]
    lines += ["Seconds per fit, mean (largest): "
              + ", ".join(f"{m} {np.mean(t):.1f} ({max(t):.0f})" for m, t in fits.items() if t) + "."]
    if unranked:
        lines.append(f"Not in the mean rank (no split finished by all methods): {', '.join(unranked)}.")
    return lines + failures


def parse_splits(text: str) -> range:
    first, dash, last = text.partition("-")
    return range(int(first), int(last) + 1) if dash else range(int(first))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--splits", type=parse_splits, default=range(10), help="a number, or a range such as 0-2")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--output", type=Path, help="also write the table here")
    parser.add_argument("--cache", type=Path, help="JSON lines of finished results, read and appended")
    parser.add_argument("--only-cached", action="store_true", help="compute nothing, show what the cache has")
    parser.add_argument("--program", type=Path, help="the mercer binary (default: built from this repository)")
    parser.add_argument("--threads", type=int, default=int(THREADS))
    options = parser.parse_args()
    sets, methods = options.sets.split(","), options.methods.split(",")
    for asked, known in ((sets, SETS), (methods, METHODS)):
        if unknown := [name for name in asked if name not in known]:
            parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(known)}")
    program = (options.program or build()).resolve() if "mercer" in methods else None
    named = versions(methods, program)
    threadpool_limits(options.threads)

    data = {name: load(name, options.data) for name in sets}
    missing = [name for name in sets if data[name] is None]
    sets = [name for name in sets if name not in missing]
    results = {}
    if options.cache and options.cache.is_file():
        for line in options.cache.read_text().splitlines():
            r = json.loads(line)
            if named.get(r["method"]) == r["version"]:
                results[r["set"], r["split"], r["method"]] = r
    for split in [] if options.only_cached else options.splits:
        for name in sets:
            for method in methods:
                key = name, split, method
                if "error" in results.get(key, {}):
                    continue
                predict = partial(mercer, program=program) if method == "mercer" else METHODS[method]
                results[key] = {"set": name, "split": split, "method": method, "version": named[method],
                                **measure(predict, data[name], split, options.threads)}
                shown = results[key].get("error", results[key].get("failed"))
                print(f"{name} {split} {method}: {shown} in {results[key]['seconds']:.1f} s", file=sys.stderr)
                if options.cache:
                    with options.cache.open("a") as cache:
                        cache.write(json.dumps(results[key]) + "\n")

    lines = table(results, sets, methods, options.splits)
    if missing:
        lines.append(f"Skipped, no such file in {options.data}: {', '.join(missing)}.")
    packages = [f"{name} {version(name)}" for name in ("numpy", "scipy")]
    lines.append(f"{', '.join(dict.fromkeys([*named.values(), *packages]))}; Python {sys.version.split()[0]}.")
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
