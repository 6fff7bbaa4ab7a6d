//! What others call the ridge μ of (1/n) Σ r² + μ‖f‖²: each name is a constant times a power of the number of rows times μ
//! or 1/μ. The only place where those factors stand.
//!
//! Row weights are scaled to mean 1 first, so that their sum is the number of rows.

/// parameter = constant · nʳ · μ^±1.
#[derive(Debug, PartialEq)]
pub struct Convention {
    /// The name in a spec.
    pub name: &'static str,
    /// What the parameter is called there.
    pub symbol: &'static str,
    /// The problem it belongs to.
    pub problem: &'static str,
    /// The constant.
    pub constant: f64,
    /// r.
    pub rows_power: i32,
    /// 1, or −1 where a large parameter means little regularisation.
    pub ridge_power: i32,
}

impl Convention {
    /// The parameter that belongs to a ridge on so many rows.
    pub fn parameter(&self, ridge: f64, rows: f64) -> f64 {
        self.constant * rows.powi(self.rows_power) * ridge.powi(self.ridge_power)
    }

    /// log parameter − (±1) log μ.
    pub(crate) fn log_factor(&self, rows: f64) -> f64 {
        libm::log(self.constant) + f64::from(self.rows_power) * libm::log(rows)
    }
}

/// Mercer's own at exponent 2.
pub static RIDGE: Convention = Convention {
    name: "ridge",
    symbol: "λ",
    problem: "(1/n) Σ r² + λ‖f‖²: kernel ridge regression, the same as power(exponent=2)",
    constant: 1.0,
    rows_power: 0,
    ridge_power: 1,
};

/// λ/n in the place of λ.
pub static RIDGE_PER_ROW: Convention = Convention {
    name: "ridge-per-row",
    symbol: "λ",
    problem: "(1/n) Σ r² + (λ/n)‖f‖²: the penalty fades as rows are added",
    constant: 1.0,
    rows_power: 1,
    ridge_power: 1,
};

/// scikit-learn's `KernelRidge` and `Ridge`.
pub static SCIKIT_LEARN: Convention = Convention {
    name: "scikit-learn",
    symbol: "alpha",
    problem: "Σ r² + alpha‖f‖²: KernelRidge (no offset) and Ridge",
    constant: 1.0,
    rows_power: 1,
    ridge_power: 1,
};

/// The cost of support vector machines, and of everything that is written like them.
pub static LIBSVM: Convention = Convention {
    name: "libsvm",
    symbol: "C",
    problem: "½‖f‖² + C Σ r²: LIBSVM's form with the square as its loss; LIBLINEAR's L2-loss SVR at epsilon 0 solves it",
    constant: 0.5,
    rows_power: -1,
    ridge_power: -1,
};

/// Least-squares support vector machines.
pub static LS_SVM: Convention = Convention {
    name: "ls-svm",
    symbol: "gamma",
    problem: "½‖f‖² + (gamma/2) Σ r²: least-squares support vector machines (LS-SVMlab's gam)",
    constant: 1.0,
    rows_power: -1,
    ridge_power: -1,
};

/// The noise of a Gaussian process whose mean is f.
pub static GAUSSIAN_PROCESS: Convention = Convention {
    name: "gaussian-process",
    symbol: "noise variance",
    problem: "the posterior mean of a Gaussian process with covariance k and this noise variance, no offset",
    constant: 1.0,
    rows_power: 1,
    ridge_power: 1,
};

/// GURLS.
pub static GURLS: Convention = Convention {
    name: "gurls",
    symbol: "lambda",
    problem: "(K + n·lambda·I)α = y: GURLS, no offset",
    constant: 1.0,
    rows_power: 0,
    ridge_power: 1,
};

/// Falkon.
pub static FALKON: Convention = Convention {
    name: "falkon",
    symbol: "penalty",
    problem: "(1/n) Σ r² + penalty‖f‖²: Falkon with every row as a centre, no offset",
    constant: 1.0,
    rows_power: 0,
    ridge_power: 1,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_by_hand() {
        // n = 10, μ = 0.2.
        for (convention, value) in [
            (&RIDGE, 0.2),
            (&RIDGE_PER_ROW, 2.0),
            (&SCIKIT_LEARN, 2.0),
            (&LIBSVM, 0.25),
            (&LS_SVM, 0.5),
            (&GAUSSIAN_PROCESS, 2.0),
            (&GURLS, 0.2),
            (&FALKON, 0.2),
        ] {
            assert!((convention.parameter(0.2, 10.0) - value).abs() < 1e-15, "{}", convention.name);
            let log = convention.log_factor(10.0) + f64::from(convention.ridge_power) * 0.2_f64.ln();
            assert!((log.exp() - value).abs() < 1e-14, "{}", convention.name);
        }
    }
}
