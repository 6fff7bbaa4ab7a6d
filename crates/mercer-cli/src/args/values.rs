//! How the values of options are read; a refusal says what must hold.

use std::time::Duration;

use clap::ValueEnum;
use mercer::criterion::{Criterion, FoldRule};
use mercer::data::{Missing, Scale, TextAs, Thousands};
use mercer::kernel::SharedKernel;
use mercer::low_rank::Landmarks;
use mercer::range;
use mercer_io::Format;

/// A number, or the numbers of a range.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbers(pub Vec<f64>);

/// The kernels that one spec stands for: several if it has ranges.
#[derive(Debug, Clone)]
pub struct KernelArgument(pub Vec<SharedKernel>);

/// How an exact problem is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SolverArgument {
    /// By what suits its size and what is asked for
    Suitable,
    /// By conjugate gradients on all rows, without the kernel matrix
    ConjugateGradients,
}

/// Criteria separated by commas.
#[derive(Debug, Clone)]
pub struct CriteriaArgument(pub Vec<Criterion>);

pub fn exponents(text: &str) -> Result<Numbers, String> {
    numbers(range::stepped("exponent", text), (1e-3, 1000.0)).ok_or_else(|| {
        "it must be a number above 0 (from 0.001 to 1000), or a range low..high:step such as 0.1..2.9:0.1".into()
    })
}

pub fn exponent(text: &str) -> Result<f64, String> {
    number(text, "a number above 0 (from 0.001 to 1000)", |x| (1e-3..=1000.0).contains(&x))
}

pub fn lambdas(text: &str) -> Result<Numbers, String> {
    numbers(range::log_spaced("lambda", text), (1e-290, 1e290)).ok_or_else(|| {
        "it must be a number above 0 (from 1e-290 to 1e290), or a range low..high:points such as 1e-7..1e3:25".into()
    })
}

pub fn lambda(text: &str) -> Result<f64, String> {
    number(text, "a number above 0 (from 1e-290 to 1e290)", |x| (1e-290..=1e290).contains(&x))
}

fn numbers(read: mercer::Result<Vec<f64>>, (low, high): (f64, f64)) -> Option<Numbers> {
    read.ok().filter(|values| values.iter().all(|x| (low..=high).contains(x))).map(Numbers)
}

pub fn kernels(spec: &str) -> Result<KernelArgument, mercer::Error> {
    range::kernels(spec).map(KernelArgument)
}

pub fn metric(text: &str) -> Result<mercer::metric::Rule, mercer::Error> {
    mercer::metric::Rule::parse(text)
}

pub fn criterion(spec: &str) -> Result<Criterion, mercer::Error> {
    Criterion::parse(spec)
}

/// `loo,gcv,kfold(folds=5,repeats=2)`: commas inside brackets belong to their criterion.
pub fn criteria(text: &str) -> Result<CriteriaArgument, String> {
    let mut depth = 0;
    let mut specs = vec![String::new()];
    for c in text.chars() {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if c == ',' && depth == 0 {
            specs.push(String::new());
        } else if let Some(spec) = specs.last_mut() {
            spec.push(c);
        }
    }
    let parsed = specs.iter().map(|spec| Criterion::parse(spec)).collect::<Result<Vec<_>, _>>();
    let parsed = parsed.map_err(|error| error.to_string())?;
    match parsed.iter().find(|criterion| criterion.needs_unlabelled()) {
        Some(other) => Err(format!("{} needs rows without target, which only `mercer fit` takes", other.spec())),
        None => Ok(CriteriaArgument(parsed)),
    }
}

/// `kfold:5`, `forward:5`, or just `5`.
pub fn fold_rule(text: &str) -> Result<FoldRule, String> {
    let is_count = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let spec = if is_count { format!("kfold:{text}") } else { text.to_owned() };
    match Criterion::parse(&spec) {
        Ok(Criterion::KFold(rule)) => Ok(rule),
        Ok(_) => Err("it must be folds such as kfold:5, kfold(folds=10,repeats=3) or forward(folds=5,gap=0)".into()),
        Err(error) => Err(error.to_string()),
    }
}

/// The folds of `compare`: a number, or a rule.
pub fn compared_folds(text: &str) -> Result<FoldRule, String> {
    let is_count = text.parse::<f64>().is_ok();
    if is_count { fold_count(text).map(FoldRule::random) } else { fold_rule(text) }
}

