"""The gate: arrays, pandas, Polars, Arrow and anything that offers an Arrow stream become a table of the core.

Numbers go through scikit-learn's own checks. A table with text columns is read column by column, as the program does: a column in which
all texts are numbers with a unit, grouped thousands, dates or times is a column of numbers; other texts are categories, and so are columns
of a categorical type. None, NaN and NaT are missing, true and false are 1 and 0, dates and times are days since 1970-01-01.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_feature_names, _check_n_features, _num_samples, validate_data

from ._core import Table


class Labels(list[str | None]):
    """Texts of a categorical type: categories whatever they look like."""


Cells = NDArray[np.float64] | list[str | None]


def is_table(x: Any) -> bool:
    """Whether it has named columns."""
    return hasattr(x, "__arrow_c_stream__") or hasattr(x, "__dataframe__") or _is_of(x, "pandas", "DataFrame")


def _is_of(x: Any, module: str, name: str) -> bool:
    known = sys.modules.get(module)
    return known is not None and isinstance(x, getattr(known, name))


def opened(x: Any) -> Any:
    """A table that was read once, of something that may be read only once; everything else as it is."""
    if not is_table(x) or _is_of(x, "pandas", "DataFrame") or _is_of(x, "polars", "DataFrame") or _is_of(x, "pyarrow", "Table"):
        return x
    try:
        import pyarrow
    except ImportError:
        pyarrow = None
    if pyarrow is not None:
        return pyarrow.table(x)
    try:
        import polars
    except ImportError:
        raise ValueError("a table that is neither pandas nor Polars needs pyarrow or Polars to be read") from None
    return polars.DataFrame(x)


# A multiple of the core's own blocks: predictions are the same bits however a table is cut.
BLOCK = 1 << 16


def parts(x: Any) -> list[tuple[int, Any]]:
    """What was opened, in blocks of rows that are views, each with the number of rows above it; other things in one piece."""
    is_frame = _is_of(x, "pandas", "DataFrame")
    can_be_cut = is_frame or _is_of(x, "polars", "DataFrame") or _is_of(x, "pyarrow", "Table") or type(x) is np.ndarray and x.ndim == 2
    rows = samples(x) if can_be_cut else 0
    if rows <= BLOCK:
        return [(0, x)]
    starts = range(0, rows, BLOCK)
    if is_frame:
        return [(start, x.iloc[start : start + BLOCK]) for start in starts]
    if type(x) is np.ndarray:
        return [(start, x[start : start + BLOCK]) for start in starts]
    return [(start, x.slice(start, BLOCK)) for start in starts]


def columns_of(x: Any) -> dict[str, Cells]:
    """Every column of an opened table: numbers, or texts."""
    if _is_of(x, "pandas", "DataFrame"):
        found = [(str(name), _of_pandas(str(name), x.iloc[:, place])) for place, name in enumerate(x.columns)]
    elif _is_of(x, "polars", "DataFrame"):
        found = [(series.name, _of_polars(series)) for series in x.get_columns()]
    else:
        found = [(name, _of_arrow(name, x.column(place))) for place, name in enumerate(x.column_names)]
    names = [name for name, _ in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"every column must have a name of its own; {twice[0]!r} names {names.count(twice[0])} of them")
    return dict(found)


def _of_pandas(name: str, series: Any) -> Cells:
    import pandas

    kinds = pandas.api.types
    if isinstance(series.dtype, pandas.CategoricalDtype):
        return Labels(None if missing else str(cell) for cell, missing in zip(series, series.isna(), strict=True))
    if kinds.is_datetime64_any_dtype(series.dtype):
        has_zone = isinstance(series.dtype, pandas.DatetimeTZDtype)
        return _of_moments((series.dt.tz_convert("UTC").dt.tz_localize(None) if has_zone else series).to_numpy(), has_zone)
    if kinds.is_bool_dtype(series.dtype) or (kinds.is_numeric_dtype(series.dtype) and not kinds.is_complex_dtype(series.dtype)):
        return np.ascontiguousarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    if kinds.is_object_dtype(series.dtype) or kinds.is_string_dtype(series.dtype):
        return _of_objects(name, [None if missing else cell for cell, missing in zip(series, series.isna(), strict=True)])
    raise ValueError(f"column {name!r} must hold numbers or text and holds {series.dtype}; drop it or make numbers of it")


def _of_moments(cells: NDArray[np.datetime64], has_zone: bool) -> list[str | None]:
    """Dates and times as ISO 8601, which the core reads."""
    is_day = bool(np.all(np.isnat(cells) | (cells == cells.astype("datetime64[D]"))))
    unit: Any = "D" if is_day and not has_zone else "us"
    texts = np.datetime_as_string(cells.astype(f"datetime64[{unit}]"))
    return [None if text == "NaT" else f"{text}Z" if has_zone else str(text) for text in texts]


def _of_objects(name: str, cells: list[Any]) -> Cells:
    """Objects: text if one of them is, else numbers."""
    present = [cell for cell in cells if cell is not None]
    if any(isinstance(cell, str) for cell in present):
        return [None if cell is None else str(cell) for cell in cells]
    try:
        return np.array([np.nan if cell is None else float(cell) for cell in cells], dtype=np.float64)
    except (TypeError, ValueError):
        kind = type(present[0]).__name__ if present else "nothing"
        raise ValueError(f"column {name!r} must hold numbers or text and holds {kind}") from None


def _of_polars(series: Any) -> Cells:
    import polars

    kind = series.dtype
    if kind.is_numeric() or kind == polars.Boolean or kind == polars.Null:
        return np.array(series.cast(polars.Float64).fill_null(float("nan")).to_numpy(), dtype=np.float64)
    if kind == polars.String:
        return list(series.to_list())
    if kind in (polars.Categorical, polars.Enum):
        return Labels(series.cast(polars.String).to_list())
    if kind in (polars.Date, polars.Datetime):
        has_zone = getattr(kind, "time_zone", None) is not None
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None) if has_zone else series
        return _of_moments(series.to_numpy().astype("datetime64[us]"), has_zone)
    raise ValueError(f"column {series.name!r} must hold numbers or text and holds {kind}; drop it or make numbers of it")


def _of_arrow(name: str, column: Any) -> Cells:
    import pyarrow

    kinds = pyarrow.types
    kind = column.type
    if kinds.is_dictionary(kind):
        return Labels(None if cell is None else str(cell) for cell in column.to_pylist())
    if kinds.is_date(kind) or kinds.is_timestamp(kind):
        has_zone = kinds.is_timestamp(kind) and kind.tz is not None
        return _of_moments(column.cast(pyarrow.timestamp("us")).to_numpy(), has_zone)
    if kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind) or kinds.is_decimal(kind) or kinds.is_null(kind):
        if kinds.is_boolean(kind):
            column = column.cast(pyarrow.int8())
        return np.array(column.cast(pyarrow.float64(), safe=False).to_numpy(), dtype=np.float64)
    if kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind):
        return list(column.to_pylist())
    raise ValueError(f"column {name!r} must hold numbers or text and holds {kind}; drop it or make numbers of it")


def has_text(x: Any) -> bool:
    """Whether a column of a table is text, told by the types alone where they tell it."""
    if _is_of(x, "pandas", "DataFrame"):
        import pandas

        kinds = pandas.api.types
        plain = (kinds.is_numeric_dtype(dtype) or kinds.is_bool_dtype(dtype) for dtype in x.dtypes)
        return not all(plain) or any(isinstance(dtype, pandas.CategoricalDtype) for dtype in x.dtypes)
    return True


class Gate:
    """What came through: a table of the core, the numbers themselves if it is numbers only, and which columns are categories."""

    def __init__(self, table: Table, x: NDArray[np.float64] | None, rows: int, categories: list[str]) -> None:
        self.table = table
        self.x = x
        self.rows = rows
        self.categories = categories


def read(
    estimator: Any, x: Any, *, reset: bool, allow_missing: bool = False, keep: NDArray[np.bool_] | None = None, above: int = 0
) -> Gate:
    """Reads the features; `keep` says which rows to use, `above` how many rows of a larger table are above these."""
    if is_table(x) and has_text(x):
        columns = columns_of(x)
        if any(isinstance(cells, list) for cells in columns.values()) or not _is_of(x, "pandas", "DataFrame"):
            return _read_columns(estimator, x, columns, reset, allow_missing, keep, above)
    finite: Any = "allow-nan" if allow_missing else True
    try:
        x = validate_data(estimator, x, dtype=np.float64, ensure_all_finite=finite, reset=reset)
    except OverflowError as error:
        raise ValueError(f"X holds a number that is too large for a float: {error}") from error
    names = feature_names(estimator)
    kept = getattr(estimator, "_kept_rows", None)
    if kept is not None and getattr(estimator, "kernel", None) == "precomputed":
        # Columns are the rows of the fit, of which some had no weight.
        x, names = x[:, kept], [name for name, used in zip(names, kept, strict=True) if used]
    if keep is not None and not keep.all():
        x = x[keep]
    return Gate(Table.from_array(x, names, above), x, x.shape[0], [])


def feature_names(estimator: Any) -> list[str]:
    """Those of the table of the fit, else x1, x2, …"""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return [f"x{place + 1}" for place in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def _read_columns(
    estimator: Any,
    x: Any,
    columns: dict[str, Cells],
    reset: bool,
    allow_missing: bool,
    keep: NDArray[np.bool_] | None,
    above: int,
) -> Gate:
    rows = len(next(iter(columns.values()))) if columns else 0
    if rows == 0 or not columns:
        raise ValueError(f"Found array with {rows} sample(s) (shape=({rows}, {len(columns)})) while a minimum of 1 is required.")
    if _is_of(x, "pandas", "DataFrame") or _is_of(x, "polars", "DataFrame"):
        _check_feature_names(estimator, x, reset=reset)
        _check_n_features(estimator, x, reset=reset)
    else:
        _remember(estimator, list(columns), reset)
    if not hasattr(estimator, "feature_names_in_"):
        # Fitted to an array: columns are known by their places.
        columns = dict(zip(feature_names(estimator), columns.values(), strict=True))
    table = Table(rows if keep is None else int(keep.sum()), above)
    categories = [name for name, cells in columns.items() if isinstance(cells, Labels)]
    plain = []
    for name, cells in columns.items():
        if isinstance(cells, list):
            table.add_texts(name, cells if keep is None else [cell for cell, kept in zip(cells, keep, strict=True) if kept])
            continue
        bad = np.isinf(cells) if allow_missing else ~np.isfinite(cells)
        if bad.any():
            row = int(np.argmax(bad))
            raise ValueError(f"row {above + row + 1}, column {name!r}: {cells[row]} is not a finite number (NaN or infinity)")
        cells = cells if keep is None else cells[keep]
        plain.append(cells)
        table.add_numbers(name, cells)
    x_plain = np.column_stack(plain) if len(plain) == len(columns) else None
    kept = table.read_texts(categories)
    if kept and reset:
        named = ", ".join(map(repr, kept))
        text = f"columns of texts that are plain numbers are read as categories: {named}; make numbers of them, or a categorical type"
        warnings.warn(text, UserWarning, stacklevel=5)
    return Gate(table, x_plain, table.rows, categories + kept)


def _remember(estimator: Any, names: list[str], reset: bool) -> None:
    if reset:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
        estimator.n_features_in_ = len(names)
    elif not hasattr(estimator, "feature_names_in_"):
        if len(names) != estimator.n_features_in_:
            raise ValueError(f"X has {len(names)} features, but the fit had {estimator.n_features_in_} features")
    elif list(estimator.feature_names_in_) != names:
        known = ", ".join(map(str, estimator.feature_names_in_))
        raise ValueError(f"the columns must be those of the fit, in their order: {known}; got {', '.join(names)}")


def codes(groups: Any, rows: int) -> NDArray[np.int64]:
    """Groups as numbers."""
    given = np.asarray(groups)
    if given.shape != (rows,):
        raise ValueError(f"groups must have one entry for each of the {rows} rows; got the shape {given.shape}")
    missing = [place for place, one in enumerate(given.tolist()) if one is None or one != one]
    if missing:
        raise ValueError(f"row {missing[0] + 1} has no group")
    found: NDArray[np.int64] = np.unique(given.astype(str) if given.dtype == object else given, return_inverse=True)[1]
    return found


def fresh_name(wanted: str, taken: list[str]) -> str:
    """A column name that no feature has."""
    known = set(taken)
    while wanted in known:
        wanted += "_"
    return wanted


def samples(x: Any) -> int:
    """The number of rows of anything."""
    try:
        return int(x.num_rows) if hasattr(x, "num_rows") else int(_num_samples(x))
    except TypeError:
        raise ValueError(f"X must be an array (1D arrays are none) or a table; got {type(x).__name__}") from None
