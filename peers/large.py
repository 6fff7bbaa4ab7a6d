#!/usr/bin/env python3
"""Many rows: landmarks by Mercer beside scikit-learn's Nystroem + RidgeCV, the same number of them, the same kernel, in one run.

kin40k and protein, 70/30, standardised; both choose λ (scikit-learn by RidgeCV over 25 values, its efficient leave-one-out; Mercer by
exact leave-one-out over λ and four exponents, with `--clip`: predictions within the range of the training targets, which both criteria
and predictions of Mercer's know of; what clipping the other's predictions afterwards gives is printed, too). Mercer's time is the whole program, reading included. Beside wall time, which a busy
machine distorts, the seconds that processors worked are printed. Then rows predicted a second, and the memory that two million rows take.

usage: python peers/large.py DATA [landmarks …] [--only WHAT …]
  landmarks     numbers of them (default: 1000 3000)
  --only        any of: compare predict choices flights million moments
                (default: predict compare; the others take minutes and write gigabytes to the temporary folder)
  choices       every way of choosing landmarks on six sets: leave-one-out and test error
  flights       flights_nyc13, 273,853 rows: everything chosen, with --memory 2G, and the memory that was used
  million       a million generated rows, `mercer fit` and nothing else
  moments       ten million generated rows in Parquet, 500 landmarks: rate of adding beside that of plain products; seven parts merged
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
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


def run(command: list) -> tuple[float, float, float, str]:
    """Runs a program: wall seconds, processor seconds, the peak of its memory in MB, what it printed."""
    started = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    peak = [0.0]
    watcher = threading.Thread(target=watch_memory, args=(process.pid, peak), daemon=True)
    watcher.start()
    out = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    watcher.join()
    # 3: done, without a certificate; the program says so on standard error.
    if os.waitstatus_to_exitcode(status) not in (0, 3):
        sys.exit(f"{command[1]} ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - started, used.ru_utime + used.ru_stime, peak[0], out


def watch_memory(pid: int, peak: list) -> None:
    """The most memory of a process, in MB, until it ends. (What wait4 tells counts this script's own, from which it was started.)"""
    while True:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return
        most = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
        if not most:
            return
        peak[0] = int(most[0]) * 1024 / 1e6
        time.sleep(0.01)


def own_processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def compare(mercer: Path, folder: Path, temporary: Path, name: str, landmarks: int) -> None:
    x, y, x_test, y_test = split(folder, name)
    save(temporary / "train.csv", x, y)
    save(temporary / "test.csv", x_test, y_test)
    for lengthscale in (np.sqrt(x.shape[1]), np.sqrt(x.shape[1]) / 2):
        ours, busy, _, _ = run(
            [mercer, "fit", temporary / "train.csv", "--target", "y", "--kernel", f"gaussian(lengthscale={float(lengthscale)!r})",
             "--scale", "none", "--rank", landmarks, "--exponent", "1..2.5:0.5", "--output", temporary / "m.mercer",
             "--clip", "--quiet", "--threads", "2"])
        rmse = error_of(mercer, temporary, y_test)
        started, before = time.perf_counter(), own_processor_seconds()
        theirs = make_pipeline(Nystroem(gamma=0.5 / lengthscale**2, n_components=landmarks, random_state=0),
                               RidgeCV(alphas=np.logspace(-7, 3, 25)))
        theirs.fit(x, y)
        their_time, their_busy = time.perf_counter() - started, own_processor_seconds() - before
        predicted = theirs.predict(x_test)
        root = lambda values: np.sqrt(np.mean((values - y_test) ** 2))
        their_rmse, clipped = root(predicted), root(np.clip(predicted, y.min(), y.max()))
        print(f"{name}, {len(y)} rows, {landmarks} landmarks, lengthscale {lengthscale:.3g}: mercer {ours:.1f} s (processors {busy:.1f} s), "
              f"RMSE {rmse:.4f}; Nystroem + RidgeCV {their_time:.1f} s = {their_time / ours:.1f} times (processors {their_busy:.1f} s = "
              f"{their_busy / busy:.1f} times), RMSE {their_rmse:.4f} (clipped: {clipped:.4f})", flush=True)


def error_of(mercer: Path, temporary: Path, y_test: np.ndarray) -> float:
    out = run([mercer, "predict", temporary / "m.mercer", temporary / "test.csv", "--json"])[-1]
    predicted = np.array(json.loads(out)["predictions"]["prediction"], float)
    return float(np.sqrt(np.mean((predicted - y_test) ** 2)))


def choices(mercer: Path, folder: Path, temporary: Path) -> None:
    """Every way of choosing landmarks: an eighth of the rows' number, at most 1,000."""
    for name in ("kin40k", "protein", "elevators", "pol", "california", "wine_white"):
        x, y, x_test, y_test = split(folder, f"{name}.csv")
        save(temporary / "train.csv", x, y)
        save(temporary / "test.csv", x_test, y_test)
        rank = min(len(y) // 8, 1000)
        for lengthscale in (np.sqrt(x.shape[1]), np.sqrt(x.shape[1]) / 2):
            found = []
            for by in (None, "kmeans", "uniform", "pivots"):
                out = run([mercer, "fit", temporary / "train.csv", "--target", "y", "--scale", "none", "--rank", rank, "--json",
                           "--kernel", f"gaussian(lengthscale={float(lengthscale)!r})", "--output", temporary / "m.mercer",
                           *(["--landmarks-by", by] if by else [])])[-1]
                report = json.loads(out)
                found.append(f"{by or 'by itself (' + report['method'].split(',')[1].strip()[:22] + '…)'} {report['loo_rmse']:.5g}, "
                             f"test {error_of(mercer, temporary, y_test):.5g}")
            print(f"{name}, {rank} landmarks, lengthscale {lengthscale:.3g}: leave-one-out " + "; ".join(found), flush=True)


def flights(mercer: Path, folder: Path, temporary: Path) -> None:
    table = folder / "flights_nyc13.csv.gz"
    for what, more in (("everything by itself", []), ("one kernel, four exponents", ["--kernel", "gaussian", "--exponent", "1..2.5:0.5"])):
        wall, busy, peak, out = run([mercer, "fit", table, "--target", "y", "--memory", "2G", "--threads", "2", "--json", *more])
        report = json.loads(out)
        print(f"flights_nyc13, 273,853 rows, --memory 2G, {what}: {wall:.0f} s (processors {busy:.0f} s), {peak:.0f} MB at the peak, "
              f"{report['method']}, leave-one-out RMSE {report['loo_rmse']:.4g}", flush=True)


def million(mercer: Path, temporary: Path) -> None:
    run([mercer, "generate", "friedman1", "--rows", "1000000", "--noise", "1", "--output", temporary / "big.parquet"])
    wall, busy, peak, out = run([mercer, "fit", temporary / "big.parquet", "--target", "y", "--threads", "2", "--json"])
    report = json.loads(out)
    print(f"friedman1, a million rows, nothing said: {wall:.0f} s (processors {busy:.0f} s), {peak:.0f} MB at the peak, {report['method']}, "
          f"leave-one-out RMSE {report['loo_rmse']:.4g}", flush=True)


def moments(mercer: Path, temporary: Path) -> None:
    parts, rows, landmarks = 7, 10_000_000, 500
    for part in range(parts):
        count = rows * (part + 1) // parts - rows * part // parts
        run([mercer, "generate", "friedman1", "--rows", count, "--noise", "1", "--seed", part + 1, "--output", temporary / f"part{part}.parquet"])
    tables = [temporary / f"part{part}.parquet" for part in range(parts)]
    wall, busy, peak, out = run([mercer, "moments", *tables, "--target", "y", "--landmarks", landmarks, "--output", temporary / "all.moments",
                                 "--json", "--threads", "2"])
    adding = json.loads(out)["adding"]
    # Two arrays: of one with itself NumPy computes only half.
    a, b = np.random.default_rng(0).random((2, 8192, landmarks))
    best = 0.0
    for _ in range(5):
        started = time.perf_counter()
        a.T @ b
        best = max(best, 2 * 8192 * landmarks**2 / (time.perf_counter() - started) / 1e9)
    print(f"ten million rows × 10 columns, {landmarks} landmarks: {wall:.0f} s (processors {busy:.0f} s), {peak:.0f} MB at the peak; adding "
          f"{adding['rows_per_second']:,.0f} rows/s = {adding['gigaflops']:.0f} GFlop/s beside {best:.0f} of a plain product (OpenBLAS)", flush=True)
    for part in range(parts):
        run([mercer, "moments", tables[part], "--like", temporary / "all.moments", "--output", temporary / f"{part}.moments", "--quiet"])
    run([mercer, "merge", *[temporary / f"{part}.moments" for part in range(parts)], "--output", temporary / "merged.moments", "--quiet"])
    run([mercer, "generate", "friedman1", "--rows", "5000", "--seed", "99", "--output", temporary / "new.csv"])
    values = []
    for name in ("all", "merged"):
        wall, *_ = run([mercer, "fit", temporary / f"{name}.moments", "--exponent", "0.1..2.9:0.1", "--lambda", "1e-7..1e3:25", "--output",
                        temporary / f"{name}.mercer", "--quiet"])
        out = run([mercer, "predict", temporary / f"{name}.mercer", temporary / "new.csv", "--json"])[-1]
        values.append(np.array(json.loads(out)["predictions"]["prediction"], float))
    apart = np.max(np.abs(values[0] - values[1])) / np.std(values[0])
    print(f"seven parts merged: predictions differ by {apart:.1e} of their spread; 29 × 25 exponents and λ by 5 folds in {wall:.1f} s", flush=True)


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


def predict_parts(mercer: Path, temporary: Path, count: int = 2_000_000) -> None:
    """Two million generated rows, part by part: the peak of the program's memory for every kind of file, models of two sizes."""
    for kind in ("csv", "parquet"):
        run([mercer, "generate", "friedman1", "--rows", count, "--seed", "2", "--output", temporary / f"huge.{kind}"])
    for rows in (500, 5000):
        run([mercer, "generate", "friedman1", "--rows", rows, "--noise", "1", "--output", temporary / "train.csv"])
        run([mercer, "fit", temporary / "train.csv", "--target", "y", "--kernel", "gaussian", "--lambda", "1e-4", "--exact",
             "--no-diagnostics", "--output", temporary / "m.mercer", "--quiet"])
        for source, output in (("csv", "csv"), ("csv", "parquet"), ("parquet", "parquet")):
            wall, busy, peak, _ = run([mercer, "predict", temporary / "m.mercer", temporary / f"huge.{source}", "--output",
                                       temporary / f"p.{output}", "--quiet", "--threads", "2"])
            print(f"prediction, {count:,} rows, {rows:,} training rows, {source} to {output}: {peak:.0f} MB at the peak, "
                  f"{count / wall:,.0f} rows/s ({count / busy:,.0f} a processor second)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("landmarks", type=int, nargs="*", default=[1000, 3000])
    parser.add_argument("--only", nargs="+", default=["predict", "compare"],
                        choices=["predict", "compare", "choices", "flights", "million", "moments"])
    options = parser.parse_args()
    folder, mercer = options.data, program()
    versions()
    with tempfile.TemporaryDirectory() as name:
        temporary = Path(name)
        if "predict" in options.only:
            predict(mercer, folder, temporary)
            predict_parts(mercer, temporary)
        if "compare" in options.only:
            for landmarks in options.landmarks or [1000, 3000]:
                for table in ("kin40k.csv", "protein.csv"):
                    compare(mercer, folder, temporary, table, landmarks)
        if "choices" in options.only:
            choices(mercer, folder, temporary)
        if "flights" in options.only:
            flights(mercer, folder, temporary)
        if "million" in options.only:
            million(mercer, temporary)
        if "moments" in options.only:
            moments(mercer, temporary)


if __name__ == "__main__":
    main()
