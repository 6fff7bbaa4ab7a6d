//! Both paths point by point, each algorithm solved from its own parameter.

use mercer::Fitted;
use mercer::data::{Column, Frame};
use mercer_lab::equivalence::{Algorithm, Image, Place, TrainingSet};

use super::training_set;

/// How many points a path is drawn with.
const POINTS: usize = 81;

/// Powers of ten around the largest eigenvalue between which it runs.
const DECADES: (f64, f64) = (-7.0, 3.0);

/// One point of both paths. What does not exist is NaN.
pub struct Aligned {
    /// A's parameter.
    pub from: f64,
    /// Φ: B's parameter.
    pub to: f64,
    /// ‖f_A‖ and ‖f_B‖.
    pub norms: [f64; 2],
    /// Training errors of A at its parameter, of B at Φ, and of B at A's number.
    pub errors: [f64; 3],
}

/// Along the useful part of the path, A's parameter rising.
pub fn along(fitted: &Fitted, from: Algorithm, to: Algorithm) -> mercer::Result<Vec<Aligned>> {
    let set = training_set(fitted)?;
    let Some(spectrum) = &fitted.spectrum else { return Ok(Vec::new()) };
    let unit = spectrum.largest() / spectrum.weight_sum();
    let ridge = |i: usize| unit * 10_f64.powf(DECADES.0 + (DECADES.1 - DECADES.0) * i as f64 / (POINTS - 1) as f64);
    let mut points: Vec<Aligned> = (0..POINTS)
        .filter_map(|i| set.image(from, Place::Ridge(ridge(i).ln())).parameter())
        .filter(|parameter| (1e-290..=1e290).contains(parameter))
        .map(|parameter| point(&set, from, to, parameter))
        .collect();
    points.sort_by(|a, b| a.from.total_cmp(&b.from));
    points.dedup_by(|a, b| a.from == b.from);
    Ok(points)
}

fn point(set: &TrainingSet<'_>, from: Algorithm, to: Algorithm, parameter: f64) -> Aligned {
    let solve = |algorithm: Algorithm, parameter: f64| match set.place(algorithm, parameter) {
        Ok(Place::Ridge(t)) => (set.path().norm(t.exp()), set.path().train_mse(t.exp()).sqrt()),
        Ok(Place::Zero) => (0.0, set.path().zero_mse().sqrt()),
        _ => (f64::NAN, f64::NAN),
    };
    let image = set.map(from, to, parameter).unwrap_or(Image::Unbound).parameter().unwrap_or(f64::NAN);
    let (first, second, same) = (solve(from, parameter), solve(to, image), solve(to, parameter));
    Aligned { from: parameter, to: image, norms: [first.0, second.0], errors: [first.1, second.1, same.1] }
}

/// For `--output`.
pub fn frame(points: &[Aligned]) -> mercer::Result<Frame> {
    let column = |value: &dyn Fn(&Aligned) -> f64| Column::Number(points.iter().map(value).collect());
    let mut frame = Frame::new(points.len());
    frame.push("from_parameter", column(&|point| point.from))?;
    frame.push("to_parameter", column(&|point| point.to))?;
    frame.push("from_norm", column(&|point| point.norms[0]))?;
    frame.push("to_norm", column(&|point| point.norms[1]))?;
    frame.push("from_train_rmse", column(&|point| point.errors[0]))?;
    frame.push("to_train_rmse", column(&|point| point.errors[1]))?;
    frame.push("to_train_rmse_at_same_number", column(&|point| point.errors[2]))?;
    Ok(frame)
}
