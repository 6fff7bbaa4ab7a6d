"""Pictures of fitted models, with matplotlib (``pip install mercer[plot]``). Every function returns the axes.

>>> import matplotlib; matplotlib.use("Agg")
>>> import numpy as np, mercer
>>> x = np.linspace(0, 6, 40)[:, None]
>>> model = mercer.PowerRidgeCV("gaussian(lengthscale=1)").fit(x, np.sin(x[:, 0]) + 0.3 * np.cos(1e4 * x[:, 0] ** 2))
>>> [picture(model).get_xlabel()[0] for picture in (path, surface)]
['λ', 'λ']
>>> [picture(model, x, y).get_xlabel() for picture, y in ((residuals, np.sin(x[:, 0])), (component, 0), (bands, None))]
['prediction', 'x1', 'x']
"""

from __future__ import annotations

from typing import Any

import numpy as np


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("mercer.plot needs matplotlib: pip install 'mercer[plot]'") from None
    return plt.subplots()[1]


def path(model: Any, exponent: float | None = None, *, target: int = 0, ax: Any = None) -> Any:
    """Training and leave-one-out error along λ, and the λ of the model; for other losses the criterion that chose λ."""
    ax = _axes(ax)
    summary = model.summaries_[target]
    if summary["loss"] == "squared" and summary["penalty"] == "norm-power":
        shown = model.path(exponent=exponent, target=target)
        ax.plot(shown["lambda"], shown["loo_rmse"], label="leave-one-out")
        ax.plot(shown["lambda"], shown["train_rmse"], label="training")
        ax.set_ylabel("root mean squared error")
    else:
        shown = model._path_of(target)
        ax.plot(shown["lambda"], shown["score"], label="held out")
        if "standard_error" in shown:
            low, high = shown["score"] - shown["standard_error"], shown["score"] + shown["standard_error"]
            ax.fill_between(shown["lambda"], low, high, alpha=0.2)
        ax.set_ylabel("criterion")
    if exponent is None or exponent == summary["exponent"]:
        ax.axvline(summary["lambda"], color="0.5", linestyle="--", label="the model's λ")
    ax.set_xscale("log")
    ax.set_xlabel(f"λ (exponent {summary['exponent'] if exponent is None else exponent:g})")
    ax.legend()
    return ax


def surface(model: Any, *, ax: Any = None, points: int = 200) -> Any:
    """The criterion over exponents and λ as a heat map; yellow where it is least. Each row of pixels is one exponent."""
    trials = [trial for trial in model.surface_ if trial["kernel"] == model.kernel_] or model.surface_
    if not trials:
        raise ValueError("the model has no surface: it was fitted at a given λ, or loaded from a file")
    ax = _axes(ax)
    exponents = [trial["exponent"] for trial in trials]
    least = min(min(trial["lambdas"]) for trial in trials)
    most = max(max(trial["lambdas"]) for trial in trials)
    at = np.geomspace(least, most, points)
    image = np.full((len(trials), points), np.nan)
    for row, trial in enumerate(trials):
        known, scores = np.log(trial["lambdas"]), np.asarray(trial["scores"], dtype=float)
        finite = np.isfinite(scores)
        if finite.any():
            image[row] = np.interp(np.log(at), known[finite], scores[finite], left=np.nan, right=np.nan)
    in_decades = bool(np.nanmin(image) > 0)
    if in_decades:
        image = np.log10(image)
    mesh = ax.pcolormesh(at, np.arange(len(trials)), image, shading="nearest", cmap="viridis_r")
    ax.figure.colorbar(mesh, ax=ax, label="criterion (log₁₀)" if in_decades else "criterion")
    ax.set_yticks(np.arange(len(trials)), [f"{value:g}" for value in exponents])
    ax.set_xscale("log")
    ax.set_xlabel("λ")
    ax.set_ylabel("exponent")
    first = model.summaries_[0]
    nearest = int(np.argmin([abs(value - first["exponent"]) for value in exponents]))
    ax.plot([first["lambda"]], [nearest], marker="o", color="white", markeredgecolor="black")
    return ax


def residuals(model: Any, X: Any, y: Any, *, ax: Any = None) -> Any:
    """y − prediction against the prediction, and where the model knows them the leave-one-out residuals beside."""
    ax = _axes(ax)
    predicted = np.asarray(model.predict(X))
    truth = np.asarray(y, dtype=float)
    ax.scatter(predicted, truth - predicted, s=12, label="residuals")
    try:
        left_out = np.asarray(model.loo_)
    except AttributeError:
        left_out = np.empty(0)
    if left_out.shape == truth.shape:
        ax.scatter(truth - left_out, left_out, s=12, marker="x", label="left out")
    ax.axhline(0, color="0.5", linewidth=1)
    ax.set_xlabel("prediction")
    ax.set_ylabel("y − prediction")
    ax.legend()
    return ax


def component(model: Any, X: Any, feature: int | str, *, points: int = 100, interval: float | None = None, ax: Any = None) -> Any:
    """The prediction along one feature of an array of numbers, the others at their medians; with `interval` also its band."""
    ax = _axes(ax)
    table = np.asarray(X, dtype=float)
    names = [str(name) for name in getattr(model, "feature_names_in_", [f"x{j + 1}" for j in range(table.shape[1])])]
    place = names.index(feature) if isinstance(feature, str) else int(feature)
    grid = np.linspace(table[:, place].min(), table[:, place].max(), points)
    rows: Any = np.tile(np.median(table, axis=0), (points, 1))
    rows[:, place] = grid
    if hasattr(model, "feature_names_in_") and hasattr(X, "columns"):
        rows = type(X)(dict(zip(names, rows.T, strict=True)))
    if interval is None:
        ax.plot(grid, np.asarray(model.predict(rows)))
    else:
        middle, ends = map(np.asarray, model.predict(rows, interval=interval))
        ax.fill_between(grid, ends[:, 0], ends[:, 1], alpha=0.25, label=f"{interval:g} interval")
        ax.plot(grid, middle)
        ax.legend()
    ax.set_xlabel(names[place])
    ax.set_ylabel("prediction")
    return ax


def bands(model: Any, X: Any, y: Any = None, *, interval: float = 0.9, method: str | None = None, ax: Any = None) -> Any:
    """Predictions and their intervals over the only feature, or row by row in the order of the prediction."""
    ax = _axes(ax)
    middle, ends = map(np.asarray, model.predict(X, interval=interval, method=method))
    table = np.asarray(X, dtype=float) if not hasattr(X, "columns") else np.asarray(X)
    single = table.shape[1] == 1
    order = np.argsort(table[:, 0]) if single else np.argsort(middle)
    at = table[order, 0] if single else np.arange(len(order))
    ax.fill_between(at, ends[order, 0], ends[order, 1], alpha=0.25, label=f"{interval:g}" + (f" by {method}" if method else " interval"))
    ax.plot(at, middle[order], label="prediction")
    if y is not None:
        ax.scatter(at, np.asarray(y)[order], s=10, color="black", label="y", zorder=3)
    ax.set_xlabel("x" if single else "rows, by prediction")
    ax.legend()
    return ax
