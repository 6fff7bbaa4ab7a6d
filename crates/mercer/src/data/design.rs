//! The training data, ready for a kernel.

use super::encoder::{Encoder, Encoding, Feature, Missing, Scale, TextAs, not_a_number};
use super::facts::{Fact, Facts, LeftOut};
use super::frame::{Column, Frame};
use super::odd::{OddCell, odd_cells};
use crate::base::error::{Error, Result};
use crate::data::Points;
use crate::linalg::{Matrix, exponent_of};

/// Which column is what.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Roles {
    /// The columns to predict.
    pub targets: Vec<String>,
    /// The columns to predict from; `None` means all that have no other role.
    pub features: Option<Vec<String>>,
    /// Columns that are left out when `features` is `None`.
    pub drop: Vec<String>,
    /// The column of row weights.
    pub weight: Option<String>,
    /// The column whose equal entries belong together: whatever is held out holds out whole groups.
    pub group: Option<String>,
    /// Whether groups only say which rows folds hold out together; everything else speaks of single rows.
    pub groups_are_folds: bool,
    /// Columns of numbers that are names of categories.
    pub categorical: Vec<String>,
}

/// Training rows: points, targets and weights, and the encoder that made them.
#[derive(Debug, Clone)]
pub struct Design {
    /// How the table was read.
    pub encoder: Encoder,
    /// The features of the rows in use.
    pub points: Points,
    /// Their targets, n × number of targets.
    pub y: Matrix,
    /// The targets' names.
    pub targets: Vec<String>,
    /// Their weights, all positive, in units of `weight_unit`; `None` when all are equal.
    pub weights: Option<Vec<f64>>,
    /// What weights are multiplied by to be those of the table; without weights, the one that all rows have.
    pub(crate) weight_unit: f64,
    /// For each row the number of its group, if rows that belong together were named.
    pub groups: Option<Vec<u32>>,
    /// Whether groups only say which rows folds hold out together.
    pub groups_are_folds: bool,
    /// The features before they became monomials, if they did.
    pub(crate) unexpanded: Option<Points>,
    /// The place of each row in the table, from 0.
    pub(crate) table_rows: Vec<usize>,
    /// Cells of features that are out of all proportion.
    pub(crate) odd_cells: Vec<OddCell>,
    /// Rows that were left out because a cell is missing.
    pub dropped_missing: usize,
    /// Rows that were left out because their weight is 0.
    pub dropped_weightless: usize,
    /// The column of dates that falls from row to row, if there is one (see [`Frame::runs_backwards`]).
    pub runs_backwards: Option<String>,
}

impl Design {
    /// Reads a table.
    pub fn new(frame: &Frame, roles: &Roles, encoding: Encoding) -> Result<Self> {
        let names = feature_names(frame, roles)?;
        let learn = |rows: &[usize], weights: Option<&[f64]>| {
            Encoder::learn(frame, (&names, roles.features.is_some()), &roles.categorical, rows, weights, encoding)
        };
        let mut design = Design::read(frame, roles, &names, encoding.missing, learn)?;
        design.odd_cells = odd_cells(frame, &design.encoder.features, &design.table_rows, design.weights.as_deref());
        let row_names = frame.names().iter().filter(|name| roles.features.is_none() && names_rows(frame, name));
        let row_names = row_names.map(|name| (name.clone(), LeftOut::RowNames));
        design.encoder.facts.left_out.splice(0..0, row_names);
        for target in &roles.targets {
            let fact = Fact { reading: frame.reading(target), ..Fact::default() };
            design.encoder.facts.add(target, fact);
        }
        Ok(design)
    }

    /// Reads a table as another one was read.
    pub(crate) fn again(frame: &Frame, roles: &Roles, encoder: &Encoder) -> Result<Self> {
        let names: Vec<String> = encoder.columns().into_iter().map(str::to_owned).collect();
        Design::read(frame, roles, &names, encoder.missing, |_, _| Ok(encoder.clone()))
    }

