"""What estimators can do beyond predicting, each against something that is not itself."""

import pickle

import numpy as np
import pandas
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer


def test_leave_one_out_is_that_of_refits(waves):
    x, y = waves
    for exponent in (1.0, 1.5, 2.0, 3.0):
        model = mercer.PowerRidge("gaussian(lengthscale=2)", exponent=exponent, reg_lambda=0.01).fit(x, y)
        for row in (0, 17, 59):
            keep = np.arange(60) != row
            without = clone(model).fit(x[keep], y[keep])
            np.testing.assert_allclose(model.loo_[row], y[row] - without.predict(x[[row]])[0], atol=1e-10)


def test_leave_one_out_of_a_fit_without_diagnostics_is_computed_when_asked_for():
    random = np.random.default_rng(2)
    x = random.normal(size=(700, 2))
    y = np.sin(x[:, 0]) + 0.1 * random.normal(size=700)
    plain = mercer.KernelRidge("gaussian(lengthscale=1)", reg_lambda=1e-3).fit(x, y)
    thorough = mercer.KernelRidge("gaussian(lengthscale=1)", reg_lambda=1e-3, diagnostics=True).fit(x, y)
    assert plain.summaries_[0]["loo_rmse"] is None and thorough.summaries_[0]["loo_rmse"] is not None
    np.testing.assert_allclose(plain.loo_, thorough.loo_, atol=1e-9)


def test_the_path_is_that_of_single_fits(waves):
    x, y = waves
    model = mercer.PowerRidge("gaussian(lengthscale=2)", exponent=1.5, reg_lambda=0.01).fit(x, y)
    path = model.path(exponent=2.0, lambdas=[1e-3, 1e-1])
    for place, value in enumerate((1e-3, 1e-1)):
        single = mercer.PowerRidge("gaussian(lengthscale=2)", reg_lambda=value).fit(x, y)
        summary = single.summaries_[0]
        for name in ("norm", "dof", "train_rmse", "loo_rmse"):
            np.testing.assert_allclose(path[name][place], summary[name], rtol=1e-9)
    assert np.all(np.diff(model.path_["dof"]) <= 1e-9)


def test_a_choice_is_the_best_of_its_surface(waves):
    x, y = waves
    model = mercer.PowerRidgeCV("gaussian(lengthscale=2)", exponents=(1, 2), on_grid=True, lambdas=np.geomspace(1e-5, 1, 9)).fit(x, y)
    scores = {}
    for exponent in (1.0, 2.0):
        for value in np.geomspace(1e-5, 1, 9):
            single = mercer.PowerRidge("gaussian(lengthscale=2)", exponent=exponent, reg_lambda=value).fit(x, y)
            scores[exponent, value] = np.mean(single.loo_**2)
    assert (model.exponent_, model.lambda_) == min(scores, key=scores.get)
    for trial in model.surface_:
        mine = [scores[trial["exponent"], value] for value in np.geomspace(1e-5, 1, 9)]
        np.testing.assert_allclose(trial["scores"], mine, rtol=1e-8)


def test_given_splits_are_the_folds(waves):
    x, y = waves
    lambdas = np.geomspace(1e-4, 1, 7)
    folds = KFold(4, shuffle=True, random_state=0)
    model = mercer.KernelRidgeCV("gaussian(lengthscale=2)", lambdas=lambdas, on_grid=True, cv=folds).fit(x, y)
    errors = []
    for value in lambdas:
        squares = 0.0
        for train, test in folds.split(x):
            single = mercer.PowerRidge("gaussian(lengthscale=2)", reg_lambda=value).fit(x[train], y[train])
            squares += np.sum((y[test] - single.predict(x[test])) ** 2)
        errors.append(squares / 60)
    np.testing.assert_allclose(model.surface_[0]["scores"], errors, rtol=1e-8)
    with pytest.raises(ValueError, match="every row once"):
        mercer.KernelRidgeCV(cv=[(np.arange(30), np.arange(30, 60))]).fit(x, y)


