"""Models from files, whoever wrote them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core, _tables
from ._fitted import FittedModel


class LoadedModel(FittedModel):
    """A model from a file: predicts, and says of itself what a fitted estimator does.

    It reads tables by the names of their columns (any that it does not know are left alone), and arrays in the order of its
    columns.
    """

    def __init__(self, model: _core.Model) -> None:
        self._model = model
        self._is_single = len(self.summaries_) == 1

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The columns that the model reads."""
        return np.asarray(self._model.columns, dtype=object)

    @property
    def n_features_in_(self) -> int:
        """How many there are."""
        return len(self._model.columns)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes that the model tells apart."""
        known = self._model.classes
        if known is None:
            raise AttributeError("the model predicts numbers, not classes")
        names, are_numbers = known
        return np.array([float(name) for name in names]) if are_numbers else np.array(names)

    def _table(self, X: Any, above: int = 0) -> _core.Table:
        names = self._model.columns
        X = _tables.opened(X)
        if not _tables.is_table(X):
            x = np.asarray(X, dtype=np.float64)
            if x.ndim != 2 or x.shape[1] != len(names):
                raise ValueError(f"X must have {len(names)} columns, as in training; got the shape {x.shape}")
            return _core.Table.from_array(x, names, above)
        columns = _tables.columns_of(X)
        table = _core.Table(_tables.samples(X), above)
        for name, cells in columns.items():
            if isinstance(cells, list):
                table.add_texts(name, cells)
            else:
                table.add_numbers(name, cells)
        table.read_texts([name for name, cells in columns.items() if isinstance(cells, _tables.Labels)])
        return table

    def predict(
        self, X: Any, interval: float | None = None, method: str | None = None, folds: int = 10, seed: int = 1
    ) -> Any:
        """The predictions, classes for a model of classes; with `interval` also the ends of prediction intervals."""
        X = _tables.opened(X)
        if self._model.classes is not None:
            if interval is not None:
                raise ValueError("a model of classes has no intervals; predict_proba has their probabilities")
            return self.classes_[self._in_blocks(X, self._model.classes_of)]
        values = self._in_blocks(X, self._model.predict)
        values = values[:, 0] if self._is_single else np.ascontiguousarray(values)
        return values if interval is None else (values, self._with_interval(self._table(X), interval, method, folds, seed))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The values from which classes follow."""
        values = self._in_blocks(X, self._model.predict)
        return values[:, 0] if self._is_single else np.ascontiguousarray(values)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of every class."""
        return np.ascontiguousarray(self._in_blocks(X, self._model.probabilities))

    def __getstate__(self) -> dict[str, Any]:
        return {"_model": self._model.to_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        LoadedModel.__init__(self, _core.Model.from_bytes(state["_model"]))

    def __repr__(self) -> str:
        summary = self.summaries_[0]
        return f"LoadedModel({self._model.kernel}, loss {summary['loss']}, {summary['rows']} rows, target {summary['target']!r})"

    def _repr_html_(self) -> str:
        return self._page()


def load(path: Any) -> LoadedModel:
    """Reads a model file, written by ``model.save(path)`` or by ``mercer fit … --output``.

    Every length, number and the checksum are checked before anything is used.

    >>> import os, tempfile
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> x = np.linspace(0, 6, 30)[:, None]
    >>> path = os.path.join(tempfile.mkdtemp(), "m.mercer")
    >>> KernelRidge(alpha=0.01).fit(x, np.sin(x[:, 0])).save(path)
    >>> bool(abs(load(path).predict([[1.5]])[0] - np.sin(1.5)) < 0.01)
    True
    """
    return LoadedModel(_core.Model.load(os.fspath(path)))
