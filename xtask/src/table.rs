//! Generated tables. Their bytes are the same on every machine: the draws are integers, and cells are made of them by sums,
//! products and quotients alone.
//!
//! A table is named by what it holds, such as `reg-200-w-g.csv`: kind, rows and modifiers.
//!
//! | kind | columns |
//! |---|---|
//! | `reg` | x1 … x4, and y: a smooth function of them with noise |
//! | `two` | the same with a second target z |
//! | `cls`, `three` | x1 … x4, and kind: two or three classes as text |
//! | `bin` | the same with classes −1 and 1 |
//! | `wide` | many columns (modifier `p100`: 100), and y: a linear function of ten of them with noise |
//! | `pre` | k1 … kn: a kernel matrix, and y |
//! | `gamma` | a matrix of three rows for `--gamma`, four columns |
//!
//! | modifier | what it does |
//! |---|---|
//! | `w` | a column w of weights, some of them 0 |
//! | `g` | a column g of groups of about five rows |
//! | `t` | columns of text: colour (3 categories) and size (2) |
//! | `gaps` | empty cells in x2 and x3 |
//! | `ties` | features rounded to quarters: equal rows |
//! | `new` | other draws: rows that no model was fitted to |
//! | `skew` | x1 is above 0 and skewed |
//! | `p100` | 100 columns, of the kind `wide` |

use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::{Context, Result, bail};

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Draws(u64);

impl Draws {
    /// Draws that follow from a text (FNV-1a).
    fn of(text: &str) -> Draws {
        Draws(
            text.bytes()
                .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)),
        )
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to below 1.
    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Nearly normal: the sum of twelve uniform numbers, less 6.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// `cargo xtask table NAME`: prints a table.
pub fn run(line: Vec<String>) -> Result<bool> {
    match &line[..] {
        [name] if !name.starts_with('-') => std::io::stdout().write_all(&make(name, false)?)?,
        _ => println!(
            "Print a generated table\n\nUsage: cargo xtask table NAME, such as reg-200-w.csv; see xtask/src/table.rs"
        ),
    }
    Ok(true)
}

pub const KINDS: [&str; 8] = ["reg", "two", "cls", "three", "bin", "wide", "pre", "gamma"];

