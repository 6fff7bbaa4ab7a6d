//! How help looks: commands under headings, prose that fits the terminal, examples as they were written.

use std::fmt::Write as _;

use clap::builder::StyledStr;
use clap::{Command, CommandFactory};

use super::Arguments;

/// The headings of `mercer --help`; every command that is not hidden stands under one of them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Everyday", &["fit", "predict", "compare", "effects", "path", "inspect", "export"]),
    ("Large data", &["plan", "moments", "merge", "update", "stream"]),
    ("Theory", &["equivalence", "certify", "distance", "experiment"]),
    ("Reference", &["list", "demo", "generate", "completions", "man", "help"]),
];

/// What clap's command for help says of itself.
const HELP: &str = "Print this message or the help of a command";

/// Widest line of help, however wide the terminal is.
const WIDTH: usize = 100;

/// A space that clap does not break a line at; printed as a space.
const FIXED: char = '\u{a0}';

/// The command line of the whole program.
pub fn command() -> Command {
    let root = Arguments::command().max_term_width(WIDTH).mut_subcommands(reflowed);
    let commands = grouped(&root);
    let root = reflowed(root);
    root.help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{commands}{{options}}{{after-help}}"
    ))
}

/// Each heading with its commands. clap knows headings of options only.
fn grouped(root: &Command) -> String {
    let header = root.get_styles().get_header();
    let literal = root.get_styles().get_literal();
    let widest = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(text, "{header}{heading}:{header:#}");
        for name in *names {
            let about = root.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let about = about.unwrap_or_else(|| HELP.to_owned());
            let _ = writeln!(text, "  {literal}{name:<widest$}{literal:#}  {about}");
        }
        text.push('\n');
    }
    text + &format!("{header}Options:{header:#}\n")
}

/// Prose as paragraphs, which clap wraps to the terminal; lines of two spaces and more (examples) as they are.
fn reflowed(command: Command) -> Command {
    match command.get_long_about().map(ToString::to_string) {
        Some(text) => command.long_about(StyledStr::from(paragraphs(&text))),
        None => command,
    }
}

fn paragraphs(text: &str) -> String {
    let mut out = String::new();
    let mut is_open = false;
    for line in text.lines() {
        let is_prose = !line.trim().is_empty() && !line.starts_with("  ");
        if !out.is_empty() {
            out.push(if is_open && is_prose { ' ' } else { '\n' });
        }
        match line.starts_with("  ") {
            true => out.extend(line.chars().map(|c| if c == ' ' { FIXED } else { c })),
            false => out.push_str(line),
        }
        is_open = is_prose;
    }
    out
}

/// Whether a line of help is one that stays as it is.
pub fn is_verbatim(line: &str) -> bool {
    line.starts_with(FIXED)
}

/// Help as it is printed.
pub fn spaced(text: &str) -> String {
    text.replace(FIXED, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_under_one_heading() {
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        listed.sort_unstable();
        let mut root = command();
        root.build();
        let visible = root.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
        let mut visible: Vec<&str> = visible.collect();
        visible.sort_unstable();
        assert_eq!(listed, visible);
    }

    #[test]
    fn the_list_of_commands_fits_the_width() {
        let list = grouped(&Arguments::command());
        // Without the codes of styles.
        let plain = |line: &str| -> String {
            let mut parts = line.split('\u{1b}');
            let first = parts.next().unwrap_or_default().to_owned();
            parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
        };
        let wide: Vec<String> = list.lines().map(plain).filter(|line| line.chars().count() > WIDTH).collect();
        assert!(wide.is_empty(), "{wide:?}");
        assert!(list.lines().all(|line| !line.contains(['{', '}'])), "braces mean something in a template");
    }

    #[test]
    fn paragraphs_are_joined_and_examples_are_kept() {
        let text = "First\n\none\ntwo\n\nExamples:\n\n  mercer a b\n  mercer c";
        let kept = "First\n\none two\n\nExamples:\n\n\u{a0}\u{a0}mercer\u{a0}a\u{a0}b\n\u{a0}\u{a0}mercer\u{a0}c";
        assert_eq!(paragraphs(text), kept);
    }
}
