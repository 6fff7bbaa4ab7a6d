"""At equal parameters, the predictions of scikit-learn to 1e-6 (relative to the spread of the target)."""

import numpy as np
import pytest
from sklearn import kernel_ridge, linear_model, svm

import mercer


def close(ours, theirs, digits=1e-6):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=digits * np.ptp(theirs))


KERNELS = [
    ({"kernel": "rbf", "gamma": 0.3}, {"kernel": "rbf", "gamma": 0.3}),
    ({"kernel": "laplacian", "gamma": 0.2}, {"kernel": "laplacian", "gamma": 0.2}),
    ({"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.5}, {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.5}),
    ({"kernel": "linear"}, {"kernel": "linear"}),
    ({"kernel": "gaussian(lengthscale=2)"}, {"kernel": "rbf", "gamma": 0.125}),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("ours", "theirs"), KERNELS, ids=lambda one: one["kernel"])
def test_kernel_ridge(waves, ours, theirs, weighted):
    x, y = waves
    weights = np.linspace(0.5, 2, len(y)) if weighted else None
    for alpha in (0.01, 1.0):
        a = mercer.KernelRidge(alpha=alpha, **ours).fit(x, y, sample_weight=weights)
        b = kernel_ridge.KernelRidge(alpha=alpha, **theirs).fit(x, y, sample_weight=weights)
        close(a.predict(x + 0.1), b.predict(x + 0.1))


def test_kernel_ridge_of_several_targets_and_of_a_precomputed_kernel(waves):
    x, y = waves
    both = np.column_stack([y, y**2])
    a = mercer.KernelRidge("rbf", gamma=0.3, alpha=0.1).fit(x, both).predict(x)
    close(a, kernel_ridge.KernelRidge(kernel="rbf", gamma=0.3, alpha=0.1).fit(x, both).predict(x))
    gram = mercer.kernel_matrix(x, kernel="rbf", gamma=0.3)
    np.testing.assert_allclose(mercer.KernelRidge("precomputed", alpha=0.1).fit(gram, y).predict(gram), a[:, 0], atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_ridge(waves, weighted):
    x, y = waves
    weights = np.linspace(0.5, 2, len(y)) if weighted else None
    for alpha in (1e-3, 1.0, 100.0):
        a = mercer.Ridge(alpha=alpha).fit(x, y, sample_weight=weights)
        b = linear_model.Ridge(alpha=alpha, solver="cholesky").fit(x, y, sample_weight=weights)
        close(a.predict(x), b.predict(x))
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-8)
        np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-8)
        np.testing.assert_allclose(mercer.Tikhonov(alpha=alpha).fit(x, y, weights).coef_, b.coef_, rtol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_lasso(waves, weighted):
    x, y = waves
    weights = np.linspace(0.5, 2, len(y)) if weighted else None
    for alpha in (1e-3, 0.05, 0.3):
        a = mercer.Lasso(alpha=alpha).fit(x, y, sample_weight=weights)
        b = linear_model.Lasso(alpha=alpha, tol=1e-14, max_iter=100_000).fit(x, y, sample_weight=weights)
        close(a.predict(x), b.predict(x))
        assert ((a.coef_ == 0) == (b.coef_ == 0)).all()


def test_lasso_of_given_candidates_by_folds(waves):
    x, y = waves
    alphas = np.geomspace(1e-3, 0.5, 12)
    splits = [(np.flatnonzero(np.arange(60) % 4 != fold), np.flatnonzero(np.arange(60) % 4 == fold)) for fold in range(4)]
    a = mercer.LassoCV(alphas=alphas, cv=splits).fit(x, y)
    b = linear_model.LassoCV(alphas=alphas, cv=splits, tol=1e-12, max_iter=100_000).fit(x, y)
    np.testing.assert_allclose(a.alpha_, b.alpha_, rtol=1e-12)
    np.testing.assert_allclose(a.path_["score"], b.mse_path_.mean(axis=1)[::-1], rtol=1e-5)
    close(a.predict(x), b.predict(x))


@pytest.mark.parametrize("cost", [0.5, 10.0])
def test_support_vector_regression(waves, cost):
    x, y = waves
    a = mercer.SVR("rbf", gamma=0.3, C=cost, epsilon=0.05).fit(x, y)
    b = svm.SVR(kernel="rbf", gamma=0.3, C=cost, epsilon=0.05, tol=1e-10).fit(x, y)
    close(a.predict(x), b.predict(x))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cost", [0.5, 10.0])
def test_decision_values_of_support_vector_machines(rings, cost, weighted):
    x, y = rings
    weights = np.linspace(0.5, 2, len(y)) if weighted else None
    a = mercer.SVC("rbf", gamma=0.5, C=cost).fit(x, y, sample_weight=weights)
    b = svm.SVC(kernel="rbf", gamma=0.5, C=cost, tol=1e-10).fit(x, y, sample_weight=weights)
    close(a.decision_function(x), b.decision_function(x))
    assert (a.predict(x) == b.predict(x)).all()


def test_class_weights(rings):
    x, y = rings
    for weight in ("balanced", {"far": 3.0, "near": 0.5}):
        a = mercer.SVC("rbf", gamma=0.5, C=2, class_weight=weight).fit(x, y)
        b = svm.SVC(kernel="rbf", gamma=0.5, C=2, tol=1e-10, class_weight=weight).fit(x, y)
        close(a.decision_function(x), b.decision_function(x))


def test_logistic_regression(rings):
    x, y = rings
    a = mercer.KernelLogistic("linear", C=2.0).fit(x, y)
    b = linear_model.LogisticRegression(C=2.0, tol=1e-12, max_iter=10_000).fit(x, y)
    np.testing.assert_allclose(a.predict_proba(x), b.predict_proba(x), atol=1e-6)


def test_multinomial_logistic_regression(waves):
    x, y = waves
    classes = np.digitize(y, [-0.5, 0.5])
    a = mercer.KernelLogistic("linear", C=2.0, multinomial=True).fit(x, classes)
    b = linear_model.LogisticRegression(C=2.0, tol=1e-12, max_iter=10_000).fit(x, classes)
    np.testing.assert_allclose(a.predict_proba(x), b.predict_proba(x), atol=1e-6)


def test_huber_with_the_scale_that_scikit_learn_finds(waves):
    x, y = waves
    y = y.copy()
    y[:4] += 5
    b = linear_model.HuberRegressor(epsilon=1.35, alpha=0.1, tol=1e-12, max_iter=10_000).fit(x, y)
    a = mercer.HuberRegressor("linear", threshold=1.35 * b.scale_, reg_lambda=0.1 * b.scale_ / (2 * len(y))).fit(x, y)
    close(a.predict(x), b.predict(x))


def test_quantiles_without_a_penalty():
    # With an odd number of quantile steps the linear program has one solution.
    random = np.random.default_rng(3)
    x = random.normal(size=(41, 1))
    y = 2 * x[:, 0] + random.normal(size=41)
    a = mercer.QuantileRegressor("linear", quantile=0.3, reg_lambda=1e-9, tolerance=1e-8).fit(x, y)
    b = linear_model.QuantileRegressor(quantile=0.3, alpha=0, solver="highs").fit(x, y)
    close(a.predict(x), b.predict(x), 1e-5)


def test_either_ours_or_theirs(waves):
    x, y = waves
    for wrong in (
        mercer.KernelRidge(alpha=1, reg_lambda=1),
        mercer.Lasso(alpha=1, reg_lambda=1),
        mercer.SVR(C=1, reg_lambda=1),
        mercer.PowerRidgeCV(lambdas=[1], alphas=[1]),
    ):
        with pytest.raises(ValueError, match="in two ways"):
            wrong.fit(x, y)
    with pytest.raises(ValueError, match="must be left out"):
        mercer.KernelRidge("gaussian(lengthscale=1)", gamma=1).fit(x, y)
    with pytest.raises(ValueError, match="no meaning"):
        mercer.KernelRidge("linear", degree=2).fit(x, y)


def test_what_is_not_said_is_as_it_is_in_scikit_learn(waves):
    x, y = waves
    for kernel, said in (("rbf", {}), ("laplacian", {}), ("poly", {}), ("poly", {"degree": 2}), ("poly", {"coef0": 2.0}), ("poly", {"gamma": 0.3})):
        theirs = kernel_ridge.KernelRidge(kernel=kernel, alpha=0.5, **{"coef0": 1.0, **said}).fit(x, y)
        np.testing.assert_allclose(mercer.KernelRidge(kernel, alpha=0.5, **said).fit(x, y).predict(x), theirs.predict(x), atol=1e-8)
    for kernel, said in (("rbf", {}), ("poly", {}), ("poly", {"degree": 2})):
        theirs = svm.SVR(kernel=kernel, tol=1e-10, **said).fit(x, y)
        np.testing.assert_allclose(mercer.SVR(kernel, **said).fit(x, y).predict(x), theirs.predict(x), atol=1e-6)
        labels = y > np.median(y)
        theirs = svm.SVC(kernel=kernel, tol=1e-10, **said).fit(x, labels)
        np.testing.assert_allclose(mercer.SVC(kernel, **said).fit(x, labels).decision_function(x), theirs.decision_function(x), atol=1e-5)
