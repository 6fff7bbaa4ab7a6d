"""TRUST C1: bad inputs × every estimator. No crash, no hang, nothing that is not finite; every refusal names its reason."""

import re
import time
import warnings

import numpy as np
import pytest

import mercer
from mercer import _core

REGRESSORS = [
    mercer.PowerRidge(),
    mercer.PowerRidge(exponent=0.5, reg_lambda="loo"),
    mercer.PowerRidge(exponent=3.0, reg_lambda=1e-3, scale="standard"),
    mercer.KernelRidge(),
    mercer.PowerRidgeCV(),
    mercer.KernelRidgeCV(),
    mercer.Ridge(),
    mercer.Tikhonov("first-differences"),
    mercer.Lasso(alpha=0.01),
    mercer.LassoCV(),
    mercer.KernelLasso(),
    mercer.SVR(),
    mercer.QuantileRegressor(),
    mercer.HuberRegressor(),
    mercer.AutoKernelRegressor(budget=2),
]
CLASSIFIERS = [mercer.SVC(), mercer.SVC(squared=True, probability=True), mercer.KernelLogistic(), mercer.KernelLogistic(multinomial=True)]


def smooth(rows, columns):
    place, column = np.meshgrid(np.arange(1, rows + 1), np.arange(columns), indexing="ij")
    x = np.modf(0.61803398875 * place * (1 + 0.37 * column))[0]
    return x, np.sin(3 * x[:, : min(columns, 3)]).sum(axis=1)


def at(row, column, value):
    x, y = smooth(12, 2)
    x[row, column] = value
    return x, y


def target(row, value):
    x, y = smooth(12, 2)
    y[row] = value
    return x, y


X, Y = smooth(12, 2)
HALF, _ = smooth(6, 2)
HUGE = "too large|range of numbers|cannot scale|kernel values reach|scale the features|beyond|finite|infinity|dtype"

