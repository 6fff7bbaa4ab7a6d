"""Marginal effects as a table."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


class _Shown:
    """A table of rows, in a terminal, a notebook and as a DataFrame."""

    def rows(self) -> list[dict[str, Any]]:
        """The table, row by row."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self.rows())

    def __repr__(self) -> str:
        rows = [{key: value if isinstance(value, str) else f"{value:.4g}" for key, value in row.items()} for row in self.rows()]
        widths = {key: max(len(key), *(len(row[key]) for row in rows)) for key in rows[0]}
        lines = ["  ".join(key.rjust(width) for key, width in widths.items())]
        lines += ["  ".join(row[key].rjust(width) for key, width in widths.items()) for row in rows]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = self.rows()
        head = "".join(f"<th>{escape(key)}</th>" for key in rows[0])
        cell = "<td>{}</td>".format
        body = "".join(
            "<tr>" + "".join(cell(escape(v) if isinstance(v, str) else f"{v:.4g}") for v in row.values()) + "</tr>" for row in rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Importance(_Shown):
    """How much each column matters: one entry per column, those that matter most first.

    Attributes: `names`, `targets`, `increase` (the rise of the held-out mean squared error when the column is permuted), `standard_error` (of
    the rise), `share` (of the sum of all rises) and `share_error`.
    """

    def __init__(self, found: list[dict[str, Any]]) -> None:
        self.names = [str(one["column"]) for one in found]
        self.targets = [str(one["target"]) for one in found]
        self.increase: Numbers = np.array([one["increase"] for one in found])
        self.standard_error: Numbers = np.array([one["standard_error"] for one in found])
        self.share: Numbers = np.array([one["share"] for one in found])
        self.share_error: Numbers = np.array([one["share_error"] for one in found])

    def rows(self) -> list[dict[str, Any]]:
        """The table, row by row."""
        several = len(set(self.targets)) > 1
        table = []
        for place, name in enumerate(self.names):
            row: dict[str, Any] = {"target": self.targets[place]} if several else {}
            row |= {"column": name, "rise": float(self.increase[place]), "std. error": float(self.standard_error[place])}
            table.append(row | {"share": float(self.share[place])})
        return table


class Effects(_Shown):
    """What each column does to the predictions: one entry per column, and per category but the first of a text column.

    Attributes: `names`, `targets` (of classifiers: what of which class), `of` (``"prediction"``, ``"log-odds"``, ``"softmax score"``,
    ``"decision value"`` or ``"probability"``), `mean`, `standard_error` (NaN where it is not known), `quartiles` (entries × 3), `positive` (the
    share of rows where the effect is positive), `values` (rows × entries) and `without_errors`, why there are no errors.
    """

    def __init__(self, found: list[dict[str, Any]], without_errors: str | None) -> None:
        self.names = [
            one["column"] if one["category"] is None else f"{one['column']}: {one['category']} − {one['base']}" for one in found
        ]
        self.targets = [
            str(one["target"]) if one["class"] is None else f"{one['of']} of {one['class']}" for one in found
        ]
        self.of = str(found[0]["of"]) if found else "prediction"
        self.mean: Numbers = np.array([one["mean"] for one in found])
        errors = [np.nan if one["standard_error"] is None else one["standard_error"] for one in found]
        self.standard_error: Numbers = np.array(errors)
        self.quartiles: Numbers = np.array([one["quartiles"] for one in found])
        self.positive: Numbers = np.array([one["positive"] for one in found])
        self.values: Numbers = np.column_stack([one["values"] for one in found])
        self.without_errors = without_errors

    def rows(self) -> list[dict[str, Any]]:
        """The table, row by row."""
        several = len(set(self.targets)) > 1 or self.of != "prediction"
        table = []
        for place, name in enumerate(self.names):
            row: dict[str, Any] = {"target": self.targets[place]} if several else {}
            row |= {"effect of": name, "mean": float(self.mean[place])}
            if self.without_errors is None:
                row["std. error"] = float(self.standard_error[place])
            for share, value in zip(("25 %", "median", "75 %"), self.quartiles[place], strict=True):
                row[share] = float(value)
            table.append(row | {"share > 0": float(self.positive[place])})
        return table
