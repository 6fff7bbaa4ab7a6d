//! NIST's certified least squares problems: at least 13 correct digits of every coefficient, and never more claimed than
//! there are. Wampler's sets are formulas and always run; the others run where `data/nist` is found.

use mercer::Matrix;
use mercer::data::monomials;
use mercer::linear::{LeastSquares, least_squares, least_squares_precise};
use serde_json::Value;
use std::path::PathBuf;

fn digits(got: f64, want: f64) -> f64 {
    if got == want {
        return 15.9;
    }
    if want == 0.0 { -got.abs().log10() } else { -((got - want) / want).abs().log10() }
}

fn worst(fit: &LeastSquares, offset: Option<f64>, want: &[f64]) -> f64 {
    let own = fit.coefficients.iter().zip(want).map(|(g, w)| digits(*g, *w)).fold(15.9, f64::min);
    offset.map_or(own, |b| own.min(digits(fit.intercept, b)))
}

#[test]
fn wampler_by_formula() {
    let x = Matrix::from_fn(21, 1, |i, _| i as f64);
    let powers = monomials::polynomial(&x, 5, None).unwrap();
    // What NIST added to 1 + x + … + x⁵, in units of 1, 100 and 10,000.
    let noise = [
        759., -2048., 2048., -2048., 2523., -2048., 2048., -2048., 1838., -2048., 2048., -2048., 1838., -2048., 2048.,
        -2048., 2523., -2048., 2048., -2048., 759.,
    ];
    for factor in [0.0, 1.0, 100.0, 10_000.0] {
        let y: Vec<f64> =
            (0..21).map(|i| (0..6).map(|k| f64::from(i).powi(k)).sum::<f64>() + factor * noise[i as usize]).collect();
        let fit = least_squares_precise(&powers.high, &powers.low, &y, None, true).unwrap();
        let correct = worst(&fit, Some(1.0), &[1.0; 5]);
        assert!(correct >= 13.0, "Wampler with noise {factor}: {correct} digits");
        assert!(fit.digits <= correct, "claims {} of {correct}", fit.digits);
        assert_eq!(fit.rank, 5);
        if factor > 0.0 {
            assert!((fit.residual_deviation.unwrap() / (2360.14502379268 * factor) - 1.0).abs() < 1e-13);
        }
        // Rounded powers of integers below 2⁵³ are exact, so plain features serve as well.
        let plain = least_squares(&powers.high.clone().into(), &y, None, true).unwrap();
        assert!(worst(&plain, Some(1.0), &[1.0; 5]) >= 13.0);
    }
}

#[test]
fn all_sets() {
    let folder = ["../../../shared/data/nist", "../../data/nist"]
        .iter()
        .map(|f| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(f))
        .chain(std::env::var("MERCER_DATA").ok().map(|f| PathBuf::from(f).join("nist")))
        .find(|f| f.join("certified.json").exists());
    let Some(folder) = folder else {
        println!("skipped: NIST's sets are not here (MERCER_DATA names the folder of data sets)");
        return;
    };
    let certified: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("certified.json")).unwrap()).unwrap();
    let mut seen = 0;
    for (name, set) in certified.as_object().unwrap() {
        let text = std::fs::read_to_string(folder.join(set["file"].as_str().unwrap())).unwrap();
        let rows: Vec<Vec<f64>> =
            text.lines().skip(1).map(|line| line.split(',').map(|v| v.parse().unwrap()).collect()).collect();
        let columns = rows[0].len() - 1;
        let x = Matrix::from_fn(rows.len(), columns, |i, j| rows[i][j]);
        let y: Vec<f64> = rows.iter().map(|row| row[columns]).collect();
        let list = |key: &str| -> Vec<f64> {
            set["exact_rational"][key]
                .as_array()
                .unwrap()
                .iter()
                .map(|v| v.as_str().unwrap().parse().unwrap())
                .collect()
        };
        let offset = set["intercept"].as_bool().unwrap();
        let degree = set["polynomial_degree"].as_u64().unwrap_or(1) as usize;
        let powers = monomials::polynomial(&x, degree, None).unwrap();
        let fit = if degree > 1 {
            least_squares_precise(&powers.high, &powers.low, &y, None, offset).unwrap()
        } else {
            least_squares(&x.into(), &y, None, offset).unwrap()
        };
        let mut want = list("beta");
        let first = offset.then(|| want.remove(0));
        let correct = worst(&fit, first, &want);
        println!(
            "{name}: {correct:.2} digits, {:.2} claimed, condition {:.1e}, gradient {:.1e}",
            fit.digits, fit.condition, fit.gradient
        );
        assert!(correct >= 13.0, "{name}: {correct} digits");
        assert!(fit.digits <= correct + 1e-9, "{name} claims {} of {correct}", fit.digits);
        assert_eq!(fit.rank, want.len());
        let deviation: f64 = set["exact_rational"]["residual_sd"].as_str().unwrap().parse().unwrap();
        let got = fit.residual_deviation.unwrap();
        assert!(if deviation == 0.0 { got < 1e-9 } else { digits(got, deviation) > 12.0 }, "{name}: {got} {deviation}");
        if deviation > 0.0 {
            let mut deviations = list("sd");
            if offset {
                let b = deviations.remove(0);
                assert!(digits(fit.intercept_deviation.unwrap(), b) > 5.0, "{name}");
            }
            for (g, w) in fit.deviations.unwrap().iter().zip(&deviations) {
                assert!(digits(*g, *w) > 5.0, "{name}: {g} {w}");
            }
        }
        seen += 1;
    }
    assert_eq!(seen, 11);
}