    fn read(
        frame: &Frame,
        roles: &Roles,
        names: &[String],
        missing: Missing,
        encoder: impl FnOnce(&[usize], Option<&[f64]>) -> Result<Encoder>,
    ) -> Result<Self> {
        let targets: Vec<&[f64]> =
            roles.targets.iter().map(|name| plain_numbers(frame, name)).collect::<Result<_>>()?;
        let weight = roles.weight.as_ref().map(|name| plain_numbers(frame, name)).transpose()?;
        if targets.is_empty() {
            return Err(Error::Empty("there must be a target column".into()));
        }
        if frame.rows() == 0 {
            return Err(Error::Empty("the table has no rows; at least one is needed".into()));
        }

        let must_be_whole = roles.targets.iter().chain(&roles.weight);
        let (mut rows, dropped_missing) = complete_rows(frame, names, must_be_whole, missing)?;
        if rows.is_empty() {
            return Err(no_row_left(dropped_missing));
        }
        let mut dropped_weightless = 0;
        if let (Some(cells), Some(name)) = (weight, &roles.weight) {
            for &row in &rows {
                if !(cells[row] >= 0.0 && cells[row] <= 1e150) {
                    let problem = format!("{} is not a weight; weights are finite and at least 0", cells[row]);
                    return Err(Error::cell(row + 1, name, problem));
                }
            }
            let before = rows.len();
            rows.retain(|&row| cells[row] > 0.0);
            dropped_weightless = before - rows.len();
            if rows.is_empty() {
                return Err(Error::Column { column: name.clone(), problem: "gives every row the weight 0".into() });
            }
        }
        let (weights, mut weight_unit) = match (weight, &roles.weight) {
            (Some(cells), Some(name)) => {
                let (weights, unit) = usable_weights(name, cells, &rows)?;
                (Some(weights), unit)
            }
            _ => (None, 1.0),
        };
        // Equal weights are no weights: the faster methods then apply, with the same answer.
        let equal = weights.as_ref().map(|w| w[0]).filter(|first| weights.iter().flatten().all(|x| x == first));
        weight_unit *= equal.unwrap_or(1.0);
        let weights = weights.filter(|_| equal.is_none());

        for (name, cells) in roles.targets.iter().zip(&targets) {
            check_targets(name, cells, &rows)?;
        }
        let encoder = encoder(&rows, weights.as_deref())?;
        let points = encoder.encode_rows(frame, &rows, false)?;
        let y = Matrix::from_fn(rows.len(), targets.len(), |i, t| targets[t][rows[i]]);
        let groups = roles.group.as_ref().map(|name| group_codes(frame, name, &rows)).transpose()?;
        let targets = roles.targets.clone();
        Ok(Design {
            encoder,
            points,
            y,
            targets,
            weights,
            weight_unit,
            groups,
            groups_are_folds: roles.groups_are_folds,
            unexpanded: None,
            table_rows: rows,
            odd_cells: Vec::new(),
            dropped_missing,
            dropped_weightless,
            runs_backwards: frame.runs_backwards().map(str::to_owned),
        })
    }

    /// Reads plain numbers: `x` with one row per example, `y` with one column per target. The features are
    /// called `x1`, `x2`, … and the targets `y` (or `y1`, `y2`, …).
    pub fn from_matrix(x: &Matrix, y: &Matrix, weights: Option<&[f64]>, encoding: Encoding) -> Result<Self> {
        let (frame, roles) = Design::frame_of(x, y, weights)?;
        Design::new(&frame, &roles, encoding)
    }

    /// Rows that were encoded before, with one target and no weights.
    pub(crate) fn of_encoded(encoder: Encoder, points: Points, y: Vec<f64>, target: String) -> Self {
        Design {
            encoder,
            points,
            table_rows: (0..y.len()).collect(),
            y: Matrix::column_vector(y),
            targets: vec![target],
            weights: None,
            weight_unit: 1.0,
            groups: None,
            groups_are_folds: false,
            unexpanded: None,
            odd_cells: Vec::new(),
            dropped_missing: 0,
            dropped_weightless: 0,
            runs_backwards: None,
        }
    }

