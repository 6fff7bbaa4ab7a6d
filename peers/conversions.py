"""Fits of scikit-learn that `mercer` must reproduce from the numbers it prints for it.

Writes crates/mercer-cli/tests/golden/conversions.json: a small table, and for each estimator its parameters (which must come
out under `conversions`), the options of `mercer fit` that state the same problem, and its values on the training rows.
"""

import json
import pathlib

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import HuberRegressor, LogisticRegression, Ridge
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

rng = np.random.default_rng(4)
n = 60
X = np.round(rng.normal(size=(n, 2)), 3)
noise = np.round(rng.normal(size=n) * np.where(rng.random(n) < 0.1, 3.0, 0.3), 3)
y = np.round(np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] + noise, 3)
label = np.where(y > 0.2, 1, -1)
kind = np.digitize(y, [-0.4, 0.6])
weight = np.array([1.0, 2.0, 3.0])[np.arange(n) % 3]
mean_one = weight / weight.mean()

gamma = 0.4
gaussian = f"gaussian(lengthscale={float(np.sqrt(0.5 / gamma))!r})"
cases = []


def case(name, target, options, lam, conversions, values):
    cases.append({
        "name": name, "target": target, "options": options, "lambda": float(lam),
        "conversions": {key: float(value) for key, value in conversions.items()},
        "values": np.asarray(values, dtype=float).round(9).tolist(),
    })


def cost(C):
    return 1 / (2 * n * C)


tight = {"tol": 1e-9}
svc = SVC(C=1.5, gamma=gamma, **tight).fit(X, label)
case("SVC", "label", ["--loss", "hinge", "--kernel", gaussian], cost(1.5), {"C": 1.5, "gamma": gamma},
     svc.decision_function(X))
svc = SVC(C=1.5, gamma=gamma, **tight).fit(X, label, sample_weight=mean_one)
case("SVC, weighted", "label", ["--loss", "hinge", "--kernel", gaussian, "--weight", "w"], cost(1.5),
     {"C": 1.5, "gamma": gamma}, svc.decision_function(X))
svr = SVR(C=2, epsilon=0.1, gamma=gamma, **tight).fit(X, y)
case("SVR", "y", ["--loss", "epsilon-insensitive(epsilon=0.1)", "--kernel", gaussian], cost(2),
     {"C": 2, "gamma": gamma}, svr.predict(X))
svr = SVR(C=0.5, epsilon=0, gamma=gamma, **tight).fit(X, y)
case("SVR, epsilon 0", "y", ["--loss", "absolute", "--kernel", gaussian], cost(0.5), {"C": 0.5, "gamma": gamma},
     svr.predict(X))
linear = LinearSVC(C=0.3, loss="squared_hinge", fit_intercept=False, tol=1e-12, max_iter=10**6).fit(X, label)
case("LinearSVC", "label", ["--loss", "squared-hinge", "--kernel", "linear", "--no-offset"], cost(0.3), {"C": 0.3},
     linear.decision_function(X))
linear = LinearSVR(C=0.3, loss="squared_epsilon_insensitive", epsilon=0.2, fit_intercept=False, tol=1e-12, max_iter=10**6)
case("LinearSVR", "y", ["--loss", "squared-epsilon-insensitive(epsilon=0.2)", "--kernel", "linear", "--no-offset"], cost(0.3),
     {"C": 0.3}, linear.fit(X, y).predict(X))
logistic = LogisticRegression(C=0.7, tol=1e-12, max_iter=10**5).fit(X, label)
case("LogisticRegression", "label", ["--loss", "logistic", "--kernel", "linear"], cost(0.7),
     {"C": 0.7, "glmnet_lambda": 2 * cost(0.7)}, logistic.decision_function(X))
several = LogisticRegression(C=0.7, tol=1e-12, max_iter=10**5).fit(X, kind)
case("LogisticRegression, three classes", "kind",
     ["--loss", "logistic", "--kernel", "linear", "--many-classes", "multinomial"], cost(0.7), {"C": 0.7},
     several.predict_proba(X))
huber = HuberRegressor(alpha=0.5, epsilon=1.35, tol=1e-10, max_iter=10**5).fit(X, y)
threshold = 1.35 * huber.scale_
case("HuberRegressor", "y", ["--loss", f"huber(threshold={float(threshold)!r})", "--kernel", "linear"],
     0.5 * huber.scale_ / (2 * n), {"alpha_times_scale": 0.5 * huber.scale_}, huber.predict(X))
ridge = Ridge(alpha=0.8).fit(X, y)
case("Ridge", "y", ["--loss", "squared", "--kernel", "linear"], 0.8 / n, {"alpha": 0.8, "glmnet_lambda": 0.8 / n * np.std(y)},
     ridge.predict(X))
krr = KernelRidge(alpha=0.8, kernel="rbf", gamma=gamma).fit(X, y)
case("KernelRidge", "y", ["--loss", "squared", "--kernel", gaussian, "--no-offset"], 0.8 / n,
     {"alpha": 0.8, "gamma": gamma}, krr.predict(X))
krr = KernelRidge(alpha=0.8, kernel="laplacian", gamma=0.6).fit(X, y)
case("KernelRidge, laplacian", "y", ["--loss", "squared", "--kernel", f"laplace(lengthscale={1 / 0.6!r})", "--no-offset"],
     0.8 / n, {"alpha": 0.8, "gamma": 0.6}, krr.predict(X))

table = {"a": X[:, 0].tolist(), "b": X[:, 1].tolist(), "w": weight.tolist(), "y": y.tolist(), "label": label.tolist(),
         "kind": kind.tolist()}
place = pathlib.Path(__file__).parent.parent / "crates/mercer-cli/tests/golden/conversions.json"
place.write_text(json.dumps({"table": table, "cases": cases}) + "\n")
print(f"{len(cases)} cases to {place}")
