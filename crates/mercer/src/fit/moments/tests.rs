use super::*;
use crate::Fit;
use crate::data::{Design, Encoding, Missing, Scale, TextAs};
use crate::linalg::double::Double;
use crate::space::low_rank::Landmarks;
use crate::term::kernel::parse;

fn table(rows: usize) -> (Matrix, Matrix) {
    let mut state = 1_u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    let x = Matrix::from_fn(rows, 3, |_, _| 4.0 * draw() - 2.0);
    let y = Matrix::from_fn(rows, 2, |i, t| {
        let wave = libm::sin(2.0 * x.get(i, 0)) + 0.5 * x.get(i, 1) * x.get(i, t + 1);
        100.0 * t as f64 + wave + 0.2 * (draw() - 0.5)
    });
    (x, y)
}

fn design(x: &Matrix, y: &Matrix, weights: Option<&[f64]>) -> Design {
    let encoding =
        Encoding { scale: Scale::Standard, missing: Missing::Error, text_as: TextAs::OneHot, nonnegative: false };
    Design::from_matrix(x, y, weights, encoding).unwrap()
}

fn gathered(design: &Design, rank: usize, parts: usize) -> Moments {
    gathered_with("gaussian(lengthscale=1.5)", Landmarks::Centres, design, rank, parts)
}

fn gathered_with(spec: &str, by: Landmarks, design: &Design, rank: usize, parts: usize) -> Moments {
    let kernel = parse(spec).unwrap();
    let map = LandmarkMap::choose(by, &kernel, design.encoder.clone(), &design.points, rank, 1).unwrap();
    let pilot: Vec<usize> = (0..50).collect();
    let first = Matrix::from_fn(50, design.y.cols(), |i, t| design.y.get(i, t));
    let empty = Moments::new(map, design.targets.clone(), 5, (&design.points.subset(&pilot), &first)).unwrap();
    let n = design.rows();
    let mut all: Option<Moments> = None;
    for part in 0..parts {
        let rows: Vec<usize> = (part * n / parts..(part + 1) * n / parts).collect();
        let y = Matrix::from_fn(rows.len(), design.y.cols(), |i, t| design.y.get(rows[i], t));
        let weights: Option<Vec<f64>> =
            design.weights.as_ref().map(|weights| rows.iter().map(|row| weights[*row]).collect());
        let mut moments = empty.emptied();
        moments.absorb(&design.points.subset(&rows), &y, weights.as_deref()).unwrap();
        match &mut all {
            Some(all) => all.merge(&moments).unwrap(),
            None => all = Some(moments),
        }
    }
    all.unwrap()
}

/// The features of a design as a table of their own: a linear fit to them is the fit on landmarks.
fn features(design: &Design, map: &LandmarkMap) -> Matrix {
    let columns = map.features(&design.points);
    Matrix::from_fn(columns.cols(), columns.rows(), |i, j| columns.get(j, i))
}

#[test]
fn a_fit_to_moments_is_a_linear_fit_to_the_features() {
    let (x, y) = table(400);
    let uneven: Vec<f64> = (0..400).map(|i| 0.5 + (i % 7) as f64).collect();
    for weights in [None, Some(&uneven[..])] {
        let design = design(&x, &y, weights);
        let moments = gathered(&design, 30, 1);
        let f = features(&design, moments.map());
        for offset in [true, false] {
            for exponent in [0.7, 1.0, 1.5, 2.0, 3.0] {
                let lambda = 1e-3;
                let settings = MomentFit::new().exponents(&[exponent]).lambdas(&[lambda]);
                let settings = if offset { settings } else { settings.without_offset() };
                let solved = settings.fit(&moments).unwrap();
                let linear = Fit::new(crate::term::kernel::product::Linear).exponent(exponent).lambda(lambda);
                let linear = if offset { linear } else { linear.without_offset() };
                let direct = linear.fit_weighted(&f, &y, weights).unwrap();
                let (a, b) = (solved.model.predict(&x).unwrap(), direct.model.predict(&f).unwrap());
                for t in 0..2 {
                    let spread = 1.0;
                    let worst = a.col(t).iter().zip(b.col(t)).map(|(a, b)| (a - b).abs() / spread).fold(0.0, f64::max);
                    assert!(worst < 1e-8, "exponent {exponent}, offset {offset}, target {t}: {worst}");
                    let (own, other) = (&solved.model.summaries[t], &direct.model.summaries[t]);
                    assert!((own.train_rmse / other.train_rmse - 1.0).abs() < 1e-8);
                    assert!((own.dof.unwrap() - other.dof.unwrap()).abs() < 1e-7);
                    assert!((own.norm / other.norm - 1.0).abs() < 1e-8);
                    assert!(own.certificate.holds, "{:?}", own.certificate);
                }
            }
        }
    }
}

