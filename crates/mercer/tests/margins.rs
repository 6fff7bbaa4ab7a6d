//! Linear classifiers and support vector regression: stationary, certified, and the same by every solver.

mod reference;

use mercer::linear::features::Features;
use mercer::linear::{MarginLoss, MarginSettings, Sparse, margin};
use mercer::prelude::*;

use reference::{ALL_LOSSES, Random};

fn margin_objective(x: &Matrix, y: &[f64], loss: MarginLoss, lambda: f64, w: &[f64], b: f64) -> f64 {
    let losses: f64 =
        (0..x.rows()).map(|i| loss.value(y[i], b + (0..x.cols()).map(|j| x.get(i, j) * w[j]).sum::<f64>())).sum();
    losses / x.rows() as f64 + lambda * w.iter().map(|w| w * w).sum::<f64>()
}

#[test]
fn margins_are_stationary_certified_and_alike_sparse_or_dense_tall_or_wide() {
    let mut random = Random::new(4);
    for (n, p) in [(60, 5), (25, 70), (1, 3), (2, 1)] {
        let mut x = random.matrix(n, p);
        (0..n * p).for_each(|k| {
            if random.uniform() < 0.5 {
                x.as_mut_slice()[k] = 0.0;
            }
        });
        let y: Vec<f64> = (0..n).map(|i| x.get(i, 0) + 0.7 * random.normal()).collect();
        let labels: Vec<f64> = y.iter().map(|y| y.signum()).collect();
        for loss in ALL_LOSSES {
            for offset in [false, true] {
                let target = if loss.is_classification() { &labels } else { &y };
                let settings = MarginSettings { tolerance: 1e-9, offset, ..MarginSettings::default() };
                let lambda = 0.01;
                let got = margin(&x.clone().into(), target, None, lambda, loss, &settings).unwrap();
                let label = format!("{loss:?} {n}×{p} offset {offset}");
                assert!(got.converged, "{label}: {}", got.relative_gap);
                let sparse = Sparse::from_dense(&x).unwrap();
                let other = margin(&sparse.into(), target, None, lambda, loss, &settings).unwrap();
                // Of one or two rows the least objective may be 0, which is approached and not met.
                let unit = if n > 2 { got.objective.max(1e-9) } else { 1.0 };
                assert!((got.objective - other.objective).abs() < 1e-8 * unit, "{label}");
                // No small move is better: finite differences of the objective written out.
                let value = margin_objective(&x, target, loss, lambda, &got.coefficients, got.intercept);
                assert!((value - got.objective).abs() < 1e-12 * value.max(1.0), "{label}");
                for j in 0..p + usize::from(offset) {
                    for step in [1e-4, -1e-4] {
                        let (mut w, mut b) = (got.coefficients.clone(), got.intercept);
                        if j < p {
                            w[j] += step;
                        } else {
                            b += step;
                        }
                        let moved = margin_objective(&x, target, loss, lambda, &w, b);
                        assert!(moved >= value * (1.0 - 2e-9) - 1e-15, "{label}: {j} {moved} {value}");
                    }
                }
            }
        }
    }
}

/// More columns than a Hessian is formed for: conjugate gradients and dual descent, against the wide reduction.
#[test]
fn many_columns_by_other_solvers_give_the_same() {
    let mut random = Random::new(5);
    let (n, p) = (2100, 2300);
    let rows: Vec<Vec<(usize, f64)>> = (0..n)
        .map(|_| {
            let mut row: Vec<(usize, f64)> = (0..8).map(|_| (random.below(p), random.normal())).collect();
            row.sort_by_key(|e| e.0);
            row.dedup_by_key(|e| e.0);
            row
        })
        .collect();
    let truth = random.vector(p);
    let y: Vec<f64> =
        rows.iter().map(|r| r.iter().map(|(j, v)| v * truth[*j]).sum::<f64>() + 1.0 + random.normal()).collect();
    let labels: Vec<f64> = y.iter().map(|y| y.signum()).collect();
    let x = Features::from(Sparse::from_rows(p, &rows).unwrap());
    for loss in ALL_LOSSES {
        for offset in [false, true] {
            let target = if loss.is_classification() { &labels } else { &y };
            let settings = MarginSettings { tolerance: 1e-4, offset, ..MarginSettings::default() };
            let got = margin(&x, target, None, 0.001, loss, &settings).unwrap();
            assert!(got.converged, "{loss:?} {offset}: {} after {}", got.relative_gap, got.iterations);
        }
    }
}
