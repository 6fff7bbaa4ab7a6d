//! `cargo xtask bench`: the times of commands that people wait for, beside those of another build.
//!
//! Both programs run in turn, so that whatever slows the machine down slows both. One thread is timed by its processor time, which
//! hardly depends on what else the machine does. A case is slower if the ratio of the times
//! in one round is above 1.03 with confidence: the lower end of the interval for its median (from the order statistics, as in the
//! sign test) lies above it. A noisy machine widens the interval and never makes a difference.

mod cases;
mod clock;
mod spread;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::arguments::Arguments;
use crate::build;
use crate::place::{Place, Room};
use cases::{ALL, Case};
use clock::Clock;
use spread::{Spread, median};

const HELP: &str = "\
Time the program, beside another build of it

Usage: cargo xtask bench [OPTIONS]

  --against REV           the other build: of this revision
  --against-program PATH  the other build: a program that is there
  --program PATH          the program (default: a release build of the working tree)
  --only PATTERN          only cases whose name contains PATTERN; may be repeated
  --rounds N              runs of each program (default: 11)
  --threads N             threads of the program (default: 1, timed by the processor time; several: by the clock on the wall)
  --list                  print the cases and their command lines

Exit codes: 0 no case is slower, 1 a case is more than 3 % slower beyond noise, 2 the comparison failed.
";

/// Ratios up to this are no fault.
const ALLOWED: f64 = 1.03;
/// Short commands are run until so many seconds have passed, and their mean counts.
const LEAST_SECONDS: f64 = 0.2;

/// Whether no case is slower.
pub fn run(line: Vec<String>) -> Result<bool> {
    let options = ["against", "against-program", "program", "only", "rounds", "threads"];
    let arguments = Arguments::parse(line, &["help", "list"], &options)?;
    ensure!(arguments.words.is_empty(), "unexpected {:?}; see --help", arguments.words);
    if arguments.has("help") {
        print!("{HELP}");
        return Ok(true);
    }
    let patterns = arguments.all("only");
    let chosen = |case: &&Case| patterns.is_empty() || patterns.iter().any(|pattern| case.name.contains(pattern));
    let all: Vec<&Case> = ALL.iter().filter(chosen).collect();
    ensure!(!all.is_empty(), "no case of that name; cargo xtask bench --list shows them");
    if arguments.has("list") {
        all.iter().for_each(|case| println!("{:<12}{}", case.name, case.timed));
        return Ok(true);
    }
    let mut programs = vec![build::program(arguments.value("program"))?];
    match (arguments.value("against"), arguments.value("against-program")) {
        (Some(revision), _) => programs.push(build::revision(revision)?),
        (None, Some(path)) => programs.push(build::executable(Path::new(path))?),
        (None, None) => {}
    }
    let (rounds, threads) = (arguments.number("rounds", 11)?, arguments.number("threads", 1)?);
    ensure!(rounds > 0, "--rounds must be at least 1");
    let place = Place::new("bench", false)?;
    println!("{} on {threads} thread{}", Clock::suitable(threads).name(), if threads == 1 { "" } else { "s" });
    match programs.len() {
        1 => println!("{:<12}{:>12}{:>24}", "", "seconds", "least … largest"),
        _ => println!("{:<12}{:>12}{:>12}{:>9}{:>18}", "", "seconds", "other", "ratio", "95 % interval"),
    }
    let mut slower = 0;
    for case in all {
        let times = time(case, &programs, &place, rounds, threads).with_context(|| case.name)?;
        slower += usize::from(report(case, &times));
    }
    if slower > 0 {
        println!("{slower} slower than {ALLOWED} times the other build");
    }
    Ok(slower == 0)
}

/// The seconds of every program in every round.
fn time(case: &Case, programs: &[PathBuf], place: &Place, rounds: usize, threads: usize) -> Result<Vec<Vec<f64>>> {
    let clock = Clock::suitable(threads);
    let rooms: Vec<Room<'_>> =
        (0..programs.len()).map(|index| place.room(&format!("{}-{index}", case.name))).collect::<Result<_>>()?;
    let run = |index: usize, step: &str| -> Result<f64> {
        let (status, seconds) = clock.time(&mut rooms[index].command(step, &programs[index], threads)?)?;
        // 3: finished without a certificate.
        ensure!(matches!(status.code(), Some(0 | 3)), "{step} ended with {status}");
        Ok(seconds)
    };
    // The first run reads files into the system's cache, and says how often a short command is repeated.
    let mut repeats = 1;
    for index in 0..programs.len() {
        for step in case.before {
            run(index, step)?;
        }
        let seconds = run(index, case.timed)?;
        repeats = repeats.max((LEAST_SECONDS / seconds).ceil().min(20.0) as usize);
    }
    let mut times = vec![Vec::new(); programs.len()];
    for round in 0..rounds {
        for turn in 0..programs.len() {
            // Who comes first changes from round to round.
            let index = (turn + round) % programs.len();
            let mut sum = 0.0;
            for _ in 0..repeats {
                sum += run(index, case.timed)?;
            }
            times[index].push(sum / repeats as f64);
        }
    }
    Ok(times)
}

/// Prints a line. Whether the case is slower beyond noise.
fn report(case: &Case, times: &[Vec<f64>]) -> bool {
    let [new, old] = times else {
        let least = times[0].iter().copied().fold(f64::INFINITY, f64::min);
        let largest = times[0].iter().copied().fold(0.0, f64::max);
        println!("{:<12}{:>12.4}{:>24}", case.name, median(&times[0]), format!("{least:.4} … {largest:.4}"));
        return false;
    };
    let ratios: Vec<f64> = new.iter().zip(old).map(|(new, old)| new / old).collect();
    let Spread { middle, low, high } = Spread::of(&ratios);
    let verdict = match () {
        () if low > ALLOWED => "slower",
        () if middle > ALLOWED => "unclear: more --rounds",
        () if high < 1.0 / ALLOWED => "faster",
        () => "",
    };
    println!(
        "{:<12}{:>12.4}{:>12.4}{middle:>9.3}{:>18}  {verdict}",
        case.name,
        median(new),
        median(old),
        format!("{low:.3} … {high:.3}")
    );
    low > ALLOWED
}
