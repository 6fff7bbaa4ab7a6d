//! Figures 2 to 4 of the lecture notes "Regression and regularization": many polynomials of degree 4 and 1 through five and
//! fifty points of y = x² + noise, without and with ridge.

use mercer::Fit;
use mercer::data::{Column, Frame, Roles};
use mercer::penalty::Gamma;
use mercer::penalty::Penalty;
use mercer_lab::synthetic::generator;

use super::findings::Findings;
use super::setting::Setting;
use crate::grid::{Cell, Grid};
use crate::svg::panels::{self, Axis, Layer, Panel, Stroke};

/// Points, degree, and λ in the notes' convention ‖y − Xθ‖² + λ‖β‖².
const CASES: [(usize, usize, Option<f64>); 6] =
    [(5, 4, None), (50, 4, None), (5, 4, Some(1.0)), (5, 1, None), (50, 1, None), (5, 1, Some(1.0))];
const NOISE: f64 = 0.1;
/// Places at which curves are drawn and judged.
const PLACES: usize = 25;
/// Regressions for the table; the notes draw twenty.
const DRAWS: usize = 400;
const DRAWN: usize = 20;

pub fn run(setting: &Setting) -> anyhow::Result<Findings> {
    let mut findings = Findings::new("Overfitting: polynomials through few points of y = x² + noise (σ = 0.1)");
    let columns = ["points", "degree", "λ", "bias²", "variance, median over x", "median RMSE", "largest RMSE"];
    let mut grid = Grid::new(columns.map(str::to_owned).to_vec());
    let places: Vec<f64> = (0..PLACES).map(|i| -1.0 + 2.0 * i as f64 / (PLACES - 1) as f64).collect();
    let draws = if setting.is_quick { 40 } else { DRAWS };
    let mut drawn = Vec::new();
    for (points, degree, ridge) in CASES {
        setting.say(format!("{points} points, degree {degree}"));
        let mut curves: Vec<Vec<f64>> = Vec::with_capacity(draws);
        for draw in 0..draws {
            let frame = generator("square")?.frame(points, NOISE, setting.seed_of(draw))?;
            curves.push(curve(&frame, degree, ridge, &places)?);
        }
        let mean = |at: usize| curves.iter().map(|curve| curve[at]).sum::<f64>() / draws as f64;
        let bias = (0..PLACES).map(|at| (mean(at) - places[at] * places[at]).powi(2)).sum::<f64>() / PLACES as f64;
        let variance =
            |at: usize| curves.iter().map(|curve| (curve[at] - mean(at)).powi(2)).sum::<f64>() / draws as f64;
        let error = |curve: &Vec<f64>| {
            (curve.iter().zip(&places).map(|(f, x)| (f - x * x).powi(2)).sum::<f64>() / PLACES as f64).sqrt()
        };
        let errors = sorted(curves.iter().map(error).collect());
        let variances = sorted((0..PLACES).map(variance).collect());
        grid.row(vec![
            Cell::Number(points as f64),
            Cell::Number(degree as f64),
            ridge.map_or(Cell::Nothing, Cell::Number),
            Cell::Number(bias),
            Cell::Number(variances[PLACES / 2]),
            Cell::Number(errors[draws / 2]),
            Cell::Number(errors[draws - 1]),
        ]);
        drawn.push(panel(&curves, &places, points, degree, ridge));
    }
    findings.table("overfitting", grid);
    let legend = [(1, "one regression each", Stroke::Full), (0, "x²", Stroke::Dashed)];
    let title = "Twenty regressions each on points drawn anew";
    findings.picture("overfitting", panels::draw(title, &drawn, 3, &legend));
    findings.remark(format!(
        "As in the notes: a polynomial of degree 4 through five points passes through all of them and means nothing between; \
         even degree 1 varies much, since five points are few; with fifty points both settle, degree 1 on a wrong function; \
         ridge with λ = 1 removes most of the variance for some bias. The notes show pictures only; the table counts over \
         {draws} draws. λ is in their convention ‖y − Xθ‖² + λ‖β‖², which is λ/n in Mercer's; the constant is not penalised."
    ));
    Ok(findings)
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// One regression at the places.
fn curve(frame: &Frame, degree: usize, ridge: Option<f64>, places: &[f64]) -> anyhow::Result<Vec<f64>> {
    let roles = Roles { targets: vec!["y".into()], ..Roles::default() };
    let fit = match ridge {
        None => Fit::linear().penalty(Penalty::None),
        Some(lambda) => {
            Fit::linear().penalty(Penalty::Tikhonov { gamma: Gamma::Identity }).lambda(lambda / frame.rows() as f64)
        }
    };
    let model = fit.degree(degree).fit_frame(frame, &roles)?.model;
    let mut new = Frame::new(places.len());
    new.push("x1", Column::Number(places.to_vec()))?;
    let predicted: Vec<Option<f64>> = model.predict_frame(&new)?.swap_remove(0);
    Ok(predicted.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}

fn panel(curves: &[Vec<f64>], places: &[f64], points: usize, degree: usize, ridge: Option<f64>) -> Panel {
    // A line needs no more than a few of the places.
    let step = if degree == 1 { 6 } else { 1 };
    let mut layers: Vec<Layer> = curves
        .iter()
        .take(DRAWN)
        .map(|curve| Layer::Line {
            colour: 1,
            points: places.iter().copied().zip(curve.iter().copied()).step_by(step).collect(),
            style: Stroke::Thin,
        })
        .collect();
    let truth = places.iter().map(|x| (*x, x * x)).collect();
    layers.push(Layer::Line { colour: 0, points: truth, style: Stroke::Dashed });
    let how = ridge.map_or(String::new(), |lambda| format!(", ridge λ = {lambda}"));
    Panel {
        title: format!("{points} points, degree {degree}{how}"),
        x: Axis::linear("x", (-1.0, 1.0)),
        y: Axis::linear("y", (-0.6, 1.6)),
        layers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five points and five coefficients: the polynomial passes through all of them, ridge does not.
    #[test]
    fn a_polynomial_of_degree_four_passes_through_five_points() {
        let frame = generator("square").unwrap().frame(5, NOISE, 3).unwrap();
        let (Column::Number(x), Column::Number(y)) = (frame.column("x1").unwrap(), frame.column("y").unwrap()) else {
            panic!("numbers")
        };
        let gap = |ridge| {
            let fitted = curve(&frame, 4, ridge, x).unwrap();
            fitted.iter().zip(y).map(|(f, y)| (f - y).abs()).fold(0.0, f64::max)
        };
        assert!(gap(None) < 1e-8 && gap(Some(1.0)) > 1e-3, "{} {}", gap(None), gap(Some(1.0)));
        // Ridge of degree 1 by hand: slope = Sxy/(Sxx + λ).
        let mean = |v: &[f64]| v.iter().sum::<f64>() / 5.0;
        let (mx, my) = (mean(x), mean(y));
        let sxy: f64 = x.iter().zip(y).map(|(a, b)| (a - mx) * (b - my)).sum();
        let sxx: f64 = x.iter().map(|a| (a - mx) * (a - mx)).sum();
        let ends = curve(&frame, 1, Some(1.0), &[0.0, 1.0]).unwrap();
        assert!((ends[1] - ends[0] - sxy / (sxx + 1.0)).abs() < 1e-9);
    }
}
