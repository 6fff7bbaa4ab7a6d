#!/usr/bin/env python3
"""The m-power reference files, computed once more in 60 digits and compared.

Minimises (1/W) sum w (y - f(x) - b)^2 + lambda ||f||^m for every case of crates/mercer/tests/golden/power-*.json. At a given ridge t
the coefficients are those of ridge regression, so that what is left is one equation for t,

    t = lambda m/2 N(t)^(m-2),   N = ||f||,

whose roots are bracketed on a grid and refined in 60 digits; the least objective among the roots and the zero function wins.
Held-out residuals are those of refits without the rows. Shares no code with the library.

    python3 checks/golden/power.py          # needs mpmath and numpy; about half a minute
"""

import functools
import json
import pathlib
import sys

import mpmath as mp
import numpy as np

mp.mp.dps = 60
FOLDER = pathlib.Path(__file__).parents[2] / "crates/mercer/tests/golden"
# The files hold numbers of double precision.
TOLERANCE = 1e-13


def spline(u, v):
    least = min(u, v)
    return 1 + u * v + abs(u - v) * least**2 / 2 + least**3 / 3


def kernel(spec, a, b):
    kind = spec["kind"]
    if kind == "gaussian":
        square = mp.fsum((x - y) ** 2 for x, y in zip(a, b))
        return mp.exp(-square / (2 * mp.mpf(str(spec["lengthscale"])) ** 2))
    if kind == "polynomial":
        return (mp.fsum(x * y for x, y in zip(a, b)) + mp.mpf(str(spec["constant"]))) ** spec["degree"]
    if kind == "additive-spline":
        return mp.fsum(spline(x, y) for x, y in zip(a, b))
    if kind == "multiplicative-spline":
        return mp.fprod(spline(x, y) for x, y in zip(a, b))
    raise ValueError(kind)


def orthogonal_to(direction):
    """Orthonormal columns that are orthogonal to a vector (a Householder reflection without its first column)."""
    n = len(direction)
    length = mp.sqrt(mp.fsum(x * x for x in direction))
    v = [x / length for x in direction]
    v[0] += 1
    return mp.matrix([[(1 if i == j else 0) - v[i] * v[j] / v[0] for j in range(1, n)] for i in range(n)])


class Problem:
    """Rows of a file, decomposed for fits with or without offset."""

    def __init__(self, file, rows, offset):
        number = lambda x: mp.mpf(str(x))
        self.spec, self.offset = file["kernel"], offset
        self.x = [[number(c) for c in file["X"][i]] for i in rows]
        self.y = [number(file["y"][i]) for i in rows]
        self.w = [number(file["weight"][i]) if "weight" in file else mp.mpf(1) for i in rows]
        self.total = mp.fsum(self.w)
        n = len(rows)
        self.gram = mp.matrix(n, n)
        for i in range(n):
            for j in range(n):
                self.gram[i, j] = kernel(self.spec, self.x[i], self.x[j])
        self.roots = [mp.sqrt(w) for w in self.w]
        scaled = mp.matrix(n, n)
        for i in range(n):
            for j in range(n):
                scaled[i, j] = self.roots[i] * self.gram[i, j] * self.roots[j]
        target = mp.matrix([r * y for r, y in zip(self.roots, self.y)])
        self.basis = orthogonal_to(self.roots) if offset else mp.eye(n)
        values, vectors = mp.eigsy(self.basis.T * scaled * self.basis)
        self.values = [max(v, mp.mpf(0)) for v in values]
        self.vectors = self.basis * vectors
        self.coordinates = list(vectors.T * (self.basis.T * target))
        # Half the mean square that no function explains: what the zero function leaves.
        self.zero = mp.fsum(c * c for c in self.coordinates) / self.total

    def norm_square(self, t):
        ridge = self.total * t
        return mp.fsum(v * (c / (v + ridge)) ** 2 for v, c in zip(self.values, self.coordinates))

    def equation(self, log_t, lam, m):
        """log t - log(lambda m/2) - (m/2 - 1) log N^2, zero where the gradient is."""
        return log_t - mp.log(lam * m / 2) - (m / 2 - 1) * mp.log(self.norm_square(mp.exp(log_t)))

    def stationary(self, lam, m):
        if m == 2:
            return [lam]
        values = np.array([float(v) for v in self.values])
        squares = np.array([float(c) for c in self.coordinates]) ** 2
        grid = np.linspace(-150, 150, 30001)
        inner = values * squares / (values + float(self.total) * np.exp(grid)[:, None]) ** 2
        h = grid - float(mp.log(lam * m / 2)) - (float(m) / 2 - 1) * np.log(inner.sum(axis=1))
        found = []
        for k in np.nonzero(np.sign(h[:-1]) != np.sign(h[1:]))[0]:
            root = mp.findroot(
                lambda s: self.equation(s, lam, m), (mp.mpf(grid[k]), mp.mpf(grid[k + 1])), solver="anderson", tol=1e-90
            )
            found.append(mp.exp(root))
        return found

    def fit(self, lam, m):
        """The global minimiser: stationary ridges, ridge, objective, coefficients, offset."""
        stationary = self.stationary(lam, m)
        best = (self.zero, None)
        for t in stationary:
            ridge = self.total * t
            left = mp.fsum((c * ridge / (v + ridge)) ** 2 for v, c in zip(self.values, self.coordinates))
            objective = left / self.total + lam * self.norm_square(t) ** (m / 2)
            if objective < best[0]:
                best = (objective, t)
        objective, t = best
        n = len(self.y)
        alpha = mp.matrix(n, 1)
        if t is not None:
            ridge = self.total * t
            inner = mp.matrix([c / (v + ridge) for v, c in zip(self.values, self.coordinates)])
            alpha = self.vectors * inner
            for i in range(n):
                alpha[i] *= self.roots[i]
        fitted = self.gram * alpha
        b = mp.fsum(w * (y - f) for w, y, f in zip(self.w, self.y, fitted)) / self.total if self.offset else mp.mpf(0)
        return {"stationary": stationary, "t": t, "objective": objective, "alpha": alpha, "b": b, "fitted": fitted}

    def predict(self, found, x):
        point = [mp.mpf(str(c)) for c in x]
        return mp.fsum(a * kernel(self.spec, p, point) for a, p in zip(found["alpha"], self.x)) + found["b"]