# name, input, and what a refusal must say; None: must be fitted.
INPUTS = [
    ("NaN in x", at(2, 1, np.nan), "NaN"),
    ("∞ in x", at(4, 0, np.inf), "infinity"),
    ("−∞ in x", at(11, 1, -np.inf), "infinity"),
    ("NaN everywhere", (np.full((12, 2), np.nan), Y), "NaN"),
    ("NaN in y", target(3, np.nan), "NaN"),
    ("∞ in y", target(1, np.inf), "infinity"),
    ("−∞ in y", target(0, -np.inf), "infinity"),
    ("no rows", (X[:0], Y[:0]), "0 sample"),
    ("no columns", (X[:, :0], Y), "0 feature"),
    ("y too short", (X, Y[:11]), "inconsistent numbers of samples"),
    ("y too long", (X, np.append(Y, 1.0)), "inconsistent numbers of samples"),
    ("y empty", (X, Y[:0]), "sample"),
    ("y of strings", (X, np.array(["a", "b"] * 6)), "string|convert|class"),
    ("x of strings", (np.full((12, 2), "a"), Y), "string|convert"),
    ("x of objects", (np.array([[{}, 1]] * 12, dtype=object), Y), "dict|number|convert"),
    ("x of one dimension", (X[:, 0], Y), "1D array|2D array"),
    ("x of three dimensions", (X[:, :, None], Y), "dim 3|3 dim|dim"),
    ("a number for x", (3.0, Y), "scalar|array|dim"),
    ("nothing for x", (None, Y), "None|NaN|dim|scalar|array"),
    ("nothing for y", (X, None), "y"),
    ("complex x", (X + 1j, Y), "[Cc]omplex"),
    ("complex y", (X, Y + 1j), "[Cc]omplex"),
    ("one row", smooth(1, 2), "1 sample|one sample|class"),
    ("two rows", smooth(2, 2), "rows|sample|fold|kernel values reach"),
    ("three rows", smooth(3, 1), "rows|sample|fold|kernel values reach"),
    ("many more columns than rows", smooth(6, 500), None),
    ("a constant column", (np.column_stack([X[:, 0], np.full(12, 7.5)]), Y), None),
    ("a column of 0", (np.column_stack([X[:, 0], np.zeros(12)]), Y), None),
    ("all rows equal", (np.full((12, 2), 0.25), Y), None),
    ("all x 0", (np.zeros((12, 2)), Y), None),
    ("all x −0", (-np.zeros((12, 2)), Y), None),
    ("constant y", (X, np.full(12, 3.25)), None),
    ("constant y of 0.1", (X, np.full(12, 0.1)), None),
    ("y of 0", (X, np.zeros(12)), None),
    ("constant y of 1e150", (X, np.full(12, 1e150)), HUGE),
    ("constant y of 1e-300", (X, np.full(12, 1e-300)), None),
    ("rows equal, y constant", (np.ones((12, 2)), np.full(12, 3.0)), None),
    ("every row twice with other y", (np.vstack([HALF, HALF]), np.append(np.arange(6.0), -np.arange(6.0, 12.0))), None),
    ("rows closer than rounding", (1 + np.arange(24.0).reshape(12, 2) * 2.2e-16, Y), None),
    ("rows 1e-12 apart", (1 + np.arange(24.0).reshape(12, 2) * 1e-12, Y), None),
    ("two equal columns", (np.column_stack([X[:, 0], X[:, 0]]), Y), None),
    ("x is y", (np.arange(12.0)[:, None], np.arange(12.0)), None),
    ("one row unlike all others", (np.eye(12)[:, 11:], np.eye(12)[11]), None),
    ("x of 1e-320", (X * 1e-320, Y), HUGE),
    ("x of 1e-300", (X * 1e-300, Y), HUGE),
    ("x of 1e-200", (X * 1e-200, Y), HUGE),
    ("x of 1e100", (X * 1e100, Y), HUGE),
    ("x of 1e200", (X * 1e200, Y), HUGE),
    ("x of 1e300", (X * 1e300, Y), HUGE),
    ("x offset by 1e15", (X + 1e15, Y), HUGE),
    ("y of 1e-320", (X, Y * 1e-320), None),
    ("y of 1e-150", (X, Y * 1e-150), None),
    ("y of 1e149", (X, Y * 1e149), HUGE),
    ("y of 1e200", (X, Y * 1e200), "too large"),
    ("y offset by 1e15", (X, Y + 1e15), None),
    ("one outlier of 1e200 in x", at(5, 0, 1e200), HUGE),
    ("one outlier of 1e100 in y", target(5, 1e100), None),
    ("f64::MAX in x", at(5, 0, np.finfo(float).max), HUGE),
    ("f64::MAX in y", target(5, np.finfo(float).max), "too large"),
    ("huge integers", (np.arange(24).reshape(12, 2) * 2**58, Y), HUGE),
    ("huge Python integers", ([[10**400, 1]] * 12, Y), "large|convert|dtype|float|int"),
    ("booleans", (X > 0.5, Y > 0.5), None),
]
WEIGHTS = [
    ("negative weights", -np.ones(12), "at least 0"),
    ("weights of 0", np.zeros(12), "at least one non-zero"),
    ("NaN in the weights", np.append(np.ones(11), np.nan), "NaN"),
    ("∞ in the weights", np.append(np.ones(11), np.inf), "infinity"),
    ("too few weights", np.ones(11), "shape"),
    ("weights of two dimensions", np.ones((12, 2)), "1D"),
    ("weights that differ by 1e40", np.append(np.ones(11), 1e40), "weight"),
    ("weights of strings", np.full(12, "a"), "string|convert|dtype"),
]


# What no estimator may fit; elsewhere a refusal is allowed, with its reason.
HOPELESS = {name for name, _, refusal in INPUTS if refusal is not None and refusal != HUGE} - {
    "one row", "two rows", "three rows", "y of strings", "y of 1e200", "f64::MAX in y",
}

# scikit-learn's own checks ask for a TypeError here.
TYPE_ERRORS = {"x of objects"}


def problem(name, estimator, x, y, refusal, must_refuse, **fit_parameters):
    """How it ended, and what is wrong with that."""
    started = time.perf_counter()
    wrong = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = estimator.fit(x, y, **fit_parameters).predict(x)
            outcome = "fitted"
            if len(found) != len(y) or (found.dtype.kind == "f" and not np.isfinite(found).all()):
                wrong = "predictions are not finite"
            if must_refuse:
                wrong = "fitted"
        except Exception as error:
            outcome = "refused"
            if not isinstance(error, ValueError) and name not in TYPE_ERRORS:
                wrong = f"{type(error).__name__}: {error}"
            elif refusal is None or not re.search(refusal, str(error)):
                wrong = f"refused: {error}"
    seconds = time.perf_counter() - started
    wrong = f"{seconds:.1f} s" if seconds > 10 else wrong
    return outcome, None if wrong is None else f"{name}: {wrong}"


