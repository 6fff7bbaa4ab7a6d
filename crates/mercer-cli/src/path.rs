//! `mercer path`: everything along λ, from one decomposition.

mod picture;

use std::io::Write;

use mercer::Fitted;
use mercer::PathPoint;
use mercer::criterion::{Criterion, FoldRule};
use mercer::data::{Column, Frame};
use mercer::plan::Method;
use serde_json::{Value, json};

use crate::args::{Common, PathOptions, Style};
use crate::fit::named;
use crate::grid::{Cell, Grid};
use crate::outcome::Done;
use crate::progress::Progress;
use crate::report::{criterion_name, integer, rows, short};
use crate::{files, moments};

/// Rows of the printed table where the path was not told its λ.
const MOST_ROWS: usize = 25;

/// A path and what each criterion says about it.
struct Found {
    fitted: Fitted,
    exponent: f64,
    criteria: Vec<Criterion>,
    points: Vec<PathPoint>,
}

pub fn run(options: &PathOptions, common: &Common) -> anyhow::Result<Done> {
    options.svg.as_deref().map_or(Ok(()), files::check_folder)?;
    options.shown.output.as_deref().map_or(Ok(()), files::check_table_place)?;
    moments::refuse_file(&options.table, "path")?;
    let table = files::read_table(&options.table, &options.reading.to_read_options())?;
    let roles = options.columns.to_roles_of_one_target(&table.frame)?;
    let progress = Progress::start(common.quiet);
    let fitted = named(options.kernel.0.clone(), options.scale, &options.rows)
        .exponent(options.exponent)
        .keep_spectrum()
        .seed(common.seed)
        .observer(progress.observer())
        .fit_frame(&table.frame, &roles)?;
    // Leave-one-out leaves out whole groups.
    let has_groups = fitted.design.groups.is_some();
    let meant = |criterion: &Criterion| if has_groups { criterion.for_groups() } else { criterion.clone() };
    let criteria: Vec<Criterion> = options.criterion.0.iter().map(meant).collect();
    criteria.iter().try_for_each(|criterion| criterion.check(fitted.design.rows()))?;
    if let Some(column) = fitted.design.runs_backwards.as_ref().filter(|_| criteria.iter().any(Criterion::is_forward)) {
        say!("note: {}", mercer::Note::BackInTime { column: column.clone() });
    }
    let lambdas = options.lambda.as_ref().map(|numbers| numbers.0.as_slice());
    let points = fitted.path(0, options.exponent, lambdas, &criteria, common.seed)?;
    drop(progress);
    let found = Found { fitted, exponent: options.exponent, criteria, points };

    if let Some(path) = &options.svg {
        files::save(path, picture::svg(&found).as_bytes())?;
    }
    if let Some(path) = &options.shown.output {
        mercer_io::write_frame(path, &frame(&found)?)?;
    }
    let text = match (options.shown.json, options.shown.style) {
        (true, _) => format!("{}\n", to_json(&found)),
        (false, Style::Text) => page(&found, options),
        (false, style) => grid(&found, options.lambda.is_some()).render(style),
    };
    let to_stderr = [&options.shown.output, &options.svg].into_iter().flatten().any(|path| path == "-");
    if !common.quiet || options.shown.json {
        if to_stderr { say!("{}", text.trim_end()) } else { write!(std::io::stdout(), "{text}")? }
    }
    Ok(Done::Certified)
}

impl Found {
    /// The criteria that have a smaller value than the one they choose.
    fn lower_elsewhere(&self) -> Vec<String> {
        let is_lower = |c: usize, chosen: usize| {
            self.points.iter().any(|point| point.criteria[c] < self.points[chosen].criteria[c])
        };
        let all = self.minima().into_iter().enumerate();
        all.filter(|(c, chosen)| chosen.is_some_and(|chosen| is_lower(*c, chosen))).map(|(c, _)| self.name(c)).collect()
    }

    /// The point that each criterion chooses, as `fit` would; nothing where it excludes every model.
    fn minima(&self) -> Vec<Option<usize>> {
        let values = |c: usize| self.points.iter().map(|point| point.criteria[c]).collect::<Vec<f64>>();
        self.criteria.iter().enumerate().map(|(c, criterion)| criterion.choice(&values(c))).collect()
    }

    fn name(&self, criterion: usize) -> String {
        short_spec(&self.criteria[criterion])
    }

    fn is_root(&self, criterion: usize) -> bool {
        self.criteria[criterion].is_squared_error()
    }
}

/// `kfold:5` for `kfold(folds=5,repeats=1)`.
fn short_spec(criterion: &Criterion) -> String {
    match criterion {
        Criterion::KFold(rule) if *rule == FoldRule::random(rule.folds) && !rule.is_each_group() => {
            format!("kfold:{}", rule.folds)
        }
        other => other.spec(),
    }
}

fn page(found: &Found, options: &PathOptions) -> String {
    let fitted = &found.fitted;
    let landmarks = match fitted.model.points() {
        points if matches!(fitted.plan.method, Method::LowRank { .. }) => format!(" ({} landmarks)", integer(points)),
        _ => String::new(),
    };
    let mut text = format!(
        "  {}{landmarks}, target {}, {}, exponent {}\n\n",
        rows(fitted.design.rows()),
        fitted.summary().target,
        fitted.model.kernel().spec(),
        found.exponent
    );
    text.push_str(&grid(found, options.lambda.is_some()).render(Style::Text));
    text.push_str("  Criteria that estimate a squared error are shown as roots; * marks what each chooses.\n\n");
    text.push_str(&format!("  {}\n", sentence(found)));
    let below = found.lower_elsewhere();
    if !below.is_empty() {
        text.push_str(&format!(
            "  {} {} lower where next to no residual is left; the choice is the lowest valley before that.\n",
            below.join(", "),
            if below.len() == 1 { "is" } else { "are" }
        ));
    }
    let picture = picture::text(found);
    if !picture.is_empty() {
        text.push_str(&format!("\n{picture}"));
    }
    text
}

