//! The ridge of a learned kernel where rows have groups: likelihood takes the rows of a group for independent and finds too small a one.

use crate::base::error::Result;
use crate::data::Design;
use crate::path::residuals_without_folds;
use crate::path::{Spectrum, Target};
use crate::term::criterion::Folds;
use crate::term::kernel::{Kernel, Points};

/// Steps of log γ from the likelihood's: first those, both ways as long as the error falls, then half as long ones.
const STEPS: [f64; 3] = [2.3, 1.15, 0.6];
/// At most so many values of γ.
const MOST: usize = 24;

/// γ with the least leave-one-group-out error, searched from `start` on; `start` itself where nothing is better.
pub(super) fn ridge(
    kernel: &dyn Kernel,
    points: &Points,
    design: &Design,
    offset: bool,
    groups: &Folds,
    start: f64,
) -> Result<f64> {
    let spectrum = Spectrum::of_kernel(kernel, points, design.weights.as_deref(), offset)?;
    let targets = spectrum.targets(&design.y)?;
    let units: Vec<f64> = design.deviations().iter().map(|unit| if *unit > 0.0 { *unit } else { 1.0 }).collect();
    let members: Vec<&Target> = targets.iter().collect();
    let log_total = libm::log(spectrum.weight_sum());
    let error = |log_gamma: f64| {
        let residuals = residuals_without_folds(&spectrum, &members, 2.0, log_gamma - log_total, groups);
        let square = |(row, e): (usize, &f64)| spectrum.weight(row) * e * e;
        let of_target = |(e, unit): (&Vec<f64>, &f64)| e.iter().enumerate().map(square).sum::<f64>() / (unit * unit);
        residuals.iter().zip(&units).map(of_target).sum::<f64>()
    };
    let mut at = libm::log(start);
    let (mut least, mut tries) = (error(at), 1);
    for step in STEPS {
        for sign in [1.0, -1.0] {
            let mut has_moved = false;
            while tries < MOST {
                let next = at + sign * step;
                let found = error(next);
                tries += 1;
                // Not a number is no improvement.
                if !(found < least) && least.is_finite() {
                    break;
                }
                (at, least, has_moved) = (next, found, true);
            }
            if has_moved {
                break;
            }
        }
    }
    Ok(if least.is_finite() { libm::exp(at) } else { start })
}