def test_intervals_cover_and_are_those_of_refits(waves):
    x, y = waves
    model = mercer.PowerRidge("gaussian(lengthscale=2)", reg_lambda=1e-3).fit(x, y)
    new = x[:5] + 0.1
    value, ends = model.predict(new, interval=0.9)
    np.testing.assert_array_equal(value, model.predict(new))
    lower, upper = [], []
    for row in range(60):
        keep = np.arange(60) != row
        without = clone(model).fit(x[keep], y[keep])
        residual = abs(y[row] - without.predict(x[[row]])[0])
        lower.append(without.predict(new) - residual)
        upper.append(without.predict(new) + residual)
    # ⌊0.1 · 61⌋ = 6
    np.testing.assert_allclose(ends[:, 0], np.sort(lower, axis=0)[5], atol=1e-9)
    np.testing.assert_allclose(ends[:, 1], np.sort(upper, axis=0)[54], atol=1e-9)
    for method in ("cv+", "gaussian-process"):
        assert model.predict(new, interval=0.9, method=method)[1].shape == (5, 2)


def test_intervals_of_a_linear_function_use_the_rows_of_its_fit(waves):
    x, y = waves
    linear = mercer.Ridge(reg_lambda=1e-3).fit(x, y).predict(x[:4], interval=0.8)[1]
    kernel = mercer.PowerRidge("linear + 1e-300*gaussian", reg_lambda=1e-3).fit(x, y).predict(x[:4], interval=0.8)[1]
    np.testing.assert_allclose(linear, kernel, atol=1e-8)


def test_what_has_no_meaning_is_refused_in_a_sentence(waves, rings):
    x, y = waves
    svr = mercer.SVR().fit(x, y)
    with pytest.raises(ValueError, match="epsilon-insensitive"):
        svr.predict(x, interval=0.9, method="gaussian-process")
    with pytest.raises(AttributeError, match="coef_ is there for linear functions"):
        _ = svr.coef_
    with pytest.raises(AttributeError, match="dual_coef_ is there for kernel expansions"):
        _ = mercer.Ridge().fit(x, y).dual_coef_
    with pytest.raises(AttributeError, match="predict_proba"):
        _ = mercer.SVC().fit(*rings).predict_proba
    with pytest.raises(ValueError, match="jackknife"):
        mercer.KernelRidge().fit(x, y).predict(x, interval=0.9, method="bootstrap")


def test_marginal_effects_are_derivatives(waves):
    x, y = waves
    for model in (mercer.PowerRidge(reg_lambda=1e-3), mercer.Ridge(reg_lambda=1e-3), mercer.SVR(C=10)):
        model.fit(x, y)
        effects = model.marginal_effects(x)
        for column in range(3):
            step = np.zeros(3)
            step[column] = 1e-5
            slope = (model.predict(x + step) - model.predict(x - step)) / 2e-5
            np.testing.assert_allclose(effects.values[:, column], slope, atol=1e-5)
            np.testing.assert_allclose(effects.mean[column], slope.mean(), atol=1e-6)
        assert effects.names == ["x1", "x2", "x3"]
        assert np.isnan(effects.standard_error).all() == isinstance(model, mercer.SVR)
        assert "effect of" in repr(effects) and "<table>" in effects._repr_html_()
    assert list(mercer.PowerRidge().fit(x, y).marginal_effects().to_pandas().columns)[:3] == ["effect of", "mean", "std. error"]


def test_landmarks_approximate_the_kernel(waves):
    x, _ = waves
    features = mercer.Nystroem("gaussian(lengthscale=1)", n_components=40).fit(x)
    product = features.transform(x) @ features.transform(x).T
    gram = mercer.kernel_matrix(x, kernel="gaussian(lengthscale=1)")
    np.testing.assert_allclose(np.mean(np.diag(gram - product)), features.residual_, atol=1e-12)
    assert np.linalg.eigvalsh(gram - product).min() > -1e-10
    whole = mercer.Nystroem("gaussian(lengthscale=1)", n_components=60).fit_transform(x)
    np.testing.assert_allclose(whole @ whole.T, gram, atol=1e-6)
    named = mercer.Nystroem(n_components=5).set_output(transform="pandas").fit_transform(x)
    assert list(named.columns) == [f"nystroem{place}" for place in range(5)]


def test_the_automatic_mode_says_what_it_tried(waves):
    x, y = waves
    model = mercer.AutoKernelRegressor(budget=30).fit(x, y)
    assert sum(one["is_chosen"] for one in model.candidates_) == 1
    assert model.score(x, y) > 0.95 and not model.ran_out_
    assert abs(sum(model.importance_.values()) - 1) < 1e-9
    assert model.importance_["x3"] < model.importance_["x1"]


