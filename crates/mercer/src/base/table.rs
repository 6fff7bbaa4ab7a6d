//! Closes an axis: the names of its members, how they are read from a spec and listed for a person.
//!
//! A spec is `name` or `name(parameter=value, …)`. Each member of an axis is one [`Entry`]; reading, error
//! texts, help and the model file follow from it.

mod synonyms;

use crate::base::error::{Error, Result, abbreviated};

/// One parameter of a member.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name in a spec.
    pub name: &'static str,
    /// What it is when it is not given.
    pub default: &'static str,
    /// What it means, in a few words.
    pub about: &'static str,
}

/// One member of an axis.
pub struct Entry<T: 'static> {
    /// Its name in a spec.
    pub name: &'static str,
    /// The formula, in one line.
    pub formula: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Makes it from the arguments of a spec.
    pub build: fn(&Arguments) -> Result<T>,
}

/// A value in a spec.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `1.5`
    Number(f64),
    /// `[1, 2, 0.5]`
    List(Vec<f64>),
    /// `median`
    Word(String),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Number(x) => write!(f, "{x}"),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(f64::to_string).collect();
                write!(f, "[{}]", items.join(","))
            }
            Value::Word(word) => f.write_str(word),
        }
    }
}

/// The arguments of one member in a spec.
#[derive(Debug, Clone)]
pub struct Arguments {
    of: String,
    values: Vec<(String, Value)>,
}

impl Arguments {
    /// The value given for a parameter, if one was.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The number given for a parameter, or `default`; refused unless `holds`, which `must` puts into words.
    pub fn number(&self, name: &str, default: f64, must: &str, holds: fn(f64) -> bool) -> Result<f64> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Number(x)) if holds(*x) => Ok(*x),
            Some(other) => Err(self.refuse(name, must, other)),
        }
    }

    /// The error for a value that a parameter cannot take.
    pub fn refuse(&self, name: &str, must: &str, got: &Value) -> Error {
        Error::argument(format!("{} of {}", name, self.of), must, got)
    }
}

/// Reads a spec that is one member of an axis: `name` or `name(parameter=value, …)`.
pub fn parse<T>(axis: &'static str, entries: &[&Entry<T>], spec: &str) -> Result<T> {
    let mut reader = Reader::new(spec.trim());
    let (name, values) = reader.member()?;
    reader.expect_end()?;
    build(axis, entries, &name, values)
}

/// Finds a member by name and makes it; an unknown name or parameter is answered with the known ones.
pub(crate) fn build<T>(
    axis: &'static str,
    entries: &[&Entry<T>],
    name: &str,
    values: Vec<(String, Value)>,
) -> Result<T> {
    let Some(entry) = entries.iter().find(|entry| entry.name == name) else {
        return Err(Error::UnknownName {
            axis,
            name: abbreviated(name),
            known: entries.iter().map(|entry| entry.name.to_owned()).collect(),
            suggestion: synonyms::meant(axis, name, entries.iter().map(|entry| entry.name), &values),
        });
    };
    for (index, (given, value)) in values.iter().enumerate() {
        if !entry.parameters.iter().any(|parameter| parameter.name == given) {
            let known = || entry.parameters.iter().map(|parameter| parameter.name);
            return Err(Error::UnknownParameter {
                of: name.to_owned(),
                name: abbreviated(given),
                known: known().map(str::to_owned).collect(),
                hint: synonyms::hint(name, given, value, known()),
            });
        }
        if values[..index].iter().any(|(earlier, _)| earlier == given) {
            return Err(Error::argument(format!("{given} of {name}"), "given once", "it twice"));
        }
    }
    (entry.build)(&Arguments { of: name.to_owned(), values })
}

/// Reads a spec from left to right.
pub(crate) struct Reader<'a> {
    spec: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(spec: &'a str) -> Self {
        Reader { spec, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.spec[self.at..]
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Takes `symbol` if it comes next.
    pub fn take(&mut self, symbol: char) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len_utf8();
        }
        found
    }

    /// Takes `symbol` or fails.
    pub fn expect(&mut self, symbol: char) -> Result<()> {
        if self.take(symbol) { Ok(()) } else { Err(self.error(&format!("{symbol:?}"))) }
    }

    /// Whether everything has been read.
    pub fn is_done(&mut self) -> bool {
        self.skip_blanks();
        self.rest().is_empty()
    }

    /// The error "expected … at character …".
    pub fn error(&self, expected: &str) -> Error {
        Error::Syntax {
            spec: abbreviated(self.spec),
            expected: expected.to_owned(),
            at: self.spec[..self.at].chars().count() + 1,
        }
    }

    /// A word of letters, digits, `-` and `_` that starts with a letter.
    pub fn word(&mut self) -> Option<&'a str> {
        self.skip_blanks();
        let rest = self.rest();
        if !rest.starts_with(|c: char| c.is_alphabetic()) {
            return None;
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_')).unwrap_or(rest.len());
        self.at += end;
        Some(&rest[..end])
    }

    /// A decimal number.
    pub fn number(&mut self) -> Option<f64> {
        self.skip_blanks();
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let mut end = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
        let digits = |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        end = digits(end);
        if bytes.get(end) == Some(&b'.') {
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
            let after = digits(end + 1 + sign);
            if after > end + 1 + sign {
                end = after;
            }
        }
        let number = rest[..end].parse().ok().filter(|x: &f64| x.is_finite())?;
        self.at += end;
        Some(number)
    }

    /// `name` or `name(parameter=value, …)`.
    pub fn member(&mut self) -> Result<(String, Vec<(String, Value)>)> {
        let name = self.word().ok_or_else(|| self.error("a name"))?.to_owned();
        Ok((name, self.arguments()?))
    }

    /// Refuses anything that is left.
    pub fn expect_end(&mut self) -> Result<()> {
        if self.is_done() { Ok(()) } else { Err(self.error("the end")) }
    }

    /// `(parameter=value, …)`, or nothing at all.
    pub fn arguments(&mut self) -> Result<Vec<(String, Value)>> {
        let mut values = Vec::new();
        if !self.take('(') || self.take(')') {
            return Ok(values);
        }
        loop {
            let name = self.word().ok_or_else(|| self.error("a parameter's name"))?.to_owned();
            self.expect('=')?;
            values.push((name, self.value()?));
            if self.take(')') {
                return Ok(values);
            }
            if !self.take(',') {
                return Err(self.error("',' or ')'"));
            }
        }
    }

    fn value(&mut self) -> Result<Value> {
        if self.take('[') {
            let mut items = Vec::new();
            loop {
                items.push(self.number().ok_or_else(|| self.error("a number"))?);
                if self.take(']') {
                    return Ok(Value::List(items));
                }
                self.expect(',')?;
            }
        }
        if let Some(number) = self.number() {
            return Ok(Value::Number(number));
        }
        match self.word() {
            Some(word) => Ok(Value::Word(word.to_owned())),
            None => Err(self.error("a number, a list [a,b,…] or a word")),
        }
    }
}
