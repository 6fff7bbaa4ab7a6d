"""Losses other than the squared one, for numbers: support vectors, quantiles, robust regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core, _spelling, _tables
from ._base import MercerRegressor
from ._settings import LossSettings
from ._spelling import Penalty


def loss_settings(
    losses: list[str], tolerance: float, class_weights: Sequence[tuple[str, float]] = (), **switches: bool
) -> LossSettings:
    """What the core wants to know of a loss."""
    return LossSettings(
        losses=losses,
        tolerance=_spelling._number("tolerance", tolerance),
        multinomial=switches.get("multinomial", False),
        probabilities=switches.get("probabilities", False),
        non_crossing=switches.get("non_crossing", False),
        class_weights=list(class_weights),
    )


def penalty_of(estimator: Any, total: float) -> Penalty:
    """λ, or C of ½‖f‖² + C Σ w loss: λ = 1/(2 C W)."""
    theirs = {"C": (estimator.C, lambda cost: 0.5 / (cost * total))}
    return _spelling.penalty(estimator.reg_lambda, theirs, default=0.5 / total)


class _LossRegressor(MercerRegressor):
    def _losses(self) -> list[str]:
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fits one target."""
        X = _tables.opened(X)
        losses = self._losses()
        targets = self._targets(X, y)
        rows = self._rows(X, targets, sample_weight)
        choosing = self._choosing([self._kernel(rows.gate.x)], self.__dict__["exponent"], penalty_of(self, rows.total))
        loss = loss_settings(losses, self.__dict__["tolerance"], non_crossing=bool(self.__dict__.get("non_crossing", False)))
        self._accept(_core.fit_loss(rows.gate.table, rows.columns, self._reading(), choosing, loss))
        return self


class SVR(_LossRegressor):
    """Support vector regression: ``(1/W) sum w max(0, |y - f(x) - b| - epsilon) + reg_lambda * norm(f)**exponent``.

    Parameters
    ----------
    kernel, gamma, degree, coef0 : as in :class:`mercer.PowerRidge`.
    epsilon : half the width of the tube in which errors cost nothing, in units of the target.
    reg_lambda : λ, or the criterion that chooses it (``"kfold:5"``, or the approximate ``"loo"``).
    C : as scikit-learn and LIBSVM spell it, ``reg_lambda = 1/(2 C W)``. Neither given is ``C=1``; both are an error.
    exponent : m, at least 1.
    tolerance : the relative duality gap of the answer.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> model = SVR("rbf", gamma=0.5, C=10, epsilon=0.01).fit(x, np.sin(x[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.02), model.certificate_["duality_gap"] < 1e-6
    (True, True)
    """

    _kernel_defaults = _spelling.LIBSVM

    def __init__(
        self,
        kernel: str = "gaussian",
        *,
        epsilon: float = 0.1,
        reg_lambda: float | str | None = None,
        C: float | None = None,
        exponent: float = 2.0,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        fit_intercept: bool = True,
        scale: str | None = "none",
        missing: str = "error",
        text: str = "onehot",
        tolerance: float = 1e-10,
        memory: int | None = None,
        seed: int = 1,
    ) -> None:
        self.kernel = kernel
        self.epsilon = epsilon
        self.reg_lambda = reg_lambda
        self.C = C
        self.exponent = exponent
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

    def _losses(self) -> list[str]:
        epsilon = _spelling._number("epsilon", self.epsilon, least=0.0)
        return ["absolute" if epsilon == 0 else f"epsilon-insensitive(epsilon={epsilon!r})"]


class QuantileRegressor(_LossRegressor):
    """A quantile, or several: the pinball loss with the penalty ``reg_lambda * norm(f)**exponent``.

    scikit-learn's `QuantileRegressor` is linear with an ℓ₁ penalty; the two agree only without a penalty.

    Parameters
    ----------
    quantile : between 0 and 1, or a list of them: then predictions have one column each.
    C : kernlab's `kqr`: ``reg_lambda = 1/(2 C W)``.
    non_crossing : sorts the quantiles of every prediction.

    The other parameters are those of :class:`mercer.SVR`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import QuantileRegressor
    >>> x = np.linspace(0, 6, 80)[:, None]
    >>> model = QuantileRegressor(quantile=[0.1, 0.9], reg_lambda=1e-3).fit(x, np.sin(7 * x[:, 0]))
    >>> model.predict(x).shape
    (80, 2)
    """

    def __init__(
        self,
        kernel: str = "gaussian",
        *,
        quantile: float | Sequence[float] = 0.5,
        reg_lambda: float | str | None = None,
        C: float | None = None,
        exponent: float = 2.0,
        non_crossing: bool = False,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        fit_intercept: bool = True,
        scale: str | None = "none",
        missing: str = "error",
        text: str = "onehot",
        tolerance: float = 1e-10,
        memory: int | None = None,
        seed: int = 1,
    ) -> None:
        self.kernel = kernel
        self.quantile = quantile
        self.reg_lambda = reg_lambda
        self.C = C
        self.exponent = exponent
        self.non_crossing = non_crossing
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

    def _losses(self) -> list[str]:
        quantiles = _spelling.numbers("quantile", self.quantile)
        if quantiles != [float(one) for one in np.ravel(self.quantile)]:
            raise ValueError(f"quantile must rise, each once; got {self.quantile!r}")
        shown = repr(quantiles[0]) if np.ndim(self.quantile) == 0 else f"[{','.join(map(repr, quantiles))}]"
        return [f"pinball(quantile={shown})"]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> QuantileRegressor:
        """Fits one target."""
        super().fit(X, y, sample_weight)
        self._is_single = np.ndim(self.quantile) == 0
        return self


class HuberRegressor(_LossRegressor):
    """Robust regression: half of the squared error up to `threshold`, its tangent beyond.

    Parameters
    ----------
    threshold : in units of the target. scikit-learn's `HuberRegressor`, which finds a scale of its own, is the linear kernel with
        ``threshold = epsilon * scale_`` and ``reg_lambda = alpha * scale_ / (2 W)``.
    C : ``reg_lambda = 1/(2 C W)``.

    The other parameters are those of :class:`mercer.SVR`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import HuberRegressor
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> y = np.sin(x[:, 0])
    >>> y[7] = 100
    >>> model = HuberRegressor(threshold=0.1, reg_lambda=1e-4).fit(x, y)
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.05)
    True
    """

    def __init__(
        self,
        kernel: str = "gaussian",
        *,
        threshold: float = 1.0,
        reg_lambda: float | str | None = None,
        C: float | None = None,
        exponent: float = 2.0,
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
        self.threshold = threshold
        self.reg_lambda = reg_lambda
        self.C = C
        self.exponent = exponent
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

    def _losses(self) -> list[str]:
        return [f"huber(threshold={_spelling._number('threshold', self.threshold)!r})"]
