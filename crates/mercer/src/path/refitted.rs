//! The problem on some of the rows, decomposed anew, and what its path says of other rows.
//!
//! With K = QDQᵀ of all rows (in scaled coordinates, centred if there is an offset), the rows of Φ = diag(s)⁻¹ Q √D are features whose
//! products are K's entries up to functions that an offset absorbs: the coefficients of a fit with an offset sum to 0. A part of the rows is
//! therefore a linear problem in the rows of Φ, of which the part has a decomposition of its own: one of its Gram matrix, or of its
//! features where they are fewer. Where most rows are left out this is cheaper than deleting them (`deleted_group`), which takes a factorisation of the deleted
//! block for every γ.

use super::curve::Remembered;
use super::{Kind, Path, Spectrum, Target};
use crate::base::clip::{range, within};
use crate::base::error::Result;
use crate::linalg::{Matrix, multiply, multiply_by_transposed};
use crate::path::power;

/// Rows × features² up to which a part in features has singular values; beyond it, eigenvalues of the square.
const SINGULAR_VALUES: f64 = 2e10;

/// A fit path on some of the rows, with rows that it is to predict.
pub(crate) struct PartOfRows {
    path: Path,
    /// M of the held-out rows, rows × directions with an eigenvalue: f − b = M z/(d + γ).
    projection: Matrix,
    eigenvalues: Vec<f64>,
    weight_sum: f64,
    targets: Vec<Predicted>,
    /// The held-out rows' weights.
    weights: Vec<f64>,
}

struct Predicted {
    z: Vec<f64>,
    power: i32,
    mean: f64,
    /// Observed values of the held-out rows.
    y: Vec<f64>,
    /// Where predictions are kept within the range of the part's targets.
    clip: Option<[f64; 2]>,
}

impl Spectrum {
    /// The problem on the rows `kept`, which predicts the rows `held`.
    pub(crate) fn part(&self, targets: &[&Target], kept: &[usize], held: &[usize]) -> Result<PartOfRows> {
        let visible = self.eigenvalues.iter().take_while(|d| **d > 0.0).count();
        let root = |row: usize| self.root_weights.as_ref().map_or(1.0, |s| s[row]);
        let features = |rows: &[usize]| {
            Matrix::from_fn(rows.len(), visible, |i, k| {
                self.basis.get(rows[i], k) * self.eigenvalues[k].sqrt() / root(rows[i])
            })
        };
        let (own, other) = (features(kept), features(held));
        let weights: Option<Vec<f64>> =
            self.root_weights.as_ref().map(|_| kept.iter().map(|row| self.weight(*row)).collect());
        let weights = weights.as_deref();
        let (spectrum, projection) = if visible < kept.len() {
            let work = kept.len() as f64 * (visible * visible) as f64;
            let spectrum = match work <= SINGULAR_VALUES {
                true => Spectrum::from_linear(&own, 1.0, weights, self.offset)?,
                false => Spectrum::from_factor(own, weights, self.offset)?,
            };
            let projection = spectrum.of_features_at(other);
            (spectrum, projection)
        } else {
            let gram = multiply_by_transposed(&own, &own);
            let cross = multiply_by_transposed(&other, &own);
            let share = Matrix::from_fn(kept.len(), 1, |i, _| weights.map_or(1.0, |w| w[i]));
            let total: f64 = share.as_slice().iter().sum();
            let mean: Vec<f64> = multiply(&gram, &share).into_vec().iter().map(|sum| sum / total).collect();
            let spectrum = Spectrum::from_gram(gram, weights, self.offset)?;
            let projection = spectrum.project(cross, &mean);
            (spectrum, projection)
        };
        let mut own_targets = Vec::new();
        let mut predicted = Vec::new();
        for target in targets {
            let training: Vec<f64> = kept.iter().map(|row| target.observed_at(self, *row)).collect();
            let own = spectrum.target(&training)?;
            predicted.push(Predicted {
                z: own.z.clone(),
                power: own.power,
                mean: own.mean,
                y: held.iter().map(|row| target.observed_at(self, *row)).collect(),
                clip: target.clip.as_ref().and_then(|_| range(training.iter().copied())),
            });
            own_targets.push(own);
        }
        let path = spectrum.path(&own_targets.iter().collect::<Vec<&Target>>());
        Ok(PartOfRows {
            path,
            projection,
            eigenvalues: spectrum.eigenvalues.iter().take_while(|d| **d > 0.0).copied().collect(),
            weight_sum: spectrum.weight_sum,
            targets: predicted,
            weights: held.iter().map(|row| self.weight(*row)).collect(),
        })
    }

    /// M of rows with these features: f − b = M z/(d + γ).
    fn of_features_at(&self, mut features: Matrix) -> Matrix {
        let Kind::Linear { back, mean_features, .. } = &self.kind else { return features };
        for (j, mean) in mean_features.iter().enumerate() {
            features.col_mut(j).iter_mut().for_each(|x| *x -= mean);
        }
        let mut rows = multiply(&features, back);
        for (k, d) in self.eigenvalues.iter().enumerate() {
            rows.col_mut(k).iter_mut().for_each(|m| *m *= d);
        }
        rows
    }
}

impl PartOfRows {
    /// Residuals of the held-out rows, `[λ][target][row]`, for log λ in rising order.
    pub fn residuals(&self, exponent: f64, log_lambdas: &[f64]) -> Vec<Vec<Vec<f64>>> {
        let mut path = self.path.clone();
        let mut remembered = Remembered::new(&mut path);
        let mut guess = None;
        let one = |log_lambda: &f64| {
            let log_ridge = power::minimise(&mut remembered, exponent, *log_lambda, guess).log_ridge;
            guess = log_ridge;
            self.residuals_at(log_ridge)
        };
        log_lambdas.iter().map(one).collect()
    }

    /// The same at a ridge; `None` stands for the zero function.
    fn residuals_at(&self, log_ridge: Option<f64>) -> Vec<Vec<f64>> {
        let of = |target: &Predicted| {
            let f = match log_ridge {
                Some(t) => {
                    let gamma = libm::exp(t) * self.weight_sum;
                    let terms = self.eigenvalues.iter().zip(&target.z);
                    let mut coordinates: Vec<f64> = terms.map(|(d, z)| z / (d + gamma)).collect();
                    coordinates.resize(self.projection.cols(), 0.0);
                    multiply(&self.projection, &Matrix::column_vector(coordinates)).into_vec()
                }
                None => vec![0.0; target.y.len()],
            };
            let residual = |(f, y): (&f64, &f64)| {
                let value = target.mean + libm::ldexp(*f, target.power);
                y - target.clip.map_or(value, |clip| within(value, clip))
            };
            f.iter().zip(&target.y).map(residual).collect()
        };
        self.targets.iter().map(of).collect()
    }

    /// Σ w e² of the held-out rows, for every λ and target in turn.
    pub fn squared_errors(&self, exponent: f64, log_lambdas: &[f64]) -> Vec<f64> {
        let square = |residuals: &Vec<f64>| residuals.iter().zip(&self.weights).map(|(e, w)| w * e * e).sum::<f64>();
        self.residuals(exponent, log_lambdas).iter().flatten().map(square).collect()
    }
}
