//! Which points of tabulated paths minimise the m-power problem: the equation of `power`, for every deletion, exponent and
//! λ of a surface at once.
//!
//! ψ(x) = x − log W₋ + (1 − m/2) log N₋, x = log γ, must equal log(λm/2). A cell in which ψ rises through that level holds
//! a local minimum: the only one for m ≥ 1, where ψ rises throughout; for m < 1 the best of them and the zero function is
//! taken. Cells come first, then exponents, then λ: all roots in a cell share its polynomials.

use crate::base::clip::within;
use crate::linalg::simd::{exp, vectorize};
use crate::path::RowTables;
use crate::path::interpolation::{COEFFICIENTS, LANES, Lanes, MARGIN, Polynomials, logarithm, value, value_and_slope};
use crate::path::row_tables::RowBlock;

/// One exponent and the λ asked for.
struct Question {
    exponent: f64,
    /// 1 − m/2.
    half: f64,
    /// log(λm/2), rising.
    levels: Vec<f64>,
    /// Where its answers begin, in numbers of λ.
    place: usize,
}

/// What is found for the rows of a block.
struct Answers {
    /// The objective, only for m < 1.
    objective: Vec<Lanes>,
    /// √w times the residuals, target by target.
    errors: Vec<Lanes>,
}

/// The polynomials of one cell.
struct Cell {
    /// log γ of its middle.
    middle: f64,
    log_norm: Polynomials,
    train: Polynomials,
    errors: Vec<Polynomials>,
    workspace: Polynomials,
}

const NOTHING: Polynomials = [[0.0; LANES]; COEFFICIENTS];

impl RowTables {
    /// Weighted squared errors of the rows of one block, `[exponent and λ][target]`, for several exponents with their log λ,
    /// which rise.
    pub(crate) fn squared_errors(&self, block: &RowBlock, asked: &[(f64, Vec<f64>)]) -> Vec<Lanes> {
        let (questions, places) = questions(asked);
        let errors = block.zero_errors.repeat(places);
        let mut answers = Answers { objective: vec![block.zero_train; places], errors };
        let search = Search { tables: self, block, questions: &questions };
        vectorize(
            #[inline(always)]
            || {
                search.below(&mut answers);
                search.inside(&mut answers);
                search.above(&mut answers);
            },
        );
        for (place, errors) in answers.errors.iter_mut().enumerate() {
            if let Some([low, high]) = block.limits.get(place % self.targets) {
                (0..LANES).for_each(|l| errors[l] = within(errors[l], [low[l], high[l]]));
            }
        }
        answers.errors.into_iter().map(|e| e.map(|e| e * e)).collect()
    }

    /// √w times the residuals of the rows of one block, target by target, at an exponent from 1 on; NaN for rows whose ridge lies beyond
    /// the tables.
    pub(crate) fn errors_inside(&self, block: &RowBlock, exponent: f64, log_lambda: f64) -> Vec<Lanes> {
        let (questions, _) = questions(&[(exponent, vec![log_lambda])]);
        // Where no f could follow what is left there is nothing to look for.
        let start = |zero: &Lanes| std::array::from_fn(|l| if block.first[l].is_finite() { f64::NAN } else { zero[l] });
        let errors = block.zero_errors.iter().map(start).collect();
        let mut answers = Answers { objective: vec![block.zero_train], errors };
        let search = Search { tables: self, block, questions: &questions };
        vectorize(
            #[inline(always)]
            || search.inside(&mut answers),
        );
        answers.errors
    }
}

/// What is asked of every row, and the number of answers.
fn questions(asked: &[(f64, Vec<f64>)]) -> (Vec<Question>, usize) {
    let mut place = 0;
    let mut questions = Vec::with_capacity(asked.len());
    for (exponent, log_lambdas) in asked {
        let shift = libm::log(exponent / 2.0);
        questions.push(Question {
            exponent: *exponent,
            half: 1.0 - exponent / 2.0,
            levels: log_lambdas.iter().map(|log_lambda| log_lambda + shift).collect(),
            place,
        });
        place += log_lambdas.len();
    }
    (questions, place)
}

struct Search<'a> {
    tables: &'a RowTables,
    block: &'a RowBlock,
    questions: &'a [Question],
}

