//! Random problems, and every algorithm solved in another way.

use mercer::kernel::{self, Points, SharedKernel};
use mercer::prelude::*;
use mercer::solver::constrained::Constraint;
use mercer::space;
use mercer::spectrum::Spectrum;
use mercer_lab::equivalence::Algorithm;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

pub const SPECS: [&str; 18] = [
    "power(exponent=0.3)",
    "power(exponent=0.7)",
    "power(exponent=1)",
    "power(exponent=1.1)",
    "power(exponent=1.5)",
    "power(exponent=1.9)",
    "power(exponent=3)",
    "power(exponent=5)",
    "ridge",
    "ridge-per-row",
    "ivanov",
    "morozov",
    "scikit-learn",
    "libsvm",
    "ls-svm",
    "gaussian-process",
    "gurls",
    "glmnet",
];

pub struct Problem {
    pub kernel: SharedKernel,
    pub x: Matrix,
    pub y: Vec<f64>,
    pub weights: Option<Vec<f64>>,
    pub offset: bool,
}

pub fn uniform(random: &mut ChaCha8Rng) -> f64 {
    random.next_u32() as f64 / u32::MAX as f64
}

pub fn pick<T: Copy>(random: &mut ChaCha8Rng, from: &[T]) -> T {
    from[random.next_u32() as usize % from.len()]
}

pub fn algorithm(random: &mut ChaCha8Rng) -> Algorithm {
    Algorithm::parse(pick(random, &SPECS)).unwrap()
}

impl Problem {
    pub fn random(seed: u64) -> (Self, ChaCha8Rng) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let rows = 5 + random.next_u32() as usize % 56;
        let features = pick(&mut random, &[1, 2, 4]);
        let specs = [
            "gaussian(lengthscale=0.7)",
            "linear",
            "polynomial(degree=2,constant=1)",
            "matern32(lengthscale=1)",
            "laplace(lengthscale=1)",
        ];
        let kernel = kernel::parse(pick(&mut random, &specs)).unwrap();
        let x = Matrix::from_fn(rows, features, |_, _| 2.0 * uniform(&mut random) - 1.0);
        let size = pick(&mut random, &[1e-6, 1.0, 1e5]);
        let y = (0..rows)
            .map(|i| size * (2.0 + libm::sin(3.0 * x.get(i, 0)) + 0.5 * (uniform(&mut random) - 0.5)))
            .collect();
        let weights =
            random.next_u32().is_multiple_of(2).then(|| (0..rows).map(|_| 0.2 + uniform(&mut random)).collect());
        let offset = random.next_u32().is_multiple_of(2);
        (Problem { kernel, x, y, weights, offset }, random)
    }

    pub fn rows(&self) -> usize {
        self.y.len()
    }

    pub fn subset(&self, rows: &[usize]) -> Self {
        Problem {
            kernel: self.kernel.clone(),
            x: Matrix::from_fn(rows.len(), self.x.cols(), |i, j| self.x.get(rows[i], j)),
            y: rows.iter().map(|i| self.y[*i]).collect(),
            weights: self.weights.as_ref().map(|w| rows.iter().map(|i| w[*i]).collect()),
            offset: self.offset,
        }
    }

    pub fn spectrum(&self) -> Spectrum {
        let gram = space::gram(&*self.kernel, &Points::new(&self.x));
        Spectrum::from_gram(gram, self.weights.as_deref(), self.offset).unwrap()
    }

    fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |w| w[i])
    }

    /// √((1/W) Σ w(y − ȳ)²).
    pub fn deviation(&self) -> f64 {
        let total: f64 = (0..self.rows()).map(|i| self.weight(i)).sum();
        let mean = (0..self.rows()).map(|i| self.weight(i) * self.y[i]).sum::<f64>() / total;
        let squares = (0..self.rows()).map(|i| self.weight(i) * (self.y[i] - mean).powi(2));
        (squares.sum::<f64>() / total).sqrt()
    }

    /// The fitted values of an algorithm by the front door, the factors written out by hand.
    pub fn fitted(&self, algorithm: Algorithm, parameter: f64) -> Result<Vec<f64>> {
        let n = self.rows() as f64;
        let fit = Fit::with_shared(self.kernel.clone());
        let fit = if self.offset { fit } else { fit.without_offset() };
        let spec = algorithm.spec();
        let fit = match (algorithm, spec.as_str()) {
            (Algorithm::Power { exponent }, _) => fit.exponent(exponent).lambda(parameter),
            (Algorithm::Ivanov, _) => fit.subject_to(Constraint::NormAtMost(parameter)),
            (Algorithm::Morozov, _) => fit.subject_to(Constraint::TrainErrorAtMost(parameter)),
            (_, "ridge-per-row" | "scikit-learn" | "gaussian-process") => fit.lambda(parameter / n),
            (_, "libsvm") => fit.lambda(1.0 / (2.0 * n * parameter)),
            (_, "ls-svm") => fit.lambda(1.0 / (n * parameter)),
            (_, "gurls") => fit.lambda(parameter),
            (_, "glmnet") => fit.lambda(parameter / self.deviation()),
            _ => unreachable!("{spec}"),
        };
        let y = Matrix::column_vector(self.y.clone());
        Ok(fit.fit_weighted(&self.x, &y, self.weights.as_deref())?.solutions.swap_remove(0).fitted)
    }
}
