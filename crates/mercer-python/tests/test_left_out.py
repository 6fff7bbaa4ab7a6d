"""`loo_`, `path_` and intervals of every estimator that predicts, against refits; predictions of large tables in blocks."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import mercer

NUMBERS = {
    "SVR": mercer.SVR("rbf", gamma=0.3, reg_lambda=3e-3, epsilon=0.05),
    "QuantileRegressor": mercer.QuantileRegressor("rbf", gamma=0.3, quantile=0.5, reg_lambda=1e-3),
    "HuberRegressor": mercer.HuberRegressor("rbf", gamma=0.3, threshold=0.1, reg_lambda=1e-3),
    "Lasso": mercer.Lasso(alpha=0.01),
    "LassoCV": mercer.LassoCV(),
    "KernelLasso": mercer.KernelLasso("rbf", gamma=0.3, reg_lambda=0.01),
    "Tikhonov": mercer.Tikhonov("first-differences", reg_lambda=0.1),
    "Ridge": mercer.Ridge(reg_lambda=0.1),
    "KernelRidge": mercer.KernelRidge("rbf", gamma=0.3, reg_lambda=1e-3),
    "KernelRidgeCV": mercer.KernelRidgeCV(),
    "PowerRidge": mercer.PowerRidge("rbf", gamma=0.3, exponent=1.3, reg_lambda=0.01),
    "PowerRidgeCV": mercer.PowerRidgeCV(),
    "AutoKernelRegressor": mercer.AutoKernelRegressor(budget=1),
}
CHOOSING = {"LassoCV", "KernelRidgeCV", "PowerRidgeCV", "AutoKernelRegressor"}


def test_every_estimator_that_predicts_numbers_is_here():
    regressors = {name for name in mercer.__all__ if hasattr(getattr(mercer, name), "_to_alpha")}
    assert regressors == set(NUMBERS)


@pytest.mark.parametrize("name", NUMBERS)
def test_what_a_model_says_without_refits(name, waves):
    x, y = waves
    model = clone(NUMBERS[name]).fit(x, y)
    residuals = model.loo_
    assert residuals.shape == y.shape and np.isfinite(residuals).all()
    path = model.path_
    assert len(path["lambda"]) > 5 and all(np.isfinite(values).all() for values in path.values())
    values, ends = model.predict(x, interval=0.9)
    inside = np.mean((ends[:, 0] <= y) & (y <= ends[:, 1]))
    assert ends.shape == (60, 2) and inside >= 0.85, inside
    assert model.marginal_effects().values.shape[0] == 60 and "holds" in model.certificate_
    if name in CHOOSING:
        return
    refits = np.array([y[row] - clone(model).fit(np.delete(x, row, 0), np.delete(y, row)).predict(x[[row]])[0] for row in range(60)])
    # Losses with kinks end at a gap, not at a point.
    np.testing.assert_allclose(residuals, refits, atol=2e-3 if name in ("SVR", "QuantileRegressor") else 1e-5)


@pytest.mark.parametrize("exponent", [1.3, 2.0])
def test_clipped_predictions_and_their_errors_stay_within_the_range(exponent, waves):
    x, y = waves
    y = np.maximum(y, np.median(y))
    model = mercer.PowerRidge("rbf", gamma=3.0, exponent=exponent, reg_lambda=1e-6, clip=True).fit(x, y)
    free = clone(model).set_params(clip=False).fit(x, y)
    at = x + 0.05
    low, high = y.min(), y.max()
    assert ((free.predict(at) < low) | (free.predict(at) > high)).any()
    np.testing.assert_allclose(model.predict(at), np.clip(free.predict(at), low, high), atol=1e-9)
    refits = np.array([y[row] - clone(model).fit(np.delete(x, row, 0), np.delete(y, row)).predict(x[[row]])[0] for row in range(60)])
    np.testing.assert_allclose(model.loo_, refits, atol=1e-5)
    for chooser in (mercer.PowerRidgeCV(clip=True), mercer.KernelRidgeCV(clip=True), mercer.AutoKernelRegressor(1, clip=True)):
        found = chooser.fit(x, y).predict(at)
        assert found.min() >= low and found.max() <= high


@pytest.mark.parametrize(
    "model",
    [
        mercer.SVC("rbf", gamma=1, reg_lambda=3e-3),
        mercer.KernelLogistic("rbf", gamma=1, reg_lambda=3e-3),
        mercer.KernelLogistic("rbf", gamma=1, reg_lambda=3e-3, multinomial=True),
    ],
)
def test_classes_have_decision_values_without_the_row_and_no_intervals(model, rings):
    x, y = rings
    many = np.where(x[:, 0] > 0.8, "east", y)
    for labels in (y, many):
        fitted = clone(model).fit(x, labels)
        values = fitted.loo_
        assert values.shape == ((80,) if labels is y else (80, 3))
        guess = fitted.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]
        refits = [clone(fitted).fit(np.delete(x, row, 0), np.delete(labels, row)).predict(x[[row]])[0] for row in range(80)]
        assert (guess == np.array(refits)).all()
        assert len(fitted.path_["lambda"]) > 5 and np.isfinite(fitted.marginal_effects().values).all() and "holds" in str(fitted.certificate_)
        with pytest.raises(ValueError, match="no intervals"):
            fitted.predict(x, interval=0.9)


def test_several_quantiles_and_targets_have_them_each(waves):
    x, y = waves
    model = mercer.QuantileRegressor(quantile=[0.2, 0.8], reg_lambda="kfold:5").fit(x, y)
    assert model.loo_.shape == (60, 2)
    single = mercer.QuantileRegressor(quantile=0.8, reg_lambda=model.lambda_[1]).fit(x, y)
    np.testing.assert_allclose(model.loo_[:, 1], single.loo_, atol=1e-5)
    np.testing.assert_allclose(model.predict(x, interval=0.8)[1][:, 1], single.predict(x, interval=0.8)[1], atol=1e-5)
    both = mercer.Lasso(alpha=0.01).fit(x, np.column_stack([y, 2 * y + x[:, 2]]))
    np.testing.assert_allclose(both.loo_[:, 0], mercer.Lasso(alpha=0.01).fit(x, y).loo_, atol=1e-9)
    assert both.predict(x[:5], interval=0.8)[1].shape == (5, 2, 2)


def test_weights_of_zero_keep_their_places(waves):
    x, y = waves
    weights = np.arange(60) % 4.0
    for model in (mercer.SVR(C=3), mercer.Lasso(alpha=0.01), mercer.Tikhonov(reg_lambda=0.1)):
        loo = model.fit(x, y, sample_weight=weights).loo_
        assert np.array_equal(np.isnan(loo), weights == 0)


def test_sparse_rows_say_the_same(waves):
    x, y = waves
    x = np.where(np.abs(x) > 0.5, x, 0.0)
    for model in (mercer.Ridge(reg_lambda=0.1), mercer.Tikhonov(reg_lambda=0.1), mercer.Lasso(alpha=0.01)):
        dense, thin = clone(model).fit(x, y), clone(model).fit(sparse.csr_matrix(x), y)
        np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-9)
        np.testing.assert_allclose(thin.loo_, dense.loo_, atol=1e-8)
        assert len(thin.path_["lambda"]) > 5
        with pytest.raises(ValueError, match="toarray|dense"):
            thin.predict(sparse.csr_matrix(x), interval=0.9)
    for criterion in ("loo", "gcv", "kfold:5"):
        dense = mercer.Ridge(reg_lambda=criterion).fit(x, y)
        thin = mercer.Ridge(reg_lambda=criterion).fit(sparse.csr_matrix(x), y)
        if criterion == "kfold:5":
            # Both are next to nothing: three columns need no ridge.
            assert thin.certificate_["holds"] and max(thin.lambda_, dense.lambda_) < 1e-5
        else:
            np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-9)


def test_wide_sparse_ridge_is_that_of_scikit_learn():
    from sklearn.linear_model import Ridge

    x = sparse.random(3000, 60_000, density=2e-4, format="csr", random_state=3)
    y = np.asarray(x @ np.random.default_rng(4).normal(size=60_000)) + 1
    ours = mercer.Ridge(alpha=0.5).fit(x, y)
    theirs = Ridge(alpha=0.5, solver="sparse_cg", tol=1e-12).fit(x, y)
    np.testing.assert_allclose(ours.predict(x), theirs.predict(x), atol=1e-6)
    assert ours.certificate_["duality_gap"] < 1e-9
    with pytest.raises(ValueError, match="kfold"):
        mercer.Ridge(reg_lambda="loo").fit(x, y)


def test_a_loaded_model_says_what_it_lacks(waves, tmp_path):
    x, y = waves
    mercer.SVR(C=3).fit(x, y).save(tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    for attribute in ("loo_", "path_"):
        with pytest.raises(AttributeError, match="loaded"):
            getattr(again, attribute)
    with pytest.raises(ValueError, match="loaded"):
        again.predict(x, interval=0.9)
    with pytest.raises(ValueError, match="cv"):
        mercer.SVR(C=3).fit(x, y).predict(x, interval=0.9, method="jackknife+")


def test_what_cannot_be_left_out_is_refused_in_a_sentence(waves):
    x, y = waves
    kernel = mercer.kernel_matrix(x, kernel="gaussian(lengthscale=2)")
    model = mercer.SVR("precomputed", C=3).fit(kernel, y)
    np.testing.assert_allclose(model.loo_, mercer.SVR("gaussian(lengthscale=2)", C=3).fit(x, y).loo_, atol=1e-4)
    with pytest.raises(ValueError, match="formula"):
        model.predict(kernel, interval=0.9)
    with pytest.raises(AttributeError, match="at least 2"):
        _ = mercer.SVR().fit(x[:1], y[:1]).loo_
    many = np.random.default_rng(1).normal(size=(300, 2))
    with pytest.warns(UserWarning, match="first order"):
        _ = mercer.KernelLogistic(C=3).fit(many, many[:, 0] > 0).loo_


def peak() -> int:
    """The most memory that was resident since it was last asked to forget, in MB."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) // 1024