/// Random waves: the fit is a linear one to c(ωᵀx)/√R, the file keeps it bit for bit, and parts merge.
#[test]
fn a_fit_to_waves_is_a_linear_fit_to_them() {
    let (x, y) = table(500);
    let design = design(&x, &y, None);
    let kernel = parse("2*matern32(lengthscale=1.5)").unwrap();
    let map = LandmarkMap::waves(&kernel, design.encoder.clone(), &design.points, 120, 3).unwrap();
    let by_hand = Matrix::from_fn(500, 120, |i, r| {
        let t: f64 = (0..3).map(|j| design.points.feature(j)[i] * map.landmarks.feature(j)[r]).sum();
        (t.cos() + t.sin()) * (2.0_f64 / 120.0).sqrt()
    });
    let mut moments = Moments::new(map, design.targets.clone(), 5, (&design.points, &design.y)).unwrap();
    let mut parts = [moments.emptied(), moments.emptied()];
    moments.absorb(&design.points, &design.y, None).unwrap();
    for (part, rows) in parts.iter_mut().zip([(0..200), (200..500)]) {
        let rows: Vec<usize> = rows.collect();
        let y = Matrix::from_fn(rows.len(), 2, |i, t| y.get(rows[i], t));
        part.absorb(&design.points.subset(&rows), &y, None).unwrap();
    }
    let [mut merged, second] = parts;
    merged.merge(&second).unwrap();
    let settings = MomentFit::new().exponents(&[1.5]).lambdas(&[1e-3]);
    let solved = settings.fit(&moments).unwrap();
    assert!(solved.model.summaries[0].certificate.low_rank.is_none() && moments.map().is_waves());
    let linear = Fit::new(crate::term::kernel::product::Linear).scale(Scale::None).exponent(1.5).lambda(1e-3);
    let direct = linear.fit_weighted(&by_hand, &y, None).unwrap().model.predict(&by_hand).unwrap();
    let found = solved.model.predict(&x).unwrap();
    let worst =
        |other: &Matrix| found.as_slice().iter().zip(other.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst(&direct) < 1e-8, "{}", worst(&direct));
    let of_parts = settings.fit(&merged).unwrap().model.predict(&x).unwrap();
    assert!(worst(&of_parts) < 1e-12, "{}", worst(&of_parts));
    let (again, model) = Moments::from_bytes(&moments.to_bytes(&solved.model).unwrap()).unwrap();
    assert_eq!(again.map().fingerprint(), moments.map().fingerprint());
    assert_eq!(model.predict(&x).unwrap(), found);
    assert!(again.map().is_waves());
}

#[test]
fn errors_of_folds_are_those_of_refits() {
    let uneven: Vec<f64> = (0..300).map(|i| 0.5 + (i % 5) as f64).collect();
    for (weights, offset) in [(None, true), (None, false), (Some(&uneven[..]), true), (Some(&uneven[..]), false)] {
        folds_are_refits(weights, offset);
    }
}

