//! What a saved model says of its making: the command, the seed and the data (docs/format.md).

use std::ffi::OsString;

use clap::{Arg, Command};
use mercer::{DataFile, Provenance};

use crate::args::{Common, help, line};

/// Options that leave the model as it is; without them the same model has the same bytes whatever else was asked for.
const LEFT_OUT: [&str; 9] = ["threads", "quiet", "verbose", "json", "output", "table", "journal", "predictions", "svg"];

/// The provenance of what this run fits.
pub fn of_run(common: &Common, data: Vec<DataFile>) -> Provenance {
    let given: Vec<OsString> = line::given(&help::command());
    let command = Some(recorded(&given, &help::command()));
    Provenance { command, seed: Some(common.seed), data, ..Provenance::of_this_version() }
}

/// The command line with the names of files without their folders.
fn recorded(given: &[OsString], root: &Command) -> String {
    let given: Vec<String> = given.iter().skip(1).map(|text| text.to_string_lossy().into_owned()).collect();
    let command = given.iter().find_map(|text| root.find_subcommand(text));
    let options: Vec<&Arg> = command.into_iter().flat_map(Command::get_arguments).chain(root.get_arguments()).collect();
    let mut words = vec!["mercer".to_owned()];
    let mut rest = given.into_iter();
    let mut has_command = false;
    while let Some(word) = rest.next() {
        if word == "--" {
            words.extend(rest.by_ref().map(|word| file_name(&word)));
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let option = options.iter().find(|option| is_called(option, name));
            let value =
                value.map(str::to_owned).or_else(|| option.filter(|o| takes_value(o)).and_then(|_| rest.next()));
            words.extend(option.iter().flat_map(|option| with_value(option, value.as_deref())));
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            let mut letters = letters.chars();
            while let Some(letter) = letters.next() {
                let Some(option) = options.iter().find(|option| option.get_short() == Some(letter)) else { continue };
                if !takes_value(option) {
                    words.extend(with_value(option, None));
                    continue;
                }
                let joined = letters.as_str();
                let joined = joined.strip_prefix('=').unwrap_or(joined);
                let value = if joined.is_empty() { rest.next() } else { Some(joined.to_owned()) };
                words.extend(with_value(option, value.as_deref()));
                break;
            }
        } else if has_command {
            words.push(file_name(&word));
        } else {
            has_command = true;
            words.push(word);
        }
    }
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn is_called(option: &Arg, name: &str) -> bool {
    option.get_long() == Some(name) || option.get_all_aliases().is_some_and(|names| names.contains(&name))
}

fn takes_value(option: &Arg) -> bool {
    option.get_action().takes_values()
}

/// The option under its present name, and its value: of a file the name.
fn with_value(option: &Arg, value: Option<&str>) -> Vec<String> {
    let Some(name) = option.get_long().filter(|name| !LEFT_OUT.contains(name)) else { return Vec::new() };
    let is_file = option
        .get_value_names()
        .is_some_and(|names| names.iter().any(|name| matches!(name.as_str(), "FILE" | "FOLDER" | "MODEL" | "MOMENTS")));
    let value = value.map(|value| if is_file { file_name(value) } else { value.to_owned() });
    [format!("--{name}")].into_iter().chain(value).collect()
}

fn file_name(path: &str) -> String {
    path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(path).to_owned()
}

/// As a shell reads it back.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:,=+%@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_kept_without_folders_and_without_what_leaves_the_model_alone() {
        let root = help::command();
        let of = |words: &[&str]| {
            let given: Vec<OsString> = ["mercer"].iter().chain(words).map(OsString::from).collect();
            recorded(&given, &root)
        };
        assert_eq!(
            of(&["--threads", "2", "fit", "/home/me/t.csv", "-t", "y", "-qo", "out/m.mercer", "--json"]),
            "mercer fit t.csv --target y"
        );
        assert_eq!(
            of(&["fit", "t.csv", "--target=km/h", "-kgaussian(lengthscale=2)", "--unlabelled", "a/b.csv", "-v"]),
            "mercer fit t.csv --target km/h --kernel 'gaussian(lengthscale=2)' --unlabelled b.csv"
        );
        assert_eq!(
            of(&["fit", "-t", "it's", "--seed", "3", "--", "a/-b.csv"]),
            "mercer fit --target 'it'\\''s' --seed 3 -b.csv"
        );
        assert_eq!(
            of(&["fit", "-", "-t", "y", "--lambda", "1e-3", "--journal", "x"]),
            "mercer fit - --target y --lambda 1e-3"
        );
    }
}
