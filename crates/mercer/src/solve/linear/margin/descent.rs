//! Dual coordinate descent with shrinking, for losses with corners and many columns.
//!
//! After Hsieh et al. (2008) and Ho and Lin (2012): one multiplier u of a row after the other is set to its best value,
//! w = Xᵀ(weights∘u)/(2λW) carried along. An offset is found by the proximal point method: a column of constants whose
//! coefficient is penalised only by its distance from the last round's.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::super::Features;
use super::super::features::{add_scaled, dot};
use super::super::sparse::gather;
use super::{MarginLoss, MarginSettings, Problem, State};
use crate::base::error::{Error, Result};

/// Rows one after the other.
enum Rows<'a> {
    Dense { width: usize, data: Vec<f64> },
    Sparse(&'a super::super::Sparse),
}

impl Rows<'_> {
    fn dot(&self, i: usize, w: &[f64]) -> f64 {
        match self {
            Rows::Dense { width, data } => dot(&data[i * width..(i + 1) * width], w),
            Rows::Sparse(x) => gather(x.row(i), w),
        }
    }

    fn add(&self, w: &mut [f64], factor: f64, i: usize) {
        match self {
            Rows::Dense { width, data } => add_scaled(w, factor, &data[i * width..(i + 1) * width]),
            Rows::Sparse(x) => {
                let (columns, values) = x.row(i);
                for (j, v) in columns.iter().zip(values) {
                    w[*j as usize] += factor * v;
                }
            }
        }
    }
}

pub(super) fn solve(problem: &Problem<'_>, settings: &MarginSettings<'_>) -> Result<State> {
    let (n, p) = (problem.x.rows(), problem.x.cols());
    let rows = match problem.x {
        Features::Sparse(x) => Rows::Sparse(x),
        Features::Dense(x) => {
            let data = (0..n).flat_map(|i| (0..p).map(move |j| x.get(i, j))).collect();
            Rows::Dense { width: p, data }
        }
    };
    let squares: Vec<f64> = (0..n)
        .map(|i| match &rows {
            Rows::Dense { width, data } => data[i * width..(i + 1) * width].iter().map(|v| v * v).sum(),
            Rows::Sparse(x) => x.row(i).1.iter().map(|v| v * v).sum(),
        })
        .collect();
    // The constant column is as long as a typical row: it then moves as easily as w does.
    let constant = if settings.offset { (squares.iter().sum::<f64>() / n as f64).sqrt().max(1e-300) } else { 0.0 };
    let mut walk = Walk {
        problem,
        rows,
        squares: squares.iter().map(|s| s + constant * constant).collect(),
        constant,
        scale: 1.0 / (2.0 * problem.lambda * problem.total),
        base: 0.0,
        shift: 0.0,
        state: State::new(p, n),
        random: ChaCha8Rng::seed_from_u64(0),
    };
    let mut accuracy = 0.1;
    let mut best = f64::INFINITY;
    loop {
        walk.round(accuracy, settings)?;
        walk.state.b = walk.base + walk.constant * walk.shift;
        let relative = problem.judge(&mut walk.state, settings.offset)?;
        if relative <= settings.tolerance || walk.state.iterations >= settings.most_iterations || accuracy < 1e-15 {
            return Ok(walk.state);
        }
        // The next round is centred at this one's offset; u stays, so its share of the constant column starts again.
        if settings.offset {
            walk.base = walk.state.b;
            let pull: f64 = (0..n).map(|i| problem.weight(i) * walk.state.dual[i]).sum();
            walk.shift = walk.scale * walk.constant * pull;
        }
        if !(relative < 0.5 * best) {
            accuracy *= 0.2;
        }
        best = best.min(relative);
        accuracy *= 0.5;
    }
}

struct Walk<'a> {
    problem: &'a Problem<'a>,
    rows: Rows<'a>,
    squares: Vec<f64>,
    constant: f64,
    /// 1/(2λW).
    scale: f64,
    /// The offset's centre and its coefficient on the constant column.
    base: f64,
    shift: f64,
    state: State,
    random: ChaCha8Rng,
}

