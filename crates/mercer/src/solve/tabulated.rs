//! Which point of a group's tabulated path minimises the m-power problem: the equation of `power`, many times over.
//!
//! ψ(x) = x − log W₋ + (1 − m/2) log N₋, x = log γ, must equal log(λm/2). For m ≥ 1 ψ rises: one cell holds the
//! root, nearly the same for every row. For m < 1 every cell in which ψ rises through the level holds a local minimum; the best of them and
//! the zero function is taken.

use crate::path::{Grid, Tabulated};

impl Tabulated {
    /// log γ of the minimiser for each λ (rising) at m < 1, `None` for the zero function.
    pub(crate) fn minimisers(&self, grid: &Grid, exponent: f64, log_lambdas: &[f64]) -> Vec<Option<f64>> {
        if !self.has_energy {
            return vec![None; log_lambdas.len()];
        }
        let half = 1.0 - exponent / 2.0;
        let psi: Vec<f64> = self
            .log_norm
            .iter()
            .enumerate()
            .map(|(g, log_norm)| grid.log_gamma(g) - self.log_weight_left + half * log_norm)
            .collect();
        Search { table: self, grid, exponent, half, psi }.best(log_lambdas)
    }

    /// The same for one λ and m ≥ 1, where ψ rises: `cell` is where the root was for another row, and is where it is for
    /// this one afterwards. Rows differ little, so that is nearly always the right cell or the next.
    pub(crate) fn minimiser_near(&self, grid: &Grid, exponent: f64, log_lambda: f64, cell: &mut usize) -> Option<f64> {
        if !self.has_energy {
            return None;
        }
        if exponent == 2.0 {
            return Some(log_lambda + self.log_weight_left);
        }
        let half = 1.0 - exponent / 2.0;
        let level = log_lambda + libm::log(exponent / 2.0);
        let psi = |g: usize| grid.log_gamma(g) - self.log_weight_left + half * self.log_norm[g];
        let last = grid.points - 2;
        *cell = (*cell).clamp(self.first, last);
        while *cell > self.first && psi(*cell) > level {
            *cell -= 1;
        }
        while *cell < last && psi(*cell + 1) < level {
            *cell += 1;
        }
        if psi(*cell) > level {
            return Some(level + self.log_weight_left - half * self.log_norm[self.first]);
        }
        let top = psi(*cell + 1);
        if top < level {
            // N falls like 1/γ² out here; for m = 1 ψ has reached its limit.
            return (exponent > 1.0).then(|| grid.end() + (level - top) / (exponent - 1.0));
        }
        Some(self.root_in_cell(grid, half, *cell, level))
    }

    /// The root in a cell at whose ends ψ lies on both sides of the level: that of the cubic through four points, then
    /// one or two steps with the full stencil.
    fn root_in_cell(&self, grid: &Grid, half: f64, cell: usize, level: f64) -> f64 {
        let first = cell.saturating_sub(1).max(self.first).min(grid.points - 4);
        let psi = |g: usize| grid.log_gamma(g) - self.log_weight_left + half * self.log_norm[g];
        let cubic = Cubic::through([psi(first), psi(first + 1), psi(first + 2), psi(first + 3)]);
        let (low, high) = ((cell - first) as f64, (cell - first + 1) as f64);
        let (left, right) = (psi(cell), psi(cell + 1));
        let mut s = low + (level - left) / (right - left);
        for _ in 0..4 {
            let (value, slope) = cubic.at(s);
            let next = (s - (value - level) / slope).clamp(low, high);
            let has_settled = (next - s).abs() < 1e-6;
            s = next;
            if has_settled {
                break;
            }
        }
        let mut x = grid.log_gamma(first) + grid.step * s;
        let (_, slope) = cubic.at(s);
        let slope = slope / grid.step;
        for _ in 0..4 {
            let log_norm = grid.stencil(x, self.first).of(&self.log_norm);
            let h = x - self.log_weight_left + half * log_norm - level;
            let step = h / slope;
            x = (x - step).clamp(grid.log_gamma(cell), grid.log_gamma(cell + 1));
            // The cubic's slope is good to 1e-3 at least, so the next step would be that much shorter.
            if step.abs() < 1e-6 || !step.is_finite() {
                break;
            }
        }
        x
    }

    /// Weighted squared error of each target at log γ; `None` stands for the zero function.
    pub(crate) fn squared_errors(&self, grid: &Grid, log_gamma: Option<f64>, out: &mut [f64]) {
        let Some(x) = log_gamma else {
            for (t, out) in out.iter_mut().enumerate() {
                *out = self.clipped[t].as_ref().map_or(self.zero_errors[t], |rows| rows.squares(|_, zero| zero));
            }
            return;
        };
        if x > grid.end() {
            // The residual tends to that of the zero function like 1/γ.
            let share = libm::exp(grid.end() - x);
            for (t, out) in out.iter_mut().enumerate() {
                let between = |table: &[f64], zero: f64| zero + (table[grid.points - 1] - zero) * share;
                *out = match &self.clipped[t] {
                    Some(rows) => rows.squares(between),
                    None => between(&self.errors[t], self.zero_errors[t]),
                };
            }
            return;
        }
        let stencil = grid.stencil(x, self.first);
        for (t, out) in out.iter_mut().enumerate() {
            *out = match &self.clipped[t] {
                Some(rows) => rows.squares(|table, _| stencil.of(table)),
                None => stencil.of(&self.errors[t]),
            };
        }
    }
}

/// A cubic through (0, v₀), …, (3, v₃), in Newton's form.
struct Cubic {
    differences: [f64; 4],
}

impl Cubic {
    fn through(v: [f64; 4]) -> Self {
        let second = [v[1] - v[0], v[2] - v[1], v[3] - v[2]];
        let third = [second[1] - second[0], second[2] - second[1]];
        Cubic { differences: [v[0], second[0], third[0] / 2.0, (third[1] - third[0]) / 6.0] }
    }

    /// Value and slope.
    fn at(&self, s: f64) -> (f64, f64) {
        let [a, b, c, d] = self.differences;
        let (t, u) = (s - 1.0, s - 2.0);
        (a + s * (b + t * (c + u * d)), b + c * (s + t) + d * (s * t + s * u + t * u))
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

    /// Below the table N does not change any more.
    fn below(&self, level: f64) -> f64 {
        level + self.table.log_weight_left - self.half * self.table.log_norm[self.table.first]
    }

    fn inside(&self, cell: usize, level: f64) -> f64 {
        self.table.root_in_cell(self.grid, self.half, cell, level)
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
        let (Some(lowest_level), Some(highest_level)) = (levels.first().copied(), levels.last().copied()) else {
            return Vec::new();
        };
        for cell in first..self.grid.points - 1 {
            let (left, right) = (self.psi[cell], self.psi[cell + 1]);
            if right <= left || right < lowest_level || left > highest_level {
                continue;
            }
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