/// A cell: text, or a number.
enum Cell {
    Text(&'static str),
    Number(f64),
    Empty,
}

struct Columns {
    names: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

/// The table of a name, in the format of its ending: `.csv`, `.tsv`, `.libsvm`, `.comma.csv` (decimal commas) or `.bare.csv`
/// (without header). With `nudged` every number that is no multiple of a quarter is moved by about one unit in the last place, which is how
/// much the figures of a case depend on rounding.
pub fn make(file: &str, nudged: bool) -> Result<Vec<u8>> {
    let (name, format) = file.split_once('.').with_context(|| format!("{file}: no ending"))?;
    let mut columns = columns(name).with_context(|| format!("the table {file}"))?;
    if nudged {
        let mut draws = Draws::of(file);
        for cell in columns.rows.iter_mut().flatten() {
            if let Cell::Number(x) = cell
                && (4.0 * *x).fract() != 0.0
            {
                *x *= 1.0 + f64::EPSILON * [-1.0, 0.0, 1.0][(draws.next() % 3) as usize];
            }
        }
    }
    let bytes = match format {
        "csv" => separated(&columns, ",", "."),
        "tsv" => separated(&columns, "\t", "."),
        "comma.csv" => separated(&columns, ";", ","),
        "bare.csv" => {
            separated(&columns, ",", ".").split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap_or_default()
        }
        "libsvm" => libsvm(&columns),
        other => bail!("unknown ending .{other}"),
    };
    Ok(bytes.into_bytes())
}

fn columns(name: &str) -> Result<Columns> {
    let mut parts = name.split('-');
    let kind = parts.next().unwrap_or_default();
    let rows: usize = parts.next().context("no number of rows")?.parse()?;
    let modifiers: Vec<&str> = parts.collect();
    let has = |modifier: &str| modifiers.contains(&modifier);
    let width = modifiers.iter().find_map(|m| m.strip_prefix('p')?.parse().ok()).unwrap_or(40);
    let known = ["w", "g", "t", "gaps", "ties", "new", "skew"];
    if let Some(other) = modifiers.iter().find(|m| !known.contains(m) && !m.starts_with('p')) {
        bail!("unknown modifier {other}");
    }
    // Rows of a kind follow each other: a table of 199 rows is the beginning of that of 200.
    let mut draws = Draws::of(&format!("{kind}{}", if has("new") { " new" } else { "" }));
    let mut made = Columns { names: Vec::new(), rows: Vec::new() };
    let features = match kind {
        "wide" => width,
        "pre" => rows,
        _ => 4,
    };
    let letter = if kind == "pre" { "k" } else { "x" };
    made.names.extend((1..=features).map(|j| format!("{letter}{j}")));
    match kind {
        "reg" | "wide" | "pre" => made.names.push("y".into()),
        "two" => made.names.extend(["y".into(), "z".into()]),
        "cls" | "three" | "bin" => made.names.push("kind".into()),
        "gamma" => {}
        other => bail!("unknown kind {other}"),
    }
    let places: Vec<f64> = (0..rows).map(|_| if kind == "pre" { draws.between(-2.0, 2.0) } else { 0.0 }).collect();
    for row in 0..rows {
        let mut own = Draws(draws.next());
        let mut x: Vec<f64> = match kind {
            "wide" => (0..features).map(|_| own.normal()).collect(),
            // 1/(1 + (s − t)²), positive definite
            "pre" => places.iter().map(|t| 1.0 / (1.0 + (places[row] - t) * (places[row] - t))).collect(),
            _ => (0..features).map(|_| own.between(-2.0, 2.0)).collect(),
        };
        if has("ties") {
            x.iter_mut().for_each(|x| *x = (*x * 4.0).round() / 4.0);
        }
        let mut shown: Vec<Cell> = x.iter().map(|x| Cell::Number(*x)).collect();
        if has("skew") {
            let u = 2.0 / (2.03 + x[0]);
            shown[0] = Cell::Number(u * u);
        }
        let (noise, tie) = (own.normal(), own.normal());
        let colour = (own.next() % 3) as usize;
        let size = (own.next() % 2) as usize;
        if kind != "gamma" {
            let mut f = match kind {
                "wide" => (0..10).map(|j| x[j * features / 10] * (3.0 - 0.5 * j as f64)).sum(),
                "pre" => places[row] * (1.0 - 0.2 * places[row] * places[row]),
                _ => x[0] * x[1] + 2.0 / (1.0 + x[2] * x[2]) + 0.5 * x[3] + 0.3 * x[0].abs(),
            };
            if has("t") {
                f += [0.0, 0.8, -0.5][colour] + [0.0, 0.4][size] * x[3];
            }
            match kind {
                "cls" => shown.push(Cell::Text(if f + 0.5 * noise > 1.0 { "yes" } else { "no" })),
                "bin" => shown.push(Cell::Number(if f + 0.5 * noise > 1.0 { 1.0 } else { -1.0 })),
                "three" => {
                    let v = f + 0.5 * noise;
                    shown.push(Cell::Text(if v > 1.9 {
                        "high"
                    } else if v > 0.5 {
                        "mid"
                    } else {
                        "low"
                    }));
                }
                "two" => {
                    shown.push(Cell::Number(f + 0.2 * noise));
                    shown.push(Cell::Number(x[1] - x[2] * x[3] + 0.3 * tie));
                }
                _ => shown.push(Cell::Number(f + 0.2 * noise)),
            }
        }
        if has("gaps") {
            let empty = own.next() % 23;
            if empty < 2 {
                shown[1 + empty as usize] = Cell::Empty;
            }
        }
        if has("t") {
            shown.push(Cell::Text(["red", "green", "blue"][colour]));
            shown.push(Cell::Text(["small", "large"][size]));
        }
        if has("w") {
            let w = [0.5, 1.0, 2.0, 1.0, 0.25, 3.0, 1.0, 0.0][(own.next() % 8) as usize];
            shown.push(Cell::Number(w));
        }
        if has("g") {
            shown.push(Cell::Number((own.next() % (rows as u64 / 5 + 2)) as f64));
        }
        made.rows.push(shown);
    }
    for (modifier, names) in [("t", &["colour", "size"][..]), ("w", &["w"]), ("g", &["g"])] {
        if has(modifier) {
            made.names.extend(names.iter().map(|name| (*name).to_owned()));
        }
    }
    Ok(made)
}

fn separated(columns: &Columns, separator: &str, decimal: &str) -> String {
    let mut text = columns.names.join(separator);
    for row in &columns.rows {
        for (j, cell) in row.iter().enumerate() {
            text.push_str(if j == 0 { "\n" } else { separator });
            match cell {
                Cell::Text(word) => text.push_str(word),
                Cell::Number(x) => text.push_str(&x.to_string().replace('.', decimal)),
                Cell::Empty => {}
            }
        }
    }
    text.push('\n');
    text
}

/// The last column is the label; zeros are left out.
fn libsvm(columns: &Columns) -> String {
    let mut text = String::new();
    for row in &columns.rows {
        let mut numbers = row.iter().map(|cell| if let Cell::Number(x) = cell { *x } else { 0.0 }).collect::<Vec<_>>();
        let _ = write!(text, "{}", numbers.pop().unwrap_or(0.0));
        for (j, x) in numbers.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            let _ = write!(text, " {}:{x}", j + 1);
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::make;

    #[test]
    fn tables_have_the_columns_of_their_names() {
        let lines = |file: &str| String::from_utf8(make(file, false).unwrap()).unwrap();
        let text = lines("reg-5-t-w-g.csv");
        assert!(text.starts_with("x1,x2,x3,x4,y,colour,size,w,g\n") && text.lines().count() == 6, "{text}");
        // A longer table begins with the rows of a shorter one.
        assert!(lines("reg-6.csv").starts_with(&lines("reg-5.csv")));
        assert!(make("reg-5-x.csv", false).is_err() && make("what-5.csv", false).is_err());
        assert_ne!(lines("reg-5.csv").as_bytes(), make("reg-5.csv", true).unwrap());
    }
}
