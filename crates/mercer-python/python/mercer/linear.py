"""Linear functions. SciPy's sparse matrices are read as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import validate_data

from . import _core, _spelling, _tables
from ._base import MercerRegressor, plain
from ._settings import Choosing
from ._spelling import Penalty

Numbers = NDArray[np.float64]

# Entries of a matrix that is decomposed whole: 1 GiB.
_MOST_DENSE = 1 << 27


class _Linear(MultiOutputMixin, MercerRegressor):  # type: ignore[misc]
    """Fits with a penalty of linear functions, dense or sparse."""

    tolerance: float = 1e-12

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _fit(self, X: Any, y: Any, sample_weight: Any, rule: str, gamma: Numbers | None, chosen: Any, cv: Any = None) -> Any:
        """`chosen` gives the penalty for a total weight."""
        X = _tables.opened(X)
        targets = self._targets(X, y)
        criterion, folds = _spelling.folds(cv, X, targets, "kfold:5")
        tolerance = _spelling._number("tolerance", self.tolerance)
        if sparse.issparse(X):
            return self._fit_sparse(X, targets, sample_weight, folds, rule, gamma, lambda total: chosen(total, criterion))
        rows = self._rows(X, targets, sample_weight, folds=folds)
        choosing = self._settings(chosen(rows.total, criterion), rows.gate.x)
        _check_folds(choosing, rows.gate.rows)
        self._accept(_core.fit_linear(rows.gate.table, rows.columns, self._reading(), choosing, rule, gamma, tolerance))
        return self

    def _settings(self, penalty: Penalty, x: Numbers | None) -> Choosing:
        return self._choosing(["linear"], 2.0, penalty)

    def _fit_sparse(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, rule: str, gamma: Numbers | None, chosen: Any
    ) -> Any:
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=True)
        weights = self._weights(sample_weight, X)
        columns = np.asarray(y if y.ndim == 2 else y[:, None])
        if weights is not None and not np.all(weights > 0):
            keep = weights > 0
            X, columns, weights = X[keep], columns[keep], weights[keep]
            groups = None if groups is None else groups[keep]
            self._kept_rows = keep
        self._total_weight = float(X.shape[0] if weights is None else weights.sum())
        choosing = self._settings(chosen(self._total_weight), None)
        _check_folds(choosing, X.shape[0])
        together = None if groups is None else [int(group) for group in groups]
        starts, places, values = _parts(X)
        self._accept(
            _core.fit_sparse(
            X.shape[1], starts, places, values, columns, weights, together, self._reading(), choosing, rule, gamma, self.tolerance
        )
        )
        return self

    def predict(
        self, X: Any, interval: float | None = None, method: str | None = None, folds: int = 10, seed: int = 1
    ) -> Any:
        """The predictions; see :meth:`mercer.PowerRidge.predict`. Sparse rows have no intervals."""
        self._core()
        if not sparse.issparse(X):
            return super().predict(X, interval, method, folds, seed)
        if interval is not None:
            raise ValueError("intervals are read off dense rows; give X.toarray()")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self._shown(np.asarray(X @ self.coef_.T + self.intercept_), X, self._target_names)


def _check_folds(choosing: Choosing, rows: int) -> None:
    """Folds of a single row cannot be drawn."""
    if rows < 2 and choosing["lambdas"] is None:
        raise ValueError("folds need at least two rows; got 1 sample")


def _parts(X: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], Numbers]:
    """A CSR matrix whose columns ascend in every row, each once."""
    X = sparse.csr_matrix(X, copy=not X.has_canonical_format)
    X.sum_duplicates()
    return X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data.astype(np.float64)


class Ridge(_Linear):
    """Ridge regression: ``(1/W) sum w (y - x'w - b)**2 + reg_lambda * norm(w)**2``.

    Parameters
    ----------
    reg_lambda : λ, or the criterion that chooses it: ``"loo"`` (exact), ``"gcv"``, ``"kfold:10"``, …
    alpha : scikit-learn's: ``reg_lambda = alpha / W``. Neither given is ``alpha=1``; both are an error.

    The other parameters are those of :class:`mercer.PowerRidge`. Sparse rows stay sparse, with a λ that is given or chosen by
    ``"kfold:10"``; other criteria decompose all entries, which may be 2²⁷.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Ridge
    >>> x = np.arange(20.0).reshape(10, 2) % 7
    >>> model = Ridge(alpha=1e-8).fit(x, 3 * x[:, 0] - x[:, 1] + 1)
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([ 3., -1.]), 1.0)
    """

    def __init__(
        self,
        *,
        reg_lambda: float | str | None = None,
        alpha: float | None = None,
        fit_intercept: bool = True,
        scale: str | None = "none",
        missing: str = "error",
        memory: int | None = None,
        seed: int = 1,
    ) -> None:
        self.reg_lambda = reg_lambda
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.missing = missing
        self.memory = memory
        self.seed = seed

    def _penalty(self, total: float) -> Penalty:
        return _spelling.penalty(self.reg_lambda, {"alpha": (self.alpha, lambda alpha: alpha / total)}, 1.0 / total)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Ridge:
        """Fits one target, or several (the columns of `y`)."""
        if sparse.issparse(X):
            if not isinstance(self.reg_lambda, str) or self.reg_lambda.startswith("kfold"):
                return self._fit(X, y, sample_weight, "tikhonov", None, lambda total, _: self._penalty(total))  # type: ignore[no-any-return]
            X = self._with_zeros(X)
        X = _tables.opened(X)
        rows = self._rows(X, self._targets(X, y), sample_weight)
        choosing = self._settings(self._penalty(rows.total), None)
        self._accept(_core.fit_power(rows.gate.table, rows.columns, self._reading(), choosing, self._size(), True))
        return self

    def _with_zeros(self, X: Any) -> Numbers:
        if np.prod(X.shape, dtype=float) > _MOST_DENSE:
            rows, columns = X.shape
            text = f"λ of {rows} × {columns} sparse entries must be given or chosen by kfold; {self.reg_lambda!r} decomposes them all"
            raise ValueError(text)
        return np.asarray(validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=True).toarray())

    def _to_alpha(self, summary: dict[str, Any]) -> float:
        return float(summary["lambda"] * self._total_weight)


class Tikhonov(_Linear):
    """``(1/W) sum w (y - x'w - b)**2 + reg_lambda * norm(gamma @ w)**2``: ridge with a matrix.

    Parameters
    ----------
    gamma : ``"identity"``, ``"first-differences"``, ``"second-differences"`` of neighbouring coefficients, or a matrix with one
        column per feature.
    reg_lambda : λ, or ``"kfold:10"`` to choose it.
    alpha : ``reg_lambda = alpha / W``. Neither given is ``alpha=1``; both are an error.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Tikhonov
    >>> x = np.eye(6)
    >>> model = Tikhonov("first-differences", reg_lambda=1e6, fit_intercept=False).fit(x, np.arange(6.0))
    >>> np.ptp(model.coef_) < 1e-4
    np.True_
    """

    def __init__(
        self,
        gamma: Any = "identity",
        *,
        reg_lambda: float | str | None = None,
        alpha: float | None = None,
        fit_intercept: bool = True,
        scale: str | None = "none",
        missing: str = "error",
        memory: int | None = None,
        seed: int = 1,
    ) -> None:
        self.gamma = gamma
        self.reg_lambda = reg_lambda
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.missing = missing
        self.memory = memory
        self.seed = seed

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Tikhonov:
        """Fits one target, or several (the columns of `y`)."""
        named = isinstance(self.gamma, str)
        rule = f"tikhonov(gamma={self.gamma})" if named else "tikhonov"
        matrix = None if named else plain(self.gamma)
        if matrix is not None and matrix.ndim != 2:
            raise ValueError(f"gamma must be a matrix with one column per feature; got the shape {matrix.shape}")

        def chosen(total: float, _: str) -> Penalty:
            return _spelling.penalty(self.reg_lambda, {"alpha": (self.alpha, lambda alpha: alpha / total)}, 1.0 / total)

        self._fit(X, y, sample_weight, rule, matrix, chosen)
        return self

    def _to_alpha(self, summary: dict[str, Any]) -> float:
        return float(summary["lambda"] * self._total_weight)