def difference(got, want):
    """The largest difference, as a share of the largest reference number."""
    got, want = (list(v) if isinstance(v, (list, mp.matrix)) else [v] for v in (got, want))
    if len(got) != len(want):
        return mp.inf
    size = max((abs(mp.mpf(w)) for w in want), default=0)
    worst = max((abs(g - mp.mpf(w)) for g, w in zip(got, want)), default=0)
    return worst / size if size > 0 else worst


def check(path):
    file = json.loads(path.read_text())
    n = len(file["y"])
    problem = functools.cache(lambda rows, offset: Problem(file, rows, offset))
    worst = {}
    for case in file["cases"]:
        lam, m, offset = mp.mpf(str(case["lambda"])), mp.mpf(str(case["exponent"])), case["offset"]
        own = problem(tuple(range(n)), offset)
        found = own.fit(lam, m)
        t = found["t"]

        def held_out(group):
            rows = tuple(i for i in range(n) if i not in group)
            part = problem(rows, offset)
            refit = part.fit(lam, m)
            return {i: mp.mpf(str(file["y"][i])) - part.predict(refit, file["X"][i]) for i in group}

        def left_out():
            return [held_out((i,))[i] for i in range(n)]

        def folds():
            residuals = {}
            for k in range(4):
                residuals.update(held_out(tuple(range(k, n, 4))))
            return [residuals[i] for i in range(n)]

        def degrees():
            shares = mp.fsum(v / (v + own.total * t) for v in own.values) if t is not None else 0
            return shares + (1 if offset else 0)

        residuals = [y - f - found["b"] for y, f in zip(own.y, found["fitted"])]
        facts = {
            "objective": lambda: found["objective"],
            "zero_objective": lambda: own.zero,
            "effective_ridge": lambda: t,
            "stationary": lambda: found["stationary"],
            "norm": lambda: mp.sqrt(own.norm_square(t)) if t is not None else mp.mpf(0),
            "alpha": lambda: found["alpha"],
            "intercept": lambda: found["b"],
            "predict": lambda: [own.predict(found, x) for x in file["X_test"]],
            "degrees_of_freedom": degrees,
            "train_mse": lambda: mp.fsum(w * r * r for w, r in zip(own.w, residuals)) / own.total,
            "loo_residuals": left_out,
            "fold_residuals": folds,
        }
        for name, compute in facts.items():
            if name not in case:
                continue
            got, want = compute(), case[name]
            if got is None or want is None:
                apart = 0 if got is None and want is None else mp.inf
            else:
                apart = difference(got, want)
            worst[name] = max(worst.get(name, 0), apart)
    print(f"{path.name}: {len(file['cases'])} cases")
    for name, apart in worst.items():
        print(f"    {name:<20}{mp.nstr(apart, 2)}{'' if apart <= TOLERANCE else '   differs'}")
    return all(apart <= TOLERANCE for apart in worst.values())


def main():
    wanted = sys.argv[1:]
    paths = [p for p in sorted(FOLDER.glob("power-*.json")) if not wanted or any(w in p.name for w in wanted)]
    results = [check(path) for path in paths]
    print("all agree" if all(results) else "some differ")
    sys.exit(0 if results and all(results) else 1)


if __name__ == "__main__":
    main()
