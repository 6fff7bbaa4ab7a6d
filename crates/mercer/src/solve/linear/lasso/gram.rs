//! A working set whose products XᵀX are kept: coordinate descent finds signs, Newton steps on the support find values.

use rayon::prelude::*;

use super::super::design::Design;
use super::super::features::{add_scaled, dot};
use super::factor::Factor;
use super::path::Penalty;
use crate::base::error::{Error, Result};
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
    /// Of the products of the last support, plus `beta` on the diagonal.
    factor: Factor,
    beta: f64,
}

/// The state of a descent, by place.
struct State {
    w: Vec<f64>,
    /// xᵀr.
    c: Vec<f64>,
}

/// Changes of a factor after which it is computed afresh.
const MOST_CHANGES: usize = 1000;

impl GramSet {
    pub fn new(cols: usize) -> Self {
        GramSet {
            columns: Vec::new(),
            place: vec![ABSENT; cols],
            products: Vec::new(),
            packed: Vec::new(),
            factor: Factor::default(),
            beta: 0.0,
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
        // Places change; the factor goes by places.
        self.factor = Factor::default();
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
        for _ in 0..200 {
            // Newton first: at a new λ all active columns miss their optimum by the same, and one solve moves them there.
            let before = state.w.clone();
            result = self.newton(&mut state, penalty, go_on);
            self.sync(&mut state, &before);
            if result.is_err() || self.sweep(&mut state, penalty, eta) <= eta {
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

    /// Newton steps on the support until one meets no change of sign: that one ends on the optimum of its signs. w moves,
    /// c does not.
    fn newton(&mut self, state: &mut State, penalty: Penalty, go_on: &(dyn Fn() -> bool + Sync)) -> Result<()> {
        let Penalty { a, beta } = penalty;
        self.align(state, beta);
        // G_AA d = rhs, by member; kept up to date through the factor alone.
        let mut rhs: Vec<f64> = self
            .factor
            .members
            .iter()
            .map(|k| {
                let w = state.w[*k];
                state.c[*k] - beta * w - a * w.signum()
            })
            .collect();
        while !self.factor.members.is_empty() {
            if !go_on() {
                return Err(Error::Interrupted);
            }
            let members = &self.factor.members;
            let mut direction = rhs.clone();
            self.factor.solve(&mut direction);
            if !direction.iter().all(|d| d.is_finite()) {
                return Ok(());
            }
            let crosses: Vec<bool> =
                members.iter().zip(&direction).map(|(k, d)| (state.w[*k] + d) * state.w[*k] <= 0.0).collect();
            if !crosses.contains(&true) {
                members.iter().zip(&direction).for_each(|(k, d)| state.w[*k] += d);
                return Ok(());
            }
            // What changes its sign stops at 0, if the objective falls nevertheless.
            let mut step: Vec<f64> = members
                .iter()
                .zip(&direction)
                .zip(&crosses)
                .map(|((k, d), crosses)| if *crosses { -state.w[*k] } else { *d })
                .collect();
            let mut half = self.factor.half(&step);
            let mut leaving = crosses;
            if !(0.5 * dot(&half, &half) < dot(&rhs, &step)) {
                // Up to the first change of sign it surely falls.
                let (mut t, mut at) = (1.0, 0);
                for (position, k) in members.iter().enumerate().filter(|(position, _)| leaving[*position]) {
                    let reach = -state.w[*k] / direction[position];
                    if reach <= t {
                        (t, at) = (reach, position);
                    }
                }
                leaving = vec![false; members.len()];
                leaving[at] = true;
                step = direction.iter().map(|d| t * d).collect();
                half = self.factor.half(&step);
            }
            for (r, moved) in rhs.iter_mut().zip(self.factor.other_half(&half)) {
                *r -= moved;
            }
            for (k, s) in members.iter().zip(&step) {
                state.w[*k] += s;
            }
            for position in (0..leaving.len()).rev().filter(|position| leaving[*position]) {
                state.w[self.factor.members[position]] = 0.0;
                self.factor.remove(position);
                rhs.remove(position);
            }
        }
        Ok(())
    }

    /// Makes the factor that of the support.
    fn align(&mut self, state: &State, beta: f64) {
        let active: Vec<usize> = (0..self.columns.len()).filter(|k| state.w[*k] != 0.0).collect();
        let mut is_member = vec![false; self.columns.len()];
        self.factor.members.iter().for_each(|k| is_member[*k] = true);
        let entering: Vec<usize> = active.iter().copied().filter(|k| !is_member[*k]).collect();
        let leaving = self.factor.members.iter().filter(|k| state.w[**k] == 0.0).count();
        let changes = entering.len() + leaving;
        let too_many = changes > 16 + active.len() / 8 || self.factor.changes + changes > MOST_CHANGES;
        if beta != self.beta || too_many || !self.factor.is_plain {
            self.beta = beta;
            let matrix = self.lower(&active, beta);
            if let Some(fresh) = Factor::new(active.clone(), matrix) {
                self.factor = fresh;
                return;
            }
            // Columns that depend on each other: one by one, so that each gets what it needs on the diagonal.
            self.factor = Factor::default();
            self.factor.is_plain = true;
            active.iter().for_each(|k| self.enter(*k));
            return;
        }
        for position in (0..self.factor.members.len()).rev() {
            if state.w[self.factor.members[position]] == 0.0 {
                self.factor.remove(position);
            }
        }
        entering.iter().for_each(|k| self.enter(*k));
    }

    fn enter(&mut self, k: usize) {
        let products = self.factor.members.iter().map(|l| self.products[k][*l]).collect();
        self.factor.append(k, products, self.products[k][k] + self.beta);
    }

    /// c after w has moved from `before`.
    fn sync(&self, state: &mut State, before: &[f64]) {
        let moved: Vec<usize> = (0..before.len()).filter(|k| state.w[*k] != before[*k]).collect();
        const CHUNK: usize = 256;
        let w = &state.w;
        let fill = |(chunk, c): (usize, &mut [f64])| {
            let range = chunk * CHUNK..chunk * CHUNK + c.len();
            for k in &moved {
                add_scaled(c, before[*k] - w[*k], &self.products[*k][range.clone()]);
            }
        };
        if before.len() * moved.len() < 1 << 16 {
            state.c.chunks_mut(CHUNK).enumerate().for_each(fill);
        } else {
            state.c.par_chunks_mut(CHUNK).enumerate().for_each(fill);
        }
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

    /// tr G_AA(G_AA + β)⁻¹, if it can be had from what is known.
    pub fn dof(&self, support: &[usize], beta: f64) -> Option<f64> {
        if support.iter().any(|j| self.place[*j] == ABSENT) {
            return None;
        }
        if beta == 0.0 {
            let mut known: Vec<usize> = self.factor.members.iter().map(|k| self.columns[*k]).collect();
            known.sort_unstable();
            return (self.factor.is_plain && known == support).then_some(support.len() as f64);
        }
        let active: Vec<usize> = support.iter().map(|j| self.place[*j] as usize).collect();
        let factor = Cholesky::new(self.lower(&active, beta))?;
        Some(support.len() as f64 - beta * factor.inverse_diagonal().iter().sum::<f64>())
    }
}
