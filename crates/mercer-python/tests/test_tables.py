"""Every way in which a table can come."""

import pickle

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from scipy import sparse
from sklearn.base import clone

import mercer

ROWS = 40


def table():
    random = np.random.default_rng(5)
    kind = random.choice(["flat", "tall", "wide"], size=ROWS)
    size = random.normal(size=ROWS)
    y = np.sin(size) + np.where(kind == "tall", 1.0, 0.0)
    return {"size": size, "kind": kind.tolist(), "is_new": (size > 0.3).tolist()}, y


def kinds_of_tables():
    columns, y = table()
    frame = pandas.DataFrame(columns)
    return {
        "pandas": frame,
        "pandas categories": frame.assign(kind=frame["kind"].astype("category")),
        "pandas strings": frame.assign(kind=frame["kind"].astype("string")),
        "polars": polars.DataFrame(columns),
        "polars categories": polars.DataFrame(columns).with_columns(polars.col("kind").cast(polars.Categorical)),
        "arrow": pyarrow.table(columns),
        "arrow dictionary": pyarrow.table(columns | {"kind": pyarrow.array(columns["kind"]).dictionary_encode()}),
        "a stream": Stream(pyarrow.table(columns)),
    }, y


class Stream:
    """Nothing but the Arrow PyCapsule interface."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def test_text_columns_read_alike_from_every_kind_of_table(tmp_path):
    tables, y = kinds_of_tables()
    bits = {}
    for name, x in tables.items():
        for model in (mercer.PowerRidge(reg_lambda=1e-3), mercer.PowerRidge(reg_lambda=1e-3, text="equality")):
            model.fit(x, y)
            assert list(model.feature_names_in_) == ["size", "kind", "is_new"] and model.n_features_in_ == 3
            bits.setdefault(model.text, set()).add(model.predict(x).tobytes())
            effects = model.marginal_effects()
            assert effects.names == ["size", "kind: tall − flat", "kind: wide − flat", "is_new"]
            model.save(tmp_path / "m.mercer")
            assert mercer.load(tmp_path / "m.mercer").predict(x).tobytes() in bits[model.text]
    assert len(bits["onehot"]) == len(bits["equality"]) == 1, {name: len(found) for name, found in bits.items()}
    columns, _ = table()
    hot = np.column_stack([columns["size"], *[np.array(columns["kind"]) == k for k in ("flat", "tall", "wide")], columns["is_new"]])
    expected = mercer.PowerRidge(reg_lambda=1e-3).fit(hot, y).predict(hot)
    np.testing.assert_allclose(np.frombuffer(bits["onehot"].pop()), expected, atol=1e-10)


def test_names_are_remembered_and_checked():
    tables, y = kinds_of_tables()
    for name, x in tables.items():
        model = mercer.KernelRidge().fit(x, y)
        wrong = pandas.DataFrame(table()[0]).rename(columns={"size": "length"})
        with pytest.raises(ValueError, match="name|column"):
            model.predict(wrong)
    model = mercer.Ridge().fit(pandas.DataFrame({"a": np.arange(9.0), "b": np.arange(9.0) ** 2}), pandas.Series(np.arange(9.0), name="dose"))
    assert model.summaries_[0]["target"] == "dose" and list(model.feature_names_in_) == ["a", "b"]


def test_a_category_that_training_did_not_know_counts_as_none():
    columns, y = table()
    model = mercer.PowerRidge(reg_lambda=1e-3).fit(pandas.DataFrame(columns), y)
    assert np.isfinite(model.predict(pandas.DataFrame(columns | {"kind": ["other"] * ROWS}))).all()


def test_missing_cells():
    columns, y = table()
    holes = pandas.DataFrame(columns)
    holes.loc[3, "size"] = np.nan
    with pytest.raises(ValueError, match="row 4, column 'size'"):
        mercer.PowerRidge().fit(holes, y)
    x = np.random.default_rng(0).normal(size=(ROWS, 2))
    x[3, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        mercer.PowerRidge().fit(x, y)
    filled = x.copy()
    filled[3, 0] = np.nanmean(x[:, 0])
    a = mercer.PowerRidge("gaussian(lengthscale=1)", missing="mean").fit(x, y)
    b = mercer.PowerRidge("gaussian(lengthscale=1)").fit(filled, y)
    np.testing.assert_allclose(a.predict(x), b.predict(filled), atol=1e-12)
    with pytest.raises(ValueError, match="missing"):
        mercer.PowerRidge().fit(pandas.DataFrame(columns | {"kind": [None, *columns["kind"][1:]]}), y)


def test_what_is_neither_number_nor_text_is_refused():
    columns, y = table()
    with pytest.raises(ValueError, match="must hold numbers or text"):
        mercer.PowerRidge().fit(pandas.DataFrame(columns | {"list": [[1, 2]] * ROWS}), y)


def test_dates_are_days_in_every_kind_of_table():
    columns, y = table()
    when = pandas.date_range("2026-01-01", periods=ROWS)
    frames = [
        pandas.DataFrame(columns | {"when": when}),
        polars.DataFrame(columns | {"when": when.to_pydatetime().tolist()}),
        pyarrow.table(columns | {"when": pyarrow.array(when)}),
    ]
    found = [mercer.PowerRidge().fit(frame, y).predict(frame) for frame in frames]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


def test_layouts_and_types_of_arrays(waves):
    x, y = waves
    exact = np.round(x * 4)
    expected = mercer.PowerRidge("gaussian(lengthscale=3)").fit(exact, y).predict(exact)
    wide = np.zeros((60, 9))
    wide[:, ::3] = exact
    for one in (np.asfortranarray(exact), exact.astype(np.float32), exact.astype(np.int64), exact.astype(np.int8), wide[:, ::3], exact.tolist()):
        model = mercer.PowerRidge("gaussian(lengthscale=3)").fit(one, y)
        np.testing.assert_array_equal(model.predict(one), expected)
    readonly = exact.copy()
    readonly.flags.writeable = False
    np.testing.assert_array_equal(mercer.PowerRidge("gaussian(lengthscale=3)").fit(readonly, y).predict(readonly), expected)


def test_sparse_rows(waves):
    x, y = waves
    x = np.where(np.abs(x) > 0.7, x, 0.0)
    weights = np.linspace(0.0, 2, len(y))
    for model in (mercer.Lasso(alpha=0.02), mercer.LassoCV(cv=4), mercer.Ridge(alpha=2), mercer.Tikhonov("first-differences", alpha=2)):
        for sample_weight in (None, weights):
            dense = model.fit(x, y, sample_weight=sample_weight).predict(x)
            coefficients = model.coef_
            for kind in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
                model.fit(kind(x), y, sample_weight=sample_weight)
                np.testing.assert_allclose(model.coef_, coefficients, atol=1e-9)
                np.testing.assert_allclose(model.predict(kind(x)), dense, atol=1e-9)
                np.testing.assert_allclose(model.predict(x), dense, atol=1e-9)
    with pytest.raises(ValueError, match="without kernel, scaling"):
        mercer.Lasso(scale="standard").fit(sparse.csr_matrix(x), y)
    with pytest.raises(TypeError, match="[Ss]parse"):
        mercer.SVR().fit(sparse.csr_matrix(x), y)


def test_many_sparse_columns_take_no_dense_matrix():
    # Dense this would be 16 GB.
    random = np.random.default_rng(1)
    x = sparse.random(2000, 1_000_000, density=1e-5, format="csr", random_state=random)
    y = x[:, :500].sum(axis=1).A1 if hasattr(x[:, :500].sum(axis=1), "A1") else np.asarray(x[:, :500].sum(axis=1)).ravel()
    model = mercer.Lasso(alpha=1e-4, tolerance=1e-6).fit(x, y + random.normal(size=2000) * 0.01)
    assert model.certificate_["holds"] and model.predict(x).shape == (2000,)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_predictions_are_columns_where_set_output_says_so(kind):
    draw = np.random.default_rng(5)
    x = pandas.DataFrame(draw.normal(size=(40, 2)), columns=["a", "b"], index=range(100, 140))
    y = pandas.Series(x["a"] + 0.1 * draw.normal(size=40), name="dose", index=x.index)
    plain = mercer.KernelRidge().fit(x, y)
    model = clone(mercer.KernelRidge().set_output(predict=kind)).fit(x, y)
    values, ends = pickle.loads(pickle.dumps(model)).predict(x, interval=0.9)
    assert values.name == "dose" and list(ends.columns) == ["lower", "upper"]
    assert np.array_equal(np.asarray(values), plain.predict(x)) and np.array_equal(ends.to_numpy(), plain.predict(x, interval=0.9)[1])
    assert kind != "pandas" or list(values.index) == list(x.index)
    assert model.score(x, y) == plain.score(x, y)
    kinds = pandas.Series(np.where(y > 0.5, "high", np.where(y < -0.5, "low", "mid")), name="level", index=x.index)
    classes = mercer.KernelLogistic().fit(x, kinds)
    shown = mercer.KernelLogistic().set_output(predict=kind).fit(x, kinds)
    assert shown.predict(x).name == "level" and list(shown.predict_proba(x).columns) == ["high", "low", "mid"]
    assert np.array_equal(shown.predict_proba(x).to_numpy(), classes.predict_proba(x))
    assert np.array_equal(shown.decision_function(x).to_numpy(), classes.decision_function(x))
    with pytest.raises(ValueError, match="predict must be one of default, pandas, polars; got 'list'"):
        model.set_output(predict="list")


def test_streams_that_can_be_read_once():
    columns, y = table()
    whole = pyarrow.table(columns)
    reader = whole.to_reader()
    model = mercer.KernelRidge().fit(reader, y)
    np.testing.assert_array_equal(model.predict(whole.to_reader()), model.predict(whole))
    mercer.SVC().fit(whole.to_reader(), y > 0)
    mercer.Lasso(alpha=0.1).fit(whole.to_reader(), y)


def test_columns_by_place_twice_and_called_categories():
    columns, y = table()
    doubled = pyarrow.Table.from_arrays([pyarrow.array(columns["size"])] * 2, names=["a", "a"])
    with pytest.raises(ValueError, match="'a' names 2 of them"):
        mercer.KernelRidge().fit(doubled, y)
    # Fitted to an array, columns are known by their places whatever they are called.
    x = np.column_stack([columns["size"], np.cos(columns["size"])])
    model = mercer.KernelRidge().fit(x, y)
    arrow = pyarrow.table({"p": x[:, 0], "q": x[:, 1]})
    np.testing.assert_array_equal(model.predict(arrow), model.predict(x))
    with pytest.raises(ValueError, match="3 features"):
        model.predict(arrow.append_column("r", pyarrow.array(y)))
    # Numbers that are called categories are categories.
    codes = pandas.DataFrame({"code": pandas.Categorical(np.arange(ROWS) % 3)})
    names = pandas.DataFrame({"code": (np.arange(ROWS) % 3).astype(str)})
    same = [mercer.KernelRidge().fit(frame, y).predict(frame) for frame in (codes, names)]
    np.testing.assert_array_equal(*same)
