//! One division into training and test rows: the training rows decomposed once, the test rows in the same coordinates.
//!
//! Every exponent and λ is then a point of one ridge path, whose error on the test rows is known along the whole of it:
//! what a selection found, what the path offers, and how far one is from the other. For experiments; a model that
//! is to be kept comes from [`Fit`].

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use mercer::criterion::{Criterion, folds::shuffle};
use mercer::data::{Column, Frame, Roles};
use mercer::kernel::{Kernel, Points};
use mercer::linalg::{Matrix, multiply};
use mercer::low_rank::factor_if_possible;
use mercer::select::{self, Choice, useful_ridges};
use mercer::space;
use mercer::spectrum::{Path, Spectrum, Target, power};
use mercer::{Error, Fit, Result};

/// A factor whose residual is this share of the diagonal is the matrix, to rounding.
const ROUNDING: f64 = 1e-14;
/// From so many rows on a factor is tried.
const WORTHWHILE: usize = 200;

/// Training rows decomposed, test rows beside them.
#[derive(Debug, Clone)]
pub struct Split {
    spectrum: Spectrum,
    target: Target,
    path: Path,
    /// k(test, training), u × n; with an offset without the mean over the training rows.
    cross: Matrix,
    test: Vec<f64>,
    factor: Option<(usize, f64)>,
}

/// The rows in random order, the first `share` of them and the rest.
pub fn divide(rows: usize, share: f64, seed: u64) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<usize> = (0..rows).collect();
    shuffle(&mut order, &mut ChaCha8Rng::seed_from_u64(seed));
    let rest = order.split_off(((share * rows as f64).round() as usize).min(rows));
    (order, rest)
}

impl Split {
    /// Decomposes the training rows with the kernel, the scaling and the offset of a fit, and keeps the test rows beside them.
    /// There must be one kernel and one target, and no weights.
    pub fn of(fit: &Fit, training: &Frame, test: &Frame, roles: &Roles) -> Result<Self> {
        let (design, kernel) = fit.prepared(training, roles)?;
        if design.y.cols() != 1 || design.weights.is_some() {
            return Err(Error::argument("a split", "of one target, without weights", design.y.cols()));
        }
        let (points, complete) = design.encoder.encode(test)?;
        let Column::Number(all) = test.column(&design.targets[0])? else {
            return Err(Error::Column { column: design.targets[0].clone(), problem: "must hold numbers".into() });
        };
        let seen: Vec<f64> = all.iter().zip(&complete).filter(|(_, complete)| **complete).map(|(y, _)| *y).collect();
        Split::new(&*kernel, &design.points, design.y.col(0), &points.only(&complete), seen, fit.problem().offset)
    }

    /// From encoded rows. Where a factor of at most half the rank has a residual at rounding level, it takes the place of
    /// the matrix.
    pub fn new(
        kernel: &dyn Kernel,
        training: &Points,
        y: &[f64],
        new: &Points,
        test: Vec<f64>,
        offset: bool,
    ) -> Result<Self> {
        let rows = training.rows();
        let found = match rows >= WORTHWHILE {
            true => factor_if_possible(kernel, training, ROUNDING, rows / 2, 1),
            false => None,
        };
        let (spectrum, factor) = match found {
            Some(found) => {
                let factor = Some((found.matrix.cols(), found.mean_residual));
                (Spectrum::from_factor(found.matrix, None, offset)?, factor)
            }
            None => (Spectrum::from_gram(space::gram_lower(kernel, training), None, offset)?, None),
        };
        let mut cross = space::cross(kernel, training, new);
        if offset {
            let mean = space::mean_column(kernel, training, None);
            for (j, mean) in mean.iter().enumerate() {
                cross.col_mut(j).iter_mut().for_each(|k| *k -= mean);
            }
        }
        let target = spectrum.target(y)?;
        let path = spectrum.path(&[&target]);
        Ok(Split { spectrum, target, path, cross, test, factor })
    }

    /// The ridge path of the training rows.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The decomposition of the training rows.
    pub fn spectrum(&self) -> &Spectrum {
        &self.spectrum
    }

    /// The rank of the factor that was decomposed in the matrix' place, and the mean of what it leaves of the diagonal.
    pub fn factor(&self) -> Option<(usize, f64)> {
        self.factor
    }

    /// μ of the minimiser at (m, λ); `None` for the zero function.
    pub fn ridge(&self, exponent: f64, lambda: f64) -> Option<f64> {
        power::minimum(&self.path, exponent, lambda).log_ridge.map(libm::exp)
    }

    /// A criterion of the training rows for several exponents, each with several λ in rising order: `[exponent][λ]`.
    pub fn judge(&self, criterion: &Criterion, asked: &[(f64, Vec<f64>)], seed: u64) -> Result<Vec<Vec<f64>>> {
        select::scores_of_target(&self.spectrum, &self.target, criterion, asked, seed)
    }

    /// The best of these exponents and any λ, by a criterion of the training rows.
    pub fn choose(&self, criterion: &Criterion, exponents: &[f64], seed: u64) -> Result<Choice> {
        select::best_for_target(&self.spectrum, &self.target, criterion, exponents, seed)
    }

    /// Ridges over the whole useful part of the path, rising.
    pub fn useful_ridges(&self, count: usize) -> Vec<f64> {
        useful_ridges(self.spectrum.largest(), self.spectrum.weight_sum(), count).into_iter().map(libm::exp).collect()
    }

