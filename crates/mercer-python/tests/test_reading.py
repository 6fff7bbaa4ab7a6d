"""How columns are read, groups, importance and where a model comes from."""

import datetime
import pickle
import warnings

import numpy as np
import pandas
import pytest

import mercer
from mercer import AutoKernelRegressor, KernelRidgeCV, PowerRidge, PowerRidgeCV

ROWS = 40
RANDOM = np.random.default_rng(1)
X = RANDOM.uniform(0, 6, ROWS)
Y = np.sin(X) + 0.1 * RANDOM.normal(size=ROWS)


def kinds(model):
    return {column["name"]: (column["kind"], column["unit"]) for column in model.columns_}


def table(**more):
    return pandas.DataFrame({"x": X} | more)


def test_texts_that_say_numbers_are_numbers():
    share = [f"{value:.1f} %" for value in 10 * X]
    weight = [f"{value:.2f} kg" for value in X]
    day = [str(datetime.date(2020, 1, 1) + datetime.timedelta(days=int(10 * value))) for value in X]
    money = [f"${1000 * value:,.2f}" for value in X]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PowerRidge(scale="standard").fit(table(share=share, weight=weight, day=day, money=money), Y)
    assert kinds(model) == {
        "x": ("number", None),
        "share": ("number", "%"),
        "weight": ("number", "kg"),
        "day": ("number", "days since 1970-01-01"),
        "money": ("number", "$"),
    }
    plain = table(share=10 * X, weight=X, day=X, money=X)
    plain["share"] = [float(text[:-2]) for text in share]
    plain["weight"] = [float(text[:-3]) for text in weight]
    plain["day"] = [(datetime.date.fromisoformat(text) - datetime.date(1970, 1, 1)).days for text in day]
    plain["money"] = [float(text[1:].replace(",", "")) for text in money]
    same = PowerRidge(scale="standard").fit(plain, Y)
    rows = table(share=share, weight=weight, day=day, money=money)
    assert np.array_equal(model.predict(rows), same.predict(plain))
    assert np.array_equal(mercer.load(saved(model)).predict(rows), model.predict(rows))


def saved(model):
    import tempfile

    path = tempfile.mkdtemp() + "/m.mercer"
    model.save(path)
    return path