impl Walk<'_> {
    /// Descends until the largest violation of optimality is below the accuracy.
    fn round(&mut self, accuracy: f64, settings: &MarginSettings<'_>) -> Result<()> {
        let problem = self.problem;
        let mut active: Vec<usize> = (0..problem.x.rows()).filter(|i| problem.weight(*i) > 0.0).collect();
        let all = active.len();
        let mut bound = f64::INFINITY;
        while self.state.iterations < settings.most_iterations {
            if !(settings.go_on)() {
                return Err(Error::Interrupted);
            }
            self.state.iterations += 1;
            for k in (1..active.len()).rev() {
                active.swap(k, (self.random.next_u64() % (k as u64 + 1)) as usize);
            }
            let mut worst: f64 = 0.0;
            let mut k = 0;
            while k < active.len() {
                let i = active[k];
                if k % 4096 == 4095 && !(settings.go_on)() {
                    return Err(Error::Interrupted);
                }
                let (violation, settled) = self.visit(i, bound);
                if settled {
                    active.swap_remove(k);
                    continue;
                }
                worst = worst.max(violation);
                k += 1;
            }
            if worst <= accuracy {
                if active.len() == all {
                    return Ok(());
                }
                // What was set aside is looked at again.
                active = (0..problem.x.rows()).filter(|i| problem.weight(*i) > 0.0).collect();
                bound = f64::INFINITY;
            } else {
                bound = worst;
            }
        }
        Ok(())
    }

    /// Sets one multiplier to its best value. Returns its violation and whether it sits so firmly at an end (or at 0)
    /// that it can be set aside.
    fn visit(&mut self, i: usize, bound: f64) -> (f64, bool) {
        let problem = self.problem;
        let y = problem.y[i];
        let f = self.rows.dot(i, &self.state.w) + self.constant * self.shift + self.base;
        let u = self.state.dual[i];
        let curvature = self.scale * problem.weight(i) * self.squares[i];
        let (new, violation, settled) = match problem.loss {
            MarginLoss::EpsilonInsensitive(_) | MarginLoss::Pinball(_) => {
                let (lower, upper, epsilon) = match problem.loss {
                    MarginLoss::Pinball(quantile) => (quantile - 1.0, quantile, 0.0),
                    MarginLoss::EpsilonInsensitive(epsilon) => (-1.0, 1.0, epsilon),
                    _ => (-1.0, 1.0, 0.0),
                };
                // Slopes of ½curvature·u² + … to the right and left of u.
                let g = f - y;
                let (right, left) = (g + epsilon, g - epsilon);
                let violation = if u == 0.0 {
                    (-right).max(left).max(0.0)
                } else if u > 0.0 {
                    if u >= upper { right.max(0.0) } else { right.abs() }
                } else if u <= lower {
                    (-left).max(0.0)
                } else {
                    left.abs()
                };
                let settled = (u == 0.0 && right > bound && left < -bound)
                    || (u >= upper && right < -bound)
                    || (u <= lower && left > bound);
                let new = if curvature > 0.0 {
                    let (down, up) = (u - right / curvature, u - left / curvature);
                    if down > 0.0 {
                        down
                    } else if up < 0.0 {
                        up
                    } else {
                        0.0
                    }
                } else if g < 0.0 {
                    upper
                } else {
                    lower
                };
                (new.clamp(lower, upper), violation, settled)
            }
            _ => {
                let v = u * y;
                let g = y * f - 1.0;
                let violation = if v <= 0.0 {
                    (-g).max(0.0)
                } else if v >= 1.0 {
                    g.max(0.0)
                } else {
                    g.abs()
                };
                let settled = (v <= 0.0 && g > bound) || (v >= 1.0 && g < -bound);
                let new = if curvature > 0.0 { v - g / curvature } else { f64::from(g < 0.0) };
                (y * new.clamp(0.0, 1.0), violation, settled)
            }
        };
        if !settled && new != u {
            let factor = self.scale * problem.weight(i) * (new - u);
            self.rows.add(&mut self.state.w, factor, i);
            self.shift += factor * self.constant;
            self.state.dual[i] = new;
        }
        (violation, settled)
    }
}
