//! Digits, grouped or not.

use super::{Marks, Thousands};

/// Whether digits are set in groups of three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Groups {
    /// No mark stands between digits.
    None,
    /// They are, without doubt.
    Certain,
    /// One mark and three digits: 3,000 is three thousand here and three there.
    Ambiguous,
}

/// The number without sign that a text begins with, and the rest of the text.
pub(super) fn scan(text: &str, marks: Marks) -> Option<(f64, &str, Groups)> {
    let decimal = if marks.decimal_comma { ',' } else { '.' };
    let mut digits = String::new();
    let mut rest = take_digits(text, &mut digits);
    let (mut mark, mut groups) = (None, 0);
    if (1..=3).contains(&digits.len()) && !digits.starts_with('0') {
        while let Some((found, after)) =
            group(rest, decimal, marks.thousands).filter(|(c, _)| mark.is_none_or(|m| m == *c))
        {
            rest = take_digits(after, &mut digits);
            (mark, groups) = (Some(found), groups + 1);
        }
    }
    let mut has_decimals = false;
    if let Some(after) = rest.strip_prefix(decimal) {
        let before = digits.len();
        digits.push('.');
        rest = take_digits(after, &mut digits);
        has_decimals = digits.len() > before + 1;
        if before == 0 && !has_decimals {
            return None;
        }
    }
    if digits.is_empty() {
        return None;
    }
    rest = exponent(rest, &mut digits);
    let is_ambiguous = groups == 1 && !has_decimals && mark == Some(',') && marks.thousands == Thousands::Unknown;
    let groups = match groups {
        0 => Groups::None,
        _ if is_ambiguous => Groups::Ambiguous,
        _ => Groups::Certain,
    };
    Some((digits.parse().ok()?, rest, groups))
}

fn take_digits<'a>(text: &'a str, into: &mut String) -> &'a str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    into.push_str(&text[..end]);
    &text[end..]
}

/// A mark before exactly three digits, and those digits with what follows them.
fn group(text: &str, decimal: char, thousands: Thousands) -> Option<(char, &str)> {
    let mark = text.chars().next()?;
    let is_mark = match thousands {
        Thousands::None => false,
        // A blank is typed in many ways.
        Thousands::Mark(' ') => mark.is_whitespace(),
        Thousands::Mark(known) => mark == known,
        Thousands::Unknown => mark != decimal && (".,'’".contains(mark) || (mark.is_whitespace() && mark != '\t')),
    };
    let after = text.strip_prefix(mark).filter(|_| is_mark)?;
    let count = after.chars().take_while(char::is_ascii_digit).count();
    (count == 3).then_some((mark, after))
}

/// `e5`, unless it is the beginning of a word.
fn exponent<'a>(text: &'a str, into: &mut String) -> &'a str {
    let Some(after) = text.strip_prefix(['e', 'E']) else { return text };
    let (sign, after) = match after.strip_prefix('-') {
        Some(after) => ("-", after),
        None => ("", after.strip_prefix('+').unwrap_or(after)),
    };
    let mut power = String::new();
    let rest = take_digits(after, &mut power);
    if power.is_empty() {
        return text;
    }
    into.push('e');
    into.push_str(sign);
    into.push_str(&power);
    rest
}
