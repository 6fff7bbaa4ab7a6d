//! What a selection tried, point by point: for the table of `--table` and the best points of the report.

use mercer::criterion::Criterion;
use mercer::data::{Column, Frame};
use mercer::{Curve, Fitted};

use crate::fit::{Found, Search};

/// One point of one surface.
pub struct Point {
    /// Which of the kernels that were tried.
    pub kernel: usize,
    /// Which of its surfaces: one per target, or one for all.
    pub surface: usize,
    pub exponent: f64,
    pub lambda: f64,
    pub value: f64,
    pub standard_error: Option<f64>,
}

/// All points, in the order in which they were tried.
pub fn points(fitted: &Fitted) -> Vec<Point> {
    let mut points = Vec::new();
    for (kernel, tried) in fitted.tried.iter().enumerate() {
        for (index, surface) in tried.surfaces().iter().enumerate() {
            for (e, exponent) in surface.exponents.iter().enumerate() {
                for (lambda, score) in surface.lambdas[e].iter().zip(&surface.scores[e]) {
                    points.push(Point {
                        kernel,
                        surface: index,
                        exponent: *exponent,
                        lambda: *lambda,
                        value: score.value,
                        standard_error: score.standard_error,
                    });
                }
            }
        }
    }
    points
}

/// The criterion of a fit that chose something.
pub fn criterion(fitted: &Fitted) -> Option<Criterion> {
    Criterion::parse(fitted.summary().chosen_by.as_deref()?).ok()
}

/// The table that `--table` writes: the points of the surfaces, or the trials of an automatic search.
pub fn frame(found: &Found) -> mercer::Result<Frame> {
    match &found.search {
        Some(search) => trials(search),
        None => surfaces(&found.fitted),
    }
}

fn surfaces(fitted: &Fitted) -> mercer::Result<Frame> {
    let points = points(fitted);
    let specs: Vec<String> = fitted.tried.iter().map(|tried| tried.kernel.spec()).collect();
    let is_squared = criterion(fitted).is_some_and(|criterion| criterion.is_squared_error());
    let number = |value: &dyn Fn(&Point) -> f64| Column::Number(points.iter().map(value).collect());
    // Where a criterion excludes a model the cell is empty: other programs cannot read infinities.
    let finite = |value: f64| if value.is_finite() { value } else { f64::NAN };
    let mut frame = Frame::new(points.len());
    frame.push("kernel", Column::Text(points.iter().map(|point| Some(specs[point.kernel].clone())).collect()))?;
    let targets = &fitted.design.targets;
    if targets.len() > 1 {
        let name = |point: &Point| {
            let own = &fitted.tried[point.kernel].surfaces()[point.surface].targets;
            Some(own.iter().map(|target| targets[*target].clone()).collect::<Vec<String>>().join(", "))
        };
        frame.push("target", Column::Text(points.iter().map(name).collect()))?;
    }
    frame.push("exponent", number(&|point| point.exponent))?;
    frame.push("lambda", number(&|point| point.lambda))?;
    frame.push("value", number(&|point| finite(point.value)))?;
    if is_squared {
        frame.push("root", number(&|point| finite(point.value.sqrt())))?;
    }
    frame.push("standard_error", number(&|point| finite(point.standard_error.unwrap_or(f64::NAN))))?;
    // Screened kernels only; the others were judged on all of their matrix.
    if fitted.tried.iter().any(|tried| tried.low_rank.is_some()) {
        let rank = |point: &Point| fitted.tried[point.kernel].low_rank.map_or(f64::NAN, |(rank, _)| rank as f64);
        frame.push("rank", number(&rank))?;
    }
    Ok(frame)
}

