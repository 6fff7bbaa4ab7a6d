"""Kernel matrices, and features whose products are nearly the kernel's values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from . import _core, _spelling

Numbers = NDArray[np.float64]


def kernel_matrix(X: Any, Z: Any = None, kernel: str = "gaussian", *, gamma: Any = None, degree: Any = None, coef0: Any = None) -> Numbers:
    """k(xᵢ, zⱼ) for the rows of `X` and `Z` (of `X` alone without `Z`). Rules for lengthscales are those of `X`.

    >>> kernel_matrix([[0.0], [1.0]], kernel="gaussian(lengthscale=1)").round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """
    x = check_array(X, dtype=np.float64)
    z = x if Z is None else check_array(Z, dtype=np.float64)
    spec = _core.kernel_spec(_spelling.kernel_spec(kernel, gamma, degree, coef0, x), x)
    return _core.kernel_matrix(spec, x, z)


class Nystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Features φ with φ(x)ᵀφ(z) ≈ k(x, z), from landmarks that randomly pivoted Cholesky chooses.

    Parameters
    ----------
    n_components : the most landmarks.
    tolerance : stop when this share of the kernel's diagonal is left.
    seed : of the draw.

    `residual_` is the share that is left: the mean of k(x, x) − ‖φ(x)‖² over the rows, as a share of the mean of k(x, x).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Nystroem
    >>> x = np.linspace(0, 6, 200)[:, None]
    >>> features = Nystroem("gaussian(lengthscale=1)", n_components=50).fit(x)
    >>> features.transform(x).shape[1] < 50, bool(features.residual_ < 1e-10)
    (True, True)
    """

    def __init__(
        self,
        kernel: str = "gaussian",
        *,
        n_components: int = 100,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        tolerance: float = 1e-12,
        seed: int = 1,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tolerance = tolerance
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> Nystroem:
        """Draws the landmarks."""
        X = validate_data(self, X, dtype=np.float64)
        most = _spelling.whole("n_components", self.n_components, least=1)
        spec = _spelling.kernel_spec(self.kernel, self.gamma, self.degree, self.coef0, X)
        self.kernel_ = _core.kernel_spec(spec, X)
        tolerance = _spelling._number("tolerance", self.tolerance, least=0.0)
        places, self.lower_, self.residual_ = _core.landmarks(self.kernel_, X, most, tolerance, _spelling.whole("seed", self.seed))
        self.components_ = X[places]
        self._n_features_out = len(places)
        return self

    @property
    def certificate_(self) -> dict[str, Any]:
        """What is known of the approximation: how many landmarks there are, and the share of the kernel's diagonal that they leave. That share
        bounds every error on the rows of the fit, |k(x, z) − φ(x)ᵀφ(z)|, by itself times the sum of all k(x, x).
        """
        check_is_fitted(self)
        return {"landmarks": len(self.components_), "residual": self.residual_}

    def transform(self, X: Any) -> Numbers:
        """φ(x) = L⁻¹ (k(x, landmarks)), one row per row."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        values = _core.kernel_matrix(self.kernel_, X, self.components_)
        return np.ascontiguousarray(solve_triangular(self.lower_, values.T, lower=True, check_finite=False).T)