fn folds_are_refits(weights: Option<&[f64]>, offset: bool) {
    let (x, y) = table(300);
    let design = design(&x, &y, weights);
    let moments = gathered(&design, 25, 1);
    let f = features(&design, moments.map());
    let (exponents, lambdas) = ([1.0, 1.5, 2.0], [1e-4, 1e-2, 1.0]);
    let settings = MomentFit::new().exponents(&exponents).lambdas(&lambdas).on_grid();
    let settings = if offset { settings } else { settings.without_offset() };
    let solved = settings.fit(&moments).unwrap();
    let weight = |row: usize| weights.map_or(1.0, |w| w[row]);
    let total: f64 = (0..300).map(weight).sum();
    for t in 0..2 {
        let target = Matrix::column_vector(y.col(t).to_vec());
        for (e, exponent) in exponents.iter().enumerate() {
            for (l, lambda) in lambdas.iter().enumerate() {
                let mut squares = 0.0;
                for fold in 0..5 {
                    let is_held = |row: usize| hash_of(&design.points, &design.y, row) % 5 == fold;
                    let kept: Vec<usize> = (0..300).filter(|row| !is_held(*row)).collect();
                    let part = Matrix::from_fn(kept.len(), f.cols(), |i, j| f.get(kept[i], j));
                    let values = Matrix::from_fn(kept.len(), 1, |i, _| target.get(kept[i], 0));
                    let fit = Fit::new(crate::term::kernel::product::Linear).exponent(*exponent).lambda(*lambda);
                    let fit = if offset { fit } else { fit.without_offset() };
                    let own: Option<Vec<f64>> = weights.map(|w| kept.iter().map(|row| w[*row]).collect());
                    let fitted = fit.fit_weighted(&part, &values, own.as_deref()).unwrap();
                    let predicted = fitted.model.predict(&f).unwrap();
                    let error = |row: usize| weight(row) * (predicted.get(row, 0) - target.get(row, 0)).powi(2);
                    squares += (0..300).filter(|row| is_held(*row)).map(error).sum::<f64>();
                }
                let (found, expected) = (solved.surfaces[t].scores[e][l].value, squares / total);
                assert!((found / expected - 1.0).abs() < 1e-8, "{found} {expected}");
                let score = solved.surfaces[t].scores[e][l];
                assert!(score.standard_error.unwrap() > 0.0);
            }
        }
    }
}

/// Seven parts and one: the same predictions to 1e-12 of the target's spread, whatever is chosen.
fn parts_are_the_whole(x: &Matrix, y: &Matrix, weights: Option<&[f64]>) {
    let design = design(x, y, weights);
    let (whole, merged) = (gathered(&design, 40, 1), gathered(&design, 40, 7));
    assert_eq!((whole.rows(), merged.rows()), (5000, 5000));
    for settings in [MomentFit::new(), MomentFit::new().exponents(&[1.0, 1.5, 2.0]), MomentFit::new().lambdas(&[1e-5])]
    {
        let (a, b) = (settings.fit(&whole).unwrap(), settings.fit(&merged).unwrap());
        let (p, q) = (a.model.predict(x).unwrap(), b.model.predict(x).unwrap());
        for (t, deviation) in design.deviations().iter().enumerate() {
            let worst = p.col(t).iter().zip(q.col(t)).map(|(p, q)| (p - q).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-12 * deviation, "target {t}: {worst:e} of {deviation}");
            assert_eq!(a.model.summaries[t].lambda, b.model.summaries[t].lambda);
        }
    }
}

#[test]
fn parts_merge_to_the_whole_and_come_back_from_bytes() {
    let (x, y) = table(5000);
    let uneven: Vec<f64> = (0..5000).map(|i| 0.5 + (i % 7) as f64).collect();
    parts_are_the_whole(&x, &y, Some(&uneven));
    let design = design(&x, &y, None);
    parts_are_the_whole(&x, &y, None);
    let merged = gathered(&design, 40, 7);
    let settings = MomentFit::new().exponents(&[1.0, 1.5, 2.0]);
    let b = settings.fit(&merged).unwrap();
    let q = b.model.predict(&x).unwrap();
    let bytes = merged.to_bytes(&b.model).unwrap();
    assert!(Moments::are_in(&bytes));
    let (back, model) = Moments::from_bytes(&bytes).unwrap();
    assert_eq!(model.predict(&x).unwrap(), q);
    assert_eq!(settings.fit(&back).unwrap().model.predict(&x).unwrap(), q);
    // Rows that are in both, or are added again, would count twice.
    let mut grown = back.clone();
    let refused = grown.merge(&back).unwrap_err().to_string();
    assert!(refused.contains("5000 rows that are in both"), "{refused}");
    grown.absorb(&design.points, &design.y, None).unwrap();
    grown.end_part().unwrap();
    assert_eq!(grown.rows(), 10_000);
    grown.absorb(&design.points, &design.y, None).unwrap();
    assert!(grown.end_part().unwrap_err().to_string().contains("the same 5000 rows again"));
    for place in (0..bytes.len()).step_by(97) {
        let mut damaged = bytes.clone();
        damaged[place] ^= 1 << (place % 8);
        assert!(Moments::from_bytes(&damaged).is_err(), "byte {place}");
    }
    (0..bytes.len()).step_by(131).for_each(|length| assert!(Moments::from_bytes(&bytes[..length]).is_err()));
}

