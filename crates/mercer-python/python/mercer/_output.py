"""Predictions as arrays, or as columns of pandas or Polars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

KINDS = ("default", "pandas", "polars")


class Output:
    """`set_output` for what predicts; scikit-learn has it for what transforms."""

    # Under this name scikit-learn's `clone` copies it.
    _sklearn_output_config: dict[str, str]

    def set_output(self, *, predict: str | None = None, transform: str | None = None) -> Any:
        """What `predict` and its kin return: ``"default"`` (NumPy), ``"pandas"`` (with the index of `X`) or ``"polars"``.

        Columns are named after the target or the classes. ``None`` leaves it as it is; `transform`, scikit-learn's word, means the same.

        >>> import pandas as pd
        >>> from mercer import KernelRidge
        >>> x = pd.DataFrame({"a": [0.0, 1.0, 2.0]}, index=["p", "q", "r"])
        >>> model = KernelRidge().set_output(predict="pandas").fit(x, pd.Series([1.0, 2.0, 4.0], name="size", index=x.index))
        >>> model.predict(x).name, list(model.predict(x).index)
        ('size', ['p', 'q', 'r'])
        """
        predict = transform if predict is None else predict
        if predict is not None:
            if predict not in KINDS:
                raise ValueError(f"predict must be one of {', '.join(KINDS)}; got {predict!r}")
            self._sklearn_output_config = {"predict": predict}
        return self

    def _shown(self, values: Any, X: Any, named: Callable[[], list[str]]) -> Any:
        """The values as `set_output` asks for them; `named` gives the names of their columns."""
        kind = self.__dict__.get("_sklearn_output_config", {}).get("predict", "default")
        if kind == "default":
            return values
        single, names = values.ndim == 1, named()
        if kind == "polars":
            import polars

            return polars.Series(names[0], values) if single else polars.DataFrame(values, schema=names)
        import pandas

        index = X.index if isinstance(X, (pandas.DataFrame, pandas.Series)) else None
        if single:
            return pandas.Series(values, index=index, name=names[0])
        return pandas.DataFrame(values, index=index, columns=names)
