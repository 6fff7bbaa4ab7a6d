#!/usr/bin/env python3
"""Support vector machines on landmarks beside LIBSVM on all rows: a9a, 70 % of the rows for training, the others for testing.

usage: python peers/loss_landmarks.py DATA [MERCER]   (two threads each, one after the other; CPU time is user + system)
"""
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import ROOT, THREADS, versions

import numpy as np
from sklearn.svm import SVC

GAMMA, COST = 1 / 123, 1.0


def spent(before) -> float:
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    data = Path(sys.argv[1])
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    mercer = sys.argv[2] if len(sys.argv) > 2 else str(target / "release" / "mercer")
    path = data / "class" / "a9a.csv.gz"
    if not path.exists():
        print(f"skipped: {path} is not there")
        return 0
    versions()
    table = np.loadtxt(gzip.open(path, "rt"), delimiter=",", skiprows=1)
    order = np.random.default_rng(1).permutation(len(table))
    cut = int(0.7 * len(table))
    train, test = table[order[:cut]], table[order[cut:]]
    with tempfile.TemporaryDirectory() as folder:
        header = ",".join([f"x{j + 1}" for j in range(table.shape[1] - 1)] + ["y"])
        for name, part in (("train", train), ("test", test)):
            np.savetxt(f"{folder}/{name}.csv", part, delimiter=",", fmt="%g", header=header, comments="")
        lengthscale, penalty = (2 * GAMMA) ** -0.5, 1 / (2 * len(train) * COST)
        options = ["--kernel", f"gaussian(lengthscale={lengthscale!r})", "--scale", "none", "--loss", "hinge"]
        for label, more in (
            ("100 landmarks", ["--lambda", repr(penalty), "--rank", "100"]),
            ("300 landmarks", ["--lambda", repr(penalty), "--rank", "300"]),
            ("1000 landmarks", ["--lambda", repr(penalty), "--rank", "1000"]),
            ("all rows", ["--lambda", repr(penalty), "--exact", "--tolerance", "1e-4"]),
            ("300 landmarks, λ by five folds", ["--rank", "300"]),
        ):
            before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
            line = [mercer, "--threads", THREADS, "fit", f"{folder}/train.csv", "--target", "y", *options, *more]
            run = subprocess.run([*line, "--json", "--output", f"{folder}/m.mercer"], capture_output=True, text=True)
            took, cpu = time.time() - started, spent(before)
            if run.returncode not in (0, 3):
                print(label, run.stderr)
                return 1
            report = json.loads(run.stdout)
            predict = [mercer, "predict", f"{folder}/m.mercer", f"{folder}/test.csv", "--output", f"{folder}/p.csv", "-q"]
            subprocess.run(predict, check=True)
            predicted = np.loadtxt(f"{folder}/p.csv", delimiter=",", skiprows=1)[:, -1]
            right = np.mean(predicted == test[:, -1])
            gap = report["certificate"]["duality_gap"]
            print(f"mercer, {label:32s} accuracy {right:.4f}, gap {gap:.0e}, {took:6.1f} s ({cpu:6.1f} s of CPU)", flush=True)
        started, before = time.time(), time.process_time()
        machine = SVC(C=COST, gamma=GAMMA, cache_size=2000).fit(train[:, :-1], train[:, -1])
        right = machine.score(test[:, :-1], test[:, -1])
        took, cpu = time.time() - started, time.process_time() - before
        print(f"LIBSVM, all rows                         accuracy {right:.4f}, {took:.1f} s ({cpu:.1f} s of CPU, test rows included)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
