"""What every fitted model can say of itself, whether it was fitted here or loaded from a file."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from . import _tables
from ._effects import Effects, Importance
from ._page import page
from ._settings import Columns
from ._spelling import whole

if TYPE_CHECKING:
    from ._core import Model, Outside, Table

Numbers = NDArray[np.float64]


class ExtrapolationWarning(UserWarning):
    """Rows to be predicted are outside the range of the training rows (numbers by more than a tenth of it): no error was measured there."""


class FittedModel:
    """Everything that follows from a model of the core, `self._model`."""

    _model: Model
    _is_single = True

    def _core(self) -> Model:
        """The model of the core; refuses before there is one."""
        if "_model" not in self.__dict__:
            name = type(self).__name__
            text = f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator."
            raise NotFittedError(text)
        return self._model

    def _known(self, attribute: str) -> Model:
        """The same for an attribute: before a fit it is not there."""
        if "_model" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has {attribute} once it is fitted")
        return self._model

    def _table(self, X: Any, above: int = 0) -> Table:
        """The rows of `X` for the core; `above` of a larger table are above them."""
        raise NotImplementedError

    def _in_blocks(self, X: Any, of: Callable[[Table], Any]) -> Any:
        """What the core finds for every row, a block of rows at a time: no second copy of a large table is made."""
        model = self._core()
        X = _tables.opened(X)
        blocks = _tables.parts(X)
        outside: Outside | None = None

        def found_in(table: Table) -> Any:
            nonlocal outside
            values = of(table)
            outside = model.outside(table, outside)
            return values

        found = self._of_blocks(X, blocks, found_in)
        text = None if outside is None else outside.text()
        if text is not None:
            warnings.warn(text, ExtrapolationWarning, stacklevel=3)
        return found

    def _of_blocks(self, X: Any, blocks: Any, of: Callable[[Table], Any]) -> Any:
        if len(blocks) == 1:
            return of(self._table(X))
        first = of(self._table(blocks[0][1]))
        found = np.empty((_tables.samples(X), *first.shape[1:]), dtype=first.dtype)
        found[: len(first)] = first
        with warnings.catch_warnings():
            # The first block has said what there is to say of the names of the columns.
            warnings.filterwarnings("ignore", message=".*feature names")
            for above, part in blocks[1:]:
                values = of(self._table(part, above))
                found[above : above + len(values)] = values
        return found

    @property
    def summaries_(self) -> list[dict[str, Any]]:
        """What was found, one dictionary per target (or class, or quantile)."""
        return list(json.loads(self._known("summaries_").summaries()))

    @property
    def columns_(self) -> list[dict[str, Any]]:
        """How each column of the fit was read, one dictionary a column: `name`, `kind` (``"number"``, ``"categories"``, ``"constant"``,
        ``"identifier"``, ``"row names"``), `is_used`, `unit` (None for plain numbers), `missing` (cells), `counts_rows` (an index?), and
        `categories`, how many there are."""
        return list(json.loads(self._known("columns_").columns_read()))

    @property
    def provenance_(self) -> dict[str, Any]:
        """The program that made the model; of one from the program `mercer` also its command, seed and the fingerprints of its files."""
        return dict(json.loads(self._known("provenance_").provenance()))

    def _each(self, name: str) -> Any:
        values = [summary[name] for summary in self.summaries_]
        return values[0] if self._is_single and len(values) == 1 else values

    @property
    def notes_(self) -> list[str]:
        """What is odd about the targets, or about the errors: a constant, names of classes fitted as numbers, one absurd value, R² ≤ 0. Empty for a
        model that was loaded."""
        return self._known("notes_").notes()

    @property
    def certificate_(self) -> Any:
        """What was verified of the answer: a dictionary, with several targets a list of them."""
        return self._each("certificate")

    @property
    def lambda_(self) -> Any:
        """λ, given or chosen."""
        return self._each("lambda")

    @property
    def exponent_(self) -> Any:
        """m of λ‖f‖ᵐ, given or chosen."""
        return self._each("exponent")

    @property
    def effective_ridge_(self) -> Any:
        """The ridge that gives the same function; None for the zero function."""
        return self._each("effective_ridge")

    @property
    def kernel_(self) -> str:
        """The kernel, with its numbers."""
        return self._known("kernel_").kernel

    @property
    def intercept_(self) -> Any:
        """b. For a linear function in the units of the table, else on the features as the model scales them."""
        scaling = self._known("intercept_").scaling()
        offsets = np.array([summary["intercept"] for summary in self.summaries_])
        if scaling is not None:
            shift = np.array([one / factor for _, one, factor in scaling])
            offsets = offsets - shift @ self._model.coefficients() if np.any(shift) else offsets
        return float(offsets[0]) if self._is_single and len(offsets) == 1 else offsets

    @property
    def coef_(self) -> Numbers:
        """The coefficients of a linear function, in the units of the table."""
        scaling = self._known("coef_").scaling()
        if scaling is None:
            raise AttributeError("coef_ is there for linear functions; a kernel expansion has dual_coef_")
        weights = self._model.coefficients() / np.array([factor for _, _, factor in scaling])[:, None]
        return np.array(weights[:, 0] if self._is_single and weights.shape[1] == 1 else weights.T)

    @property
    def dual_coef_(self) -> Numbers:
        """α of f = Σ αᵢ k(·, xᵢ)."""
        model = self._known("dual_coef_")
        if model.points == 0:
            raise AttributeError("dual_coef_ is there for kernel expansions; a linear function has coef_")
        alpha = model.coefficients()
        return alpha[:, 0].copy() if self._is_single and alpha.shape[1] == 1 else alpha

    @property
    def loo_(self) -> Numbers:
        """The residuals yᵢ − f₋ᵢ(xᵢ) − b₋ᵢ of the fits without row i, with λ, class weights and scaling held; NaN for rows of weight 0. Of classes
        the decision values of every row by the fit without it.

        Read off one decomposition for the squared loss with λ‖f‖ᵐ or λ‖Γw‖². Other losses and the Lasso make their fit once more, see which rows
        change nothing but what a formula knows, and fit without each of the others, which may take a while. Smooth losses on more
        than 250 rows, and the Lasso where checking would take more than 2³¹ multiplications, are right to first order, with a warning.
        """
        try:
            residuals, is_exact = self._known("loo_").leave_one_out()
        except ValueError as error:
            raise AttributeError(f"loo_: {error}") from error
        if not is_exact:
            warnings.warn("loo_ is right to first order here, not exact", stacklevel=2)
        kept = self.__dict__.get("_kept_rows")
        if kept is not None:
            # Rows of weight 0 have no part in the fit; their places stay.
            everything = np.full((len(kept), residuals.shape[1]), np.nan)
            everything[kept] = residuals
            residuals = everything
        return residuals[:, 0] if self._is_single and residuals.shape[1] == 1 else residuals

    @property
    def surface_(self) -> list[dict[str, Any]]:
        """The criterion wherever it was computed: one entry per kernel, loss, exponent and target. Empty when nothing was chosen,
        and in a model that was loaded or unpickled."""
        return self._known("surface_").trials()

    @property
    def path_(self) -> dict[str, Numbers]:
        """Everything along λ, of the first target: at the model's exponent for the squared loss with λ‖f‖ᵐ, else the criterion that chose
        λ. Where λ was given, a path is tried now, by five or ten folds.
        """
        return self._path_of(0)

    def _path_of(self, target: int) -> dict[str, Numbers]:
        model = self._known("path_")
        summary = self.summaries_[target]
        try:
            if summary["loss"] == "squared" and summary["penalty"] == "norm-power":
                return self.path(target=target)
            tried = model.tried_path()
        except ValueError as error:
            raise AttributeError(f"path_: {error}") from error
        # Classes share one path.
        trials = [trial for trial in tried if trial["target"] == summary["target"]] or tried
        if not trials:
            raise AttributeError("path_ is there for models that were fitted here; this one was loaded or unpickled")
        best = min(trials, key=lambda trial: min(trial["scores"]))
        columns = {"lambda": best["lambdas"], "score": best["scores"]}
        columns |= {"standard_error": best["standard_errors"]} if best["standard_errors"] is not None else {}
        columns |= {"support": best["support"]} if best["support"] is not None else {}
        return {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}

    def path(
        self,
        exponent: float | None = None,
        lambdas: Any = None,
        criteria: tuple[str, ...] = ("loo",),
        target: int = 0,
        seed: int = 1,
    ) -> dict[str, Numbers]:
        """Norm, degrees of freedom, errors and criteria along λ at any exponent, from one decomposition.

        `lambdas` are rising; without them the whole useful part of the path is shown. Criteria that are mean squared errors are
        shown as their roots.
        """
        model = self._core()
        if not 0 <= whole("target", target) < len(self.summaries_):
            raise ValueError(f"target must be below {len(self.summaries_)}, the number of targets; got {target}")
        own = self.summaries_[target]["exponent"] if exponent is None else float(exponent)
        given = None if lambdas is None else [float(value) for value in np.ravel(lambdas)]
        points = model.path(target, own, given, list(criteria), whole("seed", seed))
        names = ["lambda", "effective_ridge", "norm", "dof", "train_rmse"]
        table = {name: np.array([point[name] for point in points], dtype=np.float64) for name in names}
        for place, criterion in enumerate(criteria):
            name = f"{criterion}_rmse" if criterion == "loo" else criterion
            table[name] = np.array([point["criteria"][place] for point in points], dtype=np.float64)
        return table

    def marginal_effects(self, X: Any = None, of: str = "decision") -> Effects:
        """∂f/∂xⱼ at every row, in the units of the table, with means, quartiles and (for the squared loss) standard errors.

        Without `X` at the rows of the fit, where the estimator or its model still has them. Of classifiers f is the log-odds or the decision
        value of the class that `targets` names; ``of="probability"`` takes its probability.
        """
        model = self._core()
        if of not in ("decision", "probability"):
            raise ValueError(f"of must be 'decision' or 'probability'; got {of!r}")
        found, without = model.effects(None if X is None else self._table(X), of == "probability")
        return Effects(found, without)

    def importance(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, seed: int = 1) -> Importance:
        """How much each column matters: the rise of the held-out squared error when its cells are permuted.

        Parameters
        ----------
        X, y, sample_weight : the rows of the fit. On five folds (of a model that was chosen by forward chaining, its blocks) the model is
            fitted again with its kernel, exponent and λ, and predicts the held-out rows as they are and with one column permuted.
        groups : rows of one group are held out together.
        seed : of folds and permutations.

        For the squared loss with λ‖f‖ᵐ. Columns that say the same can replace each other, and each then shows a smaller rise.
        """
        model = self._core()
        table = self._table(X)
        names = [str(summary["target"]) for summary in self.summaries_]
        values = np.asarray(y, dtype=np.float64)
        values = values[:, None] if values.ndim == 1 else values
        if values.shape != (table.rows, len(names)):
            raise ValueError(f"y must have {table.rows} rows and {len(names)} columns; got the shape {values.shape}")
        columns = Columns(targets=[], weight=None, group=None, groups_are_folds=False, categorical=[])
        for place, name in enumerate(names):
            columns["targets"].append(name)
            table.add_numbers(name, np.ascontiguousarray(values[:, place]))
        if sample_weight is not None:
            columns["weight"] = weight = _tables.fresh_name("weight", table.names)
            table.add_numbers(weight, np.ascontiguousarray(sample_weight, dtype=np.float64))
        if groups is not None:
            columns["group"] = group = _tables.fresh_name("group", table.names)
            table.add_numbers(group, _tables.codes(groups, table.rows).astype(np.float64))
        return Importance(model.importance(table, columns, whole("seed", seed)))

    def save(self, path: Any) -> None:
        """Writes the model file that `mercer predict` and :func:`mercer.load` read. The file is replaced in one step."""
        import os

        self._core().save(os.fspath(path))

    def to_bytes(self) -> bytes:
        """The bytes of the model file."""
        return self._core().to_bytes()

    def to_onnx(self, path: Any = None) -> bytes:
        """The bytes of an ONNX file that predicts as the model does, in double precision; written to `path` if one is given.

        The input `x` has the columns of the fit, in their order; `prediction` is the output (of classes: `label`, `decision` and,
        where they are known, `probability`). For linear, polynomial and radial kernels, their sums and products, on columns
        of numbers; other models are refused with the reason.
        """
        model = self._core()
        graph = model.to_onnx()
        if path is not None:
            import os

            model.save_bytes(os.fspath(path), graph)
        return graph

    def _with_interval(self, table: Table, level: float, method: str | None, folds: int, seed: int) -> Numbers:
        ends = self._core().intervals(table, float(level), method, whole("folds", folds), whole("seed", seed))
        return ends[:, 0, :] if self._is_single and ends.shape[1] == 1 else ends

    def _page(self) -> str:
        return page(type(self).__name__, self._core().kernel, self.summaries_)
