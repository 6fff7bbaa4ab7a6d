//! A command line of `--name value`, `--flag` and plain words.

use anyhow::{Context, Result, bail};

/// What was given, by name, in the order of the command line.
pub struct Arguments {
    given: Vec<(String, Option<String>)>,
    pub words: Vec<String>,
}

impl Arguments {
    /// Reads a command line. `flags` take no value, `options` take one.
    pub fn parse(line: Vec<String>, flags: &[&str], options: &[&str]) -> Result<Arguments> {
        let (mut given, mut words) = (Vec::new(), Vec::new());
        let mut rest = line.into_iter();
        while let Some(word) = rest.next() {
            let Some(long) = word.strip_prefix("--") else {
                words.push(word);
                continue;
            };
            let (name, joined) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            };
            if flags.contains(&name) && joined.is_none() {
                given.push((name.to_owned(), None));
            } else if options.contains(&name) {
                let value = joined.or_else(|| rest.next()).with_context(|| format!("--{name} needs a value"))?;
                given.push((name.to_owned(), Some(value)));
            } else {
                bail!("unknown option --{name}; see --help");
            }
        }
        Ok(Arguments { given, words })
    }

    pub fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(known, _)| known == name)
    }

    /// The last value of an option.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.all(name).last().copied()
    }

    /// All values of an option.
    pub fn all(&self, name: &str) -> Vec<&str> {
        self.given.iter().filter(|(known, _)| known == name).filter_map(|(_, value)| value.as_deref()).collect()
    }

    pub fn number(&self, name: &str, default: usize) -> Result<usize> {
        match self.value(name) {
            None => Ok(default),
            Some(text) => text.parse().with_context(|| format!("--{name} must be a whole number, got {text:?}")),
        }
    }
}
