"""Kernel families, metric, exponent and λ by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import MultiOutputMixin

from . import _core, _spelling, _tables
from ._base import MercerRegressor


class AutoKernelRegressor(MultiOutputMixin, MercerRegressor):  # type: ignore[misc]
    """Searches kernel families, their lengthscales, exponent and λ within a number of seconds.

    Features are standardised; text columns become one feature per category. Which candidate is best is judged by folds inside which
    everything is learned again; λ and exponent of the best one by exact leave-one-out.

    Parameters
    ----------
    budget : seconds. With the same seed and enough time the answer is the same; a search that ran out of time (`ran_out_`) depends
        on how fast the machine was.
    exponents : exponents to choose from.
    clip : whether predictions stay within the range of the targets, which all held-out errors then count.

    A row of weight 2 is the row twice: copies of a row are learned from as one, and held out together.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import AutoKernelRegressor
    >>> x = np.linspace(0, 6, 40)[:, None]
    >>> model = AutoKernelRegressor(budget=20).fit(x, np.sin(x[:, 0]))
    >>> bool(model.score(x, np.sin(x[:, 0])) > 0.999)
    True
    """

    def __init__(
        self,
        budget: float = 60.0,
        *,
        exponents: Sequence[float] = (1.0, 1.5, 2.0, 2.5),
        fit_intercept: bool = True,
        missing: str = "error",
        rank: int | None = None,
        accuracy: float | None = None,
        exact: bool = False,
        clip: bool = False,
        memory: int | None = None,
        seed: int = 1,
    ) -> None:
        self.budget = budget
        self.exponents = exponents
        self.fit_intercept = fit_intercept
        self.missing = missing
        self.rank = rank
        self.accuracy = accuracy
        self.exact = exact
        self.clip = clip
        self.memory = memory
        self.seed = seed

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> AutoKernelRegressor:
        """Searches, and fits the best candidate to all rows. Rows of one of the `groups` are held out together."""
        X = _tables.opened(X)
        budget = _spelling._number("budget", self.budget)
        exponents = _spelling.numbers("exponents", self.exponents)
        rows = self._rows(X, self._targets(X, y), sample_weight, groups=groups)
        self._accept(
            _core.fit_automatic(
                rows.gate.table, rows.columns, self._reading(), exponents, self._size(), budget, bool(self.clip)
            )
        )
        return self

    @property
    def candidates_(self) -> list[dict[str, Any]]:
        """What was tried, in order."""
        return list(self._searched("candidates_")["candidates"])

    @property
    def importance_(self) -> dict[str, float]:
        """The share of each column in the rise of the held-out squared error when it is permuted; `importance()` has standard errors."""
        return dict(self._searched("importance_")["importance"])

    @property
    def ran_out_(self) -> bool:
        """Whether the budget ended the search."""
        return bool(self._searched("ran_out_")["ran_out"])

    def _searched(self, attribute: str) -> dict[str, Any]:
        found = self._known(attribute).search()
        if found is None:
            raise AttributeError(f"{attribute} is known to the estimator that searched; pickles carry the model alone")
        return found
