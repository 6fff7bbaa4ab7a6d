//! The command line as it was given: old spellings, remedies for what cannot be read, help as it is printed.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, FromArgMatches};
use mercer::error::nearest;

use super::{Arguments, help};

/// Names that other programs have for commands and options of this one.
const COMMANDS: &[(&str, &str)] = &[
    ("train", "fit"),
    ("learn", "fit"),
    ("regress", "fit"),
    ("apply", "predict"),
    ("test", "predict"),
    ("cv", "compare"),
    ("benchmark", "compare"),
    ("show", "inspect"),
    ("info", "inspect"),
    ("convert", "export"),
];
const OPTIONS: &[(&str, &str)] = &[
    ("alpha", "lambda"),
    ("label", "target"),
    ("response", "target"),
    ("y", "target"),
    ("cv", "assess"),
    ("random-state", "seed"),
    ("n-jobs", "threads"),
];

/// Reads the command line, or ends the program with help or an error.
pub fn parse() -> Arguments {
    let command = help::command();
    let given: Vec<OsString> = std::env::args_os().collect();
    let modern = modern(&given, &command);
    if let Some(note) = &modern.note {
        say!("note: {note}");
    }
    let found = command.clone().try_get_matches_from(modern.line);
    match found.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => end(mended(error, &command, &given)),
    }
}

/// The command line in today's words.
pub fn given(command: &Command) -> Vec<OsString> {
    modern(&std::env::args_os().collect::<Vec<_>>(), command).line
}

/// A command line in today's words.
struct Modern {
    line: Vec<OsString>,
    note: Option<&'static str>,
}

/// `--format` was once the style of printed tables in commands that have `--style` now; the styles that are no format of a file
/// still say what is meant.
fn modern(given: &[OsString], command: &Command) -> Modern {
    let mut modern = Modern { line: given.to_vec(), note: None };
    let Some(command) = chosen(given, command) else { return modern };
    let has = |name: &str| command.get_arguments().any(|argument| argument.get_long() == Some(name));
    if !has("style") || !has("format") {
        return modern;
    }
    let is_style = |text: &str| matches!(text, "text" | "markdown" | "latex");
    let is_quiet = given.iter().any(|text| text == "--quiet" || text == "-q");
    for at in 1..given.len() {
        let text = given[at].to_str().unwrap_or_default();
        let value = match (text.strip_prefix("--format"), given.get(at + 1).and_then(|next| next.to_str())) {
            (Some(""), Some(next)) => next,
            (Some(rest), _) => rest.strip_prefix('=').unwrap_or_default(),
            (None, _) => continue,
        };
        if is_style(value) {
            modern.line[at] = text.replacen("--format", "--style", 1).into();
        } else if value == "csv" && !is_quiet && !given.iter().any(|text| text.to_string_lossy().starts_with("--style"))
        {
            modern.note = Some("--format is the format of the table that is read; --style csv prints CSV");
        }
    }
    modern
}

/// The command of a line.
fn chosen<'a>(given: &[OsString], command: &'a Command) -> Option<&'a Command> {
    given.iter().skip(1).find_map(|text| command.find_subcommand(text))
}

/// Tips that fit this program in the place of clap's own, which take every unknown word for a value.
fn mended(mut error: clap::Error, command: &Command, given: &[OsString]) -> clap::Error {
    let named = |error: &clap::Error, kind| match error.get(kind) {
        Some(ContextValue::String(name)) => Some(name.clone()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            error.remove(ContextKind::Suggested);
            let Some(name) = named(&error, ContextKind::InvalidSubcommand) else { return error };
            let visible = command.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
            if let Some(meant) = known(COMMANDS, &name).or_else(|| nearest(&name, visible)) {
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![meant]));
            }
        }
        ErrorKind::UnknownArgument => {
            error.remove(ContextKind::Suggested);
            let Some(name) = named(&error, ContextKind::InvalidArg) else { return error };
            if let Some(tip) = tip(&name, command, chosen(given, command)) {
                error.remove(ContextKind::SuggestedArg);
                // It names the option that clap had suggested.
                error.remove(ContextKind::Usage);
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
            }
        }
        _ => {}
    }
    error
}

fn known(names: &[(&str, &str)], name: &str) -> Option<String> {
    names.iter().find(|(other, _)| *other == name).map(|(_, own)| (*own).to_owned())
}

