"""The squared loss with the penalty λ‖f‖ᵐ, for every exponent m > 0: one decomposition gives everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import MultiOutputMixin

from . import _core, _spelling, _tables
from ._base import MercerRegressor, Rows
from ._spelling import Penalty


class _Power(MultiOutputMixin, MercerRegressor):  # type: ignore[misc]
    def _fit(self, rows: Rows, kernels: list[str], exponents: Any, penalty: Penalty, diagnostics: bool = True) -> Any:
        choosing = self._choosing(kernels, exponents, penalty)
        size = self._size()
        self._accept(_core.fit_power(rows.gate.table, rows.columns, self._reading(), choosing, size, diagnostics))
        return self

    def _to_alpha(self, summary: dict[str, Any]) -> float:
        return float(summary["lambda"] * self._total_weight)


class PowerRidge(_Power):
    """Minimises ``(1/W) sum w (y - f(x) - b)**2 + reg_lambda * norm(f)**exponent``, exactly, for every exponent above 0.

    Parameters
    ----------
    kernel : a spec such as ``"gaussian(lengthscale=1.5)"`` or ``"0.5*linear + matern32"``; scikit-learn's ``"rbf"``,
        ``"laplacian"`` and ``"poly"`` with `gamma`, `degree` and `coef0`; or ``"precomputed"``. A lengthscale may be a number, one
        per feature, or the rules ``mean`` (the default) and ``median``.
    exponent : m, above 0; 2 is ridge regression.
    reg_lambda : λ, a number, or the criterion that chooses it: ``"loo"`` (exact leave-one-out), ``"gcv"``, ``"kfold:10"``, …
    alpha : λ as scikit-learn spells it, for the sum of squares: ``reg_lambda = alpha / W``, W the sum of the row weights (n without
        weights). Neither given is ``alpha=1``; both are an error.
    fit_intercept : whether there is an offset b, touched by no penalty.
    scale : ``"none"``, ``"standard"``, ``"unit"`` or ``"log"``. The program `mercer` has ``"standard"`` by default.
    missing : ``"error"``, or ``"mean"`` to put the column's mean in the place of missing cells.
    text : how text columns are read: ``"onehot"``, or ``"equality"`` as a kernel of its own.
    diagnostics : whether degrees of freedom and leave-one-out residuals are computed where they cost extra (λ given, exponent 2, many
        rows); without them `loo_` decomposes when it is asked for.
    rank, accuracy, exact : landmarks in the place of all rows; without them only where there are too many rows.
    clip : whether predictions stay within the range of the targets. Leave-one-out and folds, and with them what is chosen, count them so.
    memory : bytes that may be used; without it what the system has.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import PowerRidge
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> model = PowerRidge("gaussian(lengthscale=1)", exponent=1.3, reg_lambda="loo").fit(x, np.sin(x[:, 0]))
    >>> model.certificate_["is_global"], bool(np.abs(model.loo_).max() < 0.01)
    (True, True)
    >>> value, bounds = model.predict([[1.5]], interval=0.9)
    >>> bounds.shape
    (1, 2)
    """

    def __init__(
        self,
        kernel: str = "gaussian",
        *,
        exponent: float = 2.0,
        reg_lambda: float | str | None = None,
        alpha: float | None = None,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        fit_intercept: bool = True,
        scale: str | None = "none",
        missing: str = "error",
        text: str = "onehot",
        rank: int | None = None,
        accuracy: float | None = None,
        exact: bool = False,
        clip: bool = False,
        diagnostics: bool = True,
        memory: int | None = None,
        seed: int = 1,
    ) -> None:
        self.kernel = kernel
        self.exponent = exponent
        self.reg_lambda = reg_lambda
        self.alpha = alpha
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.missing = missing
        self.text = text
        self.rank = rank
        self.accuracy = accuracy
        self.exact = exact
        self.clip = clip
        self.diagnostics = diagnostics
        self.memory = memory
        self.seed = seed

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> PowerRidge:
        """Fits one target, or several (the columns of `y`). Rows of one of the `groups` are not new to each other: λ is chosen, and `loo_` and
        intervals are made, by leaving out whole groups."""
        X = _tables.opened(X)
        targets = self._targets(X, y)
        rows = self._rows(X, targets, sample_weight, groups=groups)
        theirs = {"alpha": (self.alpha, lambda alpha: alpha / rows.total)}
        penalty = _spelling.penalty(self.reg_lambda, theirs, default=1.0 / rows.total)
        self._fit(rows, [self._kernel(rows.gate.x)], self.exponent, penalty, bool(self.diagnostics))
        return self


class KernelRidge(PowerRidge):
    """Kernel ridge regression: :class:`PowerRidge` with exponent 2 and, like scikit-learn's `KernelRidge`, without offset unless
    one is asked for. At equal `alpha`, `kernel` and `gamma` the two predict the same.

    ``reg_lambda = alpha / W``; ``reg_lambda="loo"`` chooses it by exact leave-one-out. With many rows and a given λ only coefficients
    are computed, as scikit-learn does; `loo_` then decomposes when it is asked for (``diagnostics=True`` computes it on the way).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> model = KernelRidge("rbf", gamma=0.5, alpha=1e-3).fit(x, np.sin(x[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 1e-3)
    True
    >>> model.alpha_, model.kernel_
    (0.001, 'gaussian(lengthscale=1)')
    """

    def __init__(
        self,
        kernel: str = "gaussian",
        *,
        exponent: float = 2.0,
        reg_lambda: float | str | None = None,
        alpha: float | None = None,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        fit_intercept: bool = False,
        scale: str | None = "none",
        missing: str = "error",
        text: str = "onehot",
        rank: int | None = None,
        accuracy: float | None = None,
        exact: bool = False,
        clip: bool = False,
        diagnostics: bool = False,
        memory: int | None = None,
        seed: int = 1,
    ) -> None:
        super().__init__(
            kernel,
            exponent=exponent,
            reg_lambda=reg_lambda,
            alpha=alpha,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            fit_intercept=fit_intercept,
            scale=scale,
            missing=missing,
            text=text,
            rank=rank,
            accuracy=accuracy,
            exact=exact,
            clip=clip,
            diagnostics=diagnostics,
            memory=memory,
            seed=seed,
        )


class PowerRidgeCV(_Power):
    """Chooses kernel, exponent and λ by exact leave-one-out (or another criterion) from one decomposition per kernel.

    Parameters
    ----------
    kernel : a spec, one with ranges (``"gaussian(lengthscale=0.5..8:5)"``), or a list of specs to choose from.
    exponents : exponents to choose from; also those between them unless `on_grid`.
    lambdas, alphas : λ to choose from, in our numbers or in scikit-learn's (``alpha / W``); neither is the whole path.
    cv : None for exact leave-one-out, a number of folds, a criterion such as ``"gcv"``, ``"kfold:10x3"``, or splits (a splitter of
        scikit-learn or a list of pairs) that hold out every row once.
    one_standard_error : take the largest λ within one standard error of the best.

    The other parameters are those of :class:`PowerRidge`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import PowerRidgeCV
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> y = np.sin(x[:, 0]) + 0.1 * np.cos(37 * x[:, 0])
    >>> model = PowerRidgeCV(exponents=(1, 1.5, 2)).fit(x, y)
    >>> [trial["exponent"] for trial in model.surface_], len(model.surface_[0]["scores"]) == len(model.surface_[0]["lambdas"])
    ([1.0, 1.5, 2.0], True)
    """

    def __init__(
        self,
        kernel: str | Sequence[str] = "gaussian",
        *,
        exponents: Sequence[float] = (1.0, 1.5, 2.0, 2.5),
        lambdas: Sequence[float] | None = None,
        alphas: Sequence[float] | None = None,
        cv: Any = None,
        on_grid: bool = False,
        one_standard_error: bool = False,
        fit_intercept: bool = True,
        scale: str | None = "none",
        missing: str = "error",
        text: str = "onehot",
        rank: int | None = None,
        accuracy: float | None = None,
        exact: bool = False,
        clip: bool = False,
        memory: int | None = None,
        seed: int = 1,
    ) -> None:
        self.kernel = kernel
        self.exponents = exponents
        self.lambdas = lambdas
        self.alphas = alphas
        self.cv = cv
        self.on_grid = on_grid
        self.one_standard_error = one_standard_error
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.missing = missing
        self.text = text
        self.rank = rank
        self.accuracy = accuracy
        self.exact = exact
        self.clip = clip
        self.memory = memory
        self.seed = seed

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> PowerRidgeCV:
        """Chooses and fits. Rows of one of the `groups` are not new to each other: everything that speaks of new rows leaves out whole
        groups."""
        X = _tables.opened(X)
        targets = self._targets(X, y)
        criterion, folds = _spelling.folds(self.cv, X, targets, "loo")
        rows = self._rows(X, targets, sample_weight, folds=folds, groups=groups)
        if isinstance(self.kernel, str) or not isinstance(self.kernel, Sequence):
            kernels = [self.kernel]
        else:
            kernels = list(self.kernel)
        specs = [_spelling.kernel_spec(kernel, None, None, None, rows.gate.x) for kernel in kernels]
        lambdas = _spelling.grid(self.lambdas, "alphas", self.alphas, lambda alpha: alpha / rows.total)
        self._fit(rows, specs, self.exponents, Penalty(lambdas, criterion))
        return self


class KernelRidgeCV(PowerRidgeCV):
    """Kernel ridge regression whose λ (and kernel) exact leave-one-out chooses: :class:`PowerRidgeCV` with exponent 2.

    ``reg_lambda = alpha / W``: `lambdas` are in our numbers, `alphas` in scikit-learn's.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidgeCV
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> y = np.sin(x[:, 0]) + 0.1 * np.cos(37 * x[:, 0])
    >>> model = KernelRidgeCV("gaussian(lengthscale=0.5..4:4)", cv=5).fit(x, y)
    >>> bool(model.score(x, np.sin(x[:, 0])) > 0.99)
    True
    """

    def __init__(
        self,
        kernel: str | Sequence[str] = "gaussian",
        *,
        exponents: Sequence[float] = (2.0,),
        lambdas: Sequence[float] | None = None,
        alphas: Sequence[float] | None = None,
        cv: Any = None,
        on_grid: bool = False,
        one_standard_error: bool = False,
        fit_intercept: bool = True,
        scale: str | None = "none",
        missing: str = "error",
        text: str = "onehot",
        rank: int | None = None,
        accuracy: float | None = None,
        exact: bool = False,
        clip: bool = False,
        memory: int | None = None,
        seed: int = 1,
    ) -> None:
        super().__init__(
            kernel,
            exponents=exponents,
            lambdas=lambdas,
            alphas=alphas,
            cv=cv,
            on_grid=on_grid,
            one_standard_error=one_standard_error,
            fit_intercept=fit_intercept,
            scale=scale,
            missing=missing,
            text=text,
            rank=rank,
            accuracy=accuracy,
            exact=exact,
            clip=clip,
            memory=memory,
            seed=seed,
        )
