"""The Lasso: few coefficients, or few kernel functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scipy import sparse
from sklearn.utils.validation import validate_data

from . import _spelling
from ._base import MercerRegressor
from ._settings import Choosing
from ._spelling import Numbers, Penalty
from .linear import _Linear


class Lasso(_Linear):
    """The Lasso: ``(1/W) sum w (y - x'w - b)**2 + reg_lambda * sum(abs(w))``, to a duality gap that is stated.

    Parameters
    ----------
    reg_lambda : λ, or the criterion that chooses it: ``"kfold:10"``, ``"aic"`` or ``"bic"``.
    alpha : scikit-learn's, which halves the squared error: ``reg_lambda = 2 alpha``. Neither given is ``alpha=1``; both are an error.
    tolerance : the relative duality gap.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Lasso
    >>> x = np.sin(np.arange(120.0)).reshape(40, 3)
    >>> model = Lasso(alpha=0.01).fit(x, 2 * x[:, 1])
    >>> (model.coef_ != 0).tolist()
    [False, True, False]
    """

    def __init__(
        self,
        *,
        reg_lambda: float | str | None = None,
        alpha: float | None = None,
        fit_intercept: bool = True,
        scale: str | None = "none",
        missing: str = "error",
        tolerance: float = 1e-12,
        memory: int | None = None,
        seed: int = 1,
    ) -> None:
        self.reg_lambda = reg_lambda
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.missing = missing
        self.tolerance = tolerance
        self.memory = memory
        self.seed = seed

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Lasso:
        """Fits one target, or several (the columns of `y`), each by itself."""

        def chosen(total: float, _: str) -> Penalty:
            return _spelling.penalty(self.reg_lambda, {"alpha": (self.alpha, lambda alpha: 2.0 * alpha)}, 2.0)

        self._fit(X, y, sample_weight, "lasso", None, chosen)
        return self

    def _to_alpha(self, summary: dict[str, Any]) -> float:
        return float(summary["lambda"] / 2.0)


class LassoCV(_Linear):
    """The Lasso whose λ is chosen along its path by folds.

    Parameters
    ----------
    lambdas, alphas : λ to choose from, in our numbers or in scikit-learn's (``2 alpha``); neither is 60 of them, from the one at
        which everything vanishes down to a thousandth of it.
    cv : a number of folds (5 if None), ``"aic"``, ``"bic"``, ``"kfold:10x3"``, or splits that hold out every row once.
    one_standard_error : take the largest λ within one standard error of the best.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LassoCV
    >>> x = np.sin(np.arange(120.0)).reshape(40, 3)
    >>> model = LassoCV().fit(x, 2 * x[:, 1])
    >>> sorted(model.path_)
    ['lambda', 'score', 'standard_error', 'support']
    """

    def __init__(
        self,
        *,
        lambdas: Sequence[float] | None = None,
        alphas: Sequence[float] | None = None,
        cv: Any = None,
        one_standard_error: bool = False,
        fit_intercept: bool = True,
        scale: str | None = "none",
        missing: str = "error",
        tolerance: float = 1e-12,
        memory: int | None = None,
        seed: int = 1,
    ) -> None:
        self.lambdas = lambdas
        self.alphas = alphas
        self.cv = cv
        self.one_standard_error = one_standard_error
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.missing = missing
        self.tolerance = tolerance
        self.memory = memory
        self.seed = seed

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LassoCV:
        """Chooses and fits, each target by itself."""

        def chosen(total: float, criterion: str) -> Penalty:
            return Penalty(_spelling.grid(self.lambdas, "alphas", self.alphas, lambda alpha: 2.0 * alpha), criterion)

        self._fit(X, y, sample_weight, "lasso", None, chosen, self.cv)
        return self

    def _to_alpha(self, summary: dict[str, Any]) -> float:
        return float(summary["lambda"] / 2.0)


class KernelLasso(_Linear):
    """Few kernel functions: ``(1/W) sum w (y - f(x) - b)**2 + reg_lambda * sum(abs(a))`` for ``f = sum a_i k(., x_i)``.

    Parameters
    ----------
    kernel, gamma, degree, coef0 : as in :class:`mercer.PowerRidge`.
    reg_lambda : λ, or the criterion that chooses it: ``"kfold:10"``, ``"aic"`` or ``"bic"``.
    alpha : that of scikit-learn's `Lasso` on the kernel matrix: ``reg_lambda = 2 alpha``. Neither given is ``reg_lambda=0.01``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelLasso
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> model = KernelLasso(reg_lambda=1e-4).fit(x, np.sin(x[:, 0]))
    >>> len(model.dual_coef_) < 30
    True
    """

    def __init__(
        self,
        kernel: str = "gaussian",
        *,
        reg_lambda: float | str | None = None,
        alpha: float | None = None,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        fit_intercept: bool = True,
        scale: str | None = "none",
        missing: str = "error",
        text: str = "onehot",
        tolerance: float = 1e-12,
        memory: int | None = None,
        seed: int = 1,
    ) -> None:
        self.kernel = kernel
        self.reg_lambda = reg_lambda
        self.alpha = alpha
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.missing = missing
        self.text = text
        self.tolerance = tolerance
        self.memory = memory
        self.seed = seed

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def _settings(self, penalty: Penalty, x: Numbers | None) -> Choosing:
        return self._choosing([self._kernel(x)], 2.0, penalty)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelLasso:
        """Fits one target, or several (the columns of `y`), each by itself."""
        if sparse.issparse(X):
            validate_data(self, X, accept_sparse=False)

        def chosen(total: float, _: str) -> Penalty:
            return _spelling.penalty(self.reg_lambda, {"alpha": (self.alpha, lambda alpha: 2.0 * alpha)}, 0.01)

        self._fit(X, y, sample_weight, "kernel-lasso", None, chosen)
        return self

    def predict(
        self, X: Any, interval: float | None = None, method: str | None = None, folds: int = 10, seed: int = 1
    ) -> Any:
        """The predictions; see :meth:`mercer.PowerRidge.predict`."""
        return MercerRegressor.predict(self, X, interval, method, folds, seed)

    def _to_alpha(self, summary: dict[str, Any]) -> float:
        return float(summary["lambda"] / 2.0)
