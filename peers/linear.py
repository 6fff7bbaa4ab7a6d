"""Linear models side by side: Lasso paths against scikit-learn, celer and skglm, classifiers and support vector
regression against LIBLINEAR. Everybody's duality gap (Lasso) or primal objective is computed here, by one function.

python peers/linear.py [lasso] [margins] [--data FOLDER]   (FOLDER holds class/a9a.csv.gz)
"""
import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import common

common.os.environ["NUMBA_NUM_THREADS"] = common.THREADS

import numpy as np  # noqa: E402  (after the threads are set)
import scipy.sparse as sparse  # noqa: E402

warnings.filterwarnings("ignore")
TOLERANCE = 1e-6


def build() -> Path:
    command = ["cargo", "build", "--release", "-q", "-p", "mercer", "--example", "timing_linear"]
    subprocess.run(command, cwd=common.ROOT, check=True)
    target = Path(common.os.environ.get("CARGO_TARGET_DIR", common.ROOT / "target"))
    return target / "release" / "examples" / "timing_linear"


def dump(folder: Path, x, y) -> Path:
    """Writes a problem for the timing program."""
    folder.mkdir(parents=True, exist_ok=True)
    meta = {"rows": x.shape[0], "cols": x.shape[1], "sparse": sparse.issparse(x)}
    (folder / "meta.json").write_text(json.dumps(meta))
    y.astype("<f8").tofile(folder / "y.bin")
    if sparse.issparse(x):
        rows = x.tocsr()
        rows.sort_indices()
        rows.indptr.astype("<u8").tofile(folder / "starts.bin")
        rows.indices.astype("<u4").tofile(folder / "places.bin")
        rows.data.astype("<f8").tofile(folder / "values.bin")
    else:
        np.asfortranarray(x).T.astype("<f8").tofile(folder / "x.bin")
    return folder


def worst_gap(x, y, lambdas, coefficients) -> float:
    """The largest relative duality gap of (1/n)|y - Xw|^2 + lambda |w|_1 along a path, from y and w alone."""
    n, worst = len(y), 0.0
    for lam, w in zip(lambdas, coefficients):
        r = y - x @ w
        primal = r @ r / n + lam * np.abs(w).sum()
        steepest = 2 * np.abs(x.T @ r).max() / n
        scale = min(lam / steepest, (r @ y) / (r @ r)) if r @ r > 0 else 0.0
        dual = (2 * scale * (r @ y) - scale**2 * (r @ r)) / n
        worst = max(worst, (primal - dual) / primal)
    return worst


def dense_problem():
    """celer's own design: features with correlation 0.5^|i-j|."""
    from celer.datasets import make_correlated_data

    x, y, _ = make_correlated_data(n_samples=1000, n_features=10_000, corr=0.5, snr=5, density=0.2, random_state=0)
    return np.asfortranarray(x), y


def sparse_problem():
    random = np.random.default_rng(0)
    x = sparse.random(5000, 50_000, density=0.005, random_state=0, format="csc", data_rvs=random.standard_normal)
    w = np.zeros(50_000)
    w[random.choice(50_000, 500, replace=False)] = random.standard_normal(500)
    y = x @ w
    return x, y + random.standard_normal(5000) * np.linalg.norm(y) / np.sqrt(5000) / 5


def timed(function):
    started, busy = time.perf_counter(), time.process_time()
    result = function()
    return result, time.perf_counter() - started, time.process_time() - busy


def peer_path(name, x, y, alphas):
    if name == "scikit-learn":
        from sklearn.linear_model import lasso_path

        return lasso_path(x, y, alphas=alphas, tol=TOLERANCE, max_iter=100_000)[1]
    if name == "celer":
        from celer import celer_path

        return celer_path(x, y, "lasso", alphas=alphas, tol=TOLERANCE, max_iter=200)[1]
    from skglm.datafits import Quadratic
    from skglm.penalties import L1
    from skglm.solvers import AndersonCD
    from skglm.utils.jit_compilation import compiled_clone

    solver = AndersonCD(tol=TOLERANCE, fit_intercept=False, warm_start=True, max_iter=200)
    return solver.path(x, y, compiled_clone(Quadratic()), compiled_clone(L1(1.0)), alphas)[1]


