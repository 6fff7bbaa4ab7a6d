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