def test_pipelines_searches_and_workers(waves):
    x, y = waves
    pipeline = make_pipeline(StandardScaler(), mercer.PowerRidge(reg_lambda=1e-3))
    assert cross_val_score(pipeline, x, y, cv=3).mean() > 0.9
    grid = {"exponent": [1.0, 1.5, 2.0], "reg_lambda": [1e-4, 1e-2]}
    alone = GridSearchCV(mercer.PowerRidge(), grid, cv=3).fit(x, y)
    for backend in ("loky", "threading", "multiprocessing"):
        import joblib

        with joblib.parallel_backend(backend):
            beside = GridSearchCV(mercer.PowerRidge(), grid, cv=3, n_jobs=2).fit(x, y)
        np.testing.assert_array_equal(alone.cv_results_["mean_test_score"], beside.cv_results_["mean_test_score"])


def _threads():
    import mercer

    mercer.PowerRidge().fit(np.arange(8.0)[:, None], np.arange(8.0))
    return mercer.threads()


def test_workers_share_the_processors():
    import joblib

    here = mercer.threads()
    with joblib.parallel_config(backend="loky", n_jobs=2, inner_max_num_threads=1):
        assert set(joblib.Parallel()(joblib.delayed(_threads)() for _ in range(4))) == {1}
    assert mercer.threads() == here


def test_results_do_not_depend_on_the_number_of_threads(waves):
    x, y = waves
    before = mercer.threads()
    found = set()
    try:
        for count in (1, 2, 3, 4):
            mercer.set_threads(count)
            found.add(mercer.PowerRidgeCV().fit(x, y).to_bytes())
    finally:
        mercer.set_threads(before)
    assert len(found) == 1


def test_notebook_pages(waves):
    x, y = waves
    model = mercer.PowerRidgeCV()
    assert "certified" not in model._repr_html_()
    model.fit(x, y)
    page = model._repr_html_()
    assert "certified" in page and "leave-one-out RMSE" in page and model._repr_mimebundle_()["text/html"] == page


def test_effects_without_rows_are_those_at_the_rows_of_the_fit(waves):
    x, y = waves
    models = (mercer.SVR(epsilon=0.3), mercer.KernelLasso(), mercer.PowerRidge(rank=8), mercer.Lasso(alpha=0.01), mercer.Ridge())
    for model in models:
        model.fit(x, y)
        np.testing.assert_allclose(model.marginal_effects().mean, model.marginal_effects(x).mean, rtol=1e-12)
        with pytest.raises(ValueError, match="table at whose rows the effects are taken"):
            pickle.loads(pickle.dumps(model)).marginal_effects()


def test_landmarks_have_paths_and_intervals(waves):
    x, y = waves
    model = mercer.PowerRidgeCV(rank=20).fit(x, y)
    value, ends = model.predict(x, interval=0.9)
    assert len(model.path_["lambda"]) > 10
    assert np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])) > 0.8 and (ends[:, 0] <= value).all()


def test_a_precomputed_kernel_with_rows_of_weight_0(waves):
    x, y = waves
    weights = np.where(np.arange(len(y)) % 4 == 0, 0.0, 1.0)
    gram = mercer.kernel_matrix(x, kernel="gaussian(lengthscale=1.5)")
    model = mercer.KernelRidge("precomputed", alpha=0.1).fit(gram, y, weights)
    other = mercer.KernelRidge("gaussian(lengthscale=1.5)", alpha=0.1).fit(x, y, weights)
    np.testing.assert_allclose(model.predict(gram), other.predict(x), atol=1e-9)


def test_frames_of_targets_keep_their_names(waves):
    x, y = waves
    targets = pandas.DataFrame({"dose": y, "size": -y})
    model = mercer.Ridge().set_output(predict="pandas").fit(x, targets)
    assert list(model.predict(x).columns) == ["dose", "size"]
    sparse_model = mercer.Lasso(alpha=0.01).set_output(predict="pandas").fit(sparse.csr_matrix(x), y)
    assert isinstance(sparse_model.predict(sparse.csr_matrix(x)), pandas.Series)