impl Search<'_> {
    /// ψ at a point of the table.
    #[inline(always)]
    fn psi(&self, half: f64, g: usize) -> Lanes {
        let x = self.tables.grid.log_gamma(g);
        let mut psi = [0.0; LANES];
        for l in 0..LANES {
            psi[l] = x - self.block.log_weight_left[l] + half * self.block.log_norm[g][l];
        }
        psi
    }

    /// Roots below the table, where N₋ and the residual do not change any more.
    #[inline(always)]
    fn below(&self, answers: &mut Answers) {
        let block = self.block;
        let first = &block.first;
        let log_norm = block.at_first(&block.log_norm);
        let train = if block.train.is_empty() { [0.0; LANES] } else { block.at_first(&block.train) };
        let errors: Vec<Lanes> = block.errors.iter().map(|table| block.at_first(table)).collect();
        for question in self.questions {
            let mut psi = [f64::NEG_INFINITY; LANES];
            for l in (0..LANES).filter(|l| first[*l].is_finite()) {
                let x = self.tables.grid.log_gamma(first[l] as usize);
                psi[l] = x - block.log_weight_left[l] + question.half * log_norm[l];
            }
            let highest = psi.iter().fold(f64::NEG_INFINITY, |max: f64, v| max.max(*v));
            for (i, level) in question.levels.iter().enumerate().take_while(|(_, level)| **level <= highest) {
                let mut is_here = [false; LANES];
                let mut ridge = [0.0; LANES];
                for l in 0..LANES {
                    is_here[l] = *level <= psi[l];
                    ridge[l] = level - question.half * log_norm[l];
                }
                self.record(answers, question, i, &is_here, &ridge, &log_norm, &train, |t| errors[t]);
            }
        }
    }

    /// Roots between the points of the table.
    #[inline(always)]
    fn inside(&self, answers: &mut Answers) {
        let (tables, block) = (self.tables, self.block);
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for weight in &block.log_weight_left {
            (least, most) = (least.min(*weight), most.max(*weight));
        }
        // Where each question's levels of the last cell began: those of the next one begin near by.
        let mut starts = vec![0; self.questions.len()];
        let mut cell = Cell {
            middle: 0.0,
            log_norm: NOTHING,
            train: NOTHING,
            errors: vec![NOTHING; tables.targets],
            workspace: NOTHING,
        };
        for g in MARGIN..tables.last() {
            let (x, next) = (tables.grid.log_gamma(g), tables.grid.log_gamma(g + 1));
            let (at_left, at_right) = (block.log_norm_range[g], block.log_norm_range[g + 1]);
            let mut is_made = false;
            for (question, start) in self.questions.iter().zip(&mut starts) {
                let half = question.half;
                let lowest = x - most + (half * at_left.0).min(half * at_left.1);
                let highest = next - least + (half * at_right.0).max(half * at_right.1);
                let levels = &question.levels;
                while *start > 0 && levels[*start - 1] >= lowest {
                    *start -= 1;
                }
                while levels.get(*start).is_some_and(|level| *level < lowest) {
                    *start += 1;
                }
                if levels.get(*start).is_none_or(|level| *level > highest) {
                    continue;
                }
                let (left, right) = (self.psi(half, g), self.psi(half, g + 1));
                for (i, level) in levels.iter().enumerate().skip(*start).take_while(|(_, level)| **level <= highest) {
                    let mut is_here = [false; LANES];
                    let mut is_any_here = false;
                    for l in 0..LANES {
                        is_here[l] = block.first[l] <= g as f64 && left[l] < *level && *level <= right[l];
                        is_any_here |= is_here[l];
                    }
                    if !is_any_here {
                        continue;
                    }
                    if !is_made {
                        self.make(&mut cell, g);
                        is_made = true;
                    }
                    self.root(answers, question, i, &cell, &is_here, &left, &right);
                }
            }
        }
    }

    /// The polynomials of the cell that begins at point g.
    #[inline(always)]
    fn make(&self, cell: &mut Cell, g: usize) {
        let (tables, block) = (self.tables, self.block);
        cell.middle = tables.grid.log_gamma(g) + 0.5 * tables.grid.step;
        for (table, errors) in block.errors.iter().zip(&mut cell.errors) {
            tables.weights.polynomials(table, g, errors);
        }
        tables.weights.polynomials(&block.norm, g, &mut cell.workspace);
        logarithm(&mut cell.workspace, &block.log_norm[g], &mut cell.log_norm);
        if !block.train.is_empty() {
            tables.weights.polynomials(&block.train, g, &mut cell.train);
        }
    }

    /// Newton's method between the ends of a cell, halving where it would leave them.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "one call, in the innermost loop")]
    fn root(
        &self,
        answers: &mut Answers,
        question: &Question,
        i: usize,
        cell: &Cell,
        is_here: &[bool; LANES],
        left: &Lanes,
        right: &Lanes,
    ) {
        let level = question.levels[i];
        let half_step = 0.5 * self.tables.grid.step;
        // h(s) = (1 − m/2) log N₋ + constant + half_step s.
        let (mut s, mut low, mut high) = ([0.0; LANES], [-1.001; LANES], [1.001; LANES]);
        let mut constant = [0.0; LANES];
        for l in 0..LANES {
            constant[l] = cell.middle - self.block.log_weight_left[l] - level;
            s[l] = if is_here[l] { 2.0 * (level - left[l]) / (right[l] - left[l]) - 1.0 } else { 0.0 };
        }
        // The next step would be about the square of this one, and polynomials of a grid that is not close are not worth more.
        let settled = if self.tables.grid.step > 0.3 { 1e-4 } else { 1e-6 };
        for _ in 0..40 {
            let (mut values, mut slopes) = value_and_slope(&cell.log_norm, &s);
            for l in 0..LANES {
                values[l] = question.half.mul_add(values[l], half_step.mul_add(s[l], constant[l]));
                slopes[l] = question.half.mul_add(slopes[l], half_step);
            }
            let mut is_open = false;
            for l in 0..LANES {
                let is_left = values[l] < 0.0;
                low[l] = if is_left { s[l] } else { low[l] };
                high[l] = if is_left { high[l] } else { s[l] };
                let newton = s[l] - values[l] / slopes[l];
                let is_inside = newton >= low[l] && newton <= high[l];
                let next = if is_inside { newton } else { 0.5 * (low[l] + high[l]) };
                is_open |= is_here[l] & ((next - s[l]).abs() >= settled);
                s[l] = next;
            }
            if !is_open {
                break;
            }
        }
        // Only where several minima compete it matters how low they are.
        let (mut ridge, mut log_norm, mut train) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        if question.exponent < 1.0 {
            (log_norm, train) = (value(&cell.log_norm, &s), value(&cell.train, &s));
            for l in 0..LANES {
                ridge[l] = cell.middle + half_step * s[l] - self.block.log_weight_left[l];
            }
        }
        self.record(answers, question, i, is_here, &ridge, &log_norm, &train, |t| value(&cell.errors[t], &s));
    }

    /// Roots above the table: N₋ falls like 1/γ² out here, and the residual tends to that of the zero function like 1/γ. For
    /// m = 1 ψ has reached its limit, and for m < 1 it has no minimum any more: that is the zero function already.
    #[inline(always)]
    fn above(&self, answers: &mut Answers) {
        let (block, last) = (self.block, self.tables.last());
        for question in self.questions.iter().filter(|question| question.exponent > 1.0) {
            let top = self.psi(question.half, last);
            for (i, level) in question.levels.iter().enumerate() {
                for l in (0..LANES).filter(|l| block.first[*l].is_finite() && top[*l] < *level) {
                    let share = libm::exp(-(level - top[l]) / (question.exponent - 1.0));
                    for (t, zero) in block.zero_errors.iter().enumerate() {
                        let error = zero[l] + (block.errors[t][last][l] - zero[l]) * share;
                        answers.errors[(question.place + i) * self.tables.targets + t][l] = error;
                    }
                }
            }
        }
    }

    /// Keeps a stationary point where it is the minimum, given log μ, log N₋, R₋ and the residuals there.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "what is known of a point, row by row")]
    fn record(
        &self,
        answers: &mut Answers,
        question: &Question,
        i: usize,
        is_here: &[bool; LANES],
        log_ridge: &Lanes,
        log_norm: &Lanes,
        train: &Lanes,
        errors: impl Fn(usize) -> Lanes,
    ) {
        let place = question.place + i;
        let mut is_best = *is_here;
        if question.exponent < 1.0 {
            // R₋ + λN₋^(m/2) at a stationary point, where the second is (2/m) μ N₋.
            let known = &mut answers.objective[place];
            for l in 0..LANES {
                let log_product = log_ridge[l] + log_norm[l] - self.tables.log_unit;
                let product = exp(if log_product > 700.0 { 700.0 } else { log_product });
                let objective = train[l] + 2.0 / question.exponent * product;
                is_best[l] &= objective < known[l];
                known[l] = if is_best[l] { objective } else { known[l] };
            }
        }
        for t in 0..self.tables.targets {
            let errors = errors(t);
            let known = &mut answers.errors[place * self.tables.targets + t];
            for l in 0..LANES {
                known[l] = if is_best[l] { errors[l] } else { known[l] };
            }
        }
    }
}
