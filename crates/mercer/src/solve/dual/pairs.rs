//! A few hundred variables with their part of K in fast memory: the pair that gains most by second order (Fan, Chen and
//! Lin 2005), over and over; without an offset the one variable that gains most.
//!
//! A variable may go up while α < upper, and the objective then changes at the rate u = g + qα ± ε; it may go down while
//! α > lower, at the rate d (the other side of the kink of |α|). g is the gradient of ½αᵀKα − tᵀα. At the minimum with an
//! offset no d is above any u; without one, no u is below 0 and no d above 0.
//!
//! With K in single precision so are the gradient and the rates, in units of the largest gradient: half the memory to go
//! through, which is what a step takes. The gradient is made anew from all changes before its rounding adds up.

mod lists;

use self::lists::{Lists, extremes, most_gaining, partner};
use super::store::Element;
use crate::linalg::simd::vectorize;

/// Numbers per turn of a loop; lists are padded to a multiple.
pub(super) const WIDTH: usize = 32;

/// A length padded to whole turns.
pub(super) fn padded(length: usize) -> usize {
    length.next_multiple_of(WIDTH)
}

/// The variables and their part of K. Lists have the padded length; padding has the box [0, 0].
pub(super) struct Block<T> {
    /// Rows of K, each of the padded length.
    pub gram: Vec<T>,
    /// Those of the variables before these.
    pub last_gram: Vec<T>,
    /// Where each variable's row begins, [`MISSING`] if it was not made yet.
    starts: Vec<usize>,
    /// How many numbers rows that were made take.
    made: usize,
    pub diagonal: Vec<f64>,
    pub alpha: Vec<f64>,
    pub gradient: Vec<f64>,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub epsilon: Vec<f64>,
    pub curvature: Vec<f64>,
}

const MISSING: usize = usize::MAX;
/// Numbers of rows that are made one by one for which there is room from the beginning: two megabytes in single precision.
const ROOM: usize = 1 << 19;

/// Writes a variable's row of K.
pub(super) type Make<'a, T> = dyn Fn(usize, &mut [T]) + 'a;

/// u − g and d − g of one variable; infinite when it cannot move that way.
#[inline(always)]
pub(super) fn rates(alpha: f64, lower: f64, upper: f64, epsilon: f64, curvature: f64) -> (f64, f64) {
    let bent = curvature * alpha;
    let up = if alpha < upper { bent + if alpha >= 0.0 { epsilon } else { -epsilon } } else { f64::INFINITY };
    let down = if alpha > lower { bent + if alpha > 0.0 { epsilon } else { -epsilon } } else { f64::NEG_INFINITY };
    (up, down)
}

/// The smallest curvature along a pair: duplicates have none.
const FLAT: f64 = 1e-12;
/// Steps after which a gradient in single precision is made anew.
const REFRESH: usize = 8192;

impl<T: Element> Block<T> {
    pub fn new(variables: usize) -> Self {
        let size = padded(variables);
        Block {
            gram: vec![T::default(); size * size],
            last_gram: Vec::new(),
            starts: Vec::new(),
            made: 0,
            diagonal: vec![1.0; size],
            alpha: vec![0.0; size],
            gradient: vec![0.0; size],
            lower: vec![0.0; size],
            upper: vec![0.0; size],
            epsilon: vec![0.0; size],
            curvature: vec![0.0; size],
        }
    }

    /// Makes room for so many variables and all of their rows; what belongs to the last ones is put aside. Returns the padded length.
    pub fn resize(&mut self, variables: usize) -> usize {
        std::mem::swap(&mut self.gram, &mut self.last_gram);
        let size = self.set_size(variables);
        if self.gram.len() < size * size {
            self.gram.resize(size * size, T::default());
        }
        self.starts = (0..size).map(|k| k * size).collect();
        size
    }

    /// Makes room for so many variables whose rows are made when steps need them: most never do.
    pub fn restart(&mut self, variables: usize) {
        let size = self.set_size(variables);
        // Nobody has to move when more rows come; what stays empty costs nothing.
        self.gram.reserve(ROOM.saturating_sub(self.gram.len()));
        self.made = 0;
        self.starts = vec![MISSING; size];
    }

    fn set_size(&mut self, variables: usize) -> usize {
        let size = padded(variables);
        let lists = [
            &mut self.diagonal,
            &mut self.alpha,
            &mut self.gradient,
            &mut self.lower,
            &mut self.upper,
            &mut self.epsilon,
            &mut self.curvature,
        ];
        lists.into_iter().for_each(|list| list.resize(size, 0.0));
        size
    }

    /// A variable's row, which was made.
    #[inline(always)]
    pub fn row(&self, k: usize) -> &[T] {
        &self.gram[self.starts[k]..][..self.alpha.len()]
    }

    /// Makes a variable's row if that was not done before.
    #[inline(always)]
    pub fn need(&mut self, k: usize, make: &Make<'_, T>) {
        if self.starts[k] == MISSING {
            self.make_row(k, make);
        }
    }

    #[inline(never)]
    fn make_row(&mut self, k: usize, make: &Make<'_, T>) {
        let (from, to) = (self.made, self.made + self.alpha.len());
        if self.gram.len() < to {
            self.gram.resize(to, T::default());
        }
        make(k, &mut self.gram[from..to]);
        (self.starts[k], self.made) = (from, to);
    }

    /// Steps until the violation is below `tolerance`; returns their number. Rows that are missing are made.
    pub fn minimise(&mut self, has_offset: bool, tolerance: f64, most: usize, make: &Make<'_, T>) -> usize {
        vectorize(
            #[inline(always)]
            || if has_offset { self.by_pairs(tolerance, most, make) } else { self.one_by_one(tolerance, most, make) },
        )
    }

