//! Models to play with.

use mercer::data::Column;
use mercer::kernel::special::Precomputed;
use mercer::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A model with the table it was fitted to and one it has not seen.
pub struct Sample {
    pub name: String,
    pub model: Model,
    pub tables: Vec<Frame>,
}

fn table(rows: usize, seed: u64, with_text: bool) -> Frame {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut uniform = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let mut frame = Frame::new(rows);
    let a: Vec<f64> = (0..rows).map(|_| 3.0 * uniform()).collect();
    let b: Vec<f64> = (0..rows).map(|_| uniform() - 0.2).collect();
    let colour: Vec<Option<String>> =
        (0..rows).map(|i| Some(["red", "green", "blau", "ünïcode, \"quoted\""][(i * 7) % 4].to_owned())).collect();
    let shape: Vec<Option<String>> = (0..rows).map(|i| (i % 5 != 0).then(|| format!("s{}", i % 3))).collect();
    let y: Vec<f64> = a.iter().zip(&b).enumerate().map(|(i, (a, b))| a.sin() + 2.0 * b + (i % 4) as f64).collect();
    let z: Vec<f64> = a.iter().map(|a| 100.0 * a * a - 7.0).collect();
    frame.push("a", Column::Number(a)).unwrap();
    frame.push("b", Column::Number(b)).unwrap();
    if with_text {
        frame.push("colour", Column::Text(colour)).unwrap();
        frame.push("shape", Column::Text(shape)).unwrap();
    }
    frame.push("y", Column::Number(y)).unwrap();
    frame.push("z", Column::Number(z)).unwrap();
    frame
}

fn roles(targets: &[&str]) -> Roles {
    let mut roles = Roles { targets: targets.iter().map(|t| (*t).to_owned()).collect(), ..Roles::default() };
    if targets.len() == 1 {
        roles.drop = vec!["z".into()];
    }
    roles
}

pub fn sample(name: &str, fit: Fit, rows: usize, targets: &[&str], with_text: bool) -> Sample {
    let training = table(rows, 1, with_text);
    let fitted = fit.fit_frame(&training, &roles(targets)).unwrap_or_else(|error| panic!("{name}: {error}"));
    Sample { name: name.to_owned(), model: fitted.model, tables: vec![training, table(9, 2, with_text)] }
}

fn precomputed(rows: usize) -> Sample {
    let x: Vec<f64> = (0..rows).map(|i| 0.3 * i as f64).collect();
    let gram = |points: &[f64]| {
        Matrix::from_fn(points.len(), rows, |i, j| (-0.5 * (points[i] - x[j]) * (points[i] - x[j])).exp())
    };
    let y: Vec<f64> = x.iter().map(|x| x.cos()).collect();
    let fitted = Fit::new(Precomputed).lambda(0.01).fit(&gram(&x), &y).unwrap();
    let as_frame = |matrix: &Matrix| {
        let mut frame = Frame::new(matrix.rows());
        for j in 0..matrix.cols() {
            frame.push(format!("x{}", j + 1), Column::Number(matrix.col(j).to_vec())).unwrap();
        }
        frame
    };
    let new: Vec<f64> = (0..4).map(|i| 0.17 + i as f64).collect();
    Sample { name: "precomputed".into(), model: fitted.model, tables: vec![as_frame(&gram(&x)), as_frame(&gram(&new))] }
}

/// Small models of every kind that the format knows.
pub fn small_samples() -> Vec<Sample> {
    let gaussian = || Fit::new(Gaussian::lengthscale(0.7));
    vec![
        sample("gaussian", gaussian().lambda(0.01), 6, &["y"], false),
        sample("linear", Fit::new(Linear).scale(Scale::Standard).lambda(0.1), 7, &["y"], false),
        sample("one-hot", gaussian().lambda(0.1).missing(Missing::Mean), 8, &["y"], true),
        sample(
            "equality, several targets",
            gaussian().lambda(0.1).text_as(TextAs::Equality).missing(Missing::Mean),
            8,
            &["y", "z"],
            true,
        ),
        sample("spline, rows dropped", Fit::new(Spline::additive()).missing(Missing::Drop), 9, &["y"], true),
        sample("zero function", gaussian().exponent(0.5).lambda(1e6), 6, &["y"], false),
        precomputed(5),
    ]
}

/// Every prediction's bits; `None` where a row has none.
pub fn bits(model: &Model, table: &Frame) -> Vec<Vec<Option<u64>>> {
    let columns = model.predict_frame(table).expect("a prediction");
    columns.into_iter().map(|column| column.into_iter().map(|cell| cell.map(f64::to_bits)).collect()).collect()
}
