//! `cargo xtask bits`: whether the program still computes the same bits.

mod cases;
mod digest;
mod machine;
mod reference;
mod run;

use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::arguments::Arguments;
use crate::build;
use crate::place::Place;
use cases::Case;
use reference::{PARTS, Recorded, Reference, differing_bits, differing_figures, shown, tolerance};
use run::{FIGURES, Outcome};

const HELP: &str = "\
Compare the bits of about 700 runs of the program with those recorded in xtask/bits.tsv

Usage: cargo xtask bits [OPTIONS]

  --subset               only the fast cases (under a minute)
  --only PATTERN         only cases whose name contains PATTERN (* stands for anything); may be repeated
  --program PATH         the program (default: a release build of the working tree)
  --against REV          compare with a build of another revision instead of the recorded bits
  --against-program PATH the same with a program that is there
  --ignore PART          differences in this part do not count: json after renaming fields or rewording texts,
                         else model, predictions, numbers
  --lenient              on another machine class than that of bits.tsv, list differences without failing
  --record               write xtask/bits.tsv; with --only those cases alone
  --accept NAME...       record these cases alone
  --jobs N               cases side by side (default: 1)
  --threads N            threads of the program (default: 1; some cases are run with 1, 2 and 3)
  --list                 print the cases and their command lines
  --times                print the seconds that each case took

Every case runs one or several command lines in an empty folder. What is compared, and the columns of bits.tsv:

  exit         exit codes of the command lines; messages are not compared, since they may be reworded
  model        model files, moments and ONNX, without program version, provenance and checksum
  predictions  rows of the tables that were written
  numbers      all numbers in JSON, in order of size
  json         all of JSON with its names and texts, and the headers of tables
  tolerance    relative difference that figures may have on another machine: 100 times as much as they change when
               the tables change by one unit in the last place, at least 1e-6; from 0.1 on rounding decides
  lambda, criterion, norm, sum
               figures to seven digits; sum is that of the predictions, or of x/(1 + |x|) over the numbers in JSON

Times, memory and file sizes are left out everywhere. On the machine class that recorded bits.tsv (processor, instruction
sets, caches) every hash must agree; on another one exit codes and figures are compared, and a line says so.
Exit codes: 0 no difference, 1 differences, 2 the comparison failed.
";

/// Whether nothing differs.
pub fn run(line: Vec<String>) -> Result<bool> {
    let flags = ["subset", "lenient", "record", "accept", "list", "help", "times"];
    let options = ["only", "program", "against", "against-program", "ignore", "jobs", "threads"];
    let arguments = Arguments::parse(line, &flags, &options)?;
    if arguments.has("help") {
        print!("{HELP}");
        return Ok(true);
    }
    let mut all = cases::all();
    let names: Vec<String> = all.iter().map(|case| case.name.clone()).collect();
    select(&mut all, &arguments)?;
    if arguments.has("list") {
        for case in &all {
            println!("{}\n    {}", case.name, case.steps.join("\n    "));
        }
        return Ok(true);
    }
    let other = match (arguments.value("against"), arguments.value("against-program")) {
        (Some(revision), _) => Some(build::revision(revision)?),
        (None, Some(path)) => Some(build::executable(Path::new(path))?),
        (None, None) => None,
    };
    let program = build::program(arguments.value("program"))?;
    let task = Task {
        jobs: arguments.number("jobs", 1)?,
        threads: arguments.number("threads", 1)?,
        times: arguments.has("times"),
    };
    let ignored = arguments.all("ignore");
    if let Some(unknown) = ignored.iter().find(|part| !PARTS.contains(part)) {
        bail!("--ignore takes one of {}, got {unknown}", PARTS.join(", "));
    }
    if arguments.has("record") || arguments.has("accept") {
        return record(&all, &names, &program, &task);
    }
    match other {
        Some(other) => against(&all, &program, &other, &task, &ignored),
        None => {
            let is_same = compare(&all, &program, &task, &ignored)?;
            Ok(is_same
                || arguments.has("lenient")
                    && Reference::read()?.is_some_and(|known| known.machine != machine::class()))
        }
    }
}

