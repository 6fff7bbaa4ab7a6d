#!/usr/bin/env python3
"""Kernel ridge at a fixed λ, 4000 rows, 8 features: ours beside scikit-learn's KernelRidge, in turns, in one run.

"coefficients" is the same work (alpha = nλ, no offset, dual coefficients); "report" adds what KernelRidge does not
give: exact leave-one-out residuals and degrees of freedom. Every fit runs in a process of its own, so that peak
memory is comparable; theirs includes the Python interpreter and libraries, so the share is also given without that.
usage: pip install -r peers/requirements.txt && python peers/fit.py
"""
from common import build, in_child, median, ours, problem, temporary_folder, versions

ROWS, FEATURES, LENGTHSCALE, LAMBDA, ROUNDS = 4000, 8, 2.0, 1e-4, 5

THEIRS = """
import json, resource, sys, time
import numpy as np
from sklearn.kernel_ridge import KernelRidge
path, gamma, alpha = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
data = np.loadtxt(path, delimiter=",")
x, y = np.ascontiguousarray(data[:, :-1]), np.ascontiguousarray(data[:, -1])
KernelRidge(kernel="rbf", gamma=gamma, alpha=alpha).fit(x[:50], y[:50])
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
started = time.perf_counter()
model = KernelRidge(kernel="rbf", gamma=gamma, alpha=alpha).fit(x, y)
seconds = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": seconds, "check": float(model.dual_coef_.sum()), "peak_bytes": peak, "base_bytes": base}))
"""


def main() -> None:
    program = build()
    versions()
    gamma, alpha = 1 / (2 * LENGTHSCALE**2), ROWS * LAMBDA
    theirs, coefficients, report = [], [], []
    with temporary_folder() as folder:
        _, _, path = problem(folder, ROWS, FEATURES)
        for _ in range(ROUNDS):
            theirs.append(in_child(THEIRS, path, gamma, alpha))
            for how, results in (("coefficients", coefficients), ("report", report)):
                result = ours(program, "fit", path, 1, LENGTHSCALE, LAMBDA, how)
                assert abs(result["check"] / theirs[-1]["check"] - 1) < 1e-8, "the two fits differ"
                results.append({**result, "seconds": result["seconds"][0]})
    peak = median(t["peak_bytes"] for t in theirs)
    base = median(t["base_bytes"] for t in theirs)
    print(f"KernelRidge.fit, {ROWS} rows: {median(t['seconds'] for t in theirs):.2f} s, peak {peak / 1e6:.0f} MB "
          f"({(peak - base) / 1e6:.0f} MB above the interpreter)")
    for name, results in (("coefficients", coefficients), ("report", report)):
        ratio = median(r["seconds"] / t["seconds"] for r, t in zip(results, theirs))
        ours_peak = median(r["peak_bytes"] for r in results)
        print(f"mercer, {name}: {median(r['seconds'] for r in results):.2f} s, ratio {ratio:.2f}; "
              f"peak {ours_peak / 1e6:.0f} MB, {ours_peak / peak:.0%} of theirs "
              f"({ours_peak / (peak - base):.0%} of what theirs takes above the interpreter)")


if __name__ == "__main__":
    main()
