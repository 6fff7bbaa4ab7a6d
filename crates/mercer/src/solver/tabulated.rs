//! Which point of a tabulated path minimises the m-power problem: the equation of `power`, many times over.
//!
//! ψ(x) = x − log W₋ + (1 − m/2) log N₋, x = log γ, must equal log(λm/2). For m > 1 ψ rises, so rising λ walk up the
//! table once. For m < 1 every cell in which ψ rises through the level holds a local minimum; the best of them and
//! the zero function is taken.

use crate::spectrum::{Grid, Tabulated};

impl Tabulated {
    /// log γ of the minimiser for each λ (rising), `None` for the zero function.
    pub(crate) fn minimisers(&self, grid: &Grid, exponent: f64, log_lambdas: &[f64]) -> Vec<Option<f64>> {
        if !self.has_energy {
            return vec![None; log_lambdas.len()];
        }
        if exponent == 2.0 {
            return log_lambdas.iter().map(|log_lambda| Some(log_lambda + self.log_weight_left)).collect();
        }
        let half = 1.0 - exponent / 2.0;
        let psi: Vec<f64> = self
            .log_norm
            .iter()
            .enumerate()
            .map(|(g, log_norm)| grid.log_gamma(g) - self.log_weight_left + half * log_norm)
            .collect();
        let search = Search { table: self, grid, exponent, half, psi };
        if exponent >= 1.0 { search.rising(log_lambdas) } else { search.best(log_lambdas) }
    }

    /// Weighted squared error of each target at log γ; `None` stands for the zero function.
    pub(crate) fn squared_errors(&self, grid: &Grid, log_gamma: Option<f64>, out: &mut [f64]) {
        let square = |e: f64| if self.is_single { e * e } else { e };
        let Some(x) = log_gamma else {
            out.iter_mut().zip(&self.zero_errors).for_each(|(out, e)| *out = square(*e));
            return;
        };
        if x > grid.end() {
            // The residual tends to that of the zero function like 1/γ.
            let share = libm::exp(grid.end() - x);
            for (t, out) in out.iter_mut().enumerate() {
                let (last, zero) = (self.errors[t][grid.points - 1], self.zero_errors[t]);
                *out = square(zero + (last - zero) * share);
            }
            return;
        }
        let stencil = grid.stencil(x, self.first);
        for (t, out) in out.iter_mut().enumerate() {
            *out = square(stencil.of(&self.errors[t]));
        }
    }
}

struct Search<'a> {
    table: &'a Tabulated,
    grid: &'a Grid,
    exponent: f64,
    /// 1 − m/2.
    half: f64,
    psi: Vec<f64>,
}

impl Search<'_> {
    fn level(&self, log_lambda: f64) -> f64 {
        log_lambda + libm::log(self.exponent / 2.0)
    }

    /// m ≥ 1: ψ rises.
    fn rising(&self, log_lambdas: &[f64]) -> Vec<Option<f64>> {
        let last = self.grid.points - 1;
        let first = self.table.first;
        let mut cell = first;
        log_lambdas
            .iter()
            .map(|log_lambda| {
                let level = self.level(*log_lambda);
                if level <= self.psi[first] {
                    return Some(self.below(level));
                }
                if level >= self.psi[last] {
                    // N falls like 1/γ² out here; for m = 1 ψ has reached its limit.
                    let rest = (level - self.psi[last]) / (self.exponent - 1.0);
                    return (self.exponent > 1.0).then_some(self.grid.end() + rest);
                }
                if self.psi[cell] > level {
                    cell = first;
                }
                while self.psi[cell + 1] < level {
                    cell += 1;
                }
                Some(self.inside(cell, level))
            })
            .collect()
    }

    /// Below the table N does not change any more.
    fn below(&self, level: f64) -> f64 {
        level + self.table.log_weight_left - self.half * self.table.log_norm[self.table.first]
    }

    /// The root in a cell at whose ends ψ lies on both sides of the level.
    fn inside(&self, cell: usize, level: f64) -> f64 {
        let (mut low, mut high) = (self.grid.log_gamma(cell), self.grid.log_gamma(cell + 1));
        let (left, right) = (self.psi[cell], self.psi[cell + 1]);
        let slope = (right - left) / self.grid.step;
        let mut x = low + (level - left) / slope;
        let mut before: Option<(f64, f64)> = None;
        for _ in 0..12 {
            let log_norm = self.grid.stencil(x, self.table.first).of(&self.table.log_norm);
            let h = x - self.table.log_weight_left + self.half * log_norm - level;
            if h > 0.0 { high = x } else { low = x }
            // The chord of the last two points: its slope is good to the curve's bend across a tiny step.
            let local = before.map_or(slope, |(at, value)| (h - value) / (x - at));
            before = Some((x, h));
            let step = h / if local > 0.0 { local } else { slope };
            let next = x - step;
            let next = if next > low && next < high { next } else { 0.5 * (low + high) };
            if (next - x).abs() < 1e-11 {
                return next;
            }
            x = next;
        }
        x
    }

    /// m < 1: the lowest of all local minima and the zero function.
    fn best(&self, log_lambdas: &[f64]) -> Vec<Option<f64>> {
        let levels: Vec<f64> = log_lambdas.iter().map(|log_lambda| self.level(*log_lambda)).collect();
        let first = self.table.first;
        let mut best: Vec<(f64, Option<f64>)> = vec![(self.table.zero_train, None); levels.len()];
        let mut consider = |l: usize, x: f64| {
            let value = self.objective(x);
            if value < best[l].0 {
                best[l] = (value, Some(x));
            }
        };
        for (l, level) in levels.iter().enumerate().take_while(|(_, level)| **level <= self.psi[first]) {
            consider(l, self.below(*level));
        }
        for cell in first..self.grid.points - 1 {
            let (left, right) = (self.psi[cell], self.psi[cell + 1]);
            let lowest = levels.partition_point(|level| *level <= left);
            for (l, level) in levels.iter().enumerate().skip(lowest).take_while(|(_, level)| **level <= right) {
                consider(l, self.inside(cell, *level));
            }
        }
        best.into_iter().map(|(_, x)| x).collect()
    }

    /// R₋ + λN₋^(m/2) at a stationary point, where the second is (2/m) μ N₋.
    fn objective(&self, x: f64) -> f64 {
        let stencil = self.grid.stencil(x, self.table.first);
        let log_norm = stencil.of(&self.table.log_norm);
        let train = stencil.of(&self.table.train);
        train + 2.0 / self.exponent * libm::exp(x - self.table.log_weight_left + log_norm - self.table.log_unit)
    }
}
