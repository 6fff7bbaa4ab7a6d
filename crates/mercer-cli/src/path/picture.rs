//! The curves of a path that are errors, against λ; criteria of another kind only by their minimum.

use super::Found;
use crate::chart::lines::{self, Curve, Window};
use crate::report::{abbreviated, short};
use crate::svg::curves::{self, Mark};

pub fn text(found: &Found) -> String {
    match window(found) {
        Some(window) => lines::draw(&curves(found), &window, "RMSE", "λ"),
        None => String::new(),
    }
}

pub fn svg(found: &Found) -> String {
    let summary = found.fitted.summary();
    let title = format!("{}: {}, exponent {}", summary.target, found.fitted.model.kernel().spec(), found.exponent);
    let window = window(found).unwrap_or(Window { x: (0.1, 10.0), y: (0.0, 1.0), log_y: false });
    curves::draw(&curves(found), &marks(found), &window, &abbreviated(&title, 90), ("λ", "RMSE"))
}

/// The training error first, then every criterion that is an error.
fn curves(found: &Found) -> Vec<Curve> {
    let curve = |name: String, chosen: Option<usize>, value: &dyn Fn(usize) -> f64| Curve {
        name,
        points: (0..found.points.len()).map(|i| (found.points[i].lambda, value(i))).collect(),
        chosen,
    };
    let minima = found.minima();
    let mut all = vec![curve("training rows".into(), None, &|i| found.points[i].train_rmse)];
    for c in (0..found.criteria.len()).filter(|c| found.is_root(*c)) {
        all.push(curve(found.name(c), minima[c], &|i| found.points[i].criteria[c]));
    }
    all
}

fn marks(found: &Found) -> Vec<Mark> {
    let minima = found.minima();
    (0..found.criteria.len())
        .filter(|c| !found.is_root(*c))
        .filter_map(|c| {
            let x = found.points[minima[c]?].lambda;
            Some(Mark { name: format!("{} at {}", found.name(c), short(x)), x })
        })
        .collect()
}

/// From somewhat below the minima of the criteria to somewhat above the error of the most regularised model: there the
/// criteria differ. A criterion that fails (some fall to 0 with the training error) may leave it below, and one that
/// explodes above.
fn window(found: &Found) -> Option<Window> {
    let (first, last) = (found.points.first()?, found.points.last()?);
    let roots: Vec<usize> = (0..found.criteria.len()).filter(|c| found.is_root(*c)).collect();
    let minimum = |c: &usize| found.points.iter().map(|point| point.criteria[*c]).fold(f64::INFINITY, f64::min);
    let least = roots.iter().map(minimum).filter(|v| v.is_finite()).fold(0.0, f64::max);
    let least = if least > 0.0 { least } else { first.train_rmse.max(1e-3 * last.train_rmse) };
    let ends = roots.iter().map(|c| last.criteria[*c]).filter(|v| v.is_finite());
    let most = 1.15 * ends.fold(last.train_rmse.max(1.2 * least), f64::max);
    let is_usable = first.lambda < last.lambda && least > 0.0 && most.is_finite();
    let log_y = most / least > 20.0;
    let low = if log_y { 0.5 * least } else { 0.0_f64.max(least - 0.5 * (most - least)) };
    is_usable.then_some(Window { x: (first.lambda, last.lambda), y: (low, most), log_y })
}
