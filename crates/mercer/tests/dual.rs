//! scratch
use mercer::Matrix;
use mercer::kernel::{self, Points};
use mercer::solver::dual::*;

#[test]
fn scratch() {
    let n = 300;
    let x = Matrix::from_fn(n, 2, |i, j| ((i * 37 + j * 11) % 101) as f64 / 50.0 + 0.001 * i as f64);
    let points = Points::new(&x);
    let k = kernel::parse("gaussian(lengthscale=0.5)").unwrap();
    let gram = mercer::space::gram(&*k, &points);
    let y: Vec<f64> =
        (0..n).map(|i| (x.get(i, 0) * 3.0).sin() + 0.3 * (((i * 7919) % 101) as f64 / 50.0 - 1.0)).collect();
    for c in [0.1, 1.0, 100.0, 1e4, 1e6] {
        for offset in [true, false] {
            let p = BoxProblem {
                target: &y,
                lower: &vec![-c; n],
                upper: &vec![c; n],
                epsilon: &vec![0.1; n],
                curvature: &vec![0.0; n],
                has_offset: offset,
            };
            for tol in [1e-3, 1e-5, 1e-9] {
                let t = std::time::Instant::now();
                let s = solve(&GramRows(&gram), &p, &BoxSettings { tolerance: tol, ..Default::default() }).unwrap();
                println!(
                    "C {c} offset {offset} tol {tol}: P {} D {} gap {:e} iter {} conv {} b {} {:?}",
                    s.primal,
                    s.dual,
                    s.relative_gap,
                    s.iterations,
                    s.converged,
                    s.offset,
                    t.elapsed()
                );
            }
        }
    }
}