/// What to do about an option that a command does not have: the name it has here, or the commands that have it.
fn tip(option: &str, root: &Command, command: Option<&Command>) -> Option<String> {
    let name = option.strip_prefix("--")?;
    let has = |command: &Command, name: &str| {
        command.get_arguments().any(|argument| argument.get_long() == Some(name) && !argument.is_hide_set())
    };
    let command = command?;
    if let Some(own) = known(OPTIONS, name).filter(|own| has(command, own) || has(root, own)) {
        return Some(format!("the option for this is --{own}"));
    }
    let commands = root.get_subcommands().filter(|other| !other.is_hide_set() && has(other, name));
    let commands: Vec<&str> = commands.map(Command::get_name).collect();
    match commands[..] {
        [] => None,
        [only] => Some(format!("{option} is an option of mercer {only}, not of mercer {}", command.get_name())),
        _ => Some(format!(
            "{option} is an option of these commands: {}; not of {}",
            commands.join(", "),
            command.get_name()
        )),
    }
}

/// Prints help or an error, and ends the program with its code.
fn end(error: clap::Error) -> ! {
    if error.use_stderr() {
        error.exit();
    }
    let text = error.render();
    let is_coloured = std::io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb");
    let text = if is_coloured { text.ansi().to_string() } else { text.to_string() };
    // A reader who has seen enough may have gone.
    let _ = write!(std::io::stdout(), "{}", help::spaced(&text));
    std::process::exit(error.exit_code());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn styles_are_understood_under_their_old_name() {
        let command = help::command();
        let read = |text: &str| modern(&line(text), &command);
        assert_eq!(read("mercer path t.csv --format latex").line, line("mercer path t.csv --style latex"));
        assert_eq!(
            read("mercer --threads 2 plan t.csv --format=markdown").line,
            line("mercer --threads 2 plan t.csv --style=markdown")
        );
        // A format of files: it is that now, and a note says so.
        let table = read("mercer path t.csv --format csv");
        assert!(table.note.is_some() && table.line == line("mercer path t.csv --format csv"));
        assert!(read("mercer path t.csv --format csv --quiet").note.is_none());
        assert!(read("mercer path t.csv --format parquet").note.is_none());
        // Commands without styles.
        assert_eq!(read("mercer fit t.csv --format latex").line, line("mercer fit t.csv --format latex"));
    }

    #[test]
    fn every_other_name_stands_for_something_that_exists() {
        let root = help::command();
        assert!(
            COMMANDS
                .iter()
                .all(|(other, own)| { root.find_subcommand(other).is_none() && root.find_subcommand(own).is_some() })
        );
        let fit = root.find_subcommand("fit").unwrap();
        assert!(OPTIONS.iter().all(|(other, _)| tip(&format!("--{other}"), &root, Some(fit)).is_some()));
    }

    #[test]
    fn options_have_one_heading_and_one_meaning() {
        let headings = [
            "Columns",
            "Reading the table",
            "The model",
            "Losses and classes",
            "Penalties",
            "Choosing",
            "Intervals",
            "The training rows",
            "The stream",
            "Output",
            "Every command",
        ];
        let fixed = [
            ("target", "Columns"),
            ("features", "Columns"),
            ("format", "Reading the table"),
            ("separator", "Reading the table"),
            ("kernel", "The model"),
            ("loss", "Losses and classes"),
            ("penalty", "Penalties"),
            ("output", "Output"),
            ("json", "Output"),
            ("table", "Output"),
            ("style", "Output"),
            ("svg", "Output"),
            ("predictions", "Output"),
            ("no-diagnostics", "Output"),
            ("interval-method", "Intervals"),
            ("seed", "Every command"),
        ];
        let mut root = help::command();
        root.build();
        for command in root.get_subcommands().filter(|command| command.get_name() != "help") {
            for option in command.get_arguments() {
                let Some(name) = option.get_long().filter(|name| !matches!(*name, "help" | "version")) else {
                    continue;
                };
                let heading = option.get_help_heading();
                let shown = format!("mercer {} --{name}: {heading:?}", command.get_name());
                assert!(heading.is_none_or(|heading| headings.contains(&heading)), "{shown}");
                if let Some((_, own)) = fixed.iter().find(|(other, _)| *other == name) {
                    assert_eq!(heading, Some(*own), "{shown}");
                }
            }
            // One meaning each: formats of tables, styles of output, methods of losses.
            let of = |name: &str| command.get_arguments().find(|option| option.get_long() == Some(name));
            let value =
                |name: &str| of(name).and_then(|option| option.get_value_names()).map(|names| names[0].to_string());
            assert!(value("format").is_none_or(|value| value == "FORMAT"), "{}", command.get_name());
            assert!(value("style").is_none_or(|value| value == "STYLE"), "{}", command.get_name());
            assert!(value("method").is_none_or(|value| value == "NAME"), "{}", command.get_name());
        }
    }
}
