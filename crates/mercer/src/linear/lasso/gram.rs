//! A working set whose products XᵀX are kept: coordinate descent finds signs, Newton steps on the support find values.

use rayon::prelude::*;

use super::super::design::Design;
use super::super::features::{add_scaled, dot};
use super::path::Penalty;
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Matrix};

const ABSENT: u32 = u32::MAX;

/// Columns and all their products; kept along the path, since a column that was needed is likely to be needed again.
pub(super) struct GramSet {
    columns: Vec<usize>,
    /// Where a column of X stands in `columns`.
    place: Vec<u32>,
    /// `products[k][l]` = x_kᵀx_l.
    products: Vec<Vec<f64>>,
    /// The columns themselves, one after the other, of a dense design.
    packed: Vec<f64>,
    /// The support whose products were last factored without help, ascending by column.
    factored: Vec<usize>,
}

/// The state of a descent, by place.
struct State {
    w: Vec<f64>,
    /// xᵀr.
    c: Vec<f64>,
}

impl GramSet {
    pub fn new(cols: usize) -> Self {
        GramSet {
            columns: Vec::new(),
            place: vec![ABSENT; cols],
            products: Vec::new(),
            packed: Vec::new(),
            factored: Vec::new(),
        }
    }

    pub fn clear(&mut self) {
        *self = GramSet::new(self.place.len());
    }

    /// Makes sure that `wanted` are in; forgets others when there are many of them.
    pub fn keep(&mut self, design: &Design<'_>, wanted: &[usize]) {
        let new: Vec<usize> = wanted.iter().copied().filter(|j| self.place[*j] == ABSENT).collect();
        if self.columns.len() + new.len() > 2 * wanted.len() + 200 {
            self.forget_all_but(wanted, design.rows());
        }
        if new.is_empty() {
            return;
        }
        let before = self.columns.len();
        for j in &new {
            self.place[*j] = self.columns.len() as u32;
            self.columns.push(*j);
            design.pack(*j, &mut self.packed);
        }
        let start = if self.packed.is_empty() { 0 } else { before * design.rows() };
        let block = design.products(&self.columns, &new, &self.packed, &self.packed[start..]);
        for (k, known) in self.products.iter_mut().enumerate() {
            known.extend((0..new.len()).map(|l| block.get(k, l)));
        }
        self.products.extend((0..new.len()).map(|l| block.col(l).to_vec()));
    }

    fn forget_all_but(&mut self, wanted: &[usize], rows: usize) {
        let mut stays = vec![false; self.columns.len()];
        for j in wanted.iter().filter(|j| self.place[**j] != ABSENT) {
            stays[self.place[*j] as usize] = true;
        }
        let kept: Vec<usize> = (0..self.columns.len()).filter(|k| stays[*k]).collect();
        self.products = kept.iter().map(|k| kept.iter().map(|l| self.products[*k][*l]).collect()).collect();
        if !self.packed.is_empty() {
            for (to, from) in kept.iter().enumerate() {
                self.packed.copy_within(from * rows..(from + 1) * rows, to * rows);
            }
            self.packed.truncate(kept.len() * rows);
        }
        self.columns.iter().for_each(|j| self.place[*j] = ABSENT);
        self.columns = kept.iter().map(|k| self.columns[*k]).collect();
        for (k, j) in self.columns.iter().enumerate() {
            self.place[*j] = k as u32;
        }
    }

    /// Minimises over the columns that are in, from w with residual r, until no condition of optimality is missed by
    /// more than eta·a.
    pub fn descend(
        &mut self,
        design: &Design<'_>,
        w: &mut [f64],
        r: &[f64],
        penalty: Penalty,
        eta: f64,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        let mut c = Vec::new();
        design.correlations(r, &self.columns, &mut c);
        let mut state = State { w: self.columns.iter().map(|j| w[*j]).collect(), c };
        let mut result = Ok(());
        for _ in 0..100 {
            let worst = self.sweep(&mut state, penalty, eta);
            if worst <= eta {
                break;
            }
            // Each step that meets a change of sign drops columns; a full step ends on the optimum of its signs.
            for _ in 0..30 {
                if !go_on() {
                    result = Err(Error::Interrupted);
                    break;
                }
                if !self.newton(&mut state, penalty) {
                    break;
                }
            }
            if result.is_err() {
                break;
            }
        }
        for (j, value) in self.columns.iter().zip(&state.w) {
            w[*j] = *value;
        }
        result
    }

    /// One round of coordinate descent; returns the largest violation met, in units of a.
    fn sweep(&self, state: &mut State, penalty: Penalty, eta: f64) -> f64 {
        let Penalty { a, beta } = penalty;
        let mut worst: f64 = 0.0;
        for k in 0..self.columns.len() {
            let curvature = self.products[k][k] + beta;
            let w = state.w[k];
            let pull = state.c[k] - beta * w;
            let violation = if w == 0.0 { (pull.abs() - a).max(0.0) } else { (pull - a * w.signum()).abs() };
            worst = worst.max(violation / a);
            if violation <= 0.1 * eta * a || curvature <= 0.0 {
                continue;
            }
            let target = pull + curvature * w;
            let new = target.signum() * (target.abs() - a).max(0.0) / curvature;
            if new != w {
                add_scaled(&mut state.c, w - new, &self.products[k]);
                state.w[k] = new;
            }
        }
        worst
    }

