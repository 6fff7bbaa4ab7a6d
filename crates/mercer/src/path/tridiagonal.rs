//! The tridiagonal form in the place of a spectrum: when a surface is all that is wanted of a kernel, no eigenvector is.
//!
//! Rows at one and the same point become one coordinate first: with m rows there, U has columns with entries 1/√m, K = U K̃ Uᵀ, and
//! eᵢ = u/√m + (a part without eigenvalue, of square 1 − 1/m). What such rows have without eigenvalue is then known exactly; what a
//! kernel has besides is eigenvalues at rounding level. Where the reduction meets them they stay in T, lifted above 0 by no more than
//! rounding; where it ends before it has met all of them, the directions that are left have no eigenvalue.

mod tables;

use super::build::{Reflection, constant_image, noise_level};
use super::row_sums::square;
use super::target::Centred;
use super::{Basis, Curve, CurvePoint, Kind, Spectrum, check_size};
use crate::base::error::Result;
use crate::linalg::tridiagonal::{Rounding, Tridiagonal};
use crate::linalg::{self, DecompositionCheck, Matrix, multiply, multiply_transposed};

/// Eigenvalues are lifted to this share of the level below which they are rounding, so that every T + γI is definite.
const GROUND: f64 = 0.125;
/// Eigenvalues lower than so many times that level below 0 are no rounding.
const NEGATIVE: f64 = 4.0;
/// Ridges below so many times that level cannot be told from each other.
const LOWEST_RIDGE: f64 = 10.0;
/// A share of a row outside of V is a difference of numbers near 1; what is that small is nothing.
const NOTHING: f64 = 1e-12;

/// K in tridiagonal form. Rows have no weights.
pub(crate) struct TridiagonalForm {
    form: Tridiagonal,
    /// Points in the coordinates of the form, one row each.
    points: Matrix,
    /// The point of each row, and how many rows each point has.
    place: Vec<usize>,
    counts: Vec<f64>,
    /// What each row has in directions without eigenvalue, squared.
    null: Vec<f64>,
    offset: bool,
    largest: f64,
    /// Below this eigenvalues are rounding; whether there are some.
    noise: f64,
    has_noise: bool,
    /// What T has on its diagonal beyond that of the matrix.
    lift: f64,
    /// A bound of the norm of the matrix before centring.
    size: f64,
    /// With an offset: the constant direction's own entry of the matrix, and its image by points.
    constant: Option<(f64, Vec<f64>)>,
}

/// A target in the coordinates of a [`TridiagonalForm`], in units of 2ᵏ.
pub(crate) struct FormTarget {
    z: Vec<f64>,
    /// What each row has of it in directions without eigenvalue.
    outside: Vec<f64>,
    centred: Vec<f64>,
    power: i32,
    mean: f64,
}

impl TridiagonalForm {
    /// From the lower triangle of K and the point of each row (numbers that count up). `None` where K is not positive
    /// semidefinite to rounding, which is for others to complain about.
    pub fn new(gram: Matrix, place: &[usize], offset: bool) -> Result<Option<Self>> {
        let (kept, counts) = points_of(place);
        let count = kept.len();
        let roots: Vec<f64> = counts.iter().map(|m| m.sqrt()).collect();
        let merged = if count == place.len() {
            gram
        } else {
            // Rows that are kept rise with the number of their point: the lower triangle stays the lower one, and whatever is moved
            // in memory moves towards its beginning.
            let rows = place.len();
            let mut data = gram.into_vec();
            for j in 0..count {
                let (source, target) = (kept[j] * rows, j * count);
                for i in j..count {
                    data[target + i] = data[source + kept[i]] * roots[i] * roots[j];
                }
            }
            data.truncate(count * count);
            Matrix::from_columns(count, count, data)?
        };
        check_size(merged.max_abs())?;
        let size = linalg::largest_row_sum(&merged);
        let reflection = offset.then(|| Reflection::to_first_axis(&roots));
        let constant = offset.then(|| constant_image(&merged, &roots));
        let reduced = match &reflection {
            Some(reflection) => reflection.reduce(merged),
            None => merged,
        };
        let rounding = Rounding { share: noise_level(place.len()), least: 4.0 * f64::EPSILON * size };
        let (mut form, vectors) = Tridiagonal::reduce(reduced, rounding)?;
        let points = match &reflection {
            Some(reflection) => reflection.expand(vectors),
            None => vectors,
        };
        let largest = form.largest();
        let noise = rounding.level(largest);
        if form.eigenvalues_below(-NEGATIVE * noise) > 0 {
            return Ok(None);
        }
        let has_noise = form.eigenvalues_below(noise) > 0;
        let lowest = form.lowest_between(-NEGATIVE * noise, GROUND * noise);
        let lift = lowest.map_or(0.0, |lowest| GROUND * noise - lowest);
        form.diagonal.iter_mut().for_each(|d| *d += lift);
        let hidden = shares_outside(&points, &counts, place.len(), offset);
        let null = |point: &usize| 1.0 - (1.0 - hidden[*point]) / counts[*point];
        Ok(Some(TridiagonalForm {
            null: place.iter().map(null).collect(),
            form,
            points,
            place: place.to_vec(),
            counts,
            offset,
            largest,
            noise,
            has_noise,
            lift,
            size,
            constant,
        }))
    }