    /// Targets and weights of rows whose features are kept elsewhere, read as they are.
    pub(crate) fn of_plain(rows: usize, features: usize, y: &Matrix, weights: Option<&[f64]>) -> Result<Self> {
        if features == 0 {
            return Err(Error::Empty("there must be at least one feature".into()));
        }
        // One column stands for all, so that targets and weights pass the same gate as those of a table.
        let (frame, roles) = Design::frame_of(&Matrix::zeros(rows, 1), y, weights)?;
        if let Some(row) = weights.and_then(|weights| weights.iter().position(|w| *w == 0.0)) {
            return Err(Error::cell(row + 1, "weight", "sparse rows of weight 0 must be left out"));
        }
        let (missing, text_as) = (Missing::Error, TextAs::OneHot);
        let encoding = Encoding { scale: Scale::None, missing, text_as, nonnegative: false };
        let read = Design::new(&frame, &roles, encoding)?;
        let plain =
            |j: usize| Feature::Number { name: format!("x{}", j + 1), log: None, shift: 0.0, scale: 1.0, fill: 0.0 };
        let features = (0..features).map(plain).collect();
        let encoder = Encoder { features, facts: Facts::default(), ..read.encoder };
        Ok(Design { points: Points::new(&Matrix::zeros(rows, 0)), encoder, ..read })
    }

    /// Plain numbers as a table.
    pub fn frame_of(x: &Matrix, y: &Matrix, weights: Option<&[f64]>) -> Result<(Frame, Roles)> {
        let n = x.rows();
        if y.rows() != n {
            return Err(Error::shape("y", format!("one row per row of x ({n})"), y.rows()));
        }
        let mut frame = Frame::new(n);
        for j in 0..x.cols() {
            frame.push(format!("x{}", j + 1), Column::Number(x.col(j).to_vec()))?;
        }
        let features = frame.names().to_vec();
        let mut targets = Vec::new();
        for t in 0..y.cols() {
            let name = if y.cols() == 1 { "y".to_owned() } else { format!("y{}", t + 1) };
            frame.push(&name, Column::Number(y.col(t).to_vec()))?;
            targets.push(name);
        }
        let mut roles = Roles { targets, features: Some(features), ..Roles::default() };
        if let Some(weights) = weights {
            if weights.len() != n {
                return Err(Error::shape("weights", format!("one number per row of x ({n})"), weights.len()));
            }
            frame.push("weight", Column::Number(weights.to_vec()))?;
            roles.weight = Some("weight".into());
        }
        Ok((frame, roles))
    }

    /// The same rows with all monomials of their features up to a degree.
    pub(crate) fn expanded(self, degree: usize) -> Result<Self> {
        let names = self.encoder.feature_names();
        let all = crate::data::monomials::polynomial(&self.points.to_matrix(), degree, Some(&names))?;
        let encoder = Encoder { degree, ..self.encoder };
        Ok(Design { points: Points::new(&all.high), unexpanded: Some(self.points), encoder, ..self })
    }

    /// The same rows with a learned metric: their features times `projection` (features × new features).
    pub(crate) fn projected(&self, projection: &Matrix) -> Self {
        let x = super::project(&self.points.to_matrix(), projection);
        let codes = (0..self.points.code_columns()).map(|j| self.points.codes(j).to_vec()).collect();
        let encoder = Encoder { projection: Some(projection.clone()), ..self.encoder.clone() };
        Design { points: Points::with_codes(&x, codes), encoder, ..self.clone() }
    }