def lasso(program: Path, folder: Path) -> None:
    print("\nLasso path, 100 lambdas down to lambda_max/1000, no offset, relative gap asked for 1e-6")
    print("| problem | who | seconds | processor seconds | worst relative gap |\n|---|---|---|---|---|")
    for title, (x, y) in (("dense 1,000 × 10,000", dense_problem()), ("sparse 5,000 × 50,000, 0.5 %", sparse_problem())):
        place = dump(folder / title.split()[0], x, y)
        out = folder / "path.bin"
        busy = common.os.times().children_user
        result = common.ours(program, "path", place, 1, TOLERANCE, "false", out)
        busy = common.os.times().children_user - busy
        coefficients = np.fromfile(out).reshape(-1, x.shape[1] + 1)[:, :-1]
        gap = worst_gap(x, y, result["lambdas"], coefficients)
        print(f"| {title} | mercer | {result['seconds'][0]:.2f} | {busy:.2f} | {gap:.1e} |", flush=True)
        alphas = np.array(result["lambdas"]) / 2
        for name in ("celer", "skglm", "scikit-learn"):
            try:
                if name != "scikit-learn":  # compiles on first use
                    small = x[:50, :60].copy()
                    peer_path(name, small, y[:50], np.abs(small.T @ y[:50]).max() / 50 * np.array([0.9, 0.5]))
                path, seconds, busy = timed(lambda: peer_path(name, x, y, alphas))
                gap = worst_gap(x, y, result["lambdas"], path.T)
                print(f"| {title} | {name} | {seconds:.2f} | {busy:.2f} | {gap:.1e} |", flush=True)
            except Exception as error:  # a peer that is missing or fails is named
                print(f"| {title} | {name} | {type(error).__name__}: {error} | | |", flush=True)


def margins(program: Path, folder: Path, data: Path) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC, LinearSVR

    epsilon = 0.1
    print("\nClassifiers and support vector regression, no offset (LIBLINEAR penalises its own)")
    print("| problem | loss | who | seconds | processor seconds | objective |\n|---|---|---|---|---|---|")
    losses = {
        "logistic": lambda y, f: np.logaddexp(0, -y * f),
        "hinge": lambda y, f: np.maximum(1 - y * f, 0),
        "squared-hinge": lambda y, f: np.maximum(1 - y * f, 0) ** 2,
        f"epsilon:{epsilon}": lambda y, f: np.maximum(np.abs(y - f) - epsilon, 0),
        f"squared-epsilon:{epsilon}": lambda y, f: np.maximum(np.abs(y - f) - epsilon, 0) ** 2,
    }

    def logistic(solver):
        return lambda c, tol: LogisticRegression(C=c, solver=solver, tol=tol, fit_intercept=False, max_iter=1000)

    def svc(loss, dual):
        return lambda c, tol: LinearSVC(C=c, loss=loss, dual=dual, tol=tol, fit_intercept=False, max_iter=20_000)

    def svr(loss, dual):
        return lambda c, tol: LinearSVR(C=c, loss=loss, dual=dual, epsilon=epsilon, tol=tol, fit_intercept=False, max_iter=5000)

    peers = {
        "logistic": [("liblinear", logistic("liblinear")), ("lbfgs", logistic("lbfgs")),
                     ("newton-cholesky", logistic("newton-cholesky"))],
        "hinge": [("liblinear dual", svc("hinge", True))],
        "squared-hinge": [("liblinear primal", svc("squared_hinge", False))],
        f"epsilon:{epsilon}": [("liblinear dual", svr("epsilon_insensitive", True))],
        f"squared-epsilon:{epsilon}": [("liblinear primal", svr("squared_epsilon_insensitive", False))],
    }
    random = np.random.default_rng(0)
    x = random.standard_normal((50_000, 50))
    x += 0.5 * x[:, :1]
    f = x @ random.standard_normal(50)
    problems = [
        ("dense 50,000 × 50", x, np.sign(f + random.standard_normal(50_000) * f.std() * 0.5), 1e-5, list(losses)[:3]),
        ("dense 50,000 × 50", x, f + random.standard_normal(50_000) * f.std() * 0.3, 1e-5, list(losses)[3:]),
    ]
    a9a = data / "class" / "a9a.csv.gz"
    if a9a.exists():
        table = np.loadtxt(a9a, delimiter=",", skiprows=1)
        problems.insert(0, ("a9a", sparse.csr_matrix(table[:, :-1]), table[:, -1], 1 / (2 * len(table)), list(losses)[:3]))
    else:
        print(f"skipped: there is no {a9a}", file=sys.stderr)
    for title, x, y, lam, names in problems:
        place = dump(folder / "margin", x, y)
        for name in names:
            def objective(w):
                return losses[name](y, x @ w).mean() + lam * w @ w

            out = folder / "margin.bin"
            result = common.ours(program, name, place, 3, lam, TOLERANCE, "false", out)
            value = objective(np.fromfile(out)[:-1])
            print(f"| {title} | {name} | mercer (gap {result['gap']:.0e}) | {min(result['seconds']):.3f} | | {value:.10f} |", flush=True)
            for who, make in peers[name]:
                for tol in (1e-2, 1e-4):
                    model = make(1 / (2 * len(y) * lam), tol)
                    _, seconds, busy = timed(lambda: model.fit(x, y))
                    value = objective(model.coef_.ravel())
                    print(f"| {title} | {name} | {who}, tol {tol:g} | {seconds:.3f} | {busy:.3f} | {value:.10f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*", default=["lasso", "margins"])
    parser.add_argument("--data", type=Path, default=common.ROOT / "data")
    arguments = parser.parse_args()
    common.versions()
    with common.temporary_folder() as temporary:
        executable = build()
        if "lasso" in arguments.what:
            lasso(executable, Path(temporary))
        if "margins" in arguments.what:
            margins(executable, Path(temporary), arguments.data)
