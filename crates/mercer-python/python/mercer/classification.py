"""Classes: the support vector machine and logistic regression in a kernel space."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from . import _core, _spelling, _tables
from ._base import MercerEstimator, _Length
from .losses import loss_settings, penalty_of

Numbers = NDArray[np.float64]


def _has_probabilities(estimator: Any) -> bool:
    """Whether they are stated by the loss, or were asked for."""
    if isinstance(estimator, KernelLogistic) or estimator.probability:
        return True
    raise AttributeError("predict_proba is there with probability=True")


class _Classifier(ClassifierMixin, MercerEstimator):  # type: ignore[misc]
    classes_: NDArray[Any]
    class_weight: Any

    def _loss(self) -> tuple[str, dict[str, bool]]:
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fits the classes that `y` names, text or numbers."""
        X = _tables.opened(X)
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        name = getattr(y, "name", None)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        check_consistent_length(_Length(_tables.samples(X)), y)
        weights = self._weights(sample_weight, X)
        of_class = None if self.class_weight is None else compute_sample_weight(self.class_weight, y)
        own = np.ones(len(y)) if weights is None else weights
        product = weights if of_class is None else self._weights(of_class * own, X)
        # Rows of a class of weight 0 are left out. Other class weights are not those of the rows, by which probabilities are calibrated.
        if of_class is not None and np.any(of_class == 0):
            weights = np.where(of_class > 0, own, 0.0)
        used = y if product is None else y[product > 0]
        classes = np.unique(used)
        if len(classes) < 2:
            only = repr(classes[0].item() if hasattr(classes[0], "item") else classes[0]) if len(classes) else "none"
            raise ValueError(f"there must be at least two classes; the rows have 1 class: {only}")
        loss, switches = self._loss()
        labels = _labels(y, classes)
        rows = self._rows(X, _Name(name), weights, labels=labels)
        total = rows.total if of_class is None or product is None else float(product.sum())
        first = [int(np.argmax(y == one)) for one in classes]
        named = [] if of_class is None else [(_text(labels[row]), float(of_class[row])) for row in first]
        choosing = self._choosing([self._kernel(rows.gate.x)], self.__dict__["exponent"], penalty_of(self, total))
        settings = loss_settings([loss], self.__dict__["tolerance"], class_weights=named, **switches)
        self._accept(_core.fit_loss(rows.gate.table, rows.columns, self._reading(), choosing, settings))
        self.classes_ = classes
        self._is_single = len(classes) == 2
        return self

    def decision_function(self, X: Any) -> Any:
        """One value per row for two classes (positive: the second), else one for each class."""
        values = self._in_blocks(X, self._core().predict)
        if len(self.classes_) == 2:
            return self._shown(values[:, 0], X, lambda: ["decision"])
        return self._shown(np.ascontiguousarray(values), X, self._class_names)

    def predict(self, X: Any, interval: float | None = None) -> Any:
        """The class of every row. Classes have no order and so no `interval`: :meth:`predict_proba` says how sure they are."""
        if interval is not None:
            raise ValueError("a model of classes has no intervals: classes have no order; predict_proba has their probabilities")
        codes = self._in_blocks(X, self._core().classes_of)
        return self._shown(np.asarray(self.classes_[codes]), X, self._target_names)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """The probability of every class."""
        return self._shown(self._probabilities(X), X, self._class_names)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Its logarithm."""
        with np.errstate(divide="ignore"):
            return self._shown(np.log(self._probabilities(X)), X, self._class_names)

    def _probabilities(self, X: Any) -> Numbers:
        return np.ascontiguousarray(self._in_blocks(X, self._core().probabilities))

    def _target_names(self) -> list[str]:
        return [self._core().target]

    def _class_names(self) -> list[str]:
        return [str(one) for one in self.classes_]


class _Name:
    """The name of a column of classes."""

    def __init__(self, name: Any) -> None:
        self.name = name if isinstance(name, str) else None


def _labels(y: NDArray[Any], classes: NDArray[Any]) -> list[str] | Numbers:
    """The classes as the core reads them: text, or numbers. Both sort like `classes`."""
    if y.dtype.kind in "US" or all(isinstance(one, str) for one in classes):
        return [str(one) for one in y]
    if y.dtype.kind in "iuf":
        numbers = y.astype(np.float64)
        if len(np.unique(numbers)) == len(np.unique(y)) and np.all(np.abs(numbers) < 1e15):
            return numbers
    return np.asarray(np.searchsorted(classes, y), dtype=np.float64)


def _text(label: Any) -> str:
    """A label as the core names its class: text, or the digits of a number."""
    return label if isinstance(label, str) else repr(float(label))


class SVC(_Classifier):
    """The support vector machine: ``(1/W) sum w max(0, 1 - y (f(x) + b)) + reg_lambda * norm(f)**exponent``.

    More than two classes have one model each, against all others (scikit-learn has one for every pair).

    Parameters
    ----------
    kernel, gamma, degree, coef0 : as in :class:`mercer.PowerRidge`.
    reg_lambda : λ, or the criterion that chooses it (``"kfold:5"``, or the approximate ``"loo"``).
    C : as scikit-learn and LIBSVM spell it, ``reg_lambda = 1/(2 C W)``. Neither given is ``C=1``; both are an error.
    class_weight : ``"balanced"`` or a dictionary, times the weights of the rows. Calibrated probabilities are those of the rows
        without it; probabilities of :class:`KernelLogistic` are those of the reweighted classes.
    probability : whether probabilities are calibrated on held-out rows.
    squared : the squared hinge loss.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> x = np.linspace(0, 4, 40)[:, None]
    >>> y = np.where((x[:, 0] > 1.2) & (x[:, 0] < 3), "in", "out")
    >>> model = SVC("rbf", gamma=2, C=10).fit(x, y)
    >>> model.predict([[2.0], [3.9]])
    array(['in', 'out'], dtype='<U3')
    """

    _kernel_defaults = _spelling.LIBSVM

    def __init__(
        self,
        kernel: str = "gaussian",
        *,
        reg_lambda: float | str | None = None,
        C: float | None = None,
        exponent: float = 2.0,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        class_weight: Any = None,
        probability: bool = False,
        squared: bool = False,
        fit_intercept: bool = True,
        scale: str | None = "none",
        missing: str = "error",
        text: str = "onehot",
        tolerance: float = 1e-10,
        memory: int | None = None,
        seed: int = 1,
    ) -> None:
        self.kernel = kernel
        self.reg_lambda = reg_lambda
        self.C = C
        self.exponent = exponent
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.probability = probability
        self.squared = squared
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.missing = missing
        self.text = text
        self.tolerance = tolerance
        self.memory = memory
        self.seed = seed

    def _loss(self) -> tuple[str, dict[str, bool]]:
        return "squared-hinge" if self.squared else "hinge", {"probabilities": bool(self.probability)}


class KernelLogistic(_Classifier):
    """Logistic regression in a kernel space, with probabilities.

    Parameters
    ----------
    C : as scikit-learn's `LogisticRegression` spells it, ``reg_lambda = 1/(2 C W)``. Neither given is ``C=1``.
    multinomial : with more than two classes one model for all, −ln softmax, instead of one per class against the others.

    The other parameters are those of :class:`mercer.SVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelLogistic
    >>> x = np.linspace(0, 4, 40)[:, None]
    >>> model = KernelLogistic(C=10).fit(x, (x[:, 0] > 2).astype(int))
    >>> bool(model.predict_proba([[3.5]])[0, 1] > 0.9)
    True
    """

    def __init__(
        self,
        kernel: str = "gaussian",
        *,
        reg_lambda: float | str | None = None,
        C: float | None = None,
        exponent: float = 2.0,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        class_weight: Any = None,
        multinomial: bool = False,
        fit_intercept: bool = True,
        scale: str | None = "none",
        missing: str = "error",
        text: str = "onehot",
        tolerance: float = 1e-10,
        memory: int | None = None,
        seed: int = 1,
    ) -> None:
        self.kernel = kernel
        self.reg_lambda = reg_lambda
        self.C = C
        self.exponent = exponent
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.multinomial = multinomial
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.missing = missing
        self.text = text
        self.tolerance = tolerance
        self.memory = memory
        self.seed = seed

    def _loss(self) -> tuple[str, dict[str, bool]]:
        return "logistic", {"multinomial": bool(self.multinomial)}