    pub fn rows(&self) -> usize {
        self.place.len()
    }

    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// log γ, relative to the largest eigenvalue, below which rounding decides what is found.
    pub fn lowest(&self) -> f64 {
        libm::log(LOWEST_RIDGE * self.noise / self.largest)
    }

    pub fn has_offset(&self) -> bool {
        self.offset
    }

    /// A bound of ‖K‖.
    pub fn size(&self) -> f64 {
        self.size
    }

    pub fn check(&self) -> DecompositionCheck {
        self.form.check
    }

    /// Whether V has all directions of the points.
    pub fn is_whole(&self) -> bool {
        self.points.cols() + usize::from(self.offset) == self.points.rows()
    }

    /// The smallest eigenvalue; 0 where some are rounding or belong to several rows at one point.
    pub fn smallest(&self) -> f64 {
        let has_all = self.is_whole() && self.counts.len() == self.rows() && !self.has_noise;
        if has_all { self.form.lowest_between(0.0, self.largest).unwrap_or(0.0) } else { 0.0 }
    }

    /// tr H at γ, the offset counted.
    pub fn dof(&self, gamma: f64) -> f64 {
        f64::from(self.offset) + self.form.size() as f64 - gamma * self.form.inverse_trace(gamma)
    }

    /// α of the ridge solution at γ, in the target's own units; `None` where T + γI is not definite.
    pub fn dual(&self, target: &FormTarget, gamma: f64) -> Option<Vec<f64>> {
        let solved = self.form.factored(gamma)?.solve(&target.z);
        let inside = multiply(&self.points, &Matrix::column_vector(solved)).into_vec();
        let entry = |(point, outside): (&usize, &f64)| {
            libm::ldexp(inside[*point] / self.counts[*point].sqrt() + outside / gamma, target.power)
        };
        Some(self.place.iter().zip(&target.outside).map(entry).collect())
    }

    /// A target in these coordinates.
    pub fn target(&self, y: &[f64]) -> FormTarget {
        let centred = Centred::of(y, None, self.rows() as f64, self.offset);
        let mut means = vec![0.0; self.counts.len()];
        centred.values.iter().zip(&self.place).for_each(|(v, point)| means[*point] += v);
        means.iter_mut().zip(&self.counts).for_each(|(mean, count)| *mean /= count);
        let merged: Vec<f64> = means.iter().zip(&self.counts).map(|(mean, count)| mean * count.sqrt()).collect();
        let z = multiply_transposed(&self.points, &Matrix::column_vector(merged));
        // What V says of each row; where V is all there is, the mean at its point.
        let inside: Vec<f64> = if self.is_whole() {
            means
        } else {
            let image = multiply(&self.points, &z).into_vec();
            image.iter().zip(&self.counts).map(|(v, count)| v / count.sqrt()).collect()
        };
        let outside = |i: usize| if self.null[i] == 0.0 { 0.0 } else { centred.values[i] - inside[self.place[i]] };
        let outside = (0..self.rows()).map(outside).collect();
        let (power, mean) = (centred.power, libm::ldexp(centred.mean, centred.power));
        FormTarget { z: z.into_vec(), outside, centred: centred.values, power, mean }
    }