    #[inline(always)]
    fn by_pairs(&mut self, tolerance: f64, most: usize, make: &Make<'_, T>) -> usize {
        let size = self.alpha.len();
        let mut lists = Lists::new(self);
        let tolerance = tolerance.max(T::ROUNDING * lists.unit);
        let bent: Vec<T> = (0..size).map(|i| T::of(self.diagonal[i] + self.curvature[i])).collect();
        let start = (T::ROUNDING > 0.0).then(|| self.alpha.clone());
        let mut steps = 0;
        let none = vec![T::default(); size];
        let (mut i, mut lowest, mut highest) = extremes(&mut lists, &none, &none, T::default(), T::default());
        while steps < most && lists.real(highest) - lists.real(lowest) > tolerance {
            self.need(i, make);
            let j = partner(&lists, self.row(i), &bent, lowest, bent[i]);
            let Some(j) = j else { break };
            self.need(j, make);
            let own = self.diagonal[i] + self.curvature[i] + self.diagonal[j] + self.curvature[j];
            let curvature = (own - 2.0 * self.row(i)[j].into()).max(FLAT);
            let slope = lists.real(lowest) - lists.real(lists.gradient[j] + lists.down[j]);
            let step = self.step(i, j, slope, curvature);
            lists.set_rates(self, i);
            lists.set_rates(self, j);
            let (row, other) = (self.row(i), self.row(j));
            steps += 1;
            let mut change = lists.scaled(step);
            if let Some(start) = &start
                && steps % REFRESH == 0
            {
                lists.refresh(self, start);
                change = T::default();
            }
            (i, lowest, highest) = extremes(&mut lists, row, other, change, T::default() - change);
        }
        steps
    }

    /// Moves i up and j down by the s that minimises slope·s + ½·curvature·s² with its kinks inside the box.
    #[inline(always)]
    fn step(&mut self, i: usize, j: usize, mut slope: f64, curvature: f64) -> f64 {
        let (start_i, start_j) = (self.alpha[i], self.alpha[j]);
        let (room_i, room_j) = (self.upper[i] - start_i, start_j - self.lower[j]);
        let room = room_i.min(room_j);
        let mut kinks = [
            (if start_i < 0.0 { -start_i } else { f64::INFINITY }, 2.0 * self.epsilon[i]),
            (if start_j > 0.0 { start_j } else { f64::INFINITY }, 2.0 * self.epsilon[j]),
        ];
        if kinks[1].0 < kinks[0].0 {
            kinks.swap(0, 1);
        }
        let mut s = 0.0;
        let mut is_stopped = false;
        for (at, jump) in kinks {
            let free = s - slope / curvature;
            if free <= at || at >= room {
                s = free.min(room);
                is_stopped = true;
                break;
            }
            slope += curvature * (at - s) + jump;
            s = at;
            if slope >= 0.0 {
                is_stopped = true;
                break;
            }
        }
        if !is_stopped {
            s = (s - slope / curvature).min(room);
        }
        // Bounds and kinks are hit exactly, not up to rounding.
        self.alpha[i] = if s >= room_i {
            self.upper[i]
        } else if s == -start_i {
            0.0
        } else {
            start_i + s
        };
        self.alpha[j] = if s >= room_j {
            self.lower[j]
        } else if s == start_j {
            0.0
        } else {
            start_j - s
        };
        s
    }

    #[inline(always)]
    fn one_by_one(&mut self, tolerance: f64, most: usize, make: &Make<'_, T>) -> usize {
        let size = self.alpha.len();
        let mut lists = Lists::new(self);
        let tolerance = tolerance.max(T::ROUNDING * lists.unit);
        let bent: Vec<f64> = (0..size).map(|i| (self.diagonal[i] + self.curvature[i]).max(FLAT)).collect();
        let inverse: Vec<T> = bent.iter().map(|bent| T::of(1.0 / bent)).collect();
        let start = (T::ROUNDING > 0.0).then(|| self.alpha.clone());
        let mut steps = 0;
        let none = vec![T::default(); size];
        let (mut i, mut violation) = most_gaining(&mut lists, &inverse, &none, T::default());
        while steps < most && lists.real(violation) > tolerance {
            self.need(i, make);
            let before = self.alpha[i];
            let (rise, fall) = (lists.gradient[i] + lists.up[i], lists.gradient[i] + lists.down[i]);
            self.move_alone(i, lists.real(rise), lists.real(fall), bent[i]);
            lists.set_rates(self, i);
            steps += 1;
            let mut change = lists.scaled(self.alpha[i] - before);
            if let Some(start) = &start
                && steps % REFRESH == 0
            {
                lists.refresh(self, start);
                change = T::default();
            }
            (i, violation) = most_gaining(&mut lists, &inverse, self.row(i), change);
        }
        steps
    }

    /// Moves one variable to its minimum, through the kink if need be.
    #[inline(always)]
    fn move_alone(&mut self, i: usize, rise: f64, fall: f64, curvature: f64) {
        let a = self.alpha[i];
        let (slope, kink, bound) = if rise < 0.0 {
            (rise, if a < 0.0 { -a } else { f64::INFINITY }, self.upper[i])
        } else {
            (fall, if a > 0.0 { a } else { f64::INFINITY }, self.lower[i])
        };
        let direction = -slope.signum();
        let mut s = slope.abs() / curvature;
        let mut target = a + direction * s;
        if s >= kink {
            let rest = slope.abs() - curvature * kink - 2.0 * self.epsilon[i];
            s = (rest / curvature).max(0.0);
            target = direction * s;
        }
        self.alpha[i] = if (target - bound) * direction >= 0.0 { bound } else { target };
    }
}
