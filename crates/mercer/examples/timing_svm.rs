//! Times fits and selections with support vectors, certificate included, for `peers/svm.py`: reads a matrix of numbers (CSV without header, the last column is y) from a
//! file and prints one JSON object.
//!
//! `timing_svm svr|svc FILE REPEATS GAMMA C EPSILON TOLERANCE MEMORY [ALPHA-FILE]`: Gaussian kernel exp(−γr²), with offset;
//! α and b go to the file, one a line. Before the clock starts a small fit, of every (rows/200)-th row, is made. With `grid GAMMAS CS` instead of the file: five folds of every γ and C.

use std::sync::Arc;
use std::time::Instant;

use mercer::kernel::SharedKernel;
use mercer::learn::Measure;
use mercer::prelude::*;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, file, repeats, gamma, bound, epsilon, tolerance, memory, rest @ ..] = &arguments[..] else {
        return Err("usage: timing_svm svr|svc FILE REPEATS GAMMA C EPSILON TOLERANCE MEMORY [ALPHA-FILE]".into());
    };
    if let Ok(threads) = std::env::var("MERCER_THREADS") {
        rayon::ThreadPoolBuilder::new().num_threads(threads.parse()?).build_global()?;
    }
    let rows: Vec<Vec<f64>> = std::fs::read_to_string(file)?
        .lines()
        .map(|line| line.split(',').map(str::parse).collect())
        .collect::<std::result::Result<_, _>>()?;
    let features = rows[0].len() - 1;
    let x = Matrix::from_fn(rows.len(), features, |i, j| rows[i][j]);
    let y: Vec<f64> = rows.iter().map(|row| row[features]).collect();
    let is_svc = what == "svc";
    if let [grid, gammas, bounds] = rest
        && grid == "grid"
    {
        return time_grid(&x, &y, is_svc, (epsilon.parse()?, tolerance.parse()?), gammas, bounds);
    }
    let c: f64 = bound.parse()?;
    let loss = if is_svc { "hinge".to_owned() } else { format!("epsilon-insensitive(epsilon={epsilon})") };
    let n = y.len() as f64;
    let learn = Fit::new(Gaussian::lengthscale((0.5 / gamma.parse::<f64>()?).sqrt()))
        .loss(mercer::loss::parse(&loss)?)
        .lambda(0.5 / (n * c))
        .tolerance(tolerance.parse()?)
        .memory(memory.parse()?);
    // A small fit before the clock starts, as `peers/svm.py` gives the others: threads and code are there then.
    let step = (rows.len() / 200).max(1);
    let some: Vec<usize> = (0..rows.len()).step_by(step).collect();
    let small = Matrix::from_fn(some.len(), features, |i, j| x.get(some[i], j));
    learn.fit(&small, &some.iter().map(|i| y[*i]).collect::<Vec<f64>>())?;
    let mut seconds = Vec::new();
    let mut last = None;
    for _ in 0..repeats.parse()? {
        let started = Instant::now();
        last = Some(learn.fit(&x, &y)?);
        seconds.push(started.elapsed().as_secs_f64());
    }
    let found = last.ok_or("at least one repeat is needed")?;
    let summary = found.summary();
    if let [path] = rest {
        let all = found.coefficients[0].iter().chain([&summary.intercept]);
        let lines: Vec<String> = all.map(|a| format!("{a:e}")).collect();
        std::fs::write(path, lines.join("\n"))?;
    }
    println!(
        "{}",
        serde_json::json!({ "seconds": seconds, "objective": n * c * summary.objective,
            "gap": summary.certificate.duality_gap, "holds": summary.certificate.holds,
            "support": summary.support, "peak_bytes": peak() })
    );
    Ok(())
}

/// Five folds of every γ and C, both lists by commas, as the program chooses: a race in which points that are clearly worse are
/// dropped. Prints the best held-out score (share of wrong classes or mean squared error), how many points were fitted, how many of them
/// not on all folds (and after how many), the kernel and λ that were chosen, and the duality gap of the model in the end.
fn time_grid(
    x: &Matrix,
    y: &[f64],
    is_svc: bool,
    (epsilon, tolerance): (f64, f64),
    gammas: &str,
    bounds: &str,
) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let list = |text: &str| text.split(',').map(str::parse).collect::<std::result::Result<Vec<f64>, _>>();
    let (gammas, bounds) = (list(gammas)?, list(bounds)?);
    let training = 0.8 * y.len() as f64;
    let lambdas: Vec<f64> = bounds.iter().rev().map(|c| 0.5 / (training * c)).collect();
    let kernels: Vec<SharedKernel> =
        gammas.iter().map(|gamma| Arc::new(Gaussian::lengthscale((0.5 / gamma).sqrt())) as SharedKernel).collect();
    let (loss, measure) = if is_svc {
        ("hinge".to_owned(), Measure::Error)
    } else {
        (format!("epsilon-insensitive(epsilon={epsilon})"), Measure::Squared)
    };
    let learn = Fit::with_shared(kernels[0].clone())
        .loss(mercer::loss::parse(&loss)?)
        .kernels(kernels)
        .lambdas(&lambdas)
        .on_grid()
        .tolerance(tolerance)
        .measure(measure);
    let started = Instant::now();
    let learned = learn.fit(x, y)?;
    let seconds = started.elapsed().as_secs_f64();
    let best = learned.summary().held_out.as_ref().map(|held_out| held_out.value);
    let fitted: usize = learned.curves().map(|curve| curve.lambdas.len()).sum();
    let mut dropped_after = std::collections::BTreeMap::new();
    for folds in learned.curves().flat_map(|curve| &curve.dropped).flatten() {
        *dropped_after.entry(folds.to_string()).or_insert(0) += 1;
    }
    let dropped: usize = dropped_after.values().sum();
    let chosen = learned.tried.iter().find_map(|trial| {
        let curve = trial.curve()?;
        Some((trial.kernel.spec(), curve.lambdas[curve.chosen?]))
    });
    println!(
        "{}",
        serde_json::json!({ "seconds": seconds, "best": best, "points": fitted, "dropped": dropped,
            "dropped_after_folds": dropped_after, "chosen": chosen,
            "gap": learned.summary().certificate.duality_gap, "peak_bytes": peak() })
    );
    Ok(())
}

/// The largest memory this process has had.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}
