//! Times the dual solver for `peers/svm.py`: reads a matrix of numbers (CSV without header, the last column is y) from a
//! file and prints one JSON object.
//!
//! `timing_svm svr|svc FILE REPEATS GAMMA C EPSILON TOLERANCE MEMORY [ALPHA-FILE]`: Gaussian kernel exp(−γr²), with offset;
//! α and b go to the file, one a line. With `grid GAMMAS CS` instead of the file: five folds of every γ and C.

use std::sync::Arc;
use std::time::Instant;

use mercer::kernel::{Points, SharedKernel};
use mercer::prelude::*;
use mercer::solver::dual::grid::{Grid, OwnedProblem, cross_validate};
use mercer::solver::dual::{BoxProblem, BoxSettings, KernelPoints, solve};

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
    let n = y.len();
    let kernel = Gaussian::lengthscale((0.5 / gamma.parse::<f64>()?).sqrt());
    let c: f64 = bound.parse()?;
    let is_svc = what == "svc";
    let lower: Vec<f64> = y.iter().map(|y| if is_svc && *y > 0.0 { 0.0 } else { -c }).collect();
    let upper: Vec<f64> = y.iter().map(|y| if is_svc && *y < 0.0 { 0.0 } else { c }).collect();
    let epsilon = vec![if is_svc { 0.0 } else { epsilon.parse()? }; n];
    let problem = BoxProblem {
        target: &y,
        lower: &lower,
        upper: &upper,
        epsilon: &epsilon,
        curvature: &vec![0.0; n],
        has_offset: true,
    };
    let settings = BoxSettings { tolerance: tolerance.parse()?, memory: memory.parse()?, ..BoxSettings::default() };
    if let [grid, gammas, bounds] = rest
        && grid == "grid"
    {
        let y = y.clone();
        return time_grid(&x, &y, is_svc, epsilon[0], gammas, bounds, tolerance.parse()?);
    }
    let mut seconds = Vec::new();
    let mut last = None;
    for _ in 0..repeats.parse()? {
        let started = Instant::now();
        let points = Points::new(&x);
        last = Some(solve(&KernelPoints::new(&kernel, &points), &problem, &settings)?);
        seconds.push(started.elapsed().as_secs_f64());
    }
    let found = last.ok_or("at least one repeat is needed")?;
    if let [path] = rest {
        let lines: Vec<String> = found.alpha.iter().chain([&found.offset]).map(|a| format!("{a:e}")).collect();
        std::fs::write(path, lines.join("\n"))?;
    }
    println!(
        "{}",
        serde_json::json!({ "seconds": seconds, "objective": found.primal, "gap": found.relative_gap,
            "converged": found.converged, "iterations": found.iterations, "offset": found.offset,
            "support": found.alpha.iter().filter(|a| **a != 0.0).count(),
            "free": (0..n).filter(|i| { let a = found.alpha[*i]; a != 0.0 && a > lower[*i] && a < upper[*i] }).count(),
            "peak_bytes": peak() })
    );
    Ok(())
}

/// Five folds (row modulo 5) of every γ and C, both lists by commas; prints the held-out scores (accuracy or R²).
fn time_grid(
    x: &Matrix,
    y: &[f64],
    is_svc: bool,
    epsilon: f64,
    gammas: &str,
    bounds: &str,
    tolerance: f64,
) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let list = |text: &str| text.split(',').map(str::parse).collect::<std::result::Result<Vec<f64>, _>>();
    let (gammas, bounds) = (list(gammas)?, list(bounds)?);
    let n = y.len();
    let started = Instant::now();
    let points = Points::new(x);
    let kernels: Vec<SharedKernel> =
        gammas.iter().map(|gamma| Arc::new(Gaussian::lengthscale((0.5 / gamma).sqrt())) as SharedKernel).collect();
    let fold_of: Vec<usize> = (0..n).map(|i| i % 5).collect();
    let make = |rows: &[usize], lambda: usize| {
        let c = bounds[lambda];
        let target: Vec<f64> = rows.iter().map(|i| y[*i]).collect();
        OwnedProblem {
            lower: target.iter().map(|y| if is_svc && *y > 0.0 { 0.0 } else { -c }).collect(),
            upper: target.iter().map(|y| if is_svc && *y < 0.0 { 0.0 } else { c }).collect(),
            epsilon: vec![if is_svc { 0.0 } else { epsilon }; rows.len()],
            curvature: vec![0.0; rows.len()],
            has_offset: true,
            target,
        }
    };
    let loss = |i: usize, value: f64| if is_svc { f64::from(value * y[i] <= 0.0) } else { (y[i] - value).powi(2) };
    let found = cross_validate(&Grid {
        points: &points,
        kernels: &kernels,
        fold_of: &fold_of,
        lambdas: bounds.len(),
        problem: &make,
        loss: &loss,
        tolerance,
        go_on: &|| true,
    })?;
    let seconds = started.elapsed().as_secs_f64();
    let losses: Vec<Vec<f64>> = found.iter().map(|row| row.iter().map(|held| held.mean_loss).collect()).collect();
    let worst = found.iter().flatten().map(|held| held.worst_gap).fold(0.0, f64::max);
    println!(
        "{}",
        serde_json::json!({ "seconds": seconds, "losses": losses, "worst_gap": worst, "peak_bytes": peak() })
    );
    Ok(())
}

/// The largest memory this process has had.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}
