//! A table with nothing wrong with it, and the same with something wrong.

/// Ten rows of two numbers, a text, a weight and a target.
pub fn good() -> String {
    let mut text = String::from("a,b,c,w,y\n");
    for i in 0..10 {
        let x = f64::from(i);
        let c = ["p", "q", "r"][i as usize % 3];
        text.push_str(&format!("{},{},{c},{},{}\n", (0.7 * x).sin(), (1.9 * x).cos(), 1 + i % 3, (0.5 * x).sin()));
    }
    text
}

/// The good table with this in a column of the rows that are meant; rows count from 1.
fn with(rows: impl Fn(usize) -> bool, column: usize, cell: &str) -> String {
    let table = good();
    let lines = table.lines().enumerate().map(|(index, line)| {
        let mut cells: Vec<&str> = line.split(',').collect();
        if rows(index) {
            cells[column] = cell;
        }
        cells.join(",")
    });
    lines.collect::<Vec<String>>().join("\n") + "\n"
}

/// The good table with one cell changed.
pub fn with_cell(row: usize, column: usize, cell: &str) -> String {
    with(|index| index == row, column, cell)
}

/// The good table with a whole column changed.
pub fn with_column(column: usize, cell: &str) -> String {
    with(|index| index > 0, column, cell)
}

const FIT: &[&str] = &["fit", "t.csv", "--target", "y", "--drop", "w"];

pub fn fit_with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [FIT, more].concat()
}

/// The same table with classes in the place of its last column: what is no number stays what it is.
pub fn with_classes(table: &str) -> String {
    let line = |(index, line): (usize, &str)| {
        let (rest, cell) = line.rsplit_once(',').expect("several columns");
        let class = match cell.parse::<f64>() {
            Ok(y) if y.is_finite() && index > 0 => ["no", "yes"][usize::from(y > 0.3)],
            _ => cell,
        };
        format!("{rest},{class}\n")
    };
    table.lines().enumerate().map(line).collect()
}
