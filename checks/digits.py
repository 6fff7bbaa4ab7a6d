#!/usr/bin/env python3
"""Certified digits beside 60-digit arithmetic.

Random m-power problems are fitted by the program and solved in 60 digits: no certificate may claim more digits than there are, at
training rows or at new ones. Digits are relative to the standard deviation of the target; at new rows they are claimed where k(x, x)
is at most its largest value on the training rows.

    python checks/digits.py --program target/release/mercer --problems 2000 [--kind any|smooth] [--processes 2] [--against OTHER]

needs mpmath and numpy (gmpy2 makes it several times faster). Exits with 1 if a claim is above the truth.
"""

import argparse
import csv
import json
import math
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile

import mpmath as mp
import numpy as np

mp.mp.dps = 60
EXPONENTS = [0.3, 0.7, 1, 1.5, 2, 3]


def kernel_value(name, length, a, b):
    square = mp.fsum((x - y) ** 2 for x, y in zip(a, b))
    r = mp.sqrt(square) / length
    if name == "gaussian":
        return mp.exp(-r * r / 2)
    if name == "matern32":
        return (1 + mp.sqrt(3) * r) * mp.exp(-mp.sqrt(3) * r)
    if name == "matern52":
        return (1 + mp.sqrt(5) * r + 5 * r * r / 3) * mp.exp(-mp.sqrt(5) * r)
    if name == "laplace":
        return mp.exp(-mp.fsum(abs(x - y) for x, y in zip(a, b)) / length)
    inner = mp.fsum(x * y for x, y in zip(a, b))
    return inner if name == "linear" else (inner + 1) ** 3


def spec_of(name, length):
    if name == "linear":
        return name
    return "polynomial(degree=3,constant=1)" if name == "polynomial" else f"{name}(lengthscale={length})"


def draw(kind, rng):
    """One problem: table, new rows, kernel, exponent, lambda."""
    smooth = kind == "smooth"
    n = rng.choice([6, 8, 10, 12, 14])
    features = 1 if smooth else rng.choice([1, 2])
    kernels = ["gaussian", "matern52", "polynomial"] if smooth else [
        "gaussian", "matern32", "matern52", "laplace", "linear", "polynomial"]
    x = [[round(rng.gauss(0, 1), 6) for _ in range(features)] for _ in range(n)]
    shift = rng.choice([0, 0, 1e4])
    scale = rng.choice([1, 1, 100])
    y = [round(rng.gauss(0, 1) * scale + shift, 6) for _ in range(n)]
    if smooth and rng.random() < 0.5:
        y = [round(math.sin(2 * row[0]) + 0.1 * rng.gauss(0, 1), 6) for row in x]
    if not smooth and rng.random() < 0.3:
        x[-1] = x[0][:]
    return {
        "x": x, "y": y,
        "new": [[round(rng.gauss(0, 1.2), 6) for _ in range(features)] for _ in range(4)],
        "kernel": rng.choice(kernels), "length": rng.choice([1.0, 3.0, 10.0] if smooth else [0.3, 1.0, 3.0, 10.0]),
        "offset": rng.random() < 0.8, "exponent": rng.choice(EXPONENTS),
        "lambda": float("%.6g" % (10 ** rng.uniform(-9, -1) if smooth else 10 ** rng.uniform(-11, 0.3))),
    }


def householder(n):
    """Orthonormal columns that are orthogonal to the constant vector."""
    v = [1 / mp.sqrt(n)] * n
    v[0] += 1
    return mp.matrix([[(1 if i == j else 0) - v[i] * v[j] / v[0] for j in range(1, n)] for i in range(n)])


