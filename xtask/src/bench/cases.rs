//! The commands that are timed.

/// A command line, and what must be run once before it.
pub struct Case {
    pub name: &'static str,
    pub before: &'static [&'static str],
    pub timed: &'static str,
}

const fn case(name: &'static str, timed: &'static str) -> Case {
    Case { name, before: &[], timed }
}

const FIT: &str = "fit reg-500.csv --target y --kernel gaussian --lambda 1e-3 --output m.mercer";

pub const ALL: &[Case] = &[
    case("start-up", "fit reg-50.csv --target y --kernel gaussian --lambda 1e-3 --output m.mercer"),
    case("read-csv", "fit reg-200000.csv --target y --kernel linear --lambda 1e-3 --no-diagnostics"),
    case("exponents", "fit reg-1000.csv --target y --kernel gaussian --exponent 0.1..2.9:0.1 --lambda 1e-7..1e3:25"),
    case("fit-2500", "fit reg-2500.csv --target y --kernel gaussian"),
    case("kernels-25", "fit reg-1000.csv --target y --kernel laplace(lengthscale=0.1..100:25)"),
    case("metric", "fit reg-400.csv --target y --kernel matern52 --metric each"),
    case("svm", "fit cls-3000.csv --target kind --loss hinge --kernel gaussian --lambda 1e-3"),
    case("svr", "fit reg-2000.csv --target y --loss epsilon-insensitive(epsilon=0.2) --kernel gaussian --lambda 1e-3"),
    case(
        "quantile",
        "fit reg-1000.csv --target y --loss pinball(quantile=0.9) --kernel gaussian --lambda 1e-3..1e-1:3",
    ),
    case("logistic", "fit cls-1000.csv --target kind --loss logistic --kernel gaussian"),
    case("lasso", "fit wide-1000-p2000.csv --target y --penalty lasso --lambda 1e-2..1:20"),
    case("landmarks", "fit reg-20000.csv --target y --kernel gaussian --rank 200"),
    case("moments", "moments reg-200000.csv --target y --landmarks 200 --output a.moments"),
    case("stream", "stream reg-5000.csv --target y --lambda 1e-3 --exact-rows 500"),
    Case { name: "predict", before: &[FIT], timed: "predict m.mercer reg-200000-new.csv --output p.csv" },
    case("automatic", "fit reg-150.csv --target y --features x1,x2 --budget 1000h"),
];