/// `90`, `90s`, `2m`, `1.5m` or `1h`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1.0),
        Some((at, 'm')) => (&text[..at], 60.0),
        Some((at, 'h')) => (&text[..at], 3600.0),
        _ => (text, 1.0),
    };
    let seconds = digits.parse::<f64>().map_or(f64::NAN, |x| x * unit);
    match (0.01..=1e7).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err("it must be a time such as 90s, 2m or 1.5m".into()),
    }
}

pub fn number(text: &str, must: &str, holds: impl Fn(f64) -> bool) -> Result<f64, String> {
    text.parse().ok().filter(|x| holds(*x)).ok_or_else(|| format!("it must be {must}"))
}

pub fn level(text: &str) -> Result<f64, String> {
    number(text, "a share above 0 and below 1, such as 0.9", |x| x > 0.0 && x < 1.0)
}

pub fn noise(text: &str) -> Result<f64, String> {
    number(text, "a number of at least 0", |x| x >= 0.0 && x.is_finite())
}

pub fn positive(text: &str) -> Result<f64, String> {
    number(text, "a number above 0", |x| x > 0.0 && x.is_finite())
}

fn whole(text: &str, low: usize, high: usize, shown: &str) -> Result<usize, String> {
    let refused = || format!("it must be a whole number from {shown}");
    text.parse().ok().filter(|n| (low..=high).contains(n)).ok_or_else(refused)
}

pub fn thread_count(text: &str) -> Result<usize, String> {
    whole(text, 1, 1024, "1 to 1024")
}

/// One λ, or a parameter that takes its place.
pub fn parameter(text: &str) -> Result<f64, String> {
    number(text, "a number above 0 (from 1e-290 to 1e290)", |x| (1e-290..=1e290).contains(&x))
}

pub fn algorithm(spec: &str) -> Result<mercer_lab::equivalence::Algorithm, mercer::Error> {
    mercer_lab::equivalence::Algorithm::parse(spec)
}

pub fn part_count(text: &str) -> Result<usize, String> {
    whole(text, 2, 1000, "2 to 1000")
}

pub fn sample_count(text: &str) -> Result<usize, String> {
    whole(text, 2, 10_000, "2 to 10,000")
}

pub fn row_count(text: &str) -> Result<usize, String> {
    whole(text, 1, 100_000_000, "1 to 100,000,000")
}

pub fn warm_up_count(text: &str) -> Result<usize, String> {
    whole(text, 2, 1_000_000, "2 to 1,000,000")
}

pub fn fold_count(text: &str) -> Result<usize, String> {
    whole(text, 2, 100_000, "2 to 100,000")
}

pub fn repeat_count(text: &str) -> Result<usize, String> {
    whole(text, 1, 1000, "1 to 1000")
}

pub fn separator(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && *byte != b'"' => Ok(*byte),
        _ => Err("it must be one character that is no letter, digit or quote, or \"tab\"".into()),
    }
}

pub fn comment(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] if byte.is_ascii_punctuation() && *byte != b'"' => Ok(*byte),
        _ => Err("it must be one character that is no letter, digit or quote, such as #".into()),
    }
}

pub fn thousands(text: &str) -> Result<Thousands, String> {
    let mut characters = text.chars();
    match (text, characters.next(), characters.next()) {
        ("none", ..) => Ok(Thousands::None),
        ("comma", ..) => Ok(Thousands::Mark(',')),
        ("point", ..) => Ok(Thousands::Mark('.')),
        ("blank", ..) => Ok(Thousands::Mark(' ')),
        ("apostrophe", ..) => Ok(Thousands::Mark('\'')),
        (_, Some(mark), None) if !mark.is_alphanumeric() && !"\"+-".contains(mark) => Ok(Thousands::Mark(mark)),
        _ => {
            Err("it must be comma, point, blank, apostrophe, none, or one character that is no letter or digit".into())
        }
    }
}

pub fn file_format(text: &str) -> Result<Format, String> {
    match text {
        "csv" | "tsv" => Ok(Format::Csv),
        "parquet" => Ok(Format::Parquet),
        "arrow" => Ok(Format::Arrow),
        "libsvm" => Ok(Format::Libsvm),
        _ => Err("known formats: csv, parquet, arrow, libsvm".into()),
    }
}