def test_predictions_take_memory_for_the_answers_only(waves):
    """Twice the rows may take twice the answers, and nothing else."""
    pandas = pytest.importorskip("pandas")
    x, y = waves
    model = mercer.KernelRidge("rbf", gamma=0.1, alpha=0.1).fit(x, y)
    classes = mercer.SVC().fit(x, y > 0)
    many = np.full((2_000_000, 3), 0.5)
    many[-1] = x[0]
    for rows in (many, pandas.DataFrame(many)):
        model.predict(rows[:70_000])
        for predict, of in ((model.predict, model), (classes.predict, classes)):
            try:
                with open("/proc/self/clear_refs", "w") as forget:
                    forget.write("5")
            except OSError:
                pytest.skip("this system does not tell peaks of memory")
            before = peak()
            values = predict(rows)
            grown = peak() - before
            # 16 MB of answers (classes: their codes too), and blocks of 65,536 rows.
            assert grown < 16 + 16 * (of is classes) + 24, grown
        assert len(values) == len(many)
    np.testing.assert_array_equal(model.predict(many)[-1:], model.predict(x[:1]))


def test_blocks_count_the_rows_above_them():
    polars = pytest.importorskip("polars")
    x = {"a": np.arange(60.0), "b": ["p", "q", "r"] * 20}
    model = mercer.KernelRidge().fit(polars.DataFrame(x), np.sin(np.arange(60)))
    many = polars.DataFrame({"a": np.zeros(140_000), "b": ["p"] * 140_000})
    assert (model.predict(many) == model.predict(many[:1])[0]).all()
    bad = many.with_columns(polars.when(polars.int_range(140_000) == 139_998).then(np.inf).otherwise(0.0).alias("a"))
    with pytest.raises(ValueError, match="row 139999"):
        model.predict(bad)
