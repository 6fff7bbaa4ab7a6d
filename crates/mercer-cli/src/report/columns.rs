//! How every column of a table was read.

use mercer::data::{ColumnRead, Encoder, Kind, LeftOut, Reading};

use super::{Page, integer};

/// Names on a line, at most, unless all are asked for.
const SHOWN: usize = 8;

/// A few lines: numbers together, everything else by name.
pub fn lines(page: &mut Page, encoder: &Encoder, all: bool) {
    let mut label = "columns";
    for line in block(&encoder.columns_read(), if all { usize::MAX } else { SHOWN }) {
        page.line(std::mem::take(&mut label), &line);
    }
}

fn block(columns: &[ColumnRead], most: usize) -> Vec<String> {
    let of = |wanted: &dyn Fn(&ColumnRead) -> bool, shown: &dyn Fn(&ColumnRead) -> String| {
        listed(&columns.iter().filter(|column| wanted(column)).map(shown).collect::<Vec<String>>(), most)
    };
    let name = |column: &ColumnRead| column.name.clone();
    let is_plain = |column: &ColumnRead| column.kind == Kind::Number && column.reading == Reading::Number;
    let has_unit = |column: &ColumnRead| column.kind == Kind::Number && matches!(column.reading, Reading::Unit(_));
    let is_read_as =
        |reading: Reading| move |column: &ColumnRead| column.kind == Kind::Number && column.reading == reading;
    let categories = |column: &ColumnRead| match column.kind {
        Kind::Categories(count) => format!("{} ({})", column.name, integer(count)),
        _ => name(column),
    };
    let left_out = |column: &ColumnRead| match column.kind {
        Kind::LeftOut(LeftOut::Identifier { texts, rows }) => {
            format!("{} (like an identifier: {} texts in {} rows)", column.name, integer(texts), integer(rows))
        }
        Kind::LeftOut(LeftOut::RowNames) if column.name.is_empty() => "row names (the first column)".into(),
        _ => format!("{} (row names)", column.name),
    };
    let missing = |column: &ColumnRead| format!("{} {}", column.name, integer(column.missing));
    let groups = [
        ("numbers: ", of(&is_plain, &name)),
        ("in units: ", of(&has_unit, &|column| format!("{} {}", column.name, column.reading.describe()))),
        ("dates, in days since 1970-01-01: ", of(&is_read_as(Reading::Date), &name)),
        ("date-times, in days since 1970-01-01 UTC: ", of(&is_read_as(Reading::Instant), &name)),
        ("times of day, in hours: ", of(&is_read_as(Reading::Time), &name)),
        ("categories: ", of(&|column| matches!(column.kind, Kind::Categories(_)), &categories)),
        ("constant, ignored: ", of(&|column| column.kind == Kind::Constant, &name)),
        ("left out: ", of(&|column| matches!(column.kind, Kind::LeftOut(_)), &left_out)),
        ("missing cells: ", of(&|column| column.missing > 0, &missing)),
        ("counting the rows (leave out what is only an index): ", of(&|column| column.counts_rows, &name)),
    ];
    groups.into_iter().filter_map(|(what, names)| Some(format!("{what}{}", names?))).collect()
}

fn listed(names: &[String], most: usize) -> Option<String> {
    let shown = names.iter().take(most).cloned().collect::<Vec<String>>().join(", ");
    let more = names.len().saturating_sub(most);
    (!names.is_empty()).then(|| if more > 0 { format!("{shown}, … ({more} more)") } else { shown })
}

/// What the numbers of a target stand for, behind its name.
pub fn unit(encoder: &Encoder, target: &str) -> String {
    match encoder.facts.reading(target) {
        Reading::Number => String::new(),
        reading => format!(" ({})", reading.describe()),
    }
}
