//! A working set too large for its products: coordinate descent on the residual, Newton steps by conjugate gradients.

use super::super::design::Design;
use super::super::features::{add_scaled, dot};
use super::path::Penalty;
use crate::base::error::{Error, Result};

/// The relative accuracy at which a Newton step shows which signs it changes.
const ROUGH: f64 = 1e-2;

/// r = `plain` + shift·roots: the centring of sparse columns is one number.
struct Residual<'a> {
    design: &'a Design<'a>,
    plain: Vec<f64>,
    shift: f64,
}

impl Residual<'_> {
    fn correlation(&self, j: usize) -> f64 {
        self.design.correlation(j, &self.plain) + self.shift * self.design.column_sum(j)
    }

    fn add(&mut self, factor: f64, j: usize) {
        self.shift += self.design.add_column(&mut self.plain, factor, j);
    }

    /// The shift put where it belongs.
    fn settle(&mut self) {
        self.design.add_shift(&mut self.plain, self.shift);
        self.shift = 0.0;
    }
}

/// Minimises over `columns` from w with residual r, until no condition of optimality is missed by more than eta·a.
pub(super) fn descend(
    design: &Design<'_>,
    columns: &[usize],
    w: &mut [f64],
    r: &mut Vec<f64>,
    penalty: Penalty,
    eta: f64,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Result<()> {
    let mut residual = Residual { design, plain: std::mem::take(r), shift: 0.0 };
    let mut result = Ok(());
    let mut accuracy = 1e-2;
    'rounds: for _ in 0..200 {
        // Newton first: at a new λ all active columns miss their optimum by the same.
        for _ in 0..5 {
            match newton(&mut residual, columns, w, penalty, (accuracy, 0.2 * eta * penalty.a), go_on) {
                None => {
                    result = Err(Error::Interrupted);
                    break 'rounds;
                }
                Some(true) => {}
                Some(false) => break,
            }
        }
        for _ in 0..3 {
            if !go_on() {
                result = Err(Error::Interrupted);
                break 'rounds;
            }
            let worst = sweep(&mut residual, columns, w, penalty, eta);
            if worst <= eta {
                break 'rounds;
            }
            accuracy = (0.1 * eta / worst).clamp(1e-10, 1e-2);
        }
        residual.settle();
    }
    residual.settle();
    *r = residual.plain;
    result
}

fn sweep(residual: &mut Residual<'_>, columns: &[usize], w: &mut [f64], penalty: Penalty, eta: f64) -> f64 {
    let Penalty { a, beta } = penalty;
    let mut worst: f64 = 0.0;
    for &j in columns {
        let curvature = residual.design.norms[j].powi(2) + beta;
        let pull = residual.correlation(j) - beta * w[j];
        let violation = if w[j] == 0.0 { (pull.abs() - a).max(0.0) } else { (pull - a * w[j].signum()).abs() };
        worst = worst.max(violation / a);
        if violation <= 0.1 * eta * a || curvature <= 0.0 {
            continue;
        }
        let target = pull + curvature * w[j];
        let new = target.signum() * (target.abs() - a).max(0.0) / curvature;
        if new != w[j] {
            residual.add(w[j] - new, j);
            w[j] = new;
        }
    }
    worst
}

/// A Newton step on the support by conjugate gradients, to a relative accuracy or until the conditions of optimality hold
/// to `floor`. Returns whether signs changed; `None`
/// when interrupted.
fn newton(
    residual: &mut Residual<'_>,
    columns: &[usize],
    w: &mut [f64],
    penalty: Penalty,
    (accuracy, floor): (f64, f64),
    go_on: &(dyn Fn() -> bool + Sync),
) -> Option<bool> {
    let Penalty { a, beta } = penalty;
    let design = residual.design;
    let active: Vec<usize> = columns.iter().copied().filter(|j| w[*j] != 0.0).collect();
    let rhs: Vec<f64> = active.iter().map(|j| residual.correlation(*j) - beta * w[*j] - a * w[*j].signum()).collect();
    let diagonal: Vec<f64> = active.iter().map(|j| design.norms[*j].powi(2) + beta).collect();
    let restricted = design.restrict(&active);
    let apply = |v: &[f64]| {
        let (image, mut back) = restricted.multiply(v);
        add_scaled(&mut back, beta, v);
        (image, back)
    };

    let mut direction = vec![0.0; active.len()];
    let mut image = vec![0.0; design.rows()];
    let mut rest = rhs.clone();
    let mut preconditioned: Vec<f64> = rest.iter().zip(&diagonal).map(|(r, d)| r / d).collect();
    let mut p = preconditioned.clone();
    let mut size = dot(&rest, &preconditioned);
    let largest = |v: &[f64]| v.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
    let enough = largest(&rhs) * accuracy;
    let mut is_judged = false;
    for _ in 0..500 {
        if largest(&rest) <= enough.max(floor) || !(size > 0.0) {
            break;
        }
        if !go_on() {
            return None;
        }
        let (p_image, p_back) = apply(&p);
        let curvature = dot(&p, &p_back);
        if !(curvature > 0.0) {
            break;
        }
        let step = size / curvature;
        add_scaled(&mut direction, step, &p);
        add_scaled(&mut image, step, &p_image);
        add_scaled(&mut rest, -step, &p_back);
        // A step that will meet changes of sign need not be exact: the next one starts without those columns.
        if !is_judged && largest(&rest) <= ROUGH * largest(&rhs) {
            is_judged = true;
            if active.iter().zip(&direction).any(|(j, d)| (w[*j] + d) * w[*j] < 0.0) {
                break;
            }
        }
        preconditioned.iter_mut().zip(&rest).zip(&diagonal).for_each(|((z, r), d)| *z = r / d);
        let next = dot(&rest, &preconditioned);
        let keep = next / size;
        p.iter_mut().zip(&preconditioned).for_each(|(p, z)| *p = z + keep * *p);
        size = next;
    }

    let crossing = |k: usize| (w[active[k]] + direction[k]) * w[active[k]] < 0.0;
    let changes = (0..active.len()).any(crossing);
    if !changes {
        add_scaled(&mut residual.plain, -1.0, &image);
        active.iter().zip(&direction).for_each(|(j, d)| w[*j] += d);
        return Some(false);
    }
    // What changes its sign stops at 0, if the objective falls nevertheless; else all stop at the first change.
    let projected: Vec<f64> =
        (0..active.len()).map(|k| if crossing(k) { -w[active[k]] } else { direction[k] }).collect();
    let (projected_image, projected_back) = apply(&projected);
    if 0.5 * dot(&projected, &projected_back) - dot(&rhs, &projected) < 0.0 {
        add_scaled(&mut residual.plain, -1.0, &projected_image);
        for (j, s) in active.iter().zip(&projected) {
            w[*j] = if *s == -w[*j] { 0.0 } else { w[*j] + s };
        }
        return Some(true);
    }
    let (mut t, mut at) = (1.0, 0);
    for k in (0..active.len()).filter(|k| crossing(*k)) {
        let reach = -w[active[k]] / direction[k];
        if reach < t {
            (t, at) = (reach, k);
        }
    }
    add_scaled(&mut residual.plain, -t, &image);
    for (k, j) in active.iter().enumerate() {
        w[*j] = if k == at { 0.0 } else { w[*j] + t * direction[k] };
    }
    Some(true)
}