/// Which λ each criterion takes, those that agree together.
fn sentence(found: &Found) -> String {
    let mut groups: Vec<(Option<usize>, Vec<String>)> = Vec::new();
    for (c, least) in found.minima().into_iter().enumerate() {
        let name = found.name(c);
        match groups.iter_mut().find(|(known, _)| *known == least) {
            Some((_, names)) => names.push(name),
            None => groups.push((least, vec![name])),
        }
    }
    let last = found.points.len().saturating_sub(1);
    let parts: Vec<String> = groups
        .iter()
        .map(|(least, names)| {
            let verb = if names.len() == 1 { "chooses" } else { "choose" };
            let names = names.join(", ");
            match least {
                Some(i) => {
                    let point = &found.points[*i];
                    let edge = if *i == 0 || *i == last { ", at the end of the path" } else { "" };
                    format!(
                        "{names} {verb} λ = {} ({} degrees of freedom{edge})",
                        short(point.lambda),
                        short(point.dof)
                    )
                }
                None => format!("{names} {verb} no λ, excluding every model"),
            }
        })
        .collect();
    format!("Of these points\n    {}.", parts.join(";\n    "))
}

fn grid(found: &Found, show_all: bool) -> Grid {
    let minima = found.minima();
    let mut columns: Vec<String> =
        ["λ", "effective ridge", "norm", "dof", "train RMSE"].iter().map(|name| (*name).to_owned()).collect();
    columns.extend((0..found.criteria.len()).map(|c| found.name(c)));
    let mut grid = Grid::new(columns);
    for i in shown_rows(found.points.len(), &minima, show_all) {
        let point = &found.points[i];
        let mut cells = vec![
            Cell::Number(point.lambda),
            point.effective_ridge.map_or(Cell::Text("f = 0".into()), Cell::Number),
            Cell::Number(point.norm),
            Cell::Number(point.dof),
            Cell::Number(point.train_rmse),
        ];
        let value = |c: usize| {
            if minima[c] == Some(i) { Cell::Best(point.criteria[c]) } else { Cell::Number(point.criteria[c]) }
        };
        cells.extend((0..found.criteria.len()).map(value));
        grid.row(cells);
    }
    grid
}

/// Evenly spread rows, and all minima.
fn shown_rows(count: usize, minima: &[Option<usize>], show_all: bool) -> Vec<usize> {
    if show_all || count <= MOST_ROWS {
        return (0..count).collect();
    }
    let mut rows: Vec<usize> = minima.iter().flatten().copied().collect();
    rows.sort_unstable();
    rows.dedup();
    let spread = MOST_ROWS.saturating_sub(rows.len()).max(2);
    rows.extend((0..spread).map(|i| i * (count - 1) / (spread - 1)));
    rows.sort_unstable();
    rows.dedup();
    rows
}

fn frame(found: &Found) -> mercer::Result<Frame> {
    let points = &found.points;
    let finite = |value: f64| if value.is_finite() { value } else { f64::NAN };
    let column = |value: &dyn Fn(&PathPoint) -> f64| Column::Number(points.iter().map(|p| finite(value(p))).collect());
    let mut frame = Frame::new(points.len());
    frame.push("lambda", column(&|point| point.lambda))?;
    frame.push("effective_ridge", column(&|point| point.effective_ridge.unwrap_or(f64::NAN)))?;
    frame.push("norm", column(&|point| point.norm))?;
    frame.push("dof", column(&|point| point.dof))?;
    frame.push("train_rmse", column(&|point| point.train_rmse))?;
    for c in 0..found.criteria.len() {
        frame.push(found.name(c), column(&|point| point.criteria[c]))?;
    }
    Ok(frame)
}

fn to_json(found: &Found) -> Value {
    let minima = found.minima();
    let criteria: Vec<Value> = (0..found.criteria.len())
        .map(|c| {
            json!({
                "criterion": found.criteria[c].spec(),
                "name": criterion_name(&found.criteria[c].spec()),
                "is_root": found.is_root(c),
                "lambda": minima[c].map(|i| found.points[i].lambda),
                "value": minima[c].map(|i| found.points[i].criteria[c]),
                "values": found.points.iter().map(|point| point.criteria[c]).collect::<Vec<f64>>(),
            })
        })
        .collect();
    let all = |value: &dyn Fn(&PathPoint) -> Option<f64>| found.points.iter().map(value).collect::<Vec<Option<f64>>>();
    json!({
        "n": found.fitted.design.rows(),
        "target": found.fitted.summary().target,
        "kernel": found.fitted.model.kernel().spec(),
        "exponent": found.exponent,
        "lambdas": all(&|point| Some(point.lambda)),
        "effective_ridges": all(&|point| point.effective_ridge),
        "norms": all(&|point| Some(point.norm)),
        "dofs": all(&|point| Some(point.dof)),
        "train_rmse": all(&|point| Some(point.train_rmse)),
        "criteria": criteria,
    })
}

#[cfg(test)]
mod tests {
    use super::shown_rows;

    #[test]
    fn long_paths_are_thinned_but_keep_their_minima() {
        let rows = shown_rows(80, &[Some(41), None, Some(3), Some(41)], false);
        assert!(rows.len() <= 25 && rows.contains(&41) && rows.contains(&3), "{rows:?}");
        assert!(rows.contains(&0) && rows.contains(&79) && rows.is_sorted());
        assert_eq!(shown_rows(80, &[], true).len(), 80);
        assert_eq!(shown_rows(3, &[], false), vec![0, 1, 2]);
    }
}