    /// A Newton step on the support. Returns whether signs changed, so that another step should follow.
    fn newton(&mut self, state: &mut State, penalty: Penalty) -> bool {
        let Penalty { a, beta } = penalty;
        let active: Vec<usize> = (0..self.columns.len()).filter(|k| state.w[*k] != 0.0).collect();
        if active.is_empty() {
            return false;
        }
        let rhs: Vec<f64> =
            active.iter().map(|k| state.c[*k] - beta * state.w[*k] - a * state.w[*k].signum()).collect();
        let Some(direction) = self.solve(&active, &rhs, beta) else { return false };
        let crosses: Vec<bool> =
            active.iter().zip(&direction).map(|(k, d)| (state.w[*k] + d) * state.w[*k] < 0.0).collect();
        let changes = crosses.contains(&true);
        let full: Vec<f64> =
            (0..active.len()).map(|k| if crosses[k] { -state.w[active[k]] } else { direction[k] }).collect();
        if self.accept(state, &active, &full, &rhs, penalty) {
            return changes;
        }
        if !changes {
            return false;
        }
        // The first change of sign: up to there the objective is a quadratic that falls.
        let (mut t, mut at) = (1.0, 0);
        for k in 0..active.len() {
            let reach = -state.w[active[k]] / direction[k];
            if crosses[k] && reach < t {
                (t, at) = (reach, k);
            }
        }
        let mut step: Vec<f64> = direction.iter().map(|d| t * d).collect();
        step[at] = -state.w[active[at]];
        self.accept(state, &active, &step, &rhs, penalty)
    }

    /// Takes a step of the support if the objective falls.
    fn accept(&self, state: &mut State, active: &[usize], step: &[f64], rhs: &[f64], penalty: Penalty) -> bool {
        let moved = self.multiply(active, step);
        // Within the signs that stay, a‖w‖₁ is linear and part of rhs; what reaches 0 ends there.
        let linear = dot(rhs, step);
        let curved: f64 = active.iter().zip(step).map(|(k, s)| s * (moved[*k] + penalty.beta * s)).sum();
        if !(0.5 * curved - linear < 0.0) {
            return false;
        }
        for (k, s) in active.iter().zip(step) {
            let new = state.w[*k] + s;
            state.w[*k] = if *s == -state.w[*k] { 0.0 } else { new };
        }
        for (c, m) in state.c.iter_mut().zip(&moved) {
            *c -= m;
        }
        true
    }

    /// Σ over the support of step × products, for every column that is in.
    fn multiply(&self, active: &[usize], step: &[f64]) -> Vec<f64> {
        const CHUNK: usize = 512;
        let mut out = vec![0.0; self.columns.len()];
        let fill = |(chunk, out): (usize, &mut [f64])| {
            let range = chunk * CHUNK..chunk * CHUNK + out.len();
            for (k, s) in active.iter().zip(step) {
                add_scaled(out, *s, &self.products[*k][range.clone()]);
            }
        };
        if out.len() * active.len() < 1 << 16 {
            out.chunks_mut(CHUNK).enumerate().for_each(fill);
        } else {
            out.par_chunks_mut(CHUNK).enumerate().for_each(fill);
        }
        out
    }

    fn lower(&self, active: &[usize], add: f64) -> Matrix {
        let m = active.len();
        let mut out = Matrix::zeros(m, m);
        for (j, k) in active.iter().enumerate() {
            let products = &self.products[*k];
            let column = out.col_mut(j);
            for i in j..m {
                column[i] = products[active[i]];
            }
            column[j] += add;
        }
        out
    }

    /// (G_AA + β)⁻¹ rhs; columns that depend on each other get a little more on the diagonal, which leaves a direction
    /// of descent.
    fn solve(&mut self, active: &[usize], rhs: &[f64], beta: f64) -> Option<Vec<f64>> {
        let largest = active.iter().map(|k| self.products[*k][*k]).fold(0.0, f64::max);
        let mut extra = 0.0;
        loop {
            if let Some(factor) = Cholesky::new(self.lower(active, beta + extra)) {
                if extra == 0.0 {
                    self.factored = active.iter().map(|k| self.columns[*k]).collect();
                    self.factored.sort_unstable();
                }
                let mut x = Matrix::column_vector(rhs.to_vec());
                factor.solve(&mut x);
                let x = x.into_vec();
                if x.iter().all(|v| v.is_finite()) {
                    return Some(x);
                }
            }
            extra = if extra == 0.0 { 1e-13 * largest } else { 100.0 * extra };
            if !(extra < 1e-2 * largest) {
                return None;
            }
        }
    }

    /// tr G_AA(G_AA + β)⁻¹, if it can be had from what is known.
    pub fn dof(&self, support: &[usize], beta: f64) -> Option<f64> {
        if beta == 0.0 {
            return (self.factored == support).then_some(support.len() as f64);
        }
        if support.iter().any(|j| self.place[*j] == ABSENT) {
            return None;
        }
        let active: Vec<usize> = support.iter().map(|j| self.place[*j] as usize).collect();
        let factor = Cholesky::new(self.lower(&active, beta))?;
        Some(support.len() as f64 - beta * factor.inverse_diagonal().iter().sum::<f64>())
    }
}
