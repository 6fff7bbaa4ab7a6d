"""From the names that people use to those of the core: kernels, penalties, folds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

# scikit-learn's names of kernels.
_KERNELS = {"rbf": "gaussian", "laplacian": "laplace", "poly": "polynomial"}


class Defaults(NamedTuple):
    """What scikit-learn takes where nothing is said."""

    gamma: str
    coef0: float


# `pairwise_kernels` (KernelRidge, Nystroem) and LIBSVM (SVR, SVC).
PAIRWISE, LIBSVM = Defaults("auto", 1.0), Defaults("scale", 0.0)


def kernel_spec(kernel: Any, gamma: Any, degree: Any, coef0: Any, x: Numbers | None, default: Defaults = PAIRWISE) -> str:
    """The spec of a kernel; `gamma`, `degree` and `coef0` as scikit-learn spells them.

    Under scikit-learn's names (``"rbf"``, ``"laplacian"``, ``"poly"``) what is not said is as it is there.
    """
    if not isinstance(kernel, str):
        raise ValueError(f"kernel must be a spec such as 'gaussian(lengthscale=1.5)' or 'rbf'; got {kernel!r}")
    name = _KERNELS.get(kernel, kernel)
    given = {"gamma": gamma, "degree": degree, "coef0": coef0}
    given = {key: value for key, value in given.items() if value is not None}
    if kernel in _KERNELS and gamma is None:
        gamma = default.gamma
    elif not given:
        return name
    if "(" in name or "+" in name or "*" in name:
        raise ValueError(f"{', '.join(given)} must be left out when the kernel says its own numbers; got {kernel!r}")
    allowed = {"gaussian": {"gamma"}, "laplace": {"gamma"}, "polynomial": {"gamma", "degree", "coef0"}}.get(name, set())
    if strange := sorted(set(given) - allowed):
        raise ValueError(f"{strange[0]} has no meaning for the kernel {kernel!r}")
    width = _gamma(gamma, x) if gamma is not None else 1.0
    if name == "gaussian":
        return f"gaussian(lengthscale={float(np.sqrt(0.5 / width))!r})"
    if name == "laplace":
        return f"laplace(lengthscale={float(1.0 / width)!r})"
    # (gamma x'z + coef0)^degree = gamma^degree (x'z + coef0/gamma)^degree
    power = 3 if degree is None else whole("degree", degree, least=1)
    unsaid = default.coef0 if kernel in _KERNELS else 1.0
    constant = unsaid if coef0 is None else _number("coef0", coef0, least=0.0)
    inner = f"polynomial(degree={power},constant={float(constant / width)!r})"
    return inner if width == 1.0 else f"{float(width**power)!r}*{inner}"


def _gamma(gamma: Any, x: Numbers | None) -> float:
    if gamma in ("scale", "auto"):
        if x is None:
            raise ValueError(f"gamma={gamma!r} needs a table of numbers")
        spread = float(x.var()) if gamma == "scale" else 1.0
        return 1.0 / (x.shape[1] * spread) if spread > 0 else 1.0
    return _number("gamma", gamma)


def _number(name: str, value: Any, least: float | None = None) -> float:
    """A finite number above 0, or at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{name} must be a number; got {value!r}")
    number = float(value)
    if not np.isfinite(number) or (number <= 0 if least is None else number < least):
        raise ValueError(f"{name} must be finite and {'above 0' if least is None else f'at least {least:g}'}; got {value!r}")
    return number


def whole(name: str, value: Any, least: int = 0) -> int:
    """A whole number, at least `least`."""
    number = _number(name, value, least=float(least))
    if number != int(number) or number > 2**53:
        raise ValueError(f"{name} must be a whole number (at most 2**53); got {value!r}")
    return int(number)


def numbers(name: str, values: Any) -> list[float]:
    """One number or several, rising, each once."""
    try:
        listed = np.atleast_1d(np.asarray(values, dtype=np.float64)).ravel()
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers; could not convert {values!r}") from None
    if listed.size == 0 or not np.all(np.isfinite(listed)):
        raise ValueError(f"{name} must be finite numbers, at least one; got {values!r}")
    return [float(value) for value in np.unique(listed)]


class Penalty:
    """λ in the words of the caller: a number, a criterion that chooses it, or somebody else's parameter."""

    def __init__(self, lambdas: list[float] | None, criterion: str | None) -> None:
        self.lambdas = lambdas
        self.criterion = criterion


def penalty(reg_lambda: Any, theirs: dict[str, tuple[Any, Any]], default: float) -> Penalty:
    """`theirs` has the other spellings: a name, its value (or None), and the λ that a value stands for."""
    given = [name for name, (value, _) in theirs.items() if value is not None]
    if reg_lambda is not None and given:
        raise ValueError(f"reg_lambda and {given[0]} say the same thing in two ways; give one of them")
    if len(given) > 1:
        raise ValueError(f"{given[0]} and {given[1]} say the same thing in two ways; give one of them")
    if given:
        value, to_lambda = theirs[given[0]]
        return Penalty([float(to_lambda(_number(given[0], value)))], None)
    if reg_lambda is None:
        return Penalty([default], None)
    if isinstance(reg_lambda, str):
        return Penalty(None, reg_lambda)
    return Penalty([_number("reg_lambda", reg_lambda)], None)


def grid(lambdas: Any, name: str, theirs: Any, to_lambda: Any) -> list[float] | None:
    """Candidates for λ, in our numbers or in theirs; none is the whole path."""
    if lambdas is not None and theirs is not None:
        raise ValueError(f"lambdas and {name} say the same thing in two ways; give one of them")
    if theirs is not None:
        return [float(to_lambda(value)) for value in numbers(name, theirs)]
    return None if lambdas is None else numbers("lambdas", lambdas)


def folds(cv: Any, x: Any, y: Any, default: str) -> tuple[str, NDArray[np.int64] | None]:
    """The criterion that `cv` names, and for given splits the fold of every row."""
    if cv is None:
        return default, None
    if isinstance(cv, str):
        return cv, None
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        return f"kfold:{int(cv)}", None
    if not hasattr(cv, "split") and not isinstance(cv, Iterable):
        raise ValueError(f"cv must be a number of folds, a criterion, a splitter or a list of splits; got {cv!r}")
    splits: Sequence[Any] = list(cv.split(x, y)) if hasattr(cv, "split") else list(cv)
    rows = len(y)
    of = np.full(rows, -1, dtype=np.int64)
    for fold, (_, test) in enumerate(splits):
        held = np.asarray(test)
        held = np.flatnonzero(held) if held.dtype == bool else held
        if np.any(of[held] >= 0):
            raise ValueError("cv must hold out every row once; a row is in two of its test sets")
        of[held] = fold
    if np.any(of < 0):
        raise ValueError(f"cv must hold out every row once; row {int(np.argmin(of)) + 1} is in no test set")
    return f"kfold:{len(splits)}", of