class Exact:
    """The problem in 60 digits."""

    def __init__(self, problem):
        exact = lambda rows: [[mp.mpf(v) for v in row] for row in rows]
        self.x, self.new = exact(problem["x"]), exact(problem["new"])
        self.n, self.offset = len(self.x), problem["offset"]
        k = lambda a, b: kernel_value(problem["kernel"], mp.mpf(problem["length"]), a, b)
        self.gram = mp.matrix(self.n, self.n)
        for i in range(self.n):
            for j in range(i, self.n):
                self.gram[i, j] = self.gram[j, i] = k(self.x[i], self.x[j])
        self.y = mp.matrix([mp.mpf(v) for v in problem["y"]])
        basis = householder(self.n) if self.offset else mp.eye(self.n)
        reduced = basis.T * self.gram * basis
        values, vectors = mp.eigsy((reduced + reduced.T) / 2)
        top = max(values)
        self.d = [v if v > top * mp.mpf(10) ** -45 else mp.mpf(0) for v in values]
        self.z = list(vectors.T * (basis.T * self.y))
        self.q = basis * vectors
        self.rows = self.x + self.new
        self.cross = [[k(row, other) for other in self.x] for row in self.rows]
        self.heights = [k(row, row) for row in self.rows]

    def square(self, ridge):
        return mp.fsum(z * z * d / (d + self.n * ridge) ** 2 for z, d in zip(self.z, self.d))

    def objective(self, ridge, lam, m):
        train = mp.fsum((self.n * ridge * z / (d + self.n * ridge)) ** 2 for z, d in zip(self.z, self.d)) / self.n
        return train + lam * self.square(ridge) ** (m / 2)

    def minimum(self, lam, m):
        """The ridge of the global minimum; None for the zero function."""
        if not any(z * z * d > 0 for z, d in zip(self.z, self.d)):
            return None
        if m == 2:
            return lam
        h = lambda t: t - mp.log(lam * m / 2) - (m - 2) / 2 * mp.log(self.square(mp.exp(t)))
        d, z = (np.array([float(v) for v in values]) for values in (self.d, self.z))
        grid = np.linspace(-140, 60, 12001)
        with np.errstate(all="ignore"):
            squares = np.sum(z**2 * d / (d + self.n * np.exp(grid)[:, None]) ** 2, axis=1)
            signs = grid - math.log(float(lam * m / 2)) - (float(m) - 2) / 2 * np.log(squares)
        best = (mp.fsum(v * v for v in self.z) / self.n, None)
        brackets = []
        for i in range(len(grid) - 1):
            if not (np.isfinite(signs[i]) and np.isfinite(signs[i + 1])):
                continue
            if signs[i] * signs[i + 1] <= 0:
                brackets.append((mp.mpf(grid[i]), mp.mpf(grid[i + 1])))
            elif i and abs(signs[i]) < 1e-2 and abs(signs[i]) <= min(abs(signs[i - 1]), abs(signs[i + 1])):
                # Two roots may lie between points of the grid.
                ends = [mp.mpf(grid[i - 1]) + (mp.mpf(grid[i + 1]) - mp.mpf(grid[i - 1])) * j / 200 for j in range(201)]
                values = [h(t) for t in ends]
                brackets += [(ends[j], ends[j + 1]) for j in range(200) if values[j] * values[j + 1] <= 0]
        for low, high in brackets:
            at_low = h(low)
            if at_low * h(high) > 0:
                continue
            for _ in range(25):
                centre = (low + high) / 2
                if at_low * h(centre) <= 0:
                    high = centre
                else:
                    low = centre
            root = mp.findroot(h, (low, high), solver="anderson", tol=mp.mpf(10) ** -90, verify=False)
            ridge = mp.exp(root if low - 1e-3 <= root <= high + 1e-3 else (low + high) / 2)
            value = self.objective(ridge, lam, m)
            if value < best[0]:
                best = (value, ridge)
        return best[1]

    def predictions(self, ridge):
        if ridge is None:
            return [mp.fsum(self.y) / self.n if self.offset else mp.mpf(0)] * len(self.rows)
        c = mp.matrix([z / (d + self.n * ridge) for z, d in zip(self.z, self.d)])
        alpha = self.q * c
        offset = mp.mpf(0)
        if self.offset:
            offset = mp.fsum(self.y - self.gram * alpha) / self.n
        return [mp.fsum(k * a for k, a in zip(row, alpha)) + offset for row in self.cross]


def table(path, rows, y):
    with open(path, "w") as file:
        file.write(",".join(f"x{j}" for j in range(len(rows[0]))) + ",y\n")
        file.writelines(",".join(map(repr, row)) + f",{value!r}\n" for row, value in zip(rows, y))


def fitted(program, problem, folder):
    """Exit code, certificate and predictions of the program."""
    path = lambda name: os.path.join(folder, name)
    table(path("t.csv"), problem["x"], problem["y"])
    rows = problem["x"] + problem["new"]
    table(path("n.csv"), rows, [0] * len(rows))
    command = [program, "--threads", "1", "fit", path("t.csv"), "--target", "y", "--scale", "none", "--kernel",
               spec_of(problem["kernel"], problem["length"]), "--lambda", repr(problem["lambda"]),
               "--exponent", repr(problem["exponent"]), "--json", "-o", path("m.mercer")]
    ran = subprocess.run(command + ([] if problem["offset"] else ["--no-offset"]), capture_output=True)
    if ran.returncode not in (0, 3):
        raise RuntimeError(f"{problem}: {ran.stderr.decode()}")
    predict = [program, "-q", "predict", path("m.mercer"), path("n.csv"), "-o", path("p.csv")]
    subprocess.run(predict, check=True, capture_output=True)
    with open(path("p.csv")) as file:
        values = [float(row[-1]) for row in list(csv.reader(file))[1:]]
    return ran.returncode, json.loads(ran.stdout)["certificate"], values