/// How cases are run.
struct Task {
    jobs: usize,
    threads: usize,
    times: bool,
}

/// Keeps the cases that the command line asks for.
fn select(all: &mut Vec<Case>, arguments: &Arguments) -> Result<()> {
    if arguments.has("accept") {
        ensure!(!arguments.words.is_empty(), "--accept needs the names of cases");
        if let Some(unknown) = arguments.words.iter().find(|word| all.iter().all(|case| case.name != **word)) {
            bail!("there is no case {unknown}; cargo xtask bits --list shows them");
        }
        all.retain(|case| arguments.words.contains(&case.name));
        return Ok(());
    }
    ensure!(arguments.words.is_empty(), "unexpected {:?}; see --help", arguments.words);
    ensure!(!(arguments.has("record") && arguments.has("subset")), "--record is for all cases, or for those of --only");
    let patterns = arguments.all("only");
    if !patterns.is_empty() {
        all.retain(|case| patterns.iter().any(|pattern| matches(&case.name, pattern)));
    }
    if arguments.has("subset") {
        all.retain(|case| !case.is_slow);
    }
    ensure!(!all.is_empty(), "no case of that name; cargo xtask bits --list shows them");
    Ok(())
}

/// Whether the parts of a pattern between its stars follow each other in a name.
fn matches(name: &str, pattern: &str) -> bool {
    let mut rest = name;
    pattern.split('*').all(|part| rest.find(part).map(|at| rest = &rest[at + part.len()..]).is_some())
}

/// Runs all cases, `jobs` of them side by side, and those for threads with 1, 2 and 3 of them. The second list names the cases
/// whose bits depend on threads.
fn outcomes(
    all: &[Case],
    place: &Place,
    program: &Path,
    task: &Task,
) -> Result<(HashMap<String, Outcome>, Vec<String>)> {
    let (next, found, uneven) = (AtomicUsize::new(0), Mutex::new(HashMap::new()), Mutex::new(Vec::new()));
    let failed = Mutex::new(None);
    let work = || {
        while let Some(case) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            if failed.lock().is_ok_and(|failed| failed.is_some()) {
                return;
            }
            let started = Instant::now();
            match one(case, place, program, task) {
                Ok((outcome, is_even)) => {
                    if let (Ok(mut found), Ok(mut uneven)) = (found.lock(), uneven.lock()) {
                        found.insert(case.name.clone(), outcome);
                        uneven.extend((!is_even).then(|| case.name.clone()));
                        progress(found.len(), all.len(), &case.name);
                    }
                }
                Err(error) => {
                    if let Ok(mut failed) = failed.lock() {
                        failed.get_or_insert(error);
                    }
                }
            }
            if task.times {
                println!("{:8.2} s  {}", started.elapsed().as_secs_f64(), case.name);
            }
        }
    };
    std::thread::scope(|scope| (0..task.jobs.max(1)).for_each(|_| drop(scope.spawn(work))));
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
    if let Some(error) = failed.into_inner().ok().flatten() {
        return Err(error);
    }
    let mut uneven = uneven.into_inner().unwrap_or_default();
    uneven.sort();
    Ok((found.into_inner().unwrap_or_default(), uneven))
}

fn one(case: &Case, place: &Place, program: &Path, task: &Task) -> Result<(Outcome, bool)> {
    let outcome = run::run(place, case, program, task.threads)?;
    let mut is_even = true;
    if case.on_threads && !place.nudged {
        for threads in (1..=3).filter(|threads| *threads != task.threads) {
            is_even &= run::run(place, case, program, threads)? == outcome;
        }
    }
    Ok((outcome, is_even))
}

fn progress(done: usize, all: usize, name: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{done}/{all} {name}");
    }
}

