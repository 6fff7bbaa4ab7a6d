//! A Newton step over all variables that are inside their boxes: what pairs of variables need thousands of steps for when
//! K is ill-conditioned, one factorisation does.
//!
//! Each free variable stays on its side of the kink. Those that the step would carry over an edge are put on it and the
//! others are solved for again, a few times; the step is taken only if it lowers the objective.

use rayon::prelude::*;

use super::BoxProblem;
use super::store::Store;
use crate::linalg::{Matrix, QuickCholesky};

/// Times that variables are put on their edges.
const ROUNDS: usize = 8;
/// One in so many at most is put on its edge without a new factor.
const FEW: usize = 8;

/// What is added to the diagonal, so that rounding of K does not make it indefinite.
const RIDGE_SINGLE: f64 = 1e-7;
const RIDGE_DOUBLE: f64 = 1e-13;

/// Changes of variables that lower the objective, or nothing.
pub(super) fn newton<S: Store>(
    store: &S,
    problem: &BoxProblem<'_>,
    free: &[usize],
    alpha: &[f64],
    gradient: &[f64],
) -> Option<Vec<(usize, f64)>> {
    let count = free.len();
    let ridge = if size_of::<S::Element>() == 4 { RIDGE_SINGLE } else { RIDGE_DOUBLE };
    // K of the free variables, curvature included.
    let mut gram = Matrix::zeros(count, count);
    gram.as_mut_slice().par_chunks_mut(count).enumerate().for_each(|(k, column)| {
        let row = store.row(free[k]);
        column.iter_mut().zip(free).for_each(|(x, j)| *x = row[*j].into());
        column[k] += problem.curvature[free[k]];
    });
    let sides: Vec<Side> = free.iter().map(|i| Side::new(problem, *i, alpha[*i])).collect();
    let slopes: Vec<f64> = free
        .iter()
        .zip(&sides)
        .map(|(i, side)| gradient[*i] + problem.curvature[*i] * alpha[*i] + side.sign * problem.epsilon[*i])
        .collect();
    let mut change = vec![0.0; count];
    let mut base = Base::new(&gram, &slopes, (0..count).collect(), &change, ridge, problem.has_offset)?;
    let mut inside = base.minimise(&mut change, &[])?;
    for _ in 0..ROUNDS {
        let crossed: Vec<usize> =
            inside.iter().copied().filter(|k| change[*k] < sides[*k].down || change[*k] > sides[*k].up).collect();
        if crossed.is_empty() {
            break;
        }
        for k in &crossed {
            change[*k] = change[*k].clamp(sides[*k].down, sides[*k].up);
        }
        inside.retain(|k| change[*k] > sides[*k].down && change[*k] < sides[*k].up);
        if inside.is_empty() {
            return None;
        }
        let put: Vec<usize> = base.inside.iter().copied().filter(|k| is_on_edge(&sides[*k], change[*k])).collect();
        if put.len() <= base.inside.len() / FEW {
            inside = base.minimise(&mut change, &put)?;
        } else {
            base = Base::new(&gram, &slopes, inside, &change, ridge, problem.has_offset)?;
            inside = base.minimise(&mut change, &[])?;
        }
    }
    // Out of rounds: go as far as the edges allow. The sum is still 0, for it was before the last crossing.
    let fits = change.iter().zip(&sides).all(|(c, side)| *c >= side.down && *c <= side.up);
    let is_balanced =
        !problem.has_offset || change.iter().sum::<f64>().abs() <= 1e-9 * change.iter().map(|c| c.abs()).sum::<f64>();
    if !(fits && is_balanced) {
        return None;
    }
    let is_lower = difference(&gram, &slopes, &change) < 0.0;
    is_lower.then(|| free.iter().copied().zip(change).filter(|(_, change)| *change != 0.0).collect())
}

/// The piece of its box on which a variable is.
struct Side {
    sign: f64,
    down: f64,
    up: f64,
}

impl Side {
    fn new(problem: &BoxProblem<'_>, i: usize, alpha: f64) -> Self {
        let has_kink = problem.epsilon[i] > 0.0;
        let low = if has_kink && alpha > 0.0 { 0.0 } else { problem.lower[i] };
        let high = if has_kink && alpha < 0.0 { 0.0 } else { problem.upper[i] };
        Side { sign: alpha.signum(), down: low - alpha, up: high - alpha }
    }
}

/// What the objective changes by.
fn difference(gram: &Matrix, slopes: &[f64], change: &[f64]) -> f64 {
    let bent: f64 = (0..change.len())
        .into_par_iter()
        .map(|k| change[k] * gram.col(k).iter().zip(change).map(|(x, c)| x * c).sum::<f64>())
        .collect::<Vec<f64>>()
        .iter()
        .sum();
    slopes.iter().zip(change).map(|(s, c)| s * c).sum::<f64>() + 0.5 * bent
}

fn is_on_edge(side: &Side, change: f64) -> bool {
    !(change > side.down && change < side.up)
}

/// A factor of K for the variables that were inside when it was made, and with it K⁻¹ of what they are to be and of ones.
struct Base {
    inside: Vec<usize>,
    factor: QuickCholesky,
    goals: Vec<f64>,
    ones: Vec<f64>,
    /// The sum of all other changes.
    fixed: f64,
    has_offset: bool,
}

