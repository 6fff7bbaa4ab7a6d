//! Times linear models for `peers/linear.py`: reads a folder with `meta.json`, `x.bin` (f64 by columns), or for a sparse
//! matrix `starts.bin` (u64), `places.bin` (u32) and `values.bin` by rows, and `y.bin`; prints one JSON object.
//!
//! `timing_linear path FOLDER REPEATS TOLERANCE OFFSET [OUT]` · `timing_linear LOSS FOLDER REPEATS LAMBDA TOLERANCE OFFSET
//! [OUT]`, LOSS one of logistic, hinge, squared-hinge, epsilon:E, squared-epsilon:E. OUT gets the coefficients and the
//! offset of every solution, as f64.

use std::path::Path;
use std::time::Instant;

use mercer::Matrix;
use mercer::linear::{Features, LassoSettings, LinearSolution, MarginLoss, MarginSettings, Sparse, lasso_path, margin};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, folder, repeats, rest @ ..] = &arguments[..] else { return Err("usage: see the source".into()) };
    if let Ok(threads) = std::env::var("MERCER_THREADS") {
        rayon::ThreadPoolBuilder::new().num_threads(threads.parse()?).build_global()?;
    }
    let folder = Path::new(folder);
    let (x, y) = load(folder)?;
    let mut seconds = Vec::new();
    let mut last: Vec<LinearSolution> = Vec::new();
    let mut lambdas = Vec::new();
    for _ in 0..repeats.parse::<usize>()? {
        let started = Instant::now();
        if what == "path" {
            let [tolerance, offset, ..] = rest else { return Err("path needs TOLERANCE OFFSET".into()) };
            let smallest = std::env::var("SMALLEST").map_or(Ok(1e-3), |s| s.parse())?;
            let settings = LassoSettings {
                tolerance: tolerance.parse()?,
                offset: offset.parse()?,
                smallest,
                ..LassoSettings::default()
            };
            let path = lasso_path(&x, &y, None, None, &settings)?;
            seconds.push(started.elapsed().as_secs_f64());
            (last, lambdas) = (path.solutions, path.lambdas);
        } else {
            let [lambda, tolerance, offset, ..] = rest else { return Err("needs LAMBDA TOLERANCE OFFSET".into()) };
            let settings =
                MarginSettings { tolerance: tolerance.parse()?, offset: offset.parse()?, ..MarginSettings::default() };
            let lambda: f64 = lambda.parse()?;
            let solution = margin(&x, &y, None, lambda, loss(what)?, &settings)?;
            seconds.push(started.elapsed().as_secs_f64());
            (last, lambdas) = (vec![solution], vec![lambda]);
        }
    }
    if let Some(out) = rest.get(if what == "path" { 2 } else { 3 }) {
        let bytes: Vec<u8> = last
            .iter()
            .flat_map(|s| s.coefficients.iter().chain(std::iter::once(&s.intercept)))
            .flat_map(|v| v.to_le_bytes())
            .collect();
        std::fs::write(out, bytes)?;
    }
    let of = |value: &dyn Fn(&LinearSolution) -> f64| last.iter().map(value).collect::<Vec<f64>>();
    println!(
        "{}",
        json!({ "seconds": seconds, "lambdas": lambdas, "gap": of(&|s| s.relative_gap).into_iter().fold(0.0, f64::max),
            "objective": of(&|s| s.objective), "nonzero": of(&|s| s.nonzero as f64),
            "passes": of(&|s| s.iterations as f64), "converged": last.iter().all(|s| s.converged) })
    );
    Ok(())
}

fn loss(name: &str) -> Outcome<MarginLoss> {
    let epsilon = name.split_once(':').map(|(_, e)| e.parse()).transpose()?.unwrap_or(0.0);
    Ok(match name.split(':').next().unwrap_or(name) {
        "logistic" => MarginLoss::Logistic,
        "hinge" => MarginLoss::Hinge,
        "squared-hinge" => MarginLoss::SquaredHinge,
        "epsilon" => MarginLoss::EpsilonInsensitive(epsilon),
        "squared-epsilon" => MarginLoss::SquaredEpsilonInsensitive(epsilon),
        other => return Err(format!("unknown loss {other}").into()),
    })
}

fn load(folder: &Path) -> Outcome<(Features, Vec<f64>)> {
    let meta: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("meta.json"))?)?;
    let size = |key: &str| meta[key].as_u64().unwrap_or(0) as usize;
    let (rows, cols) = (size("rows"), size("cols"));
    let numbers = |name: &str| -> Outcome<Vec<f64>> {
        let bytes = std::fs::read(folder.join(name))?;
        Ok(bytes.chunks_exact(8).map(|c| f64::from_le_bytes(c.try_into().expect("eight bytes"))).collect())
    };
    let y = numbers("y.bin")?;
    if meta["sparse"] != true {
        return Ok((Matrix::from_columns(rows, cols, numbers("x.bin")?)?.into(), y));
    }
    let starts: Vec<usize> = std::fs::read(folder.join("starts.bin"))?
        .chunks_exact(8)
        .map(|c| u64::from_le_bytes(c.try_into().expect("eight bytes")) as usize)
        .collect();
    let places: Vec<usize> = std::fs::read(folder.join("places.bin"))?
        .chunks_exact(4)
        .map(|c| u32::from_le_bytes(c.try_into().expect("four bytes")) as usize)
        .collect();
    let values = numbers("values.bin")?;
    let lines: Vec<Vec<(usize, f64)>> =
        starts.windows(2).map(|s| (s[0]..s[1]).map(|k| (places[k], values[k])).collect()).collect();
    Ok((Sparse::from_rows(cols, &lines)?.into(), y))
}
