"""What all estimators share: reading rows, weights and targets, pickling, and how a notebook shows them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, _check_y, check_array, check_consistent_length

from . import _core, _spelling, _tables
from ._fitted import FittedModel
from ._output import Output
from ._settings import Choosing, Columns, Reading, Size
from ._tables import Gate

Numbers = NDArray[np.float64]

# What a pickle has beside parameters and the model: names, what belongs to rows of weight 0, and what scikit-learn sets.
_KEPT = (
    "n_features_in_",
    "feature_names_in_",
    "classes_",
    "_is_single",
    "_kept_rows",
    "_total_weight",
    "_sklearn_output_config",
    "_metadata_request",
)


class Rows:
    """The rows of a fit: their features, the total weight, and which column is what."""

    def __init__(self, gate: Gate, columns: Columns, total: float) -> None:
        self.gate = gate
        self.columns = columns
        self.total = total


class MercerEstimator(Output, FittedModel, BaseEstimator):  # type: ignore[misc]
    """Parameters as scikit-learn knows them; the model itself is one of the core."""

    # Parameters that some of the estimators have.
    scale: str | None = "none"
    missing: str = "error"
    text: str = "onehot"
    fit_intercept: bool = True
    memory: int | None = None
    seed: int = 1
    # What scikit-learn's estimator of the same name takes for gamma and coef0.
    _kernel_defaults = _spelling.PAIRWISE

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "mean"
        tags.input_tags.pairwise = getattr(self, "kernel", None) == "precomputed"
        return tags

    # Settings for the core

    def _reading(self) -> Reading:
        for name in ("scale", "missing", "text"):
            value = getattr(self, name)
            if not isinstance(value, str) and (value is not None or name != "scale"):
                raise ValueError(f"{name} must be a word; got {value!r}")
        return Reading(
            scale=self.scale,
            missing=self.missing,
            text=self.text,
            offset=bool(self.fit_intercept),
            memory=None if self.memory is None else _spelling.whole("memory", self.memory, least=1),
            seed=_spelling.whole("seed", self.seed),
        )

    def _kernel(self, x: Numbers | None) -> str:
        of = self.__dict__.get
        return _spelling.kernel_spec(of("kernel"), of("gamma"), of("degree"), of("coef0"), x, self._kernel_defaults)

    def _size(self) -> Size:
        rank, accuracy = self.__dict__.get("rank"), self.__dict__.get("accuracy")
        return Size(
            rank=None if rank is None else _spelling.whole("rank", rank, least=1),
            accuracy=None if accuracy is None else _spelling._number("accuracy", accuracy),
            exact=bool(self.__dict__.get("exact", False)),
        )

    def _choosing(self, kernels: list[str], exponents: Any, penalty: _spelling.Penalty) -> Choosing:
        return Choosing(
            kernels=kernels,
            exponents=_spelling.numbers("exponent", exponents),
            lambdas=penalty.lambdas,
            criterion=penalty.criterion,
            on_grid=bool(self.__dict__.get("on_grid", False)),
            one_standard_error=bool(self.__dict__.get("one_standard_error", False)),
            clip=bool(self.__dict__.get("clip", False)),
        )

    # Rows

    _kept_rows: NDArray[np.bool_] | None = None
    _total_weight: float

    def _weights(self, sample_weight: Any, X: Any) -> Numbers | None:
        if sample_weight is None:
            return None
        if _tables.is_table(X):
            X = np.empty((_tables.samples(X), 0))
        weights: Numbers = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if np.any(weights < 0):
            row = int(np.argmax(weights < 0))
            raise ValueError(f"sample_weight must be finite and at least 0; row {row + 1} has {weights[row]}")
        if not np.any(weights > 0):
            raise ValueError("sample_weight gives every row the weight 0")
        return weights

    def _rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        labels: list[str] | Numbers | None = None,
        folds: NDArray[np.int64] | None = None,
        groups: Any = None,
    ) -> Rows:
        """Reads a fit's rows; `labels` are classes in the place of `y`, `folds` the splits of `cv`, and rows of one of the `groups` are not
        new to each other."""
        weights = self._weights(sample_weight, X)
        keep = None if weights is None or np.all(weights > 0) else weights > 0
        self._kept_rows = keep
        gate = _tables.read(self, X, reset=True, allow_missing=self.missing == "mean", keep=keep)
        table, taken = gate.table, gate.table.names
        wanted = str(getattr(y, "name", None) or "y")
        if labels is not None:
            targets = [_tables.fresh_name(wanted, taken)]
            if isinstance(labels, list):
                kept = np.ones(len(labels), dtype=bool) if keep is None else keep
                table.add_texts(targets[0], [one for one, used in zip(labels, kept, strict=True) if used])
            else:
                table.add_numbers(targets[0], labels if keep is None else labels[keep])
        else:
            columns = y if y.ndim == 2 else y[:, None]
            columns = columns if keep is None else columns[keep]
            named = getattr(y, "names", None)
            if named is None:
                named = [wanted] if columns.shape[1] == 1 else [f"{wanted}{place + 1}" for place in range(columns.shape[1])]
            targets = []
            for place in range(columns.shape[1]):
                targets.append(_tables.fresh_name(named[place], taken + targets))
                table.add_numbers(targets[-1], columns[:, place])
        roles = Columns(targets=targets, weight=None, group=None, groups_are_folds=folds is not None, categorical=gate.categories)
        total = float(gate.rows)
        if weights is not None:
            used = weights if keep is None else weights[keep]
            total = float(used.sum())
            roles["weight"] = name = _tables.fresh_name("weight", table.names)
            table.add_numbers(name, used)
        if folds is not None and groups is not None:
            raise ValueError("the splits of cv are the folds; give groups with a criterion such as cv='logo' or a number of folds")
        of = folds if groups is None else _tables.codes(groups, _tables.samples(X))
        if of is not None:
            of = of if keep is None else of[keep]
            roles["group"] = name = _tables.fresh_name("fold", table.names)
            table.add_numbers(name, of.astype(np.float64))
        self._total_weight = total
        return Rows(gate, roles, total)

    def _accept(self, model: _core.Model) -> None:
        """The model of a fit; a certificate that does not hold is said aloud."""
        self._model = model
        for column in self.columns_:
            if column["kind"] == "identifier":
                text = f"column {column['name']!r} is not used: {column['categories']} different texts, like an identifier; a categorical type would use it"
                warnings.warn(text, UserWarning, stacklevel=3)
        for summary in self.summaries_:
            if not summary["certificate"]["holds"]:
                text = f"without certificate ({summary['target']}): {summary['certificate']['reason']}"
                warnings.warn(text, ConvergenceWarning, stacklevel=3)

    def _table(self, X: Any, above: int = 0) -> _core.Table:
        self._core()
        X = _tables.opened(X)
        return _tables.read(self, X, reset=False, allow_missing=self.missing == "mean", above=above).table

    def _target_names(self) -> list[str]:
        return [str(summary["target"]) for summary in self.summaries_]

    # Pickles carry the parameters, the names of the columns and the checked bytes of the model; nothing else.

    def __getstate__(self) -> dict[str, Any]:
        plain = {*self.get_params(deep=False), *_KEPT}
        state = {name: value for name, value in self.__dict__.items() if name in plain}
        if "_model" in self.__dict__:
            state["_model"] = self._model.to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_model" in state:
            self._model = _core.Model.from_bytes(state["_model"])

    def _repr_html_(self) -> str:
        if "_model" in self.__dict__:
            return self._page()
        shown = super()._repr_html_
        return str(shown() if callable(shown) else shown)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


class MercerRegressor(RegressorMixin, MercerEstimator):  # type: ignore[misc]
    """One target."""

    def _targets(self, X: Any, y: Any) -> Any:
        if y is None:
            name = type(self).__name__
            raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
        several = isinstance(self, MultiOutputMixin)
        given = getattr(y, "name", None)
        names = [str(name) for name in y.columns] if several and hasattr(y, "columns") else None
        checked = _check_y(y, multi_output=several, y_numeric=True, estimator=self)
        checked = np.asarray(checked, dtype=np.float64)
        check_consistent_length(_Length(_tables.samples(X)), checked)
        self._is_single = checked.ndim == 1
        return _Named(checked, given if isinstance(given, str) else None, names)

    def predict(
        self, X: Any, interval: float | None = None, method: str | None = None, folds: int = 10, seed: int = 1
    ) -> Any:
        """The predictions; with `interval`, a level such as 0.9, also the ends of prediction intervals.

        Parameters
        ----------
        X : rows like those of the fit
        interval : level of the intervals, between 0 and 1.
        method : ``"jackknife+"`` (covers at least 2·level − 1 whatever the distribution, usually the level),
            ``"cv+"`` (the same from `folds` folds drawn with `seed`, hardly less) or ``"gaussian-process"``. Without it jackknife+ for the squared
            loss with λ‖f‖ᵐ, whose fits without a row are known exactly; all other models have CV+, with one more fit for each fold.

        Returns
        -------
        The predictions, and with `interval` a pair: predictions, and an array of (lower, upper) for every row.
        """
        X = _tables.opened(X)
        values = self._in_blocks(X, self._core().predict)
        values = values[:, 0] if self._is_single else np.ascontiguousarray(values)
        shown = self._shown(values, X, self._target_names)
        if interval is None:
            return shown
        ends = self._with_interval(self._table(X), interval, method, folds, seed)
        return shown, self._shown(ends, X, lambda: ["lower", "upper"]) if ends.ndim == 2 else ends

    @property
    def alpha_(self) -> Any:
        """λ as scikit-learn's `alpha`, where it has one."""
        found = [self._to_alpha(summary) for summary in self.summaries_]
        return found[0] if self._is_single else found

    def _to_alpha(self, summary: dict[str, Any]) -> float:
        raise AttributeError(f"{type(self).__name__} has no alpha_")


class _Length:
    """Something of a length, for scikit-learn's check."""

    def __init__(self, rows: int) -> None:
        self.shape = (rows, 1)

    def __len__(self) -> int:
        return self.shape[0]


class _Named(np.ndarray[Any, Any]):
    """Targets with the name of the column that they were, or the names of the columns."""

    name: str | None
    names: list[str] | None

    def __new__(cls, values: Numbers, name: str | None, names: list[str] | None = None) -> _Named:
        made = values.view(cls)
        made.name, made.names = name, names
        return made

    def __array_finalize__(self, other: Any) -> None:
        self.name, self.names = getattr(other, "name", None), getattr(other, "names", None)


def plain(values: Any) -> Numbers:
    """Numbers in one piece."""
    return np.ascontiguousarray(check_array(values, ensure_2d=False, dtype=np.float64))
