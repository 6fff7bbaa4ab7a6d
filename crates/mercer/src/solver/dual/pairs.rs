//! A few hundred variables with their part of K in fast memory: the pair that gains most by second order (Fan, Chen and
//! Lin 2005), over and over; without an offset the one variable that gains most.
//!
//! A variable may go up while α < upper, and the objective then changes at the rate u = g + qα ± ε; it may go down while
//! α > lower, at the rate d (the other side of the kink of |α|). g is the gradient of ½αᵀKα − tᵀα. At the minimum with an
//! offset no d is above any u; without one, no u is below 0 and no d above 0.

use super::store::Element;
use crate::simd::vectorize;

/// Numbers per turn of a loop; lists are padded to a multiple.
pub(super) const WIDTH: usize = 16;

/// A length padded to whole turns.
pub(super) fn padded(length: usize) -> usize {
    length.next_multiple_of(WIDTH)
}

/// The variables and their part of K. Lists have the padded length; padding has the box [0, 0].
pub(super) struct Block<T> {
    /// K, row after row, each of the padded length.
    pub gram: Vec<T>,
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

impl<T: Element> Block<T> {
    pub fn new(variables: usize) -> Self {
        let size = padded(variables);
        Block {
            gram: vec![T::default(); size * size],
            diagonal: vec![1.0; size],
            alpha: vec![0.0; size],
            gradient: vec![0.0; size],
            lower: vec![0.0; size],
            upper: vec![0.0; size],
            epsilon: vec![0.0; size],
            curvature: vec![0.0; size],
        }
    }

    /// Steps until the violation is below `tolerance`; returns their number.
    pub fn minimise(&mut self, has_offset: bool, tolerance: f64, most: usize) -> usize {
        vectorize(
            #[inline(always)]
            || if has_offset { self.by_pairs(tolerance, most) } else { self.one_by_one(tolerance, most) },
        )
    }

    #[inline(always)]
    fn all_rates(&self) -> (Vec<f64>, Vec<f64>) {
        (0..self.alpha.len())
            .map(|i| rates(self.alpha[i], self.lower[i], self.upper[i], self.epsilon[i], self.curvature[i]))
            .unzip()
    }