def judge(estimator, cases):
    ends = [
        problem(name, estimator, x, y, refusal, name in HOPELESS or "sample_weight" in more, **more) for name, x, y, refusal, more in cases
    ]
    wrong = [one for _, one in ends if one is not None]
    assert not wrong, wrong
    return [outcome for outcome, _ in ends]


@pytest.mark.parametrize("estimator", REGRESSORS, ids=repr)
def test_regressors(estimator):
    outcomes = judge(estimator, [(name, x, y, refusal, {}) for name, (x, y), refusal in INPUTS])
    assert len(outcomes) == 62 and outcomes.count("fitted") >= 20


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=repr)
def test_classifiers(estimator):
    cases = []
    for name, (x, y), refusal in INPUTS:
        if y is not None and np.asarray(y).dtype.kind == "f" and np.isfinite(y).all():
            y = np.asarray(y) > np.median(y) if len(y) else y
        cases.append((name, x, y, "class|rows|sample|fold" if refusal is None else f"{refusal}|class", {}))
    outcomes = judge(estimator, cases)
    assert len(outcomes) == 62 and outcomes.count("fitted") >= 20


@pytest.mark.parametrize("estimator", [*REGRESSORS, *CLASSIFIERS], ids=repr)
def test_weights(estimator):
    y = (Y > np.median(Y)) if estimator in CLASSIFIERS else Y
    judge(estimator, [(name, X, y, refusal, {"sample_weight": weights}) for name, weights, refusal in WEIGHTS])


SETTINGS = [
    (mercer.PowerRidge(exponent=0), "exponent must be above 0"),
    (mercer.PowerRidge(exponent=-1), "exponent must be above 0"),
    (mercer.PowerRidge(exponent=np.nan), "exponent must be finite"),
    (mercer.PowerRidge(exponent="two"), "could not convert"),
    (mercer.PowerRidge(reg_lambda=0), "reg_lambda must be finite and above 0"),
    (mercer.PowerRidge(reg_lambda=-1), "reg_lambda must be finite and above 0"),
    (mercer.PowerRidge(reg_lambda=np.inf), "reg_lambda must be finite"),
    (mercer.PowerRidge(reg_lambda="lo"), "unknown criterion"),
    (mercer.PowerRidge(reg_lambda=[1, 2]), "reg_lambda must be a number"),
    (mercer.PowerRidge(alpha=True), "alpha must be a number"),
    (mercer.PowerRidge("gauss"), "did you mean gaussian"),
    (mercer.PowerRidge("gaussian(lengthscale=0)"), "lengthscale"),
    (mercer.PowerRidge("gaussian(lengthscale=[1,2,3])"), "lengthscale"),
    (mercer.PowerRidge(3), "kernel must be a spec"),
    (mercer.PowerRidge("rbf", gamma=-1), "gamma must be"),
    (mercer.PowerRidge("sigmoid"), "unknown kernel"),
    (mercer.PowerRidge(scale="wide"), "scale must be"),
    (mercer.PowerRidge(missing="guess"), "missing must be"),
    (mercer.PowerRidge(text="hash"), "text must be"),
    (mercer.PowerRidge(rank=0), "rank must be"),
    (mercer.PowerRidge(rank=3, exact=True), "one at a time"),
    (mercer.PowerRidgeCV(exponents=[]), "exponent"),
    (mercer.PowerRidgeCV(lambdas=[-1.0, 1.0]), "lambda must be above 0"),
    (mercer.PowerRidgeCV(cv=1), "fold"),
    (mercer.PowerRidgeCV(cv=13), "folds must be at most"),
    (mercer.SVR(epsilon=-1), "epsilon must be"),
    (mercer.SVR(exponent=0.5), "exponent must be at least 1"),
    (mercer.SVR(tolerance=1e-30), "tolerance must be"),
    (mercer.SVR(C=0), "C must be"),
    (mercer.QuantileRegressor(quantile=1.0), "quantile"),
    (mercer.QuantileRegressor(quantile=[]), "quantile"),
    (mercer.HuberRegressor(threshold=0), "threshold"),
    (mercer.Tikhonov(gamma="third"), "gamma of tikhonov must be"),
    (mercer.Tikhonov(gamma=np.eye(3)), "columns"),
    (mercer.LassoCV(cv="loo"), "criterion must be kfold"),
    (mercer.KernelLasso("gaus"), "unknown kernel"),
    (mercer.AutoKernelRegressor(budget=0), "budget"),
    (mercer.Nystroem(n_components=0), "n_components"),
    (mercer.Nystroem(n_components=0.5), "n_components"),
    (mercer.Nystroem(n_components=1e30), "n_components"),
    (mercer.PowerRidge(seed=-1), "seed must be"),
    (mercer.PowerRidge(seed=None), "seed must be"),
    (mercer.PowerRidge(memory=-1), "memory must be"),
    (mercer.PowerRidge(rank=-1), "rank must be"),
    (mercer.PowerRidge(rank=2.9), "rank must be a whole number"),
    (mercer.PowerRidge(scale=3), "scale must be a word"),
    (mercer.PowerRidge(missing="drop"), "missing must be"),
    (mercer.PowerRidge("poly", degree=2.7), "degree must be a whole number"),
    (mercer.PowerRidgeCV(cv=2.5), "cv must be"),
    (mercer.PowerRidgeCV(cv=True), "cv must be"),
    (mercer.PowerRidgeCV(3), "kernel must be a spec"),
    (mercer.SVR(tolerance=None), "tolerance must be a number"),
    (mercer.Tikhonov(np.ones(3)), "gamma must be a matrix"),
    (mercer.KernelLasso("gaussian(lengthscale=0.5..8:5)"), "one kernel"),
    (mercer.QuantileRegressor(quantile=[0.9, 0.1]), "quantile must rise"),
]


