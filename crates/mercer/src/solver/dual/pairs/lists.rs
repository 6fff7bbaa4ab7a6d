//! The numbers that every step of a working set goes through, and what it looks for among them.

use super::super::store::Element;
use super::{Block, FLAT, WIDTH, rates};

/// What every step goes through, in units of the largest gradient.
pub(super) struct Lists<T> {
    pub gradient: Vec<T>,
    pub up: Vec<T>,
    pub down: Vec<T>,
    /// A power of two, so that changing units does not round.
    pub unit: f64,
}

impl<T: Element> Lists<T> {
    pub fn new(block: &Block<T>) -> Self {
        let largest = block.gradient.iter().fold(0.0, |max: f64, g| max.max(g.abs()));
        let unit = if largest > 0.0 && largest.is_finite() { libm::exp2(libm::log2(largest).floor()) } else { 1.0 };
        let size = block.alpha.len();
        let gradient = block.gradient.iter().map(|g| T::of(g / unit)).collect();
        let mut lists = Lists { gradient, up: vec![T::default(); size], down: vec![T::default(); size], unit };
        (0..size).for_each(|i| lists.set_rates(block, i));
        lists
    }

    #[inline(always)]
    pub fn set_rates(&mut self, block: &Block<T>, i: usize) {
        let (up, down) = rates(block.alpha[i], block.lower[i], block.upper[i], block.epsilon[i], block.curvature[i]);
        (self.up[i], self.down[i]) = (self.scaled(up), self.scaled(down));
    }

    #[inline(always)]
    pub fn scaled(&self, value: f64) -> T {
        T::of(value / self.unit)
    }

    #[inline(always)]
    pub fn real(&self, value: T) -> f64 {
        let value: f64 = value.into();
        value * self.unit
    }

    /// The gradient from where the block started and all that has changed since.
    #[inline(always)]
    pub fn refresh(&mut self, block: &Block<T>, start: &[f64]) {
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
pub(super) fn extremes<T: Element>(lists: &mut Lists<T>, row: &[T], other: &[T], s: T, t: T) -> (usize, T, T) {
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
pub(super) fn partner<T: Element>(lists: &Lists<T>, row: &[T], bent: &[T], lowest: T, own: T) -> Option<usize> {
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
pub(super) fn most_gaining<T: Element>(lists: &mut Lists<T>, inverse: &[T], row: &[T], s: T) -> (usize, T) {
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
