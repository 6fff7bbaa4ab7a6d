#!/usr/bin/env python3
"""The reference files of linear penalties, computed once more in 60 digits and compared.

Minimises (1/n) sum (y - Xw - b)^2 + penalty for every case of crates/mercer/tests/golden/linear-*.json, and the same with a kernel
matrix in the place of X and no offset for kernel-lasso.json. Ridge and Tikhonov are linear systems, least squares of minimum norm
is one in the span of the rows, and the Lasso is followed from its largest lambda downwards, where it is linear between events.
Shares no code with the library.

    python3 checks/golden/linear.py         # needs mpmath
"""

import json
import pathlib
import sys

import mpmath as mp

mp.mp.dps = 60
FOLDER = pathlib.Path(__file__).parents[2] / "crates/mercer/tests/golden"
# The files were made in double precision.
TOLERANCE = {"coefficients": 1e-10, "intercept": 1e-10, "objective": 1e-10, "lasso coefficients": 1e-9, "nonzero": 0}


def matrix(rows):
    return mp.matrix([[mp.mpf(str(c)) for c in row] for row in rows])


def column_means(x):
    return [mp.fsum(x[i, j] for i in range(x.rows)) / x.rows for j in range(x.cols)]


def centred(x, means):
    return mp.matrix([[x[i, j] - means[j] for j in range(x.cols)] for i in range(x.rows)])


def least_squares(x, y):
    """Of all minimisers the one of least norm, for full rank either way."""
    if x.rows > x.cols:
        return mp.lu_solve(x.T * x, x.T * y)
    # Centring takes one from the rank of wide tables: rows but the last.
    rows = mp.matrix([[x[i, j] for j in range(x.cols)] for i in range(x.rows - 1)])
    return rows.T * mp.lu_solve(rows * rows.T, mp.matrix(list(y)[:-1]))


def quadratic(x, y, lam, gamma):
    return mp.lu_solve(x.T * x / x.rows + lam * gamma.T * gamma, x.T * y / x.rows)


def first_differences(p):
    return mp.matrix([[(-1 if j == i else 1 if j == i + 1 else 0) for j in range(p)] for i in range(p - 1)])


def lasso(x, y, lam):
    """The Lasso's path from its beginning down to lambda."""
    n, p = x.rows, x.cols
    correlations = 2 * (x.T * y) / n
    first = max(range(p), key=lambda j: abs(correlations[j]))
    now = abs(correlations[first])
    if lam >= now:
        return [mp.mpf(0)] * p
    active, signs = [first], {first: mp.sign(correlations[first])}
    # What left last, and the sign that it had.
    left, was = None, 0
    while True:
        part = mp.matrix([[x[i, j] for j in active] for i in range(n)])
        gram = part.T * part
        constant = mp.lu_solve(gram, part.T * y)
        slope = mp.lu_solve(gram, mp.matrix([n * signs[j] / 2 for j in active]))
        # w = constant - lambda slope, and the correlations are base + lambda rate.
        base = 2 * (x.T * (y - part * constant)) / n
        rate = 2 * (x.T * (part * slope)) / n
        events = [(lam, None, None)]
        for k, j in enumerate(active):
            if slope[k] != 0 and j != left:
                events.append((constant[k] / slope[k], "out", j))
        for j in range(p):
            for sign in (1, -1):
                if j not in active and sign != rate[j] and not (j == left and sign == was):
                    events.append((base[j] / (sign - rate[j]), "in", j))
        # Events at the present lambda are those that led here.
        at, kind, j = max((e for e in events if lam <= e[0] < now * (1 - mp.mpf(10) ** -40)), key=lambda e: e[0])
        if kind is None:
            found = [mp.mpf(0)] * p
            for k, j in enumerate(active):
                found[j] = constant[k] - lam * slope[k]
            return found
        left = None
        if kind == "out":
            was, left = signs[j], j
            active.remove(j)
        else:
            active.append(j)
            signs[j] = mp.sign(base[j] + at * rate[j])
        now = at


def objective(x, y, w, lam):
    residuals = y - x * mp.matrix(w)
    return mp.fsum(r * r for r in residuals) / x.rows + lam * mp.fsum(abs(c) for c in w)


def difference(got, want):
    got, want = (list(v) if isinstance(v, (list, mp.matrix)) else [v] for v in (got, want))
    size = max((abs(mp.mpf(w)) for w in want), default=0)
    worst = max((abs(g - mp.mpf(w)) for g, w in zip(got, want, strict=True)), default=0)
    return worst / size if size > 0 else worst


def solved(file, case, x, y):
    """Facts of a case by their names."""
    means, level = column_means(x), mp.fsum(y) / y.rows
    inner, target = centred(x, means), mp.matrix([v - level for v in y])
    lam = mp.mpf(str(case.get("lambda", 0)))
    method = case["method"]
    if method == "lasso":
        w = lasso(inner, target, lam)
        facts = {"objective": objective(inner, target, w, lam), "lasso coefficients": w}
        return facts | {"nonzero": sum(1 for c in w if c != 0)}
    if method == "least-squares, minimum norm":
        w = least_squares(inner, target)
    else:
        gamma = mp.eye(x.cols) if method == "ridge" else first_differences(x.cols)
        w = quadratic(inner, target, lam, gamma)
    return {"coefficients": w, "intercept": level - mp.fsum(m * c for m, c in zip(means, w))}


def kernel_matrix(file):
    points = [[mp.mpf(str(c)) for c in row] for row in file["X"]]
    length = mp.mpf(str(file["kernel"]["lengthscale"]))
    value = lambda a, b: mp.exp(-mp.fsum((u - v) ** 2 for u, v in zip(a, b)) / (2 * length**2))
    return mp.matrix([[value(a, b) for b in points] for a in points])


def check(path):
    file = json.loads(path.read_text())
    y = mp.matrix([mp.mpf(str(v)) for v in file["y"]])
    is_kernel = "kernel" in file
    x = kernel_matrix(file) if is_kernel else matrix(file["X"])
    worst = {}
    for case in file["cases"]:
        if is_kernel:
            lam = mp.mpf(str(case["lambda"]))
            w = lasso(x, y, lam)
            facts = {"objective": objective(x, y, w, lam), "nonzero": sum(1 for c in w if c != 0)}
        else:
            facts = solved(file, case, x, y)
        for name, got in facts.items():
            want = case["coefficients" if name == "lasso coefficients" else name]
            worst[name] = max(worst.get(name, 0), difference(got, want))
    print(f"{path.name}: {len(file['cases'])} cases")
    for name, apart in worst.items():
        print(f"    {name:<20}{mp.nstr(mp.mpf(apart), 2)}{'' if apart <= TOLERANCE[name] else '   differs'}")
    return all(apart <= TOLERANCE[name] for name, apart in worst.items())


def main():
    results = [check(FOLDER / name) for name in ["linear-tall.json", "linear-wide.json", "kernel-lasso.json"]]
    print("all agree" if all(results) else "some differ")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