fn record(all: &[Case], names: &[String], program: &Path, task: &Task) -> Result<bool> {
    let machine = machine::class();
    let mut reference =
        if all.len() == names.len() { Reference::default() } else { Reference::read()?.unwrap_or_default() };
    if !reference.cases.is_empty() && reference.machine != machine {
        bail!("bits.tsv was recorded on another machine class ({}); record all cases here", reference.machine);
    }
    reference.machine = machine;
    let started = Instant::now();
    let (found, uneven) = outcomes(all, &Place::new("bits", false)?, program, task)?;
    let (nudged, _) = outcomes(all, &Place::new("nudged", true)?, program, task)?;
    for case in all {
        if let (Some(outcome), Some(nudged)) = (found.get(&case.name), nudged.get(&case.name)) {
            let tolerance = case.tolerance.unwrap_or_else(|| tolerance(outcome, nudged));
            reference.cases.insert(case.name.clone(), Recorded { outcome: outcome.clone(), tolerance });
        }
    }
    reference.write(&names.iter().map(String::as_str).collect::<Vec<_>>())?;
    println!("{} cases recorded in xtask/bits.tsv, {:.0} s", all.len(), started.elapsed().as_secs_f64());
    Ok(report_uneven(&uneven))
}

fn report_uneven(uneven: &[String]) -> bool {
    for name in uneven {
        println!("{name}: 1, 2 and 3 threads differ");
    }
    uneven.is_empty()
}

/// Compares with the file.
fn compare(all: &[Case], program: &Path, task: &Task, ignored: &[&str]) -> Result<bool> {
    let reference = Reference::read()?.context("xtask/bits.tsv is missing; cargo xtask bits --record writes it")?;
    let is_same_machine = reference.machine == machine::class();
    if !is_same_machine {
        println!("another machine class than that of bits.tsv ({}): figures are compared, not bits", reference.machine);
    }
    let started = Instant::now();
    let (found, uneven) = outcomes(all, &Place::new("bits", false)?, program, task)?;
    let mut report = Report::default();
    for case in all {
        let Some(new) = found.get(&case.name) else { continue };
        let Some(old) = reference.cases.get(&case.name) else {
            report.differing += 1;
            println!("{}: not recorded", case.name);
            continue;
        };
        let parts = if is_same_machine { differing_bits(&old.outcome, new) } else { differing_figures(old, new) };
        report.add(&case.name, &parts, &old.outcome, new, ignored);
    }
    Ok(report.end(all.len(), started) & report_uneven(&uneven))
}

/// Compares two programs.
fn against(all: &[Case], program: &Path, other: &Path, task: &Task, ignored: &[&str]) -> Result<bool> {
    let started = Instant::now();
    let (new, uneven) = outcomes(all, &Place::new("bits", false)?, program, task)?;
    let (old, _) = outcomes(all, &Place::new("other", false)?, other, task)?;
    let mut report = Report::default();
    for case in all {
        if let (Some(old), Some(new)) = (old.get(&case.name), new.get(&case.name)) {
            report.add(&case.name, &differing_bits(old, new), old, new, ignored);
        }
    }
    Ok(report.end(all.len(), started) & report_uneven(&uneven))
}

/// Counts differences and prints each.
#[derive(Default)]
struct Report {
    differing: usize,
    ignored: usize,
}

impl Report {
    fn add(&mut self, name: &str, parts: &[&str], old: &Outcome, new: &Outcome, ignored: &[&str]) {
        if parts.is_empty() {
            return;
        }
        if parts.iter().all(|part| ignored.contains(part)) {
            self.ignored += 1;
            return;
        }
        self.differing += 1;
        println!("{name}: differs in {}", parts.join(", "));
        if old.exit != new.exit {
            println!("    exit codes {} -> {}", old.exit, new.exit);
        }
        for (index, figure) in FIGURES.iter().enumerate() {
            let (old, new) = (shown(old.figures[index]), shown(new.figures[index]));
            if old != new {
                println!("    {figure} {old} -> {new}");
            }
        }
    }

    fn end(&self, cases: usize, started: Instant) -> bool {
        let ignored = if self.ignored > 0 { format!(", {} ignored", self.ignored) } else { String::new() };
        println!("{cases} cases, {} differ{ignored}, {:.0} s", self.differing, started.elapsed().as_secs_f64());
        self.differing == 0
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_are_parts_of_names() {
        assert!(
            matches("loss/hinge/m2", "hinge") && matches("loss/hinge/m2", "loss/*/m2") && !matches("loss/hinge", "m2")
        );
    }
}
