//! The numbers that every step of a working set goes through, and what it looks for among them.

use std::hint::select_unpredictable;

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
            for (g, x) in gradient.iter_mut().zip(block.row(k)) {
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
    let turns = whole_mut(gradient).iter_mut().zip(whole(up)).zip(whole(down));
    for (((sums, u), d), (k, o)) in turns.zip(whole(row).iter().zip(whole(other))) {
        // Copies: what is written is then known to be none of what is read.
        let (mut g, u, d, k, o) = (*sums, *u, *d, *k, *o);
        for l in 0..WIDTH {
            g[l] = g[l] + (s * k[l] + t * o[l]);
            let rise = g[l] + u[l];
            let is_less = rise < least[l];
            least[l] = select_unpredictable(is_less, rise, least[l]);
            place[l] = select_unpredictable(is_less, turn, place[l]);
            let fall = g[l] + d[l];
            most[l] = select_unpredictable(fall > most[l], fall, most[l]);
        }
        *sums = g;
        turn = turn + one;
    }
    let (least, place, most) = (apart(least), apart(place), apart(most));
    let lowest = least_of(least);
    (first_with(&least, lowest, &place), lowest, most_of(most))
}

/// The turns of a list, whose length is padded to whole ones.
#[inline(always)]
fn whole<T>(list: &[T]) -> &[[T; WIDTH]] {
    list.as_chunks().0
}

#[inline(always)]
fn whole_mut<T>(list: &mut [T]) -> &mut [[T; WIDTH]] {
    list.as_chunks_mut().0
}

/// A copy that the compiler takes for another thing: what is done with it lane by lane then does not keep a loop's lanes from
/// staying in registers.
#[inline(always)]
fn apart<T>(lanes: [T; WIDTH]) -> [T; WIDTH] {
    std::hint::black_box(lanes)
}

/// The least of the lanes, by halves: no lane waits for all those before it.
#[inline(always)]
fn least_of<T: Element>(lanes: [T; WIDTH]) -> T {
    #[inline(always)]
    fn half<T: Element, const N: usize, const HALF: usize>(lanes: [T; N]) -> [T; HALF] {
        let mut out = [T::default(); HALF];
        for l in 0..HALF {
            out[l] = if lanes[l + HALF] < lanes[l] { lanes[l + HALF] } else { lanes[l] };
        }
        out
    }
    let lanes = half::<T, 16, 8>(half::<T, WIDTH, 16>(lanes));
    half::<T, 2, 1>(half::<T, 4, 2>(half::<T, 8, 4>(lanes)))[0]
}

#[inline(always)]
fn most_of<T: Element>(mut lanes: [T; WIDTH]) -> T {
    for x in &mut lanes {
        *x = T::default() - *x;
    }
    T::default() - least_of(lanes)
}

/// The first number of those whose lane has this value, turns and lanes being counted together.
#[inline(always)]
fn first_with<T: Element>(lanes: &[T; WIDTH], value: T, turns: &[T; WIDTH]) -> usize {
    let (width, none) = (T::of(WIDTH as f64), T::of(f64::INFINITY));
    let mut numbers = [none; WIDTH];
    for l in 0..WIDTH {
        let number = turns[l] * width + T::of(l as f64);
        numbers[l] = if lanes[l] == value { number } else { none };
    }
    let first: f64 = least_of(numbers).into();
    first as usize
}

/// The j that may go down and gains most together with i: (d_j − u_i)²/(curvature of the pair). Fractions are compared by
/// products, which are cheaper than divisions.
#[inline(always)]
pub(super) fn partner<T: Element>(lists: &Lists<T>, row: &[T], bent: &[T], lowest: T, own: T) -> Option<usize> {
    let (zero, one, two, flat) = (T::default(), T::of(1.0), T::of(2.0), T::of(FLAT));
    let mut over = [zero; WIDTH];
    let mut under = [one; WIDTH];
    let mut place = [zero; WIDTH];
    let mut turn = zero;
    let turns = whole(&lists.gradient).iter().zip(whole(&lists.down));
    for ((g, d), (k, b)) in turns.zip(whole(row).iter().zip(whole(bent))) {
        let (g, d, k, b) = (*g, *d, *k, *b);
        for l in 0..WIDTH {
            let excess = g[l] + d[l] - lowest;
            // Not down at all is −∞, which its square would hide.
            let excess = select_unpredictable(excess > zero, excess, zero);
            let curvature = own + b[l] - two * k[l];
            let curvature = select_unpredictable(curvature > flat, curvature, flat);
            let square = excess * excess;
            let is_more = square * under[l] > over[l] * curvature;
            over[l] = select_unpredictable(is_more, square, over[l]);
            under[l] = select_unpredictable(is_more, curvature, under[l]);
            place[l] = select_unpredictable(is_more, turn, place[l]);
        }
        turn = turn + one;
    }
    let (over, under, place) = (apart(over), apart(under), apart(place));
    let mut gains = [zero; WIDTH];
    for l in 0..WIDTH {
        gains[l] = over[l] / under[l];
    }
    let most = most_of(gains);
    (most > zero).then(|| first_with(&gains, most, &place))
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
    let turns = whole_mut(gradient).iter_mut().zip(whole(up)).zip(whole(down));
    for (((sums, u), d), (k, i)) in turns.zip(whole(row).iter().zip(whole(inverse))) {
        let (mut g, u, d, k, i) = (*sums, *u, *d, *k, *i);
        for l in 0..WIDTH {
            g[l] = g[l] + s * k[l];
            let (rise, fall) = (zero - (g[l] + u[l]), g[l] + d[l]);
            let violation = select_unpredictable(rise > fall, rise, fall);
            let violation = select_unpredictable(violation > zero, violation, zero);
            let own = violation * violation * i[l];
            let is_more = own > gain[l];
            gain[l] = select_unpredictable(is_more, own, gain[l]);
            place[l] = select_unpredictable(is_more, turn, place[l]);
            worst[l] = select_unpredictable(violation > worst[l], violation, worst[l]);
        }
        *sums = g;
        turn = turn + one;
    }
    let (gain, place, worst) = (apart(gain), apart(place), apart(worst));
    (first_with(&gain, most_of(gain), &place), most_of(worst))
}