def test_dates_and_times_of_every_table_are_the_same_numbers():
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    start = np.datetime64("2020-01-01T00:00:00", "us")
    moments = start + (86_400_000_000 * X).astype("timedelta64[us]")
    frame = table(when=moments)
    model = PowerRidge(scale="standard").fit(frame, Y)
    days = (moments - np.datetime64("1970-01-01T00:00:00", "us")) / np.timedelta64(1, "D")
    same = PowerRidge(scale="standard").fit(table(when=days), Y)
    assert np.allclose(model.predict(frame), same.predict(table(when=days)), rtol=0, atol=1e-9)
    for other in (polars.DataFrame({"x": X, "when": moments}), pyarrow.table({"x": X, "when": moments})):
        assert np.array_equal(PowerRidge(scale="standard").fit(other, Y).predict(other), model.predict(frame))
    zoned = table(when=pandas.Series(moments).dt.tz_localize("Europe/Berlin"))
    model = PowerRidge(scale="standard").fit(zoned, Y)
    assert kinds(model)["when"] == ("number", "days since 1970-01-01 UTC")
    days_only = table(when=pandas.to_datetime(["2020-01-01", "2020-01-05"] * (ROWS // 2)))
    assert kinds(PowerRidge().fit(days_only, Y))["when"] == ("number", "days since 1970-01-01")


def test_columns_that_carry_nothing_are_said():
    constant = PowerRidge(scale="standard").fit(table(k=[5.0] * ROWS, c=["red", "green"] * (ROWS // 2)), Y)
    assert kinds(constant) == {"x": ("number", None), "k": ("constant", None), "c": ("categories", None)}
    names = [f"row {place}" for place in range(ROWS)]
    with pytest.warns(UserWarning, match="'name' is not used: 40 different texts"):
        model = PowerRidge().fit(table(name=names), Y)
    assert kinds(model)["name"] == ("identifier", None)
    assert kinds(PowerRidge().fit(table(name=pandas.Categorical(names)), Y))["name"] == ("categories", None)
    with pytest.warns(UserWarning, match="plain numbers are read as categories: 'code'"):
        model = PowerRidge().fit(table(code=["10", "20"] * (ROWS // 2)), Y)
    assert kinds(model)["code"] == ("categories", None)
    assert len(model.predict(table(code=["10"] * ROWS))) == ROWS


def test_what_may_mean_two_things_is_refused():
    with pytest.raises(ValueError, match="may be 3000 or 3"):
        PowerRidge().fit(table(price=["3,000", "950"] * (ROWS // 2)), Y)
    with pytest.raises(ValueError, match="order of day and month is not known"):
        PowerRidge().fit(table(day=["05/01/2020", "06/01/2020"] * (ROWS // 2)), Y)
    model = PowerRidge().fit(table(w=[f"{value:.2f} kg" for value in X]), Y)
    with pytest.raises(ValueError, match="row 1, column \"w\": \"2 lb\" is in lb, and the training rows were in kg"):
        model.predict(pandas.DataFrame({"x": [1.0], "w": ["2 lb"]}))


def test_groups_are_left_out_whole():
    groups = np.repeat(["a", "b", "c", "d", "e", "f", "g", "h"], ROWS // 8)
    y = Y + np.repeat(RANDOM.normal(size=8), ROWS // 8)
    x = X[:, None]
    model = PowerRidge("gaussian(lengthscale=1)", reg_lambda=0.01).fit(x, y, groups=groups)
    for name in "ch":
        rest = groups != name
        refit = PowerRidge("gaussian(lengthscale=1)", reg_lambda=0.01).fit(x[rest], y[rest])
        assert np.allclose(model.loo_[~rest], y[~rest] - refit.predict(x[~rest]), rtol=0, atol=1e-9)
    assert np.allclose(PowerRidge("gaussian(lengthscale=1)", reg_lambda=0.01).fit(x, y, groups=list(groups)).loo_, model.loo_)
    chosen = KernelRidgeCV().fit(x, y, groups=groups)
    assert chosen.summaries_[0]["chosen_by"] == "logo" and chosen.summaries_[0]["groups"] == 8
    assert chosen.summaries_[0]["loo_rmse"] is None or chosen.lambda_ != KernelRidgeCV().fit(x, y).lambda_
    assert AutoKernelRegressor(budget=5).fit(x, y, groups=groups).summaries_[0]["groups"] == 8
    with pytest.raises(ValueError, match="one entry for each of the 40 rows"):
        PowerRidge().fit(x, y, groups=groups[:5])
    with pytest.raises(ValueError, match="row 3 has no group"):
        PowerRidge().fit(x, y, groups=[*groups[:2], None, *groups[3:]])


def test_forward_chaining():
    x = np.arange(ROWS, dtype=float)[:, None]
    model = PowerRidgeCV(cv="forward(folds=4)").fit(x, Y)
    assert model.summaries_[0]["chosen_by"].startswith("forward(")
    with pytest.raises(ValueError, match="forward|time"):
        model.predict(x, interval=0.9)


def test_importance_is_measured_on_held_out_rows():
    frame = table(noise=RANDOM.uniform(size=ROWS))
    model = PowerRidge(scale="standard", reg_lambda=1e-3).fit(frame, Y)
    found = model.importance(frame, Y)
    assert found.names == ["x", "noise"] and found.share[0] > 0.9
    assert found.increase[0] > 5 * found.standard_error[0] > 0
    assert found.rows()[0]["column"] == "x" and "noise" in repr(found) and "<table>" in found._repr_html_()
    grouped = model.importance(frame, Y, groups=np.repeat(np.arange(8), 5))
    assert grouped.names[0] == "x"
    loaded = pickle.loads(pickle.dumps(model)).importance(frame, Y)
    assert np.array_equal(loaded.increase, found.increase)
    with pytest.raises(ValueError, match="y must have 40 rows"):
        model.importance(frame, Y[:3])
    with pytest.raises(ValueError, match="those of the fit"):
        model.importance(frame, np.roll(Y, 7))


def test_models_say_where_they_come_from():
    model = PowerRidge().fit(X[:, None], Y)
    assert model.provenance_["program"].startswith("mercer ")
