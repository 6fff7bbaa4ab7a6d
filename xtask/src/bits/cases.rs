//! The runs whose bits are compared.

mod after;
mod automatic;
mod linear;
mod losses;
mod many_rows;
mod reading;
mod refused;
mod sizes;
mod squared;
mod studies;

/// Command lines that are run one after the other in an empty folder. Words that name a generated table (`table.rs`) put it
/// there; a word `<reg-200.csv` makes it the standard input.
#[derive(Debug, Clone)]
pub struct Case {
    pub name: String,
    pub steps: Vec<String>,
    /// Not part of the subset.
    pub is_slow: bool,
    /// Run with 1, 2 and 3 threads.
    pub on_threads: bool,
    /// How far figures may be off on another machine, where a run on nudged tables does not tell.
    pub tolerance: Option<f64>,
}

impl Case {
    /// Adds a command line.
    pub fn then(&mut self, step: impl Into<String>) -> &mut Case {
        self.steps.push(step.into());
        self
    }

    pub fn slow(&mut self) -> &mut Case {
        self.is_slow = true;
        self
    }

    pub fn threads(&mut self) -> &mut Case {
        self.on_threads = true;
        self
    }
}

/// A list of cases under construction.
#[derive(Default)]
pub struct Cases {
    pub all: Vec<Case>,
}

impl Cases {
    /// A case of one command line.
    pub fn run(&mut self, name: impl Into<String>, step: impl Into<String>) -> &mut Case {
        let case =
            Case { name: name.into(), steps: vec![step.into()], is_slow: false, on_threads: false, tolerance: None };
        self.all.push(case);
        let last = self.all.len() - 1;
        &mut self.all[last]
    }

    /// A fit with a model file and a report in JSON, and predictions at new rows.
    pub fn fit(&mut self, name: impl Into<String>, table: &str, options: &str) -> &mut Case {
        let case = self.run(name, format!("fit {table} --target {} {options} --output m.mercer --json", target(table)));
        case.then(format!("predict m.mercer {} --output p.csv", new_rows(table)))
    }

    /// The same, with more options for the predictions.
    pub fn fit_predict(&mut self, name: impl Into<String>, table: &str, options: &str, predict: &str) -> &mut Case {
        let case = self.run(name, format!("fit {table} --target {} {options} --output m.mercer --json", target(table)));
        case.then(format!("predict m.mercer {} {predict} --output p.csv", new_rows(table)))
    }
}

/// The targets of a generated table.
pub fn target(table: &str) -> &'static str {
    match table.split('-').next() {
        Some("two") => "y,z",
        Some("cls" | "three" | "bin") => "kind",
        _ => "y",
    }
}

/// A table of the same columns with 23 rows that no model was fitted to.
pub fn new_rows(table: &str) -> String {
    let (name, ending) = table.split_once('.').unwrap_or((table, "csv"));
    let mut parts: Vec<&str> = name.split('-').collect();
    if parts.len() > 1 && parts[0] != "pre" {
        parts[1] = "23";
        parts.push("new");
    }
    format!("{}.{ending}", parts.join("-"))
}

/// All cases, with names that are all different.
pub fn all() -> Vec<Case> {
    let mut cases = Cases::default();
    sizes::add(&mut cases);
    squared::add(&mut cases);
    losses::add(&mut cases);
    linear::add(&mut cases);
    many_rows::add(&mut cases);
    // The folds of moments are drawn by the bits of each row: nudged rows fall into other folds.
    cases.all.iter_mut().filter(|case| case.name.starts_with("moments/")).for_each(|case| case.tolerance = Some(1e-5));
    automatic::add(&mut cases);
    after::add(&mut cases);
    studies::add(&mut cases);
    reading::add(&mut cases);
    refused::add(&mut cases);
    cases.all
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    #[test]
    fn names_are_stable_words_and_all_different() {
        let cases = super::all();
        let names: HashSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names.len(), cases.len());
        assert!(names.iter().all(|name| !name.contains(char::is_whitespace)));
        assert_eq!(super::new_rows("reg-200-w.csv"), "reg-23-w-new.csv");
    }
}