    /// The ridge path of targets that share one effective ridge.
    pub fn path<'a>(&'a self, targets: &[&FormTarget]) -> FormPath<'a> {
        let power = common_power(targets);
        let scaled = targets.iter().map(|target| scaled(&target.z, target.power - power)).collect();
        let unscaled = |of: &dyn Fn(&FormTarget) -> f64| -> f64 {
            targets.iter().map(|target| libm::ldexp(of(target), 2 * (target.power - power))).sum()
        };
        FormPath {
            form: self,
            null: unscaled(&|target| square(&target.outside)),
            centred: unscaled(&|target| square(&target.centred)),
            tail: unscaled(&|target| dot(&target.z, &self.form.times(&target.z))),
            targets: scaled,
            power,
        }
    }

    /// The decomposition that this is the beginning of, if V has all directions.
    pub fn into_spectrum(self) -> Result<Option<Spectrum>> {
        if !self.is_whole() {
            return Ok(None);
        }
        let n = self.rows();
        let eigen = self.form.eigen(&self.points)?;
        let hidden = n - self.counts.len();
        let mut eigenvalues: Vec<f64> =
            eigen.values.iter().rev().map(|d| d - self.lift).map(|d| if d <= self.noise { 0.0 } else { d }).collect();
        eigenvalues.resize(eigenvalues.len() + hidden, 0.0);
        let roots: Vec<f64> = self.counts.iter().map(|m| m.sqrt()).collect();
        let visible = eigen.values.len();
        let mut basis = Matrix::zeros(n, visible + hidden);
        for k in 0..visible {
            let source = eigen.vectors.col(visible - 1 - k);
            let entries = self.place.iter().map(|point| source[*point] / roots[*point]);
            basis.col_mut(k).iter_mut().zip(entries).for_each(|(q, entry)| *q = entry);
        }
        // Differences of rows at one point: each one against the mean of those before it.
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); self.counts.len()];
        let mut column = visible;
        for (row, point) in self.place.iter().enumerate() {
            let earlier = before[*point].len() as f64;
            if earlier > 0.0 {
                let length = (earlier * (earlier + 1.0)).sqrt();
                before[*point].iter().for_each(|other| basis.set(*other, column, 1.0 / length));
                basis.set(row, column, -earlier / length);
                column += 1;
            }
            before[*point].push(row);
        }
        let constant = self.constant.map(|(own, image)| {
            let mut with_basis = multiply_transposed(&eigen.vectors, &Matrix::column_vector(image)).into_vec();
            with_basis.reverse();
            with_basis.resize(visible + hidden, 0.0);
            (own, with_basis)
        });
        Ok(Some(Spectrum {
            constant,
            eigenvalues,
            basis: Basis::Double(basis),
            root_weights: None,
            weight_sum: n as f64,
            offset: self.offset,
            outside: vec![0.0; n],
            check: eigen.check,
            kind: Kind::Gram { size: self.size },
        }))
    }
}

/// The ridge path of all rows on a [`TridiagonalForm`]: each point of it is a few solves.
pub(crate) struct FormPath<'a> {
    form: &'a TridiagonalForm,
    targets: Vec<Vec<f64>>,
    null: f64,
    centred: f64,
    /// Σ dz².
    tail: f64,
    power: i32,
}

impl FormPath<'_> {
    /// (1/n) Σ y² around the mean if there is an offset, own units.
    pub fn zero_mse(&self) -> f64 {
        libm::ldexp(self.centred, 2 * self.power) / self.form.rows() as f64
    }
}

impl Curve for FormPath<'_> {
    fn at(&mut self, t: f64) -> CurvePoint {
        let rows = self.form.rows() as f64;
        let log_gamma = t + libm::log(rows);
        let far = libm::log(self.form.largest) + 45.0;
        let gamma = libm::exp(log_gamma.clamp(-700.0, far));
        let Some(factor) = self.form.form.factored(gamma).filter(|_| log_gamma < far) else {
            let log_norm = libm::log(self.tail) - 2.0 * log_gamma + self.log_unit();
            return CurvePoint { log_norm, slope: 1.0, train: self.zero_train() };
        };
        let (mut norm, mut shrunk, mut train) = (0.0, 0.0, self.null);
        for z in &self.targets {
            let dual = factor.solve(z);
            let image = factor.image(z, &dual, self.form.largest);
            norm += dot(&dual, &image);
            // Σ d z²/(d + γ)³, times γ.
            shrunk += gamma * dot(&dual, &factor.solve(&image));
            train += gamma * gamma * square(&dual);
        }
        CurvePoint { log_norm: libm::log(norm) + self.log_unit(), slope: shrunk / norm, train: train / rows }
    }

    fn weight_sum(&self) -> f64 {
        self.form.rows() as f64
    }

    fn log_unit(&self) -> f64 {
        2.0 * f64::from(self.power) * std::f64::consts::LN_2
    }

    fn zero_train(&self) -> f64 {
        self.centred / self.form.rows() as f64
    }

    fn log_tail(&self) -> f64 {
        libm::log(self.tail) + self.log_unit()
    }

    fn log_spread(&self) -> (f64, f64) {
        (libm::log(self.form.largest), f64::NEG_INFINITY)
    }
}