#[test]
fn what_does_not_fit_is_refused() {
    let (x, y) = table(200);
    let design = design(&x, &y, None);
    let mut moments = gathered(&design, 10, 1);
    let other = gathered(&design, 12, 1);
    assert!(moments.merge(&other).unwrap_err().to_string().contains("same landmarks"));
    assert!(moments.absorb(&design.points, &Matrix::zeros(3, 2), None).is_err());
    assert!(moments.absorb(&design.points, &design.y, Some(&[1.0])).is_err());
    assert!(MomentFit::new().exponents(&[]).fit(&moments).is_err());
    assert!(MomentFit::new().lambdas(&[0.0]).fit(&moments).is_err());
    assert!(MomentFit::new().fit(&moments.emptied()).is_err());
    let precomputed = parse("precomputed").unwrap();
    assert!(
        LandmarkMap::choose(Landmarks::Pivots, &precomputed, design.encoder.clone(), &design.points, 5, 1).is_err()
    );
}

/// Solves a symmetric positive definite system in twice the precision, by LDLᵀ.
fn solve_doubly(mut a: Vec<Vec<Double>>, mut b: Vec<Double>) -> Vec<Double> {
    let n = b.len();
    for k in 0..n {
        for i in k + 1..n {
            let factor = a[i][k].divided_by(a[k][k]);
            for j in k + 1..=i {
                a[i][j] = a[i][j].minus(factor.times(a[j][k]));
            }
            b[i] = b[i].minus(factor.times(b[k]));
            // The column is still needed by the rows below: their factors are kept apart.
            a[k][i] = factor;
        }
    }
    for k in (0..n).rev() {
        b[k] = b[k].divided_by(a[k][k]);
        for i in k + 1..n {
            b[k] = b[k].minus(a[k][i].times(b[i]));
        }
    }
    b
}

/// Against (KᵀK + nλ K_mm) β = Kᵀy in twice the precision, from the same kernel values: no more digits are claimed than are there.
#[test]
fn no_more_digits_are_claimed_than_there_are() {
    let (x, y) = table(300);
    let design = design(&x, &Matrix::column_vector(y.col(0).to_vec()), None);
    let spread = design.deviations()[0];
    for by in [Landmarks::Centres, Landmarks::Pivots] {
        for (spec, lambda) in [
            ("gaussian(lengthscale=1.7)", 1e-2),
            ("gaussian(lengthscale=6)", 1e-3),
            ("gaussian(lengthscale=10)", 1e-5),
            ("gaussian(lengthscale=3)", 1e-9),
        ] {
            let moments = gathered_with(spec, by, &design, 60, 1);
            let solved = MomentFit::new().exponents(&[2.0]).lambdas(&[lambda]).without_offset().fit(&moments).unwrap();
            let map = moments.map();
            let (n, m) = (design.rows(), map.width());
            let values = |points: &Points| {
                let mut out = Matrix::zeros(m, points.rows());
                for i in 0..points.rows() {
                    points.with_point(i, |p| map.kernel().values(p, &map.landmarks, 0, out.col_mut(i)));
                }
                out
            };
            let (own, all) = (values(&map.landmarks), values(&design.points));
            let sum = |of: &dyn Fn(usize) -> (f64, f64)| {
                (0..n).fold(Double::new(0.0), |sum, i| sum.add_product(of(i).0, of(i).1)).normalised()
            };
            let gamma = Double::new(lambda).scaled(n as f64);
            let entry = |j: usize, k: usize| {
                sum(&|i| (all.get(j, i), all.get(k, i))).plus(gamma.times(Double::new(own.get(j, k))))
            };
            let system = (0..m).map(|j| (0..m).map(|k| entry(j, k)).collect()).collect();
            let right = (0..m).map(|j| sum(&|i| (all.get(j, i), design.y.get(i, 0)))).collect();
            let beta = solve_doubly(system, right);
            let exact = |i: usize| {
                let terms = (0..m).map(|j| beta[j].scaled(all.get(j, i)));
                terms.fold(Double::new(0.0), |sum, term| sum.plus(term)).value()
            };
            let found = solved.model.predict(&x).unwrap();
            let worst = (0..n).map(|i| (found.get(i, 0) - exact(i)).abs()).fold(0.0, f64::max) / spread;
            let digits = solved.model.summaries[0].certificate.digits;
            assert!(
                worst <= libm::exp10(-digits),
                "{spec}, λ {lambda}, {by:?}: {digits} digits claimed, off by {worst}"
            );
        }
    }
}
