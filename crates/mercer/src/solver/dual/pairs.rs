//! A few hundred variables with their part of K in fast memory: the pair that gains most by second order (Fan, Chen and
//! Lin 2005), over and over; without an offset the one variable that gains most.
//!
//! A variable may go up while α < upper, and the objective then changes at the rate u = g + qα ± ε; it may go down while
//! α > lower, at the rate d (the other side of the kink of |α|). g is the gradient of ½αᵀKα − tᵀα. At the minimum with an
//! offset no d is above any u; without one, no u is below 0 and no d above 0.
//!
//! With K in single precision so are the gradient and the rates, in units of the largest gradient: half the memory to go
//! through, which is what a step takes. The gradient is made anew from all changes before its rounding adds up.

use super::store::Element;
use crate::simd::vectorize;

/// Numbers per turn of a loop; lists are padded to a multiple.
pub(super) const WIDTH: usize = 32;

/// A length padded to whole turns.
pub(super) fn padded(length: usize) -> usize {
    length.next_multiple_of(WIDTH)
}

/// The variables and their part of K. Lists have the padded length; padding has the box [0, 0].
pub(super) struct Block<T> {
    /// K, row after row, each of the padded length.
    pub gram: Vec<T>,
    /// That of the variables before these.
    pub last_gram: Vec<T>,
    pub diagonal: Vec<f64>,
    pub alpha: Vec<f64>,
    pub gradient: Vec<f64>,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub epsilon: Vec<f64>,
    pub curvature: Vec<f64>,
}

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
            diagonal: vec![1.0; size],
            alpha: vec![0.0; size],
            gradient: vec![0.0; size],
            lower: vec![0.0; size],
            upper: vec![0.0; size],
            epsilon: vec![0.0; size],
            curvature: vec![0.0; size],
        }
    }

    /// Makes room for so many variables; what belongs to the last ones is put aside. Returns the padded length.
    pub fn resize(&mut self, variables: usize) -> usize {
        let size = padded(variables);
        std::mem::swap(&mut self.gram, &mut self.last_gram);
        self.gram.resize(size * size, T::default());
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

    /// Steps until the violation is below `tolerance`; returns their number.
    pub fn minimise(&mut self, has_offset: bool, tolerance: f64, most: usize) -> usize {
        vectorize(
            #[inline(always)]
            || if has_offset { self.by_pairs(tolerance, most) } else { self.one_by_one(tolerance, most) },
        )
    }

    #[inline(always)]
    fn by_pairs(&mut self, tolerance: f64, most: usize) -> usize {
        let size = self.alpha.len();
        let mut lists = Lists::new(self);
        let tolerance = tolerance.max(T::ROUNDING * lists.unit);
        let bent: Vec<T> = (0..size).map(|i| T::of(self.diagonal[i] + self.curvature[i])).collect();
        let start = (T::ROUNDING > 0.0).then(|| self.alpha.clone());
        let mut steps = 0;
        let none = &self.gram[..size];
        let (mut i, mut lowest, mut highest) = extremes(&mut lists, none, none, T::default(), T::default());
        while steps < most && lists.real(highest) - lists.real(lowest) > tolerance {
            let row = &self.gram[i * size..(i + 1) * size];
            let j = partner(&lists, row, &bent, lowest, bent[i]);
            let Some(j) = j else { break };
            let own = self.diagonal[i] + self.curvature[i] + self.diagonal[j] + self.curvature[j];
            let curvature = (own - 2.0 * row[j].into()).max(FLAT);
            let slope = lists.real(lowest) - lists.real(lists.gradient[j] + lists.down[j]);
            let step = self.step(i, j, slope, curvature);
            lists.set_rates(self, i);
            lists.set_rates(self, j);
            let (row, other) = (&self.gram[i * size..(i + 1) * size], &self.gram[j * size..(j + 1) * size]);
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
    fn one_by_one(&mut self, tolerance: f64, most: usize) -> usize {
        let size = self.alpha.len();
        let mut lists = Lists::new(self);
        let tolerance = tolerance.max(T::ROUNDING * lists.unit);
        let bent: Vec<f64> = (0..size).map(|i| (self.diagonal[i] + self.curvature[i]).max(FLAT)).collect();
        let inverse: Vec<T> = bent.iter().map(|bent| T::of(1.0 / bent)).collect();
        let start = (T::ROUNDING > 0.0).then(|| self.alpha.clone());
        let mut steps = 0;
        let (mut i, mut violation) = most_gaining(&mut lists, &inverse, &self.gram[..size], T::default());
        while steps < most && lists.real(violation) > tolerance {
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
            let row = &self.gram[i * size..(i + 1) * size];
            (i, violation) = most_gaining(&mut lists, &inverse, row, change);
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

/// What every step goes through, in units of the largest gradient.
struct Lists<T> {
    gradient: Vec<T>,
    up: Vec<T>,
    down: Vec<T>,
    /// A power of two, so that changing units does not round.
    unit: f64,
}

impl<T: Element> Lists<T> {
    fn new(block: &Block<T>) -> Self {
        let largest = block.gradient.iter().fold(0.0, |max: f64, g| max.max(g.abs()));
        let unit = if largest > 0.0 && largest.is_finite() { libm::exp2(libm::log2(largest).floor()) } else { 1.0 };
        let size = block.alpha.len();
        let gradient = block.gradient.iter().map(|g| T::of(g / unit)).collect();
        let mut lists = Lists { gradient, up: vec![T::default(); size], down: vec![T::default(); size], unit };
        (0..size).for_each(|i| lists.set_rates(block, i));
        lists
    }

    #[inline(always)]
    fn set_rates(&mut self, block: &Block<T>, i: usize) {
        let (up, down) = rates(block.alpha[i], block.lower[i], block.upper[i], block.epsilon[i], block.curvature[i]);
        (self.up[i], self.down[i]) = (self.scaled(up), self.scaled(down));
    }

    #[inline(always)]
    fn scaled(&self, value: f64) -> T {
        T::of(value / self.unit)
    }

    #[inline(always)]
    fn real(&self, value: T) -> f64 {
        let value: f64 = value.into();
        value * self.unit
    }

    /// The gradient from where the block started and all that has changed since.
    #[inline(always)]
    fn refresh(&mut self, block: &Block<T>, start: &[f64]) {
        let size = start.len();
        let mut gradient = block.gradient.clone();
        for k in (0..size).filter(|k| block.alpha[*k] != start[*k]) {
            let change = block.alpha[k] - start[k];
            for (g, x) in gradient.iter_mut().zip(&block.gram[k * size..(k + 1) * size]) {
                let x: f64 = (*x).into();
                *g += change * x;
            }
        }
        self.gradient = gradient.iter().map(|g| self.scaled(*g)).collect();
    }
}

/// g += s·row + t·other; then where g + up is least, that value, and the largest g + down.
#[inline(always)]
fn extremes<T: Element>(lists: &mut Lists<T>, row: &[T], other: &[T], s: T, t: T) -> (usize, T, T) {
    let infinity = T::of(f64::INFINITY);
    let mut least = [infinity; WIDTH];
    let mut place = [T::default(); WIDTH];
    let mut most = [T::of(f64::NEG_INFINITY); WIDTH];
    let (mut turn, one) = (T::default(), T::of(1.0));
    let Lists { gradient, up, down, .. } = lists;
    let turns = gradient.chunks_exact_mut(WIDTH).zip(up.chunks_exact(WIDTH)).zip(down.chunks_exact(WIDTH));
    for (((g, u), d), (k, o)) in turns.zip(row.chunks_exact(WIDTH).zip(other.chunks_exact(WIDTH))) {
        for l in 0..WIDTH {
            let value = g[l] + (s * k[l] + t * o[l]);
            g[l] = value;
            let rise = value + u[l];
            let is_less = rise < least[l];
            least[l] = if is_less { rise } else { least[l] };
            place[l] = if is_less { turn } else { place[l] };
            let fall = value + d[l];
            most[l] = if fall > most[l] { fall } else { most[l] };
        }
        turn = turn + one;
    }
    let mut best = (0, infinity);
    let mut highest = T::of(f64::NEG_INFINITY);
    for l in 0..WIDTH {
        if least[l] < best.1 {
            best = (at(place[l], l), least[l]);
        }
        highest = if most[l] > highest { most[l] } else { highest };
    }
    (best.0, best.1, highest)
}

/// The number that a turn and a lane of it stand for.
#[inline(always)]
fn at<T: Element>(turn: T, lane: usize) -> usize {
    let turn: f64 = turn.into();
    turn as usize * WIDTH + lane
}

/// The j that may go down and gains most together with i: (d_j − u_i)²/(curvature of the pair). Fractions are compared by
/// products, which are cheaper than divisions.
#[inline(always)]
fn partner<T: Element>(lists: &Lists<T>, row: &[T], bent: &[T], lowest: T, own: T) -> Option<usize> {
    let (zero, one, two, flat) = (T::default(), T::of(1.0), T::of(2.0), T::of(FLAT));
    let mut over = [zero; WIDTH];
    let mut under = [one; WIDTH];
    let mut place = [zero - one; WIDTH];
    let mut turn = zero;
    let turns = lists.gradient.chunks_exact(WIDTH).zip(lists.down.chunks_exact(WIDTH));
    for ((g, d), (k, b)) in turns.zip(row.chunks_exact(WIDTH).zip(bent.chunks_exact(WIDTH))) {
        for l in 0..WIDTH {
            let excess = g[l] + d[l] - lowest;
            // Not down at all is −∞, which its square would hide.
            let excess = if excess > zero { excess } else { zero };
            let curvature = own + b[l] - two * k[l];
            let curvature = if curvature > flat { curvature } else { flat };
            let square = excess * excess;
            let is_more = square * under[l] > over[l] * curvature;
            over[l] = if is_more { square } else { over[l] };
            under[l] = if is_more { curvature } else { under[l] };
            place[l] = if is_more { turn } else { place[l] };
        }
        turn = turn + one;
    }
    let mut best = (None, 0.0);
    for l in 0..WIDTH {
        let (over, under): (f64, f64) = (over[l].into(), under[l].into());
        let gain = over / under;
        if place[l] >= zero && gain > best.1 {
            best = (Some(at(place[l], l)), gain);
        }
    }
    best.0
}

/// g += s·row; then which variable alone gains most, and the largest violation.
#[inline(always)]
fn most_gaining<T: Element>(lists: &mut Lists<T>, inverse: &[T], row: &[T], s: T) -> (usize, T) {
    let zero = T::default();
    let mut gain = [zero; WIDTH];
    let mut place = [zero; WIDTH];
    let mut worst = [zero; WIDTH];
    let (mut turn, one) = (zero, T::of(1.0));
    let Lists { gradient, up, down, .. } = lists;
    let turns = gradient.chunks_exact_mut(WIDTH).zip(up.chunks_exact(WIDTH)).zip(down.chunks_exact(WIDTH));
    for (((g, u), d), (k, i)) in turns.zip(row.chunks_exact(WIDTH).zip(inverse.chunks_exact(WIDTH))) {
        for l in 0..WIDTH {
            let value = g[l] + s * k[l];
            g[l] = value;
            let (rise, fall) = (zero - (value + u[l]), value + d[l]);
            let violation = if rise > fall { rise } else { fall };
            let violation = if violation > zero { violation } else { zero };
            let own = violation * violation * i[l];
            let is_more = own > gain[l];
            gain[l] = if is_more { own } else { gain[l] };
            place[l] = if is_more { turn } else { place[l] };
            worst[l] = if violation > worst[l] { violation } else { worst[l] };
        }
        turn = turn + one;
    }
    let mut best = (0, zero);
    let mut largest = zero;
    for l in 0..WIDTH {
        if gain[l] > best.1 {
            best = (at(place[l], l), gain[l]);
        }
        largest = if worst[l] > largest { worst[l] } else { largest };
    }
    (best.0, largest)
}