    /// These rows alone, read as before.
    pub(crate) fn subset(&self, rows: &[usize]) -> Self {
        Design {
            encoder: self.encoder.clone(),
            points: self.points.subset(rows),
            y: Matrix::from_fn(rows.len(), self.y.cols(), |i, t| self.y.get(rows[i], t)),
            targets: self.targets.clone(),
            weights: self.weights.as_ref().map(|w| rows.iter().map(|row| w[*row]).collect()),
            weight_unit: self.weight_unit,
            groups: self.groups.as_ref().map(|g| rows.iter().map(|row| g[*row]).collect()),
            groups_are_folds: self.groups_are_folds,
            unexpanded: self.unexpanded.as_ref().map(|points| points.subset(rows)),
            table_rows: rows.iter().map(|row| self.table_rows[*row]).collect(),
            odd_cells: self.odd_cells.clone(),
            dropped_missing: 0,
            dropped_weightless: 0,
            runs_backwards: self.runs_backwards.clone(),
        }
    }

    /// Rows with equal features become one, with the mean of their targets and the sum of their weights: what a metric is
    /// learned from. A model that sees a row twice believes that there is no noise.
    pub(crate) fn without_duplicates(&self) -> Self {
        let features: Vec<&[f64]> = (0..self.points.features()).map(|j| self.points.feature(j)).collect();
        // Rows of different groups stay apart: folds hold them out one without the other.
        let groups: Option<Vec<f64>> = self.groups.as_ref().map(|g| g.iter().map(|code| f64::from(*code)).collect());
        let features: Vec<&[f64]> = features.into_iter().chain(groups.as_deref()).collect();
        let places = self.places_of_equal_rows(&features);
        let Some(count) = places.iter().max().map(|last| last + 1).filter(|count| *count < self.rows()) else {
            return self.clone();
        };
        let mut kept: Vec<usize> = Vec::new();
        let mut totals = vec![0.0; count];
        let mut sums = Matrix::zeros(count, self.y.cols());
        for (row, place) in places.into_iter().enumerate() {
            if place == kept.len() {
                kept.push(row);
            }
            let weight = self.weights.as_ref().map_or(1.0, |w| w[row]);
            totals[place] += weight;
            for t in 0..self.y.cols() {
                sums.set(place, t, sums.get(place, t) + weight * self.y.get(row, t));
            }
        }
        let y = Matrix::from_fn(count, self.y.cols(), |i, t| sums.get(i, t) / totals[i]);
        Design { y, weights: Some(totals), ..self.subset(&kept) }
    }

    /// For each row a number that it shares with the rows that are equal to it in features; numbers count up.
    pub(crate) fn places_of_points(&self) -> Vec<usize> {
        let features: Vec<&[f64]> = (0..self.points.features()).map(|j| self.points.feature(j)).collect();
        self.places_of_equal_rows(&features)
    }

    /// For each row a number that it shares with the rows that are equal to it in features and targets; `None` if no two are.
    pub(crate) fn copies(&self) -> Option<Vec<u32>> {
        let features = (0..self.points.features()).map(|j| self.points.feature(j));
        let columns: Vec<&[f64]> = features.chain((0..self.y.cols()).map(|t| self.y.col(t))).collect();
        let places = self.places_of_equal_rows(&columns);
        let has_copies = places.iter().max().is_some_and(|last| last + 1 < self.rows());
        has_copies.then(|| places.into_iter().map(|place| place as u32).collect())
    }

    /// Rows that are equal in these columns, and in text kept as codes, have the same number; numbers count up.
    fn places_of_equal_rows(&self, columns: &[&[f64]]) -> Vec<usize> {
        let mut first: std::collections::HashMap<Vec<u64>, usize> = std::collections::HashMap::new();
        let codes: Vec<&[u32]> = (0..self.points.code_columns()).map(|j| self.points.codes(j)).collect();
        let number = |row: usize| {
            let numbers = columns.iter().map(|column| column[row].to_bits());
            let next = first.len();
            *first.entry(numbers.chain(codes.iter().map(|codes| u64::from(codes[row]))).collect()).or_insert(next)
        };
        (0..self.rows()).map(number).collect()
    }

    /// The group of each row, where what speaks of new rows leaves out whole groups.
    pub(crate) fn whole_groups(&self) -> Option<&[u32]> {
        self.groups.as_deref().filter(|_| !self.groups_are_folds)
    }