/// `2G`, `500M`, `1.5GiB` or plain bytes.
pub fn byte_count(text: &str) -> Result<u64, String> {
    let trimmed = text.trim_end_matches(['B', 'b']).trim_end_matches('i');
    let (digits, unit) = match trimmed.chars().last() {
        Some(c) if c.is_ascii_alphabetic() => (&trimmed[..trimmed.len() - 1], c.to_ascii_uppercase()),
        _ => (trimmed, ' '),
    };
    let factor = match unit {
        ' ' => 1.0,
        'K' => 1024.0,
        'M' => 1024.0 * 1024.0,
        'G' => 1024.0 * 1024.0 * 1024.0,
        'T' => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => f64::NAN,
    };
    let bytes = digits.trim().parse::<f64>().map_or(f64::NAN, |x| x * factor);
    if bytes >= 1.0 { Ok(bytes as u64) } else { Err("it must be a number of bytes such as 2G or 500M".into()) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Decimal {
    Point,
    Comma,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScaleArgument {
    /// Mean 0, standard deviation 1
    Standard,
    /// From 0 to 1 on the training rows
    Unit,
    /// As they are
    None,
    /// As standard, and skewed columns once more as logarithms
    Log,
}

impl From<ScaleArgument> for Scale {
    fn from(argument: ScaleArgument) -> Self {
        match argument {
            ScaleArgument::Standard => Scale::Standard,
            ScaleArgument::Unit => Scale::Unit,
            ScaleArgument::None => Scale::None,
            ScaleArgument::Log => Scale::Log,
        }
    }
}

/// How landmarks are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LandmarksArgument {
    /// Centres of clusters of rows
    Kmeans,
    /// Rows, drawn by what earlier ones leave of them (randomly pivoted Cholesky)
    Pivots,
    /// Rows, all of them alike
    Uniform,
}

impl From<LandmarksArgument> for Landmarks {
    fn from(argument: LandmarksArgument) -> Self {
        match argument {
            LandmarksArgument::Kmeans => Landmarks::Centres,
            LandmarksArgument::Pivots => Landmarks::Pivots,
            LandmarksArgument::Uniform => Landmarks::Uniform,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MissingArgument {
    /// Refuse, naming row and column
    Error,
    /// Leave the row out
    Drop,
    /// Put the column's mean in their place
    Mean,
}

impl From<MissingArgument> for Missing {
    fn from(argument: MissingArgument) -> Self {
        match argument {
            MissingArgument::Error => Missing::Error,
            MissingArgument::Drop => Missing::Drop,
            MissingArgument::Mean => Missing::Mean,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TextArgument {
    /// One feature of 0 and 1 per category
    OneHot,
    /// Compared by the kernel `equality`
    Equality,
}

impl From<TextArgument> for TextAs {
    fn from(argument: TextArgument) -> Self {
        match argument {
            TextArgument::OneHot => TextAs::OneHot,
            TextArgument::Equality => TextAs::Equality,
        }
    }
}

/// How a printed table looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Style {
    /// Aligned columns, with a picture
    Text,
    /// For a web page
    Markdown,
    /// For a paper
    Latex,
    /// For a spreadsheet
    Csv,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_people_write_them() {
        assert_eq!(byte_count("2G"), Ok(2 << 30));
        assert_eq!(byte_count("500MiB"), Ok(500 << 20));
        assert_eq!(byte_count("1000"), Ok(1000));
        assert!(byte_count("many").is_err() && byte_count("-1G").is_err());
    }

    #[test]
    fn times_and_folds_are_read_as_people_write_them() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1h"), Ok(Duration::from_secs(3600)));
        for wrong in ["", "s", "-1s", "0", "nan", "inf", "1d", "two minutes", "…"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert_eq!(fold_rule("5"), fold_rule("kfold:5"));
        assert!(fold_rule("loo").is_err() && fold_rule("").is_err() && fold_rule("1").is_err());
    }

    #[test]
    fn criteria_keep_the_commas_in_their_brackets() {
        let found = criteria("loo, kfold(folds=5,repeats=2),gcv").unwrap();
        assert_eq!(found.0.len(), 3);
        assert!(criteria("loo,,gcv").is_err() && criteria("tri").is_err() && criteria("loo,gvc").is_err());
    }
}