    #[inline(always)]
    fn by_pairs(&mut self, tolerance: f64, most: usize) -> usize {
        let size = self.alpha.len();
        let (mut up, mut down) = self.all_rates();
        let bent: Vec<f64> = (0..size).map(|i| self.diagonal[i] + self.curvature[i]).collect();
        let mut steps = 0;
        let (mut i, mut lowest, mut highest) =
            extremes(&mut self.gradient, &up, &down, &self.gram[..size], &self.gram[..size], 0.0, 0.0);
        while steps < most && highest - lowest > tolerance {
            let row = &self.gram[i * size..(i + 1) * size];
            let j = partner(&self.gradient, &down, row, &bent, lowest, bent[i]);
            let Some(j) = j else { break };
            let curvature = (bent[i] + bent[j] - 2.0 * row[j].into()).max(FLAT);
            let slope = lowest - (self.gradient[j] + down[j]);
            let step = self.step(i, j, slope, curvature);
            for k in [i, j] {
                (up[k], down[k]) =
                    rates(self.alpha[k], self.lower[k], self.upper[k], self.epsilon[k], self.curvature[k]);
            }
            let (row, other) = (&self.gram[i * size..(i + 1) * size], &self.gram[j * size..(j + 1) * size]);
            (i, lowest, highest) = extremes(&mut self.gradient, &up, &down, row, other, step, -step);
            steps += 1;
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
        let (mut up, mut down) = self.all_rates();
        let inverse: Vec<f64> = (0..size).map(|i| 1.0 / (self.diagonal[i] + self.curvature[i]).max(FLAT)).collect();
        let mut steps = 0;
        let (mut i, mut violation) = most_gaining(&mut self.gradient, &up, &down, &inverse, &self.gram[..size], 0.0);
        while steps < most && violation > tolerance {
            let before = self.alpha[i];
            self.move_alone(i, up[i], down[i], 1.0 / inverse[i]);
            let change = self.alpha[i] - before;
            (up[i], down[i]) = rates(self.alpha[i], self.lower[i], self.upper[i], self.epsilon[i], self.curvature[i]);
            let row = &self.gram[i * size..(i + 1) * size];
            (i, violation) = most_gaining(&mut self.gradient, &up, &down, &inverse, row, change);
            steps += 1;
        }
        steps
    }

    /// Moves one variable to its minimum, through the kink if need be.
    #[inline(always)]
    fn move_alone(&mut self, i: usize, up: f64, down: f64, curvature: f64) {
        let a = self.alpha[i];
        let (rise, fall) = (self.gradient[i] + up, self.gradient[i] + down);
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

/// g += s·row + t·other; then where g + up is least, that value, and the largest g + down.
#[inline(always)]
fn extremes<T: Element>(
    gradient: &mut [f64],
    up: &[f64],
    down: &[f64],
    row: &[T],
    other: &[T],
    s: f64,
    t: f64,
) -> (usize, f64, f64) {
    let mut least = [f64::INFINITY; WIDTH];
    let mut place = [0.0; WIDTH];
    let mut most = [f64::NEG_INFINITY; WIDTH];
    let mut turn = 0.0;
    let turns = gradient.chunks_exact_mut(WIDTH).zip(up.chunks_exact(WIDTH)).zip(down.chunks_exact(WIDTH));
    for (((g, u), d), (k, o)) in turns.zip(row.chunks_exact(WIDTH).zip(other.chunks_exact(WIDTH))) {
        for l in 0..WIDTH {
            let (x, y): (f64, f64) = (k[l].into(), o[l].into());
            let value = g[l] + (s * x + t * y);
            g[l] = value;
            let rise = value + u[l];
            let is_less = rise < least[l];
            least[l] = if is_less { rise } else { least[l] };
            place[l] = if is_less { turn } else { place[l] };
            let fall = value + d[l];
            most[l] = if fall > most[l] { fall } else { most[l] };
        }
        turn += 1.0;
    }
    let mut best = (0, f64::INFINITY);
    let mut highest = f64::NEG_INFINITY;
    for l in 0..WIDTH {
        if least[l] < best.1 {
            best = (place[l] as usize * WIDTH + l, least[l]);
        }
        highest = if most[l] > highest { most[l] } else { highest };
    }
    (best.0, best.1, highest)
}

/// The j that may go down and gains most together with i: (d_j − u_i)²/(curvature of the pair). Fractions are compared by
/// products, which are cheaper than divisions.
#[inline(always)]
fn partner<T: Element>(
    gradient: &[f64],
    down: &[f64],
    row: &[T],
    bent: &[f64],
    lowest: f64,
    own: f64,
) -> Option<usize> {
    let mut over = [0.0; WIDTH];
    let mut under = [1.0; WIDTH];
    let mut place = [-1.0; WIDTH];
    let mut turn = 0.0;
    let turns = gradient.chunks_exact(WIDTH).zip(down.chunks_exact(WIDTH));
    for ((g, d), (k, b)) in turns.zip(row.chunks_exact(WIDTH).zip(bent.chunks_exact(WIDTH))) {
        for l in 0..WIDTH {
            let kernel: f64 = k[l].into();
            let excess = g[l] + d[l] - lowest;
            // Not down at all is −∞, which its square would hide.
            let excess = if excess > 0.0 { excess } else { 0.0 };
            let curvature = own + b[l] - 2.0 * kernel;
            let curvature = if curvature > FLAT { curvature } else { FLAT };
            let square = excess * excess;
            let is_more = square * under[l] > over[l] * curvature;
            over[l] = if is_more { square } else { over[l] };
            under[l] = if is_more { curvature } else { under[l] };
            place[l] = if is_more { turn } else { place[l] };
        }
        turn += 1.0;
    }
    let mut best = (None, 0.0);
    for l in 0..WIDTH {
        let gain = over[l] / under[l];
        if place[l] >= 0.0 && gain > best.1 {
            best = (Some(place[l] as usize * WIDTH + l), gain);
        }
    }
    best.0
}

/// g += s·row; then which variable alone gains most, and the largest violation.
#[inline(always)]
fn most_gaining<T: Element>(
    gradient: &mut [f64],
    up: &[f64],
    down: &[f64],
    inverse: &[f64],
    row: &[T],
    s: f64,
) -> (usize, f64) {
    let mut gain = [0.0; WIDTH];
    let mut place = [0.0; WIDTH];
    let mut worst = [0.0; WIDTH];
    let mut turn = 0.0;
    let turns = gradient.chunks_exact_mut(WIDTH).zip(up.chunks_exact(WIDTH)).zip(down.chunks_exact(WIDTH));
    for (((g, u), d), (k, i)) in turns.zip(row.chunks_exact(WIDTH).zip(inverse.chunks_exact(WIDTH))) {
        for l in 0..WIDTH {
            let x: f64 = k[l].into();
            let value = g[l] + s * x;
            g[l] = value;
            let (rise, fall) = (-(value + u[l]), value + d[l]);
            let violation = if rise > fall { rise } else { fall };
            let violation = if violation > 0.0 { violation } else { 0.0 };
            let own = violation * violation * i[l];
            let is_more = own > gain[l];
            gain[l] = if is_more { own } else { gain[l] };
            place[l] = if is_more { turn } else { place[l] };
            worst[l] = if violation > worst[l] { violation } else { worst[l] };
        }
        turn += 1.0;
    }
    let mut best = (0, 0.0);
    let mut largest = 0.0;
    for l in 0..WIDTH {
        if gain[l] > best.1 {
            best = (place[l] as usize * WIDTH + l, gain[l]);
        }
        largest = if worst[l] > largest { worst[l] } else { largest };
    }
    (best.0, largest)
}