    /// Number of rows in use.
    pub fn rows(&self) -> usize {
        self.points.rows()
    }

    /// The weighted standard deviation of each target; 0 where it is rounding.
    pub(crate) fn deviations(&self) -> Vec<f64> {
        let weight = |i: usize| self.weights.as_ref().map_or(1.0, |w| w[i]);
        let total = self.weight_sum();
        let of = |t: usize| {
            let y = self.y.col(t);
            let mean = y.iter().enumerate().map(|(i, v)| weight(i) / total * v).sum::<f64>();
            let variance = y.iter().enumerate().map(|(i, v)| weight(i) / total * (v - mean) * (v - mean)).sum::<f64>();
            let largest = y.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
            if variance.sqrt() > 16.0 * f64::EPSILON * largest { variance.sqrt() } else { 0.0 }
        };
        (0..self.y.cols()).map(of).collect()
    }

    /// W = Σ wᵢ, or n without weights.
    pub fn weight_sum(&self) -> f64 {
        self.weights.as_ref().map_or(self.rows() as f64, |w| w.iter().sum())
    }
}

fn feature_names(frame: &Frame, roles: &Roles) -> Result<Vec<String>> {
    for name in roles.drop.iter().chain(&roles.categorical) {
        frame.column(name)?;
    }
    for (index, name) in roles.targets.iter().enumerate() {
        if roles.targets[..index].contains(name) || roles.weight.as_ref() == Some(name) {
            return Err(Error::Column {
                column: name.clone(),
                problem: "is a target twice, or target and weight".into(),
            });
        }
    }
    let has_role = |name: &String| {
        roles.targets.contains(name) || roles.weight.as_ref() == Some(name) || roles.group.as_ref() == Some(name)
    };
    let names: Vec<String> = match &roles.features {
        Some(names) => {
            for (index, name) in names.iter().enumerate() {
                frame.column(name)?;
                if has_role(name) {
                    let problem = "is a target, weight or group and cannot be a feature too".into();
                    return Err(Error::Column { column: name.clone(), problem });
                }
                if names[..index].contains(name) {
                    return Err(Error::Column { column: name.clone(), problem: "is named twice".into() });
                }
            }
            names.clone()
        }
        None => {
            let is_free = |name: &&String| !has_role(name) && !roles.drop.contains(name) && !names_rows(frame, name);
            frame.names().iter().filter(is_free).cloned().collect()
        }
    };
    if names.is_empty() {
        return Err(Error::Empty("there must be at least one feature column beside the target".into()));
    }
    Ok(names)
}

/// Whether a column holds the names of rows: it has no name of its own, as R and pandas write it, or the one that pandas
/// gives to such a column and whole numbers that rise, as they do in every part of a table that counts its rows.
fn names_rows(frame: &Frame, name: &str) -> bool {
    let counts =
        |cells: &[f64]| cells.iter().all(|x| x.fract() == 0.0) && cells.windows(2).all(|pair| pair[0] < pair[1]);
    match (name, frame.column(name)) {
        ("", _) => true,
        ("Unnamed: 0", Ok(Column::Number(cells))) => counts(cells),
        _ => false,
    }
}

/// Targets whose squares stay finite.
fn check_targets(name: &str, cells: &[f64], rows: &[usize]) -> Result<()> {
    match rows.iter().find(|&&row| cells[row].abs() > 1e150) {
        Some(&row) => {
            let problem = format!("{:e} is too large for a target; its square must stay finite", cells[row]);
            Err(Error::cell(row + 1, name, problem))
        }
        None => Ok(()),
    }
}

/// The numbers of a target column, missing ones among them.
pub(crate) fn target_numbers<'a>(frame: &'a Frame, name: &str) -> Result<&'a [f64]> {
    let cells = plain_numbers(frame, name)?;
    check_targets(name, cells, &(0..cells.len()).collect::<Vec<usize>>())?;
    Ok(cells)
}