    /// Root mean squared error on the test rows at each ridge; `None` stands for the zero function.
    pub fn test_rmse(&self, ridges: &[Option<f64>]) -> Vec<f64> {
        let gammas: Vec<Option<f64>> =
            ridges.iter().map(|ridge| ridge.map(|ridge| self.spectrum.weight_sum() * ridge)).collect();
        let alpha = self.spectrum.duals(&self.target, &gammas);
        let values = multiply(&self.cross, &alpha);
        let rows = self.test.len().max(1) as f64;
        let error = |column: &[f64]| -> f64 {
            let residuals = column.iter().zip(&self.test).map(|(f, y)| y - f - self.target.mean());
            (residuals.map(|e| e * e).sum::<f64>() / rows).sqrt()
        };
        (0..ridges.len()).map(|l| error(values.col(l))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::generator;
    use mercer::criterion::Folds;
    use mercer::data::Scale;
    use mercer::kernel::parse;

    fn rmse(model: &mercer::Model, test: &Frame) -> f64 {
        let Column::Number(y) = test.column("y").unwrap() else { panic!("numbers") };
        let predicted = model.predict_frame(test).unwrap().swap_remove(0);
        let squares = y.iter().zip(predicted).map(|(y, f)| (y - f.unwrap()).powi(2));
        (squares.sum::<f64>() / y.len() as f64).sqrt()
    }

    /// Against refits of the front door, with and without offset, on the matrix and on a factor of it.
    #[test]
    fn a_split_says_what_refits_say() {
        let roles = Roles { targets: vec!["y".into()], ..Roles::default() };
        for (name, rows, kernel, offset) in
            [("friedman1", 90, "gaussian", true), ("sinc", 330, "gaussian(lengthscale=0.3)", false)]
        {
            let frame = generator(name).unwrap().frame(rows, 0.2, 3).unwrap();
            let (first, second) = divide(rows, 0.7, 5);
            let (training, test) = (frame.select_rows(&first), frame.select_rows(&second));
            let fit = Fit::with_shared(parse(kernel).unwrap()).scale(Scale::Standard);
            let fit = if offset { fit } else { fit.without_offset() };
            let split = Split::of(&fit, &training, &test, &roles).unwrap();
            assert_eq!(split.factor().is_some(), rows > 300);
            for (exponent, lambda) in [(2.0, 1e-3), (1.3, 1e-2), (0.6, 1e-2), (0.4, 1e3)] {
                let model = fit.clone().exponent(exponent).lambda(lambda).fit_frame(&training, &roles).unwrap().model;
                let ours = split.test_rmse(&[split.ridge(exponent, lambda)])[0];
                assert!((ours / rmse(&model, &test) - 1.0).abs() < 1e-7, "{name} {exponent}: {ours}");
            }
            // Ten folds: the rows of each predicted by a fit without them.
            let rule = Criterion::parse("kfold:10").unwrap();
            let found = split.judge(&rule, &[(1.3, vec![1e-2]), (2.0, vec![1e-3])], 7).unwrap();
            for (at, (exponent, lambda)) in [(1.3, 1e-2), (2.0, 1e-3)].into_iter().enumerate() {
                let mut sum = 0.0;
                for group in &Folds::random(first.len(), 10, 7).unwrap().groups {
                    let kept: Vec<usize> = (0..first.len()).filter(|row| !group.contains(row)).collect();
                    let held_out = training.select_rows(group);
                    // Scaling and lengthscale stay those of all training rows: folds share the decomposition.
                    let (design, kernel) = fit.prepared(&training, &roles).unwrap();
                    let y = |rows: &[usize]| rows.iter().map(|r| design.y.get(*r, 0)).collect::<Vec<f64>>();
                    let (inside, outside) = (design.points.subset(&kept), design.points.subset(group));
                    let part = Split::new(&*kernel, &inside, &y(&kept), &outside, y(group), offset).unwrap();
                    let error = part.test_rmse(&[part.ridge(exponent, lambda)])[0];
                    sum += error * error * held_out.rows() as f64;
                }
                let expected = sum / first.len() as f64;
                assert!((found[at][0] / expected - 1.0).abs() < 1e-6, "{name}: {} {expected}", found[at][0]);
            }
            // Nothing that is chosen beats the best point of the path.
            let choice = split.choose(&Criterion::LeaveOneOut, &[0.5, 1.0, 1.5, 2.0], 1).unwrap();
            let ridges: Vec<Option<f64>> = split.useful_ridges(200).into_iter().map(Some).collect();
            let floor = split.test_rmse(&ridges).into_iter().fold(f64::INFINITY, f64::min);
            let chosen = split.test_rmse(&[split.ridge(choice.exponent, choice.lambda)])[0];
            assert!(floor <= chosen * 1.001 && chosen < 2.0 * floor, "{name}: {floor} {chosen}");
        }
    }

    #[test]
    fn a_division_is_a_permutation() {
        let (first, second) = divide(10, 0.7, 1);
        assert_eq!((first.len(), second.len()), (7, 3));
        let mut all = [first, second].concat();
        assert!(!all.is_sorted());
        all.sort_unstable();
        assert!(all.into_iter().eq(0..10));
        assert_eq!(divide(10, 0.7, 1), divide(10, 0.7, 1));
    }
}