/// The first row of every point, and how many rows it has.
fn points_of(place: &[usize]) -> (Vec<usize>, Vec<f64>) {
    let (mut kept, mut counts): (Vec<usize>, Vec<f64>) = (Vec::new(), Vec::new());
    for (row, point) in place.iter().enumerate() {
        if *point == kept.len() {
            kept.push(row);
            counts.push(0.0);
        }
        counts[*point] += 1.0;
    }
    (kept, counts)
}

/// What each point has outside of V, squared.
fn shares_outside(points: &Matrix, counts: &[f64], rows: usize, offset: bool) -> Vec<f64> {
    if points.cols() + usize::from(offset) == points.rows() {
        return vec![0.0; counts.len()];
    }
    let whole = |count: &f64| if offset { 1.0 - count / rows as f64 } else { 1.0 };
    let mut shares: Vec<f64> = counts.iter().map(whole).collect();
    for k in 0..points.cols() {
        shares.iter_mut().zip(points.col(k)).for_each(|(share, v)| *share -= v * v);
    }
    shares.into_iter().map(|share| if share > NOTHING { share } else { 0.0 }).collect()
}

fn common_power(targets: &[&FormTarget]) -> i32 {
    targets.iter().map(|target| target.power).max().unwrap_or(0)
}

fn scaled(values: &[f64], power: i32) -> Vec<f64> {
    values.iter().map(|v| libm::ldexp(*v, power)).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    linalg::dot(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::held_out::{HeldOut, leave_one_out_on_form};
    use crate::path::leave_one_out;
    use crate::path::power;

    /// Rows on a line, some of them at the same point, with different targets there.
    fn example(rows: usize) -> (Vec<f64>, Vec<usize>, Vec<f64>) {
        let x: Vec<f64> = (0..rows).map(|i| if i % 7 == 3 { 0.5 * (i % 3) as f64 } else { 0.11 * i as f64 }).collect();
        let mut known: Vec<f64> = Vec::new();
        let place = x.iter().map(|x| {
            known.iter().position(|other| other == x).unwrap_or_else(|| {
                known.push(*x);
                known.len() - 1
            })
        });
        let place = place.collect();
        let noise = |i: usize| ((i * 7919) % 101) as f64 / 101.0 - 0.5;
        let y = x.iter().enumerate().map(|(i, x)| 30.0 + 7.0 * libm::sin(*x) + 2.0 * noise(i)).collect();
        (x, place, y)
    }

    fn gram(x: &[f64], lengthscale: f64) -> Matrix {
        Matrix::from_fn(x.len(), x.len(), |i, j| libm::exp(-0.5 * ((x[i] - x[j]) / lengthscale).powi(2)))
    }

    /// Tables of a form against deletions one by one on the eigendecomposition of all rows: equal points, with and without an offset, one
    /// target or two that share a ridge, a kernel of full rank and one of low rank.
    #[test]
    fn tables_of_a_form_are_deletions_one_by_one() {
        let (x, place, y) = example(150);
        let other: Vec<f64> = x.iter().enumerate().map(|(i, x)| libm::cos(2.0 * x) + 0.01 * (i % 5) as f64).collect();
        let log_lambdas: Vec<f64> = (0..9).map(|l| -9.0 + 1.5 * f64::from(l)).collect();
        let asked: Vec<(f64, Vec<f64>)> = [0.5, 1.0, 1.5, 2.0, 3.0].map(|m| (m, log_lambdas.clone())).to_vec();
        for (lengthscale, offset) in [(0.1, true), (0.1, false), (2.0, true), (2.0, false)] {
            let k = gram(&x, lengthscale);
            let spectrum = Spectrum::from_gram(k.clone(), None, offset).unwrap();
            let form = TridiagonalForm::new(k, &place, offset).unwrap().unwrap();
            // Of low rank, the form ends before it has met all directions.
            let has_noise = !form.is_whole();
            assert!(form.counts.len() < x.len() && has_noise == (lengthscale > 1.0));
            for targets in [vec![&y], vec![&y, &other]] {
                let own: Vec<FormTarget> = targets.iter().map(|y| form.target(y)).collect();
                let exact: Vec<super::super::Target> = targets.iter().map(|y| spectrum.target(y).unwrap()).collect();
                let (own, exact): (Vec<&FormTarget>, Vec<_>) = (own.iter().collect(), exact.iter().collect());
                // At exponent 2 nothing is tabulated.
                let plain = leave_one_out_on_form(&form, &own, &log_lambdas).unwrap();
                let wanted = leave_one_out(&spectrum, &exact, 2.0, &log_lambdas).unwrap();
                for (found, wanted) in plain.iter().zip(&wanted) {
                    for (mse, errors) in found.mse.iter().zip(wanted) {
                        let wanted = errors.iter().map(|e| e * e).sum::<f64>() / x.len() as f64;
                        assert!((mse / wanted - 1.0).abs() < 1e-9, "{lengthscale} {offset}: {mse} {wanted}");
                    }
                }
                let held_out = HeldOut::rows_of_form(&form, &own, (-30.0, 13.9), true).unwrap();
                for ((exponent, _), found) in asked.iter().zip(held_out.errors(&asked)) {
                    let wanted = leave_one_out(&spectrum, &exact, *exponent, &log_lambdas).unwrap();
                    // Below exponent 1 a small λ leads to ridges at which eigenvalues at rounding level matter.
                    let first = if has_noise && *exponent < 1.0 { 3 } else { 0 };
                    for (l, (found, wanted)) in found.iter().zip(&wanted).enumerate().skip(first) {
                        for (mse, errors) in found.mse.iter().zip(wanted) {
                            let wanted = errors.iter().map(|e| e * e).sum::<f64>() / x.len() as f64;
                            let off = (mse / wanted - 1.0).abs();
                            assert!(off < 5e-8, "{lengthscale} {offset} m = {exponent}, λ {l}: {mse} {wanted} {off:e}");
                        }
                    }
                }
            }
        }
    }

    /// The spectrum that a form becomes is that of the matrix, and so is the path.
    #[test]
    fn a_form_becomes_the_spectrum() {
        let (x, place, y) = example(150);
        for (lengthscale, offset) in [(0.1, true), (0.3, false), (2.0, true)] {
            let k = gram(&x, lengthscale);
            let wanted = Spectrum::from_gram(k.clone(), None, offset).unwrap();
            let form = TridiagonalForm::new(k, &place, offset).unwrap().unwrap();
            let target = wanted.target(&y).unwrap();
            let mut path = wanted.path(&[&target]);
            let own = form.target(&y);
            let mut own_path = form.path(&[&own]);
            for t in [-12.0, -5.0, 0.0, 4.0, 60.0] {
                let (a, b) = (path.at(t), own_path.at(t));
                assert!((a.log_norm - b.log_norm).abs() < 1e-8 && (a.slope - b.slope).abs() < 1e-8, "{t}: {a:?} {b:?}");
                assert!((a.train / b.train - 1.0).abs() < 1e-8, "{t}: {a:?} {b:?}");
            }
            for (exponent, log_lambda) in [(1.0, -3.0), (1.7, -5.0), (0.5, -2.0)] {
                let ridges = [
                    power::minimise(&mut path, exponent, log_lambda, None).log_ridge,
                    power::minimise(&mut own_path, exponent, log_lambda, None).log_ridge,
                ];
                let [Some(a), Some(b)] = ridges else { panic!("{exponent}: {ridges:?}") };
                assert!((a - b).abs() < 1e-8, "{exponent}: {a} {b}");
            }
            let is_whole = form.is_whole();
            assert!(is_whole || lengthscale > 1.0);
            let Some(found) = form.into_spectrum().unwrap() else { continue };
            assert!(is_whole && found.check().passed());
            let largest = wanted.largest();
            for (a, b) in found.eigenvalues().iter().zip(wanted.eigenvalues()) {
                assert!((a - b).abs() < 1e-13 * largest, "{a} {b}");
            }
            assert_eq!(found.eigenvalues().len(), wanted.eigenvalues().len());
            let own = found.target(&y).unwrap();
            for gamma in [1e-3, 1.0] {
                let (a, b) = (found.dual(&own, gamma), wanted.dual(&target, gamma));
                let size = b.iter().fold(0.0, |max: f64, b| max.max(b.abs()));
                assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-9 * size));
                assert!((found.log_constant_pivot(gamma) - wanted.log_constant_pivot(gamma)).abs() < 1e-9);
            }
        }
    }

    /// What is no kernel is left to others.
    #[test]
    fn an_indefinite_matrix_has_no_form() {
        let mut k = gram(&[0.0, 1.0, 2.0, 3.0, 4.0], 0.5);
        k.set(2, 2, -0.5);
        assert!(TridiagonalForm::new(k, &[0, 1, 2, 3, 4], false).unwrap().is_none());
    }
}