/// Equal entries of a column, text or number, get equal codes.
pub(crate) fn group_codes(frame: &Frame, name: &str, rows: &[usize]) -> Result<Vec<u32>> {
    let column = frame.column(name)?;
    let mut known: std::collections::HashMap<String, u32> = std::collections::HashMap::new();
    let code = |&row: &usize| {
        if column.is_missing(row) {
            return Err(Error::cell(row + 1, name, "the group is missing; every row needs one"));
        }
        let key = match column {
            Column::Text(cells) => format!("{:?}", cells[row]),
            Column::Number(cells) => cells[row].to_string(),
        };
        let next = known.len() as u32;
        Ok(*known.entry(key).or_insert(next))
    };
    rows.iter().map(code).collect()
}

/// The numbers of a target or weight column; text and infinities are refused at their first cell.
pub(crate) fn plain_numbers<'a>(frame: &'a Frame, name: &str) -> Result<&'a [f64]> {
    frame.refuse_doubt(name)?;
    match frame.column(name)? {
        Column::Text(cells) => Err(not_a_number(name, cells, frame.marks())),
        Column::Number(cells) => match cells.iter().position(|x| x.is_infinite()) {
            Some(row) => Err(Error::cell(row + 1, name, format!("{} is not a finite number", cells[row]))),
            None => Ok(cells),
        },
    }
}

/// The weights of the rows in use in a unit near the largest, and that unit: scaling all weights changes nothing.
fn usable_weights(name: &str, cells: &[f64], rows: &[usize]) -> Result<(Vec<f64>, f64)> {
    let largest = rows.iter().fold(0.0, |max: f64, &row| max.max(cells[row]));
    if let Some(&row) = rows.iter().find(|&&row| cells[row] < 1e-30 * largest) {
        let problem = format!(
            "the weight {:e} is negligible next to the largest ({largest:e}); use 0 to exclude the row",
            cells[row]
        );
        return Err(Error::cell(row + 1, name, problem));
    }
    let power = exponent_of(largest);
    Ok((rows.iter().map(|&row| libm::ldexp(cells[row], -power)).collect(), libm::ldexp(1.0, power)))
}

/// The rows that a fit with these roles keeps: those without a missing cell where `missing` leaves rows out, all others
/// otherwise. What [`Design::new`] refuses is refused.
pub fn rows_in_use(frame: &Frame, roles: &Roles, missing: Missing) -> Result<Vec<usize>> {
    let names = feature_names(frame, roles)?;
    let (rows, left_out) = complete_rows(frame, &names, roles.targets.iter().chain(&roles.weight), missing)?;
    if rows.is_empty() && left_out > 0 {
        return Err(no_row_left(left_out));
    }
    Ok(rows)
}

fn no_row_left(rows: usize) -> Error {
    Error::Empty(format!("all {rows} rows have a missing cell; none is left"))
}

/// The rows to be used, and how many are left out because a cell is missing.
fn complete_rows<'a>(
    frame: &Frame,
    features: &[String],
    must_be_whole: impl Iterator<Item = &'a String>,
    missing: Missing,
) -> Result<(Vec<usize>, usize)> {
    let mut complete = vec![true; frame.rows()];
    let whole = must_be_whole.map(|name| (name, if missing == Missing::Drop { Missing::Drop } else { Missing::Error }));
    for (name, rule) in features.iter().map(|name| (name, missing)).chain(whole) {
        if rule == Missing::Mean {
            continue;
        }
        let column = frame.column(name)?;
        for (row, complete) in complete.iter_mut().enumerate() {
            if column.is_missing(row) {
                if rule == Missing::Error && missing != Missing::Error {
                    let problem =
                        "the target or weight is missing, and a mean cannot take its place; leave the row out";
                    return Err(Error::cell(row + 1, name, problem));
                }
                if rule == Missing::Error {
                    return Err(Error::MissingCell { row: row + 1, column: name.clone() });
                }
                *complete = false;
            }
        }
    }
    let rows: Vec<usize> = (0..frame.rows()).filter(|&row| complete[row]).collect();
    let dropped = frame.rows() - rows.len();
    Ok((rows, dropped))
}
