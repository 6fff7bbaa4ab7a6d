//! Points (or commas) that may separate thousands: `1.200` beside `950`.

/// The decimals of a column, seen cell by cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Decimals {
    /// A cell that cannot be grouped: 0.5, 1.25, 1200.
    is_settled: bool,
    /// The first cell like 1.250, and the first that ends in 0.
    grouped: Option<(usize, String)>,
    ending: Option<(usize, String)>,
    /// The first whole number of three digits.
    whole: Option<String>,
}

/// What the decimals of a column may mean.
pub(crate) enum Meaning {
    /// Whoever writes 1.200 with its zeros writes 950 as 950.000: row (from 0) and problem.
    Doubt(usize, String),
    /// The same without such zeros.
    Note(String),
}

impl Decimals {
    /// Looks at a cell that is a number.
    pub(crate) fn see(&mut self, cell: &[u8], mark: u8, row: usize) {
        if self.is_settled {
            return;
        }
        let digits = cell.trim_ascii();
        let digits = digits.strip_prefix(b"-").or(digits.strip_prefix(b"+")).unwrap_or(digits);
        if digits.is_empty() {
            return;
        }
        let all_digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
        let text = || String::from_utf8_lossy(cell.trim_ascii()).into_owned();
        match digits.iter().position(|byte| *byte == mark) {
            None if digits.len() > 3 && all_digits(digits) => self.is_settled = true,
            None if all_digits(digits) => {
                if digits.len() == 3 && self.whole.is_none() {
                    self.whole = Some(text());
                }
            }
            // Missing cells say nothing.
            None => self.is_settled = digits[0].is_ascii_digit(),
            Some(place) => {
                let (before, after) = (&digits[..place], &digits[place + 1..]);
                let is_grouped = (1..=3).contains(&before.len())
                    && after.len() == 3
                    && before[0] != b'0'
                    && all_digits(before)
                    && all_digits(after);
                if !is_grouped {
                    self.is_settled = digits.len() > 1;
                    return;
                }
                if self.grouped.is_none() {
                    self.grouped = Some((row, text()));
                }
                if self.ending.is_none() && after.ends_with(b"0") {
                    self.ending = Some((row, text()));
                }
            }
        }
    }

    /// What they may mean, if that is not clear.
    pub(crate) fn meaning(&self, name: &str) -> Option<Meaning> {
        let whole = self.whole.as_ref().filter(|_| !self.is_settled)?;
        let both = |text: &str| {
            let digits: String = text.chars().filter(|c| c.is_ascii_digit() || *c == '-').collect();
            let pointed = text.replace(',', ".");
            format!("{digits} or {}", pointed.trim_end_matches('0').trim_end_matches('.'))
        };
        if let Some((row, text)) = &self.ending {
            return Some(Meaning::Doubt(*row, format!("{text:?} beside {whole:?} may be {}", both(text))));
        }
        let (row, text) = self.grouped.as_ref()?;
        let row = row + 1;
        let mark = if text.contains(',') { "comma" } else { "point" };
        Some(Meaning::Note(format!(
            "column {name:?}: {text:?} (row {row}) beside {whole:?} is read as a number with decimals; --thousands if the {mark} \
             separates thousands"
        )))
    }
}