fn trials(search: &Search) -> mercer::Result<Frame> {
    let trials = &search.trials;
    let text = |value: &dyn Fn(usize) -> String| Column::Text((0..trials.len()).map(|i| Some(value(i))).collect());
    let number = |value: &dyn Fn(usize) -> f64| Column::Number((0..trials.len()).map(value).collect());
    let mut frame = Frame::new(trials.len());
    frame.push("family", text(&|i| trials[i].family.clone()))?;
    frame.push("metric", text(&|i| trials[i].metric.name().into()))?;
    frame.push("scale", text(&|i| crate::report::scale_name(trials[i].scale).into()))?;
    frame.push("rmse", number(&|i| trials[i].rmse.unwrap_or(f64::NAN)))?;
    frame.push("judged_by", text(&|i| trials[i].judged_by.clone()))?;
    let evidence = |i: usize| Some(trials[i].evidence).filter(|e| e.is_finite()).unwrap_or(f64::NAN);
    frame.push("evidence", number(&evidence))?;
    frame.push("seconds", number(&|i| trials[i].seconds))?;
    frame.push("is_chosen", number(&|i| f64::from(trials[i].is_chosen)))?;
    Ok(frame)
}

/// Every point of every curve.
fn places(curves: &[&Curve]) -> Vec<(usize, usize)> {
    (0..curves.len()).flat_map(|t| (0..curves[t].lambdas.len()).map(move |l| (t, l))).collect()
}

/// The points that a fit with a loss has tried.
pub fn learned(learned: &Fitted) -> mercer::Result<Frame> {
    let tried: Vec<&Curve> = learned.curves().collect();
    let points = places(&tried);
    let text = |value: &dyn Fn(usize) -> String| Column::Text(points.iter().map(|(t, _)| Some(value(*t))).collect());
    let number = |value: &dyn Fn(usize, usize) -> f64| {
        let finite = |value: f64| if value.is_finite() { value } else { f64::NAN };
        Column::Number(points.iter().map(|(t, l)| finite(value(*t, *l))).collect())
    };
    let mut frame = Frame::new(points.len());
    frame.push("kernel", text(&|t| tried[t].kernel.spec()))?;
    frame.push("loss", text(&|t| tried[t].loss.clone()))?;
    if learned.model.summaries().len() > 1 {
        frame.push("target", text(&|t| tried[t].target.clone()))?;
    }
    frame.push("exponent", number(&|t, _| tried[t].exponent))?;
    frame.push("lambda", number(&|t, l| tried[t].lambdas[l]))?;
    frame.push("value", number(&|t, l| tried[t].scores[l]))?;
    frame.push("standard_error", number(&|t, l| tried[t].standard_errors.as_ref().map_or(f64::NAN, |e| e[l])))?;
    if tried.iter().flat_map(|curve| &curve.dropped).any(Option::is_some) {
        let folds = |t: usize, l: usize| tried[t].dropped[l].map_or(f64::NAN, |folds| folds as f64);
        frame.push("dropped_after_folds", number(&folds))?;
    }
    frame.push("is_chosen", number(&|t, l| f64::from(tried[t].chosen == Some(l))))?;
    Ok(frame)
}

/// The λ that a linear fit has tried, with the number of coefficients that are not 0.
pub fn linear(fitted: &Fitted) -> mercer::Result<Frame> {
    let tried: Vec<&Curve> = fitted.curves().collect();
    let points = places(&tried);
    let number = |value: &dyn Fn(usize, usize) -> f64| {
        let finite = |value: f64| if value.is_finite() { value } else { f64::NAN };
        Column::Number(points.iter().map(|(t, l)| finite(value(*t, *l))).collect())
    };
    let mut frame = Frame::new(points.len());
    if tried.len() > 1 {
        frame.push("target", Column::Text(points.iter().map(|(t, _)| Some(tried[*t].target.clone())).collect()))?;
    }
    frame.push("lambda", number(&|t, l| tried[t].lambdas[l]))?;
    frame.push("value", number(&|t, l| tried[t].scores[l]))?;
    frame.push("standard_error", number(&|t, l| tried[t].standard_errors.as_ref().map_or(f64::NAN, |e| e[l])))?;
    frame.push("nonzero", number(&|t, l| tried[t].support[l] as f64))?;
    frame.push("is_chosen", number(&|t, l| f64::from(tried[t].chosen == Some(l))))?;
    Ok(frame)
}