impl Base {
    /// With the changes of the others as they are.
    fn new(
        gram: &Matrix,
        slopes: &[f64],
        inside: Vec<usize>,
        change: &[f64],
        ridge: f64,
        has_offset: bool,
    ) -> Option<Self> {
        let count = inside.len();
        let is_inside = {
            let mut flags = vec![false; slopes.len()];
            inside.iter().for_each(|k| flags[*k] = true);
            flags
        };
        let fixed: Vec<usize> = (0..slopes.len()).filter(|k| !is_inside[*k] && change[*k] != 0.0).collect();
        let mut right = Matrix::zeros(count, 2);
        for (place, k) in inside.iter().enumerate() {
            let column = gram.col(*k);
            right.set(place, 0, -slopes[*k] - fixed.iter().map(|f| column[*f] * change[*f]).sum::<f64>());
            right.set(place, 1, 1.0);
        }
        let mut extra = ridge;
        let factor = loop {
            let mut part = if count == gram.cols() { gram.clone() } else { part_of(gram, &inside) };
            for place in 0..count {
                part.set(place, place, part.get(place, place) + extra);
            }
            if let Some(factor) = QuickCholesky::new(part) {
                break factor;
            }
            extra *= 30.0;
            if !(extra < 1e3 * ridge) {
                return None;
            }
        };
        factor.solve(&mut right);
        let fixed = fixed.iter().map(|f| change[*f]).sum();
        let (goals, ones) = (right.col(0).to_vec(), right.col(1).to_vec());
        Some(Base { inside, factor, goals, ones, fixed, has_offset })
    }

    /// The changes that minimise, those of `put` being what they are; returns the others. With U the columns of K⁻¹ of what is put,
    /// the changes are goals − shift·ones − Um, where m and the shift are such that they and the sum are as they must be.
    fn minimise(&self, change: &mut [f64], put: &[usize]) -> Option<Vec<usize>> {
        let count = self.inside.len();
        let mut is_put = vec![false; change.len()];
        put.iter().for_each(|k| is_put[*k] = true);
        let places: Vec<usize> = (0..count).filter(|place| is_put[self.inside[*place]]).collect();
        let mut columns = Matrix::zeros(count, places.len());
        places.iter().enumerate().for_each(|(c, place)| columns.set(*place, c, 1.0));
        let mut small = Matrix::zeros(places.len(), 2);
        if !places.is_empty() {
            self.factor.solve(&mut columns);
            for (c, place) in places.iter().enumerate() {
                small.set(c, 0, self.goals[*place] - change[self.inside[*place]]);
                small.set(c, 1, self.ones[*place]);
            }
            let own = Matrix::from_fn(places.len(), places.len(), |i, j| columns.get(places[i], j));
            QuickCholesky::new(own)?.solve(&mut small);
        }
        let along = |column: usize| -> f64 {
            places.iter().enumerate().map(|(c, place)| self.ones[*place] * small.get(c, column)).sum()
        };
        let shift = if self.has_offset {
            (self.goals.iter().sum::<f64>() + self.fixed - along(0)) / (self.ones.iter().sum::<f64>() - along(1))
        } else {
            0.0
        };
        let mut next: Vec<f64> = self.goals.iter().zip(&self.ones).map(|(goal, one)| goal - shift * one).collect();
        for c in 0..places.len() {
            let m = small.get(c, 0) - shift * small.get(c, 1);
            next.iter_mut().zip(columns.col(c)).for_each(|(x, u)| *x -= m * u);
        }
        if !next.iter().all(|x| x.is_finite()) {
            return None;
        }
        let others: Vec<usize> = (0..count).filter(|place| !is_put[self.inside[*place]]).collect();
        others.iter().for_each(|place| change[self.inside[*place]] = next[*place]);
        Some(others.into_iter().map(|place| self.inside[place]).collect())
    }
}

fn part_of(gram: &Matrix, inside: &[usize]) -> Matrix {
    let mut part = Matrix::zeros(inside.len(), inside.len());
    part.as_mut_slice().par_chunks_mut(inside.len()).zip(inside).for_each(|(out, k)| {
        let column = gram.col(*k);
        out.iter_mut().zip(inside).for_each(|(x, j)| *x = column[*j]);
    });
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The old factor with some variables put on their edges gives what a new factor of the others gives.
    #[test]
    fn few_on_their_edges_need_no_new_factor() {
        let gram = Matrix::from_fn(30, 30, |i, j| {
            let distance = i as f64 - j as f64;
            (-0.1 * distance * distance).exp() + if i == j { 0.5 } else { 0.0 }
        });
        let slopes: Vec<f64> = (0..30).map(|i| (1.7 * i as f64).sin()).collect();
        let put = [3, 17, 18];
        for has_offset in [false, true] {
            let mut given = vec![0.0; 30];
            put.iter().enumerate().for_each(|(c, k)| given[*k] = 0.3 - 0.2 * c as f64);
            let (mut quick, mut long) = (given.clone(), given);
            let all = Base::new(&gram, &slopes, (0..30).collect(), &[0.0; 30], 0.0, has_offset).unwrap();
            let others = all.minimise(&mut quick, &put).unwrap();
            assert_eq!(others, (0..30).filter(|k| !put.contains(k)).collect::<Vec<usize>>());
            Base::new(&gram, &slopes, others.clone(), &long, 0.0, has_offset)
                .unwrap()
                .minimise(&mut long, &[])
                .unwrap();
            assert!(quick.iter().zip(&long).all(|(a, b)| (a - b).abs() < 1e-10), "{quick:?} {long:?}");
            // And both are a minimum: the slopes of the others are all the same, 0 without an offset.
            let slope = |k: usize| slopes[k] + gram.col(k).iter().zip(&quick).map(|(x, c)| x * c).sum::<f64>();
            let level = if has_offset { slope(others[0]) } else { 0.0 };
            assert!(others.iter().all(|k| (slope(*k) - level).abs() < 1e-10));
            assert!(!has_offset || quick.iter().sum::<f64>().abs() < 1e-10);
        }
    }
}
