//! Figure 2 of "Equivalence of Learning Algorithms": weakly equivalent algorithms have error curves along λ that
//! are one curve, moved and stretched, with the same minimum.

use mercer_lab::split::{Split, divide};

use super::findings::{Findings, least};
use super::setting::{Setting, TRAINING, published};
use crate::grid::{Cell, Grid};
use crate::report::short;
use crate::svg::panels::{self, Axis, Layer, Panel, Stroke, range_of};

const SETS: [&str; 2] = ["yacht", "concrete"];
const EXPONENT: f64 = 1.5;
/// λ from 10^LOW on, so many steps for each factor of ten.
const LOW: i32 = -14;
const HIGH: i32 = 5;
const STEPS: i32 = 40;

/// A name and its effective ridge at λ.
type Algorithm = (&'static str, fn(&Split, f64) -> Option<f64>);

const ALGORITHMS: [Algorithm; 3] = [
    ("ridge, λ‖f‖²", |_, lambda| Some(lambda)),
    ("ridge, (λ/n)‖f‖²", |split, lambda| Some(lambda / split.spectrum().weight_sum())),
    ("M-RLSR, λ‖f‖^1.5", |split, lambda| split.ridge(EXPONENT, lambda)),
];

pub fn run(setting: &Setting) -> anyhow::Result<Findings> {
    let mut findings =
        Findings::new("Error curves: RMSE/max y on test rows along λ, three weakly equivalent algorithms");
    let mut grid =
        Grid::new(["set", "algorithm", "least error", "at λ", "effective ridge there"].map(str::to_owned).to_vec());
    let lambdas: Vec<f64> =
        (LOW * STEPS..=HIGH * STEPS).map(|i| 10_f64.powf(f64::from(i) / f64::from(STEPS))).collect();
    let mut drawn = Vec::new();
    let mut sets = setting.sets(&SETS)?;
    // Without data sets there is still one to show it on.
    if sets.is_empty() {
        sets = setting.sets(&["friedman1"])?;
    }
    for set in sets {
        setting.say(set.name.clone());
        let (training, test) = divide(set.rows(), TRAINING, setting.seed_of(0));
        let split = set.split(&published(), (&training, &test))?;
        let mut layers = Vec::new();
        let mut seen = Vec::new();
        for (index, (name, ridge)) in ALGORITHMS.iter().enumerate() {
            let ridges: Vec<Option<f64>> = lambdas.iter().map(|lambda| ridge(&split, *lambda)).collect();
            let errors: Vec<f64> = split.test_rmse(&ridges).into_iter().map(|e| e / set.largest).collect();
            let best = least(errors.iter().copied());
            grid.row(vec![
                Cell::Text(set.name.clone()),
                Cell::Text((*name).into()),
                Cell::Number(errors[best]),
                Cell::Number(lambdas[best]),
                ridges[best].map_or(Cell::Nothing, Cell::Number),
            ]);
            let points: Vec<(f64, f64)> = lambdas.iter().copied().zip(errors.iter().copied()).step_by(8).collect();
            seen.extend(points.iter().map(|(_, error)| *error));
            layers.push(Layer::Line { colour: index + 1, points, style: Stroke::Full });
            layers.push(Layer::Dots { colour: index + 1, points: vec![(lambdas[best], errors[best])] });
        }
        drawn.push(Panel {
            title: set.name.clone(),
            x: Axis::logarithmic("λ", (lambdas[0], lambdas[lambdas.len() - 1])),
            y: Axis::logarithmic("RMSE/max y", range_of(seen, true)),
            layers,
        });
    }
    findings.table("error-curves", grid);
    let legend: Vec<(usize, &str, Stroke)> =
        ALGORITHMS.iter().enumerate().map(|(index, (name, _))| (index + 1, *name, Stroke::Full)).collect();
    findings.picture("error-curves", panels::draw("Test error along λ", &drawn, 2, &legend));
    findings.remark(format!(
        "The paper's picture shows equal minima and different shapes, without numbers; so it is here. The least errors agree \
         to the {} steps per factor of ten on which λ is tried: all three pass through the same ridge solutions. λ/n moves \
         the curve by the factor n; the exponent {EXPONENT} stretches it, since μ = (λm/2)‖f‖^(m−2) and ‖f‖ falls along it.",
        short(f64::from(STEPS))
    ));
    Ok(findings)
}
