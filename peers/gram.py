#!/usr/bin/env python3
"""Gaussian Gram matrix, 4000 × 4000, 8 features: ours beside scikit-learn's rbf_kernel, in turns, in one run.

Both give the full symmetric matrix. usage: pip install -r peers/requirements.txt && python peers/gram.py
"""
import time

from common import build, median, ours, problem, temporary_folder, versions

ROWS, FEATURES, LENGTHSCALE, ROUNDS = 4000, 8, 2.0, 7


def main() -> None:
    import numpy as np
    from sklearn.metrics.pairwise import rbf_kernel

    program = build()
    versions()
    with temporary_folder() as folder:
        x, _, path = problem(folder, ROWS, FEATURES)
        gamma = 1 / (2 * LENGTHSCALE**2)
        check = np.sum(rbf_kernel(x, gamma=gamma))
        theirs, mine = [], []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            rbf_kernel(x, gamma=gamma)
            theirs.append(time.perf_counter() - started)
            result = ours(program, "gram", path, 3, LENGTHSCALE)
            assert abs(result["check"] / check - 1) < 1e-12, "the two matrices differ"
            mine.append(median(result["seconds"]))
    ratio = median(m / t for m, t in zip(mine, theirs))
    print(f"Gram {ROWS} x {ROWS}, d = {FEATURES}: scikit-learn {median(theirs):.3f} s, mercer {median(mine):.3f} s")
    print(f"ratio {ratio:.2f} (at most 0.50 is asked for): {'ok' if ratio <= 0.5 else 'MISSED'}")


if __name__ == "__main__":
    main()