@pytest.mark.parametrize(("estimator", "reason"), SETTINGS, ids=lambda one: repr(one))
def test_settings(estimator, reason):
    with pytest.raises(ValueError, match=reason):
        estimator.fit(X, Y)


def test_kernel_matrices():
    with pytest.raises(ValueError, match="as many columns"):
        mercer.kernel_matrix(X, X[:, :1])
    with pytest.raises(ValueError, match="as many columns"):
        mercer.kernel_matrix(X[:, :1], X)
    many = np.zeros((5_000_000, 1))
    with pytest.raises(MemoryError, match="kernel matrix"):
        mercer.kernel_matrix(many, kernel="gaussian(lengthscale=1)")
    with pytest.raises(MemoryError, match="factor"):
        mercer.Nystroem("gaussian(lengthscale=1)", n_components=10**6).fit(many)


def test_numbers_that_are_asked_for_later():
    model = mercer.PowerRidge().fit(X, Y)
    for call in (lambda: model.predict(X, interval=0.9, method="cv+", folds=-1), lambda: model.path(target=5), lambda: model.path(target=-1),
                 lambda: mercer.set_threads(-1), lambda: mercer.set_threads(1000)):
        with pytest.raises(ValueError, match="folds|target|threads"):
            call()


def test_rows_that_cannot_fit_into_memory_are_refused_at_once():
    x = np.zeros((200_000, 2))
    started = time.perf_counter()
    with pytest.raises(MemoryError, match=r"200000 rows need .* may be used"):
        mercer.PowerRidge(exact=True, memory=2 << 30, reg_lambda="loo").fit(x, np.arange(200_000.0))
    assert time.perf_counter() - started < 2


def test_a_panic_is_an_exception():
    with pytest.raises(RuntimeError, match="on purpose"):
        _core._panics()
    assert mercer.PowerRidge().fit(X, Y).predict(X).shape == (12,)


def test_predictions_of_other_rows_are_refused():
    model = mercer.PowerRidge().fit(X, Y)
    for x, reason in ((X[:, :1], "1 features"), (np.full((1, 2), np.nan), "NaN"), (X[:0], "0 sample")):
        with pytest.raises(ValueError, match=reason):
            model.predict(x)
