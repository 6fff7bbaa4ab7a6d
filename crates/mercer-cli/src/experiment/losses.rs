//! Figures 7 and 9 of the lecture notes "Regression and regularization": losses of a residual and of a margin; and what each
//! loss of a residual makes of a line when some targets are wrong.

use mercer::data::{Column, Frame};
use mercer::kernel;
use mercer::loss::{self, SharedLoss};
use mercer::{Fit, Matrix};
use mercer_lab::synthetic::generator;

use super::findings::Findings;
use super::setting::Setting;
use crate::grid::{Cell, Grid};
use crate::report::short;
use crate::svg::panels::{self, Axis, Layer, Panel, Stroke};

/// Losses of y − v: spec and what it is called.
const RESIDUAL: [(&str, &str); 4] = [
    ("squared", "squared"),
    ("absolute", "absolute"),
    ("huber(threshold=0.5)", "Huber, c = 0.5"),
    ("epsilon-insensitive(epsilon=0.5)", "ε-insensitive, ε = 0.5"),
];
/// Losses of y·v.
const MARGIN: [(&str, &str); 3] = [("hinge", "hinge"), ("squared-hinge", "squared hinge"), ("logistic", "logistic")];

const ROWS: usize = 60;
const NOISE: f64 = 0.2;
/// One target in so many is moved up by `WRONG_BY`.
const WRONG_EVERY: usize = 6;
const WRONG_BY: f64 = 6.0;
/// The line.
const TRUTH: (f64, f64) = (1.0, 2.0);
const LAMBDA: f64 = 1e-5;

pub fn run(setting: &Setting) -> anyhow::Result<Findings> {
    let mut findings = Findings::new("Losses: their shapes, and a line with outliers");
    let (x, y) = points(setting.seed)?;
    let mut grid = Grid::new(
        ["loss", "intercept", "slope", "distance from the true line", "duality gap"].map(str::to_owned).to_vec(),
    );
    let mut lines: Vec<Layer> = Vec::new();
    lines.push(Layer::Dots { colour: 0, points: x.iter().copied().zip(y.iter().copied()).collect() });
    for (index, (spec, name)) in RESIDUAL.iter().enumerate() {
        setting.say((*name).to_owned());
        let fitted = Fit::with_shared(kernel::parse("linear")?)
            .loss(loss::parse(spec)?)
            .lambda(LAMBDA)
            .fit(&Matrix::column_vector(x.clone()), &y)?;
        let ends = fitted.model.predict(&Matrix::column_vector(vec![-1.0, 0.0, 1.0]))?;
        let (intercept, slope) = (ends.get(1, 0), (ends.get(2, 0) - ends.get(0, 0)) / 2.0);
        // ∫ over [−1, 1] of the squared difference, per length.
        let away = ((intercept - TRUTH.0).powi(2) + (slope - TRUTH.1).powi(2) / 3.0).sqrt();
        grid.row(vec![
            (*name).into(),
            Cell::Number(intercept),
            Cell::Number(slope),
            Cell::Number(away),
            fitted.summary().certificate.duality_gap.map_or(Cell::Nothing, Cell::Number),
        ]);
        let ends = vec![(-1.0, intercept - slope), (1.0, intercept + slope)];
        lines.push(Layer::Line { colour: index + 1, points: ends, style: Stroke::Full });
    }
    lines.push(Layer::Line {
        colour: 0,
        points: vec![(-1.0, TRUTH.0 - TRUTH.1), (1.0, TRUTH.0 + TRUTH.1)],
        style: Stroke::Dashed,
    });
    findings.table("losses", grid);
    let shapes = [
        shapes("losses of a residual", "y − v", &RESIDUAL, 1, |loss, at| loss.value(at, 0.0))?,
        shapes("losses of a margin", "y·v", &MARGIN, 5, |loss, at| loss.value(1.0, at))?,
        Panel {
            title: format!("a line, one target in {WRONG_EVERY} moved up by {WRONG_BY}"),
            x: Axis::linear("x", (-1.05, 1.05)),
            y: Axis::linear("y", (-2.0, 9.5)),
            layers: lines,
        },
    ];
    let mut legend: Vec<(usize, &str, Stroke)> = vec![(0, "the true line", Stroke::Dashed)];
    legend.extend(RESIDUAL.iter().enumerate().map(|(i, (_, name))| (i + 1, *name, Stroke::Full)));
    legend.extend(MARGIN.iter().enumerate().map(|(i, (_, name))| (i + 5, *name, Stroke::Full)));
    findings.picture("losses", panels::draw("Losses, and what they make of outliers", &shapes, 3, &legend));
    findings.remark(format!(
        "The notes draw the three losses that grow linearly and say that they are robust. Here {} of {ROWS} targets of \
         y = {} + {}x + noise ({NOISE}) are moved up by {WRONG_BY}: the squared loss moves its line by about their mean, the \
         others much less, since beyond a threshold a residual counts by its sign alone. Every fit carries its duality gap.",
        ROWS.div_ceil(WRONG_EVERY),
        short(TRUTH.0),
        short(TRUTH.1)
    ));
    Ok(findings)
}

/// Points of the line, some of them wrong.
fn points(seed: u64) -> anyhow::Result<(Vec<f64>, Vec<f64>)> {
    // The generator's own function is taken out of its targets: what is left is noise.
    let (noisy, pure) = (generator("square")?.frame(ROWS, NOISE, seed)?, generator("square")?.frame(ROWS, 0.0, seed)?);
    let numbers = |frame: &Frame, name: &str| match frame.column(name) {
        Ok(Column::Number(cells)) => cells.clone(),
        _ => Vec::new(),
    };
    let x = numbers(&noisy, "x1");
    let noise = numbers(&noisy, "y").into_iter().zip(numbers(&pure, "y")).map(|(a, b)| a - b);
    let wrong = |row: usize| if row.is_multiple_of(WRONG_EVERY) { WRONG_BY } else { 0.0 };
    let y = noise.enumerate().map(|(row, e)| TRUTH.0 + TRUTH.1 * x[row] + e + wrong(row)).collect();
    Ok((x, y))
}

fn shapes(
    title: &str,
    name: &str,
    losses: &[(&str, &str)],
    first: usize,
    value: fn(&SharedLoss, f64) -> f64,
) -> mercer::Result<Panel> {
    let mut layers = Vec::new();
    for (index, (spec, _)) in losses.iter().enumerate() {
        let parsed = loss::parse(spec)?;
        let points = (-60..=60).map(|i| f64::from(i) / 24.0).map(|at| (at, value(&parsed[0], at))).collect();
        layers.push(Layer::Line { colour: first + index, points, style: Stroke::Full });
    }
    Ok(Panel { title: title.into(), x: Axis::linear(name, (-2.5, 2.5)), y: Axis::linear("loss", (0.0, 3.0)), layers })
}
