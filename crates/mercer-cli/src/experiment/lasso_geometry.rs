//! Figures 5 and 6 of the lecture notes "Regression and regularization": where the ellipses of the squared error first touch
//! the ball of the penalty, and what that does to coefficients along λ.

use mercer::data::Scale;
use mercer::penalty::Gamma;
use mercer::penalty::Penalty;
use mercer::range;
use mercer::{Fit, Matrix};
use mercer_lab::synthetic::generator;

use super::findings::Findings;
use super::setting::{Set, Setting};
use crate::grid::{Cell, Grid};
use crate::svg::panels::{self, Axis, Layer, Panel, Stroke, range_of};

/// Means of the squares and of the products of the two features of the picture.
const SQUARES: (f64, f64) = (1.0, 0.45);
/// Their least-squares coefficients.
const LEAST_SQUARES: (f64, f64) = (1.6, 0.3);
/// λ at which the pictures of the balls are made.
const LAMBDA: f64 = 1.0;
const ROWS: usize = 300;

pub fn run(setting: &Setting) -> anyhow::Result<Findings> {
    let mut findings = Findings::new("Lasso and ridge: balls, ellipses and coefficients along λ");
    let lasso = touching_point(&Penalty::Lasso)?;
    let ridge = touching_point(&Penalty::Tikhonov { gamma: Gamma::Identity })?;
    let mut panels = vec![
        geometry("‖w‖₁ ≤ τ: the corner is touched, w₂ = 0", lasso, &diamond(lasso.0.abs() + lasso.1.abs())),
        geometry("‖w‖ ≤ τ: touched beside the axis", ridge, &circle(ridge.0.hypot(ridge.1))),
    ];
    let mut grid = Grid::new(
        ["penalty", "λ", "coefficients that are 0", "of them useless (x6 … x10)", "largest coefficient"]
            .map(str::to_owned)
            .to_vec(),
    );
    let set = Set::new("friedman1", generator("friedman1")?.frame(ROWS, 1.0, setting.seed)?)?;
    let lambdas = range::log_spaced("lambda", "1e-3..1e1:41")?;
    for (name, penalty) in [("Lasso", Penalty::Lasso), ("ridge", Penalty::Tikhonov { gamma: Gamma::Identity })] {
        setting.say(name.to_owned());
        let mut paths: Vec<Vec<f64>> = Vec::new();
        for lambda in &lambdas {
            let fit = Fit::linear().penalty(penalty.clone()).lambda(*lambda).scale(Scale::Standard);
            paths.push(fit.fit_frame(&set.frame, &set.roles)?.model.coefficients(0).to_vec());
        }
        for index in [0, 10, 20, 30, 40] {
            let zeros = |from: usize| paths[index].iter().skip(from).filter(|w| **w == 0.0).count() as f64;
            grid.row(vec![
                name.into(),
                Cell::Number(lambdas[index]),
                Cell::Number(zeros(0)),
                Cell::Number(zeros(5)),
                Cell::Number(paths[index].iter().fold(0.0, |most: f64, w| most.max(w.abs()))),
            ]);
        }
        panels.push(coefficients(name, &lambdas, &paths));
    }
    findings.table("lasso-geometry", grid);
    let legend = [
        (1, "ball of the penalty; useful features", Stroke::Full),
        (2, "ellipses of equal error", Stroke::Full),
        (0, "useless features", Stroke::Full),
    ];
    findings.picture("lasso-geometry", panels::draw("The geometry of Lasso and ridge", &panels, 2, &legend));
    findings.remark(
        "The notes draw the two balls by hand; here both touching points are solutions that Mercer computed at λ = 1 for \
         the same two correlated features, and the ellipse through each is the level of the squared error there. On \
         friedman1 (300 rows, ten standardised features, five of no use) Lasso sets the useless ones to exactly 0 long \
         before most others (x3 acts through (x3 − ½)², which has no linear part); ridge shrinks all and removes none.",
    );
    Ok(findings)
}

/// XᵀX/n of the picture.
const fn products() -> [[f64; 2]; 2] {
    [[SQUARES.0, SQUARES.1], [SQUARES.1, SQUARES.0]]
}

/// The solution at λ = 1 for two features with these products and these least-squares coefficients.
fn touching_point(penalty: &Penalty) -> mercer::Result<(f64, f64)> {
    // Two rows whose mean products are A: the rows of √2 times its Cholesky factor, transposed.
    let [[a, b], [_, c]] = products();
    let (l11, l21) = (a.sqrt(), b / a.sqrt());
    let l22 = (c - l21 * l21).sqrt();
    let root = 2.0_f64.sqrt();
    let x = Matrix::from_rows(&[[root * l11, root * l21], [0.0, root * l22]])?;
    let y: Vec<f64> = (0..2).map(|i| x.get(i, 0) * LEAST_SQUARES.0 + x.get(i, 1) * LEAST_SQUARES.1).collect();
    let model = Fit::linear().penalty(penalty.clone()).lambda(LAMBDA).without_offset().fit(&x, &y)?.model;
    Ok((model.coefficients(0)[0], model.coefficients(0)[1]))
}

