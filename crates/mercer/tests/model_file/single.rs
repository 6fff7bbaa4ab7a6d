//! Models in single precision: half the size, read back bit for bit, and as near to the original as they say.

use mercer::Precision;
use mercer::format::{FormatError, from_bytes, to_bytes};
use mercer::prelude::*;

use crate::parts::seal;
use crate::samples::{bits, sample, small_samples};

#[test]
fn rounded_models_come_back_bit_for_bit_and_say_how_far_they_are() {
    let mut with_bound = 0;
    for sample in small_samples() {
        let name = &sample.name;
        let single = sample.model.to_single().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(single.precision(), Precision::Single);
        let bytes = to_bytes(&single).unwrap();
        let again = from_bytes(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(again.precision(), Precision::Single, "{name}");
        assert_eq!(again.summaries(), single.summaries(), "{name}");
        assert_eq!(to_bytes(&again).unwrap(), bytes, "{name}: other bytes when saved again");
        assert_eq!(to_bytes(&again.to_single().unwrap()).unwrap(), bytes, "{name}: rounded twice");
        for table in &sample.tables {
            assert_eq!(bits(&single, table), bits(&again, table), "{name}");
            let (exact, rounded) = (sample.model.predict_frame(table).unwrap(), again.predict_frame(table).unwrap());
            for (t, summary) in again.summaries().iter().enumerate() {
                let cells = exact[t].iter().flatten().zip(rounded[t].iter().flatten());
                let largest = cells.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                let rounding = summary.certificate.rounding.as_ref().expect("what rounding cost");
                if let Some(bound) = rounding.bound {
                    assert!(largest <= bound, "{name}: {largest} above {bound}");
                    assert!(rounding.largest_difference.unwrap() <= bound, "{name}");
                    with_bound += 1;
                }
                assert!(summary.certificate.digits <= sample.model.summaries()[t].certificate.digits, "{name}");
            }
        }
    }
    assert!(with_bound >= 8, "{with_bound} bounds were looked at");
}

#[test]
fn the_file_is_half_as_large() {
    let large = sample("gaussian", Fit::new(Gaussian::lengthscale(0.7)).lambda(0.01), 800, &["y"], false);
    let (double, single) = (to_bytes(&large.model).unwrap(), to_bytes(&large.model.to_single().unwrap()).unwrap());
    // Targets are left out, too: 8 of 32 bytes a row.
    assert!(single.len() * 2 < double.len(), "{} of {}", single.len(), double.len());
}

#[test]
fn damage_and_lies_are_refused() {
    let sample = small_samples().into_iter().next().expect("a sample");
    let bytes = to_bytes(&sample.model.to_single().unwrap()).unwrap();
    assert_eq!(u32::from_le_bytes(bytes[8..12].try_into().unwrap()), 2);
    for at in 0..bytes.len() {
        assert!(from_bytes(&bytes[..at]).is_err(), "cut at {at}");
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        assert!(from_bytes(&flipped).is_err(), "bit {} of byte {at}", at % 8);
    }
    let content = &bytes[..bytes.len() - 32];
    let with = |at: usize, value: &[u8]| {
        let mut lie = content.to_vec();
        lie[at..at + value.len()].copy_from_slice(value);
        from_bytes(&seal(lie))
    };
    // Counts of doubles (24) and singles (32) that do not add up, or add up to another model.
    for count in [0_u64, 1, u64::MAX, u64::MAX / 4, 1 << 62] {
        assert!(with(32, &count.to_le_bytes()).is_err(), "{count} singles");
        assert!(with(24, &count.to_le_bytes()).is_err(), "{count} doubles");
    }
    let doubles = u64::from_le_bytes(bytes[24..32].try_into().unwrap());
    let singles = u64::from_le_bytes(bytes[32..40].try_into().unwrap());
    let mut moved = content.to_vec();
    moved[24..32].copy_from_slice(&(doubles + 1).to_le_bytes());
    moved[32..40].copy_from_slice(&(singles - 2).to_le_bytes());
    assert!(matches!(from_bytes(&seal(moved)), Err(FormatError::Contradiction(_))));
    let last = content.len() - 4;
    assert_eq!(with(last, &f32::NAN.to_le_bytes()).unwrap_err(), FormatError::NotFinite);
    assert_eq!(with(8, &3_u32.to_le_bytes()).unwrap_err(), FormatError::Version(3));
}

#[test]
fn numbers_beyond_single_precision_are_refused() {
    let x = Matrix::from_fn(6, 1, |i, _| 1e39 * i as f64);
    let y: Vec<f64> = (0..6).map(f64::from).collect();
    let model = Fit::new(Gaussian::lengthscale(1e39)).lambda(0.1).fit(&x, &y).unwrap().model;
    let problem = model.to_single().unwrap_err().to_string();
    assert!(problem.contains("single precision"), "{problem}");
}

/// Root mean square of y − b.
fn spread(y: &[f64], offset: f64) -> f64 {
    (y.iter().map(|v| (v - offset).powi(2)).sum::<f64>() / y.len() as f64).sqrt()
}

/// Digits count what rounding cost, in units of the spread, also where there are no points to measure at.
#[test]
fn digits_are_those_of_the_rounded_model() {
    let rows = 80;
    let x = Matrix::from_fn(rows, 3, |i, j| ((i * 37 + j * 61) % 83) as f64 / 41.0 + 0.01 * (i as f64).sin());
    let far = Matrix::from_fn(rows, 3, |i, j| 1e4 + x.get(i, j));
    let outlier = Matrix::from_fn(rows, 3, |i, j| if i == 7 { 300.0 } else { x.get(i, j) });
    let gram =
        Matrix::from_fn(rows, rows, |i, j| (-(0..3).map(|k| (x.get(i, k) - x.get(j, k)).powi(2)).sum::<f64>()).exp());
    // One row far from the others makes the range many times the spread.
    let y: Vec<f64> = (0..rows).map(|i| if i == 3 { 40.0 } else { x.get(i, 0) - 0.5 * x.get(i, 2).powi(2) }).collect();
    let kernel = |spec: &str| Fit::with_shared(mercer::kernel::parse(spec).unwrap());
    for (name, fit, x) in [
        ("linear", kernel("linear"), &x),
        ("linear, standardised", kernel("linear").scale(Scale::Standard), &outlier),
        ("linear, unit range", kernel("linear").scale(Scale::Unit), &far),
        ("linear, far from 0", kernel("linear"), &far),
        ("precomputed", kernel("precomputed"), &gram),
        ("polynomial", kernel("polynomial(degree=2,constant=1)"), &x),
        ("spline", kernel("additive-spline"), &x),
        ("gaussian", kernel("gaussian(lengthscale=1)"), &x),
        ("landmarks", kernel("gaussian(lengthscale=1)").rank(25), &x),
    ] {
        let model = fit.lambda(1e-3).fit(x, &y).unwrap().model;
        let single = model.to_single().unwrap();
        let (exact, rounded) = (model.predict(x).unwrap(), single.predict(x).unwrap());
        let pairs = exact.as_slice().iter().zip(rounded.as_slice());
        let largest = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let error = largest / spread(&y, model.summaries()[0].intercept);
        let [before, digits] = [&model, &single].map(|model| model.summaries()[0].certificate.digits);
        assert!(error > 0.0 && error <= 10.0_f64.powf(-digits), "{name}: {error:.1e} with {digits} digits");
        assert!(before > digits && digits < 8.0, "{name}: {digits} digits of {before}");
        // Not so careful that nothing is left.
        assert!(digits > 1.0, "{name}: {digits} digits, {error:.1e}");
    }
}

#[test]
fn numbers_too_small_for_single_precision_are_refused() {
    let x = Matrix::from_fn(30, 1, |i, _| 0.1 * i as f64);
    for (unit, is_refused) in [(1e-150, true), (1e-42, true), (1e-30, false)] {
        let y: Vec<f64> = (0..30).map(|i| unit * (0.1 * i as f64).sin()).collect();
        for kernel in ["gaussian(lengthscale=1)", "linear"] {
            let fit = Fit::with_shared(mercer::kernel::parse(kernel).unwrap()).lambda(0.1);
            let rounded = fit.fit(&x, &y).unwrap().model.to_single();
            assert_eq!(rounded.is_err(), is_refused, "{kernel}, {unit}");
            if let Err(problem) = rounded {
                assert!(problem.to_string().contains("at least 1.2e-38"), "{problem}");
            }
        }
    }
}
