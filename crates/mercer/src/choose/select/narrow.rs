//! Where a surface over many rows is worth computing: not over all ridges there are.
//!
//! Leave-one-out at exponent 2 is two products for any number of ridges. A few of them over the whole path, a quarter of the rows and
//! nothing approximated, show where it is far from its least value; other exponents lead to the same points of the path, row by row to within 1/n. Tables
//! and grids then cover the rest.

use super::Search;
use super::judge::{HIGHEST, Judge, LOWEST};
use crate::path::held_out::leave_one_out_of_some;
use crate::path::row_tables::MANY_ROWS;

/// Ridges at which leave-one-out is computed: about a factor of seven apart, which moves a residual by less than that factor.
const COARSE: usize = 24;
/// Ridges whose error is within this factor of the least are kept, and one more on either side.
const FACTOR: f64 = 1.25;

/// One of so many parts of the rows is looked at: thousands of rows.
const PARTS: usize = 4;
/// Ridges below this share of the least eigenvalue are not told apart.
const BELOW_SPECTRUM: f64 = 1e-4;

impl Judge<'_> {
    /// The same on the part of the path that a search without given λ need look at.
    pub fn narrowed_for(self, search: &Search) -> Self {
        let is_open = search.lambdas.is_none() && search.exponents.iter().all(|m| *m >= 1.0);
        if !is_open || !self.has_plain_rows() || self.spectrum().rows() < MANY_ROWS {
            return self;
        }
        let step = (HIGHEST - LOWEST) / (COARSE - 1) as f64;
        let ridge = |i: usize| LOWEST + step * i as f64;
        let unit = libm::log(self.spectrum().largest() / self.spectrum().weight_sum());
        let log_lambdas: Vec<f64> = (0..COARSE).map(|i| unit + ridge(i)).collect();
        let scores = self.totals(&leave_one_out_of_some(self.spectrum(), PARTS, self.targets(), &log_lambdas));
        let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
        let is_near = |i: &usize| scores[*i] <= FACTOR * least;
        let (Some(first), Some(last)) = ((0..COARSE).find(is_near), (0..COARSE).rfind(is_near)) else { return self };
        // Far below the spectrum nothing changes any more.
        let bottom = libm::log(BELOW_SPECTRUM * self.spectrum().smallest_positive() / self.spectrum().largest());
        let low = ridge(first.saturating_sub(1)).max(bottom);
        let high = ridge((last + 1).min(COARSE - 1));
        if low < high { self.within(low, high) } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose::select::{Choice, Extras};
    use crate::linalg::Matrix;
    use crate::path::leave_one_out;
    use crate::path::{Rows, Spectrum, Target};
    use crate::term::criterion::Criterion;

    /// The narrow search finds what the wide one does, to what tables of many rows know.
    #[test]
    fn nothing_is_lost_of_the_best() {
        let rows = MANY_ROWS + 100;
        let place = |i: usize| ((i * 7919) % rows) as f64 / rows as f64;
        let x = Matrix::from_fn(rows, 12, |i, j| libm::cos(3.1 * (j + 1) as f64 * place(i)) / (1 + j * j) as f64);
        let noise = |i: usize| ((i * 104_729) % 1009) as f64 / 1009.0 - 0.5;
        let y: Vec<f64> = (0..rows).map(|i| libm::sin(9.0 * place(i)) + 0.7 * noise(i)).collect();
        let spectrum = Spectrum::from_factor(x, None, true).unwrap();
        let target = spectrum.target(&y).unwrap();
        let extras = Extras::default();
        let judge = || Judge::new(&spectrum, &[&target], &Criterion::LeaveOneOut, &extras, None).unwrap().unwrap();
        for exponents in [vec![2.0], vec![1.0, 1.5, 2.0, 2.5]] {
            let search = Search { exponents, lambdas: None, refine: true, preferred: None, one_standard_error: false };
            let wide = search.run(&judge(), &[0]).unwrap();
            let narrow = search.run(&judge().narrowed_for(&search), &[0]).unwrap();
            assert!(narrow.lambdas[0].len() < wide.lambdas[0].len());
            let (a, b) = (wide.best.score.value, narrow.best.score.value);
            assert!((a / b - 1.0).abs() < 1e-6, "{:?} {:?}", wide.best, narrow.best);
        }
    }

    /// Leave-one-out read off a basis in single precision leads to the choice and the error that double precision gives.
    #[test]
    fn single_precision_chooses_what_double_precision_does() {
        let (rows, width) = (MANY_ROWS + 300, 40);
        let place = |i: usize| ((i * 7919) % rows) as f64 / rows as f64;
        // Features graded over nine orders of magnitude, as those of a smooth kernel are.
        let x = Matrix::from_fn(rows, width, |i, j| {
            libm::cos(3.1 * (j + 1) as f64 * place(i)) * libm::exp(-0.5 * j as f64)
        });
        let noise = |i: usize| ((i * 104_729) % 1009) as f64 / 1009.0 - 0.5;
        let y = Matrix::from_fn(rows, 1, |i, _| libm::sin(30.0 * place(i)) + 0.3 * noise(i));
        let mut features =
            |part: std::ops::Range<usize>| Matrix::from_fn(part.len(), width, |i, j| x.get(part.start + i, j));
        let about = Rows { weights: None, offset: true, y: &y };
        let (single, targets) = Spectrum::of_parts(about, width, &mut features).unwrap().unwrap();
        let double = Spectrum::from_factor(x.clone(), None, true).unwrap();
        let (target, extras) = (double.target(y.col(0)).unwrap(), Extras::default());
        let exponents = vec![1.0, 1.5, 2.0, 2.5];
        let search = Search { exponents, lambdas: None, refine: true, preferred: None, one_standard_error: false };
        let best = |spectrum: &Spectrum, target: &Target| {
            let judge = Judge::new(spectrum, &[target], &Criterion::LeaveOneOut, &extras, None).unwrap().unwrap();
            search.run(&judge.narrowed_for(&search), &[0]).unwrap().best
        };
        let (found, wanted) = (best(&single, &targets[0]), best(&double, &target));
        // What the choice is worth is judged in double precision.
        let errors = |spectrum: &Spectrum, target: &Target, choice: &Choice| -> Vec<f64> {
            leave_one_out(spectrum, &[target], choice.exponent, &[libm::log(choice.lambda)]).unwrap()[0][0].clone()
        };
        let mse = |errors: &[f64]| errors.iter().map(|e| e * e).sum::<f64>() / rows as f64;
        let (at_found, at_wanted) = (errors(&double, &target, &found), errors(&double, &target, &wanted));
        assert!((mse(&at_found) / mse(&at_wanted) - 1.0).abs() < 1e-6, "{found:?} {wanted:?}");
        let said = errors(&single, &targets[0], &found);
        assert!((mse(&said) / mse(&at_found) - 1.0).abs() < 1e-6);
        let worst = said.iter().zip(&at_found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-4 && worst > 0.0, "{worst:e}");
    }
}