/// (w − ŵ)ᵀA(w − ŵ).
fn error_at(w: (f64, f64)) -> f64 {
    let (u, v) = (w.0 - LEAST_SQUARES.0, w.1 - LEAST_SQUARES.1);
    let [[a, b], [_, c]] = products();
    a * u * u + 2.0 * b * u * v + c * v * v
}

fn diamond(radius: f64) -> Vec<(f64, f64)> {
    vec![(radius, 0.0), (0.0, radius), (-radius, 0.0), (0.0, -radius), (radius, 0.0)]
}

fn circle(radius: f64) -> Vec<(f64, f64)> {
    around(|cos, sin| (radius * cos, radius * sin))
}

fn around(place: impl Fn(f64, f64) -> (f64, f64)) -> Vec<(f64, f64)> {
    (0..=60).map(|i| std::f64::consts::TAU * f64::from(i) / 60.0).map(|angle| place(angle.cos(), angle.sin())).collect()
}

/// The points of equal error, by the factor of A⁻¹ = (LLᵀ)⁻¹.
fn ellipse(level: f64) -> Vec<(f64, f64)> {
    let [[a, b], [_, c]] = products();
    let (l11, l21) = (a.sqrt(), b / a.sqrt());
    let l22 = (c - l21 * l21).sqrt();
    let root = level.sqrt();
    around(|cos, sin| {
        // Lᵀ(w − ŵ) = √level (cos, sin).
        let v = root * sin / l22;
        let u = (root * cos - l21 * v) / l11;
        (LEAST_SQUARES.0 + u, LEAST_SQUARES.1 + v)
    })
}

fn geometry(title: &str, touched: (f64, f64), ball: &[(f64, f64)]) -> Panel {
    let level = error_at(touched);
    let line = |colour: usize, points: Vec<(f64, f64)>, style: Stroke| Layer::Line { colour, points, style };
    let mut layers = vec![line(1, ball.to_vec(), Stroke::Full)];
    layers.extend(
        [0.15, 0.5, 1.0, 1.7]
            .map(|share| line(2, ellipse(share * level), if share == 1.0 { Stroke::Full } else { Stroke::Thin })),
    );
    layers.push(Layer::Dots { colour: 4, points: vec![touched, LEAST_SQUARES] });
    layers.push(line(0, vec![(-1.6, 0.0), (3.0, 0.0)], Stroke::Thin));
    layers.push(line(0, vec![(0.0, -1.6), (0.0, 1.9)], Stroke::Thin));
    layers.push(Layer::Words { at: (LEAST_SQUARES.0, LEAST_SQUARES.1 + 0.1), text: "least squares".into() });
    Panel { title: title.into(), x: Axis::linear("w₁", (-1.6, 3.0)), y: Axis::linear("w₂", (-1.6, 1.9)), layers }
}

fn coefficients(name: &str, lambdas: &[f64], paths: &[Vec<f64>]) -> Panel {
    let features = paths[0].len();
    let curve = |feature: usize| Layer::Line {
        colour: usize::from(feature < 5),
        points: lambdas.iter().zip(paths).map(|(lambda, w)| (*lambda, w[feature])).collect(),
        style: Stroke::Full,
    };
    Panel {
        title: format!("{name}: coefficients along λ (friedman1)"),
        x: Axis::logarithmic("λ", (lambdas[0], lambdas[lambdas.len() - 1])),
        y: Axis::linear("w", range_of(paths.iter().flatten().copied(), false)),
        layers: (0..features).rev().map(curve).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: at the corner w₂ = 0, so w₁ = ŵ₁ + (b/a) ŵ₂ − λ/(2a); and ridge solves (A + λI)w = Aŵ.
    #[test]
    fn the_touching_points_are_the_solutions() {
        let lasso = touching_point(&Penalty::Lasso).unwrap();
        let expected = LEAST_SQUARES.0 + SQUARES.1 * LEAST_SQUARES.1 - 0.5 * LAMBDA;
        assert!(lasso.1 == 0.0 && (lasso.0 - expected).abs() < 1e-7, "{lasso:?} {expected}");
        let ridge = touching_point(&Penalty::Tikhonov { gamma: Gamma::Identity }).unwrap();
        let [[a, b], [_, c]] = products();
        let right = (a * LEAST_SQUARES.0 + b * LEAST_SQUARES.1, b * LEAST_SQUARES.0 + c * LEAST_SQUARES.1);
        let left = ((a + LAMBDA) * ridge.0 + b * ridge.1, b * ridge.0 + (c + LAMBDA) * ridge.1);
        assert!((left.0 - right.0).abs() < 1e-9 && (left.1 - right.1).abs() < 1e-9);
        // Ellipses are levels, and the ball does not reach inside the one it touches.
        assert!(ellipse(0.7).into_iter().all(|w| (error_at(w) - 0.7).abs() < 1e-12));
        let inside = circle(ridge.0.hypot(ridge.1)).into_iter().map(error_at).fold(f64::INFINITY, f64::min);
        assert!(inside >= error_at(ridge) - 1e-9);
    }
}
