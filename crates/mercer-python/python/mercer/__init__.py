"""Regularised regression in kernel spaces, exactly, with a certificate on every answer.

All models minimise ``(1/W) sum w loss(y, f(x) + b) + lambda * norm(f)**m``, W the sum of the row weights.

>>> import numpy as np
>>> from mercer import PowerRidgeCV
>>> x = np.linspace(0, 6, 60)[:, None]
>>> y = np.sin(x[:, 0])
>>> model = PowerRidgeCV(kernel="gaussian(lengthscale=1)").fit(x, y)
>>> model.certificate_["holds"]
True
>>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 1e-4)
True

Estimators are loaded when they are first asked for: ``import mercer`` alone does not import scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._core import __version__, threads

if TYPE_CHECKING:
    from . import plot as plot
    from ._fitted import ExtrapolationWarning
    from .automatic import AutoKernelRegressor
    from .classification import SVC, KernelLogistic
    from .lasso import KernelLasso, Lasso, LassoCV
    from .linear import Ridge, Tikhonov
    from .loading import LoadedModel, load
    from .losses import SVR, HuberRegressor, QuantileRegressor
    from .nystroem import Nystroem, kernel_matrix
    from .power import KernelRidge, KernelRidgeCV, PowerRidge, PowerRidgeCV

_HOMES = {
    "AutoKernelRegressor": "automatic",
    "ExtrapolationWarning": "_fitted",
    "SVC": "classification",
    "KernelLogistic": "classification",
    "KernelLasso": "lasso",
    "Lasso": "lasso",
    "LassoCV": "lasso",
    "Ridge": "linear",
    "Tikhonov": "linear",
    "LoadedModel": "loading",
    "load": "loading",
    "SVR": "losses",
    "HuberRegressor": "losses",
    "QuantileRegressor": "losses",
    "Nystroem": "nystroem",
    "kernel_matrix": "nystroem",
    "KernelRidge": "power",
    "KernelRidgeCV": "power",
    "PowerRidge": "power",
    "PowerRidgeCV": "power",
}

__all__ = [
    "AutoKernelRegressor",
    "ExtrapolationWarning",
    "HuberRegressor",
    "KernelLasso",
    "KernelLogistic",
    "KernelRidge",
    "KernelRidgeCV",
    "Lasso",
    "LassoCV",
    "LoadedModel",
    "Nystroem",
    "PowerRidge",
    "PowerRidgeCV",
    "QuantileRegressor",
    "Ridge",
    "SVC",
    "SVR",
    "Tikhonov",
    "__version__",
    "kernel_matrix",
    "load",
    "plot",
    "set_threads",
    "threads",
]


def set_threads(count: int) -> None:
    """Sets the number of threads that fits and predictions use, from 1 to 256; results do not depend on it."""
    from . import _core, _spelling

    _core.set_threads(_spelling.whole("the number of threads", count))


def __getattr__(name: str) -> Any:
    if name == "plot":
        return import_module(".plot", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