def one(job):
    programs, kind, seed, number = job
    problem = draw(kind, random.Random(f"{seed}/{kind}/{number}"))
    exact = Exact(problem)
    m = problem["exponent"]
    m = mp.mpf(str(m)) if m != int(m) else m
    true = exact.predictions(exact.minimum(mp.mpf(problem["lambda"]), m))
    # As the certificate: the deviation from the offset, and from 0 without one.
    y = np.array(problem["y"])
    spread = float(np.std(y)) if problem["offset"] else float(np.sqrt(np.mean(y * y)))
    n, height = exact.n, max(exact.heights[: exact.n])
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for program in programs:
            code, certificate, values = fitted(program, problem, folder)
            errors = [float(abs(mp.mpf(v) - t)) / spread for v, t in zip(values, true)]
            within = [e for e, h in zip(errors[n:], exact.heights[n:]) if h <= height]
            digits = lambda errors: -math.log10(max(errors, default=0) or 1e-17)
            found.append({"code": code, "claimed": certificate["digits"], "global": certificate["is_global"],
                          "rows": digits(errors[:n]), "new": digits(within), "beyond": digits(errors[n:])})
    return number, problem, found, [float(t) for t in true]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", default="target/release/mercer")
    parser.add_argument("--against", help="another build of the program, to count what changed")
    parser.add_argument("--problems", type=int, default=2000)
    parser.add_argument("--kind", choices=["any", "smooth"], default="any")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="one problem by its number, printed as JSON with its 60-digit predictions")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--show", type=int, default=10, help="claims above the truth to print")
    options = parser.parse_args()
    programs = [os.path.abspath(p) for p in (options.program, options.against) if p]
    if options.only is not None:
        number, problem, found, true = one((programs, options.kind, options.seed, options.only))
        print(json.dumps({"number": number, **problem, "found": found, "true": true}))
        return 0
    jobs = [(programs, options.kind, options.seed, number) for number in range(options.problems)]
    with multiprocessing.Pool(options.processes) as pool:
        results = list(pool.imap_unordered(one, jobs, chunksize=4))
    above = 0
    for at, program in enumerate(programs):
        held = [(number, problem, found[at]) for number, problem, found, _ in results if found[at]["code"] == 0]
        rows = [case for case in held if case[2]["claimed"] > case[2]["rows"]]
        new = [case for case in held if case[2]["claimed"] > case[2]["new"]]
        beyond = [case for case in held if case[2]["claimed"] > case[2]["beyond"]]
        print(f"{program}: {len(results)} problems, {len(held)} with a certificate")
        print(f"  claims above the truth: {len(rows)} at training rows, {len(new)} at new rows; "
              f"{len(beyond)} where k(x, x) is larger, which is not claimed")
        if held:
            spare = sorted(min(f["rows"], f["new"]) - f["claimed"] for _, _, f in held)
            claimed = sorted(f["claimed"] for _, _, f in held)
            print(f"  digits claimed: median {claimed[len(claimed) // 2]:.1f}; there beyond the claim: least {spare[0]:.1f}, "
                  f"median {spare[len(spare) // 2]:.1f}")
        for number, problem, f in sorted(rows + [c for c in new if c not in rows], key=lambda case: case[0])[: options.show]:
            short = {k: v for k, v in problem.items() if k not in ("x", "y", "new")}
            print(f"  #{number} n={len(problem['y'])} {short} {f}")
        if at == 0:
            above = len(rows) + len(new)
    if options.against:
        lost = sum(1 for _, _, (mine, other), _ in results if other["code"] == 0 and mine["code"] == 3)
        won = sum(1 for _, _, (mine, other), _ in results if other["code"] == 3 and mine["code"] == 0)
        false = sum(1 for _, _, (mine, other), _ in results
                    if other["code"] == 0 and other["claimed"] > min(other["rows"], other["new"]))
        print(f"certificates lost against the other build: {lost} (of which it claimed too much in {false} in all), won: {won}")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
