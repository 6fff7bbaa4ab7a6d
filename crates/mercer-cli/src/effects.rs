//! `mercer effects`: what each column does to the predictions.

pub mod importance;

use std::io::Write;

use mercer::data::{Column, Frame};
use mercer::effects::{Effect, Effects, Quantity, TargetEffects};
use mercer::{Meaning, Probability};
use serde_json::{Value, json};

use crate::args::{Common, EffectsOn, EffectsOptions, Style};
use crate::files;
use crate::grid::{Cell, Grid};
use crate::outcome::Done;
use crate::predict::{intervals, load};
use crate::progress::Progress;
use crate::report::{rows, short};

pub fn run(options: &EffectsOptions, common: &Common) -> anyhow::Result<Done> {
    if let Some(path) = &options.shown.output {
        files::check_table_place(path)?;
    }
    let model = load(&options.model)?;
    if options.importance {
        return importance::run(&model, options, common);
    }
    let reading = options.reading.to_read_options();
    let table = options.table.as_ref().map(|path| files::read_table(path, &reading)).transpose()?;
    // Where the model tells none the library finds its own rows, and says why there are no errors.
    let is_of_classes = matches!(model.meaning(), Meaning::Classes { .. });
    let (table, training) = match (&options.training.data, table) {
        // Classes have no standard errors: their training table is the rows alone.
        (Some(path), None) if is_of_classes => (Some(files::read_table(path, &reading)?), None),
        (Some(_), table) if !is_of_classes => (table, intervals::training(&model, &options.training, &reading)?),
        (_, table) => (table, None),
    };
    if let (None, None, Some(what)) = (&table, &training, model.points_are_not_its_rows(model.points())) {
        anyhow::bail!(
            "{} stores {what}, which are not a sample of its rows; name a table at whose rows effects are taken",
            options.model
        );
    }
    if table.is_none() && training.is_none() && model.points() == 0 {
        anyhow::bail!(
            "{} is a linear function and holds no rows; name a table at whose rows effects are taken, or the training table \
             with --data",
            options.model
        );
    }
    let progress = Progress::start(common.quiet);
    let (at, observer) = (table.as_ref().map(|table| &table.frame), progress.observer());
    let found = match options.of {
        EffectsOn::Decision => model.effects(at, training, Some(&observer))?,
        EffectsOn::Probability => model.effects_on_probabilities(at, Some(&observer))?,
    };
    let has_probabilities = match model.meaning() {
        Meaning::Classes { probability, .. } => *probability != Probability::Unknown,
        Meaning::Numbers | Meaning::Quantiles { .. } => false,
    };
    drop(progress);
    if let Some(path) = &options.shown.output {
        mercer_io::write_frame(path, &frame(&found)?)?;
    }
    let text = match (options.shown.json, options.shown.style) {
        (true, _) => format!("{}\n", to_json(&found)),
        (false, Style::Text) => page(&found, has_probabilities),
        (false, style) => grid(&found).render(style),
    };
    let to_stderr = options.shown.output.as_deref() == Some("-");
    if !common.quiet || options.shown.json {
        if to_stderr { say!("{}", text.trim_end()) } else { write!(std::io::stdout(), "{text}")? }
    }
    Ok(Done::Certified)
}

/// `age`, or `kind: tall − flat`.
fn label(effect: &Effect) -> String {
    match &effect.versus {
        None => effect.column.clone(),
        Some((category, base)) => format!("{}: {category} − {base}", effect.column),
    }
}

/// The target, or what of which class.
fn subject(target: &TargetEffects) -> String {
    match &target.class {
        None => target.target.clone(),
        Some(class) => format!("{} of {class}", target.of.name()),
    }
}

fn grid(found: &Effects) -> Grid {
    let several = found.targets.len() > 1;
    let has_errors = found.targets.iter().any(|target| target.noise.is_some());
    let mut columns: Vec<String> = if several { vec!["target".into()] } else { Vec::new() };
    columns.extend(["effect of", "mean"].map(String::from));
    columns.extend(has_errors.then(|| "std. error".to_owned()));
    columns.extend(["25 %", "median", "75 %", "share > 0"].map(String::from));
    let mut grid = Grid::new(columns);
    for target in &found.targets {
        for effect in &target.effects {
            let mut cells: Vec<Cell> = if several { vec![Cell::Text(subject(target))] } else { Vec::new() };
            cells.extend([Cell::Text(label(effect)), Cell::Number(effect.mean)]);
            cells.extend(has_errors.then(|| effect.standard_error.map_or(Cell::Nothing, Cell::Number)));
            cells.extend(effect.quartiles.map(Cell::Number));
            cells.push(Cell::Number(effect.positive));
            grid.row(cells);
        }
    }
    grid
}

fn page(found: &Effects, has_probabilities: bool) -> String {
    let targets: Vec<String> = found.targets.iter().map(subject).collect();
    let of = found.targets.first().map_or(Quantity::Prediction, |target| target.of);
    let mut text = format!("  effects on {} at {}\n\n", targets.join(", "), rows(found.rows));
    text.push_str(&grid(found).render(Style::Text));
    let name = of.name();
    text.push_str(&format!(
        "\n  Mean and quartiles of the derivative of the {name} over the rows, per unit of the column (of categories: the\n  \
         difference to the first one).",
    ));
    if has_probabilities && of != Quantity::Probability {
        text.push_str(" --of probability shows effects on probabilities.");
    }
    match &found.without_errors {
        Some(reason) => text.push_str(&format!(" No standard errors: {reason}.\n")),
        None => {
            let noise: Vec<String> = found.targets.iter().filter_map(|target| target.noise).map(short).collect();
            text.push_str(&format!(
                " Standard errors are those at fixed λ, for noise of standard\n  deviation {}; the bias that λ brings is \
                 not in them.\n",
                noise.join(", ")
            ));
        }
    }
    text
}

/// The effects at every row.
fn frame(found: &Effects) -> mercer::Result<Frame> {
    let rows = found.targets.iter().flat_map(|target| &target.effects).map(|effect| effect.values.len()).max();
    let mut frame = Frame::new(rows.unwrap_or(0));
    for target in &found.targets {
        let of = if found.targets.len() > 1 { format!("_{}", target.target) } else { String::new() };
        for effect in &target.effects {
            let category = effect.versus.as_ref().map_or_else(String::new, |(category, _)| format!("={category}"));
            frame.push(format!("effect{of}_{}{category}", effect.column), Column::Number(effect.values.clone()))?;
        }
    }
    Ok(frame)
}

fn to_json(found: &Effects) -> Value {
    let effect = |effect: &Effect| {
        let (category, base) = effect.versus.clone().unzip();
        json!({
            "column": effect.column,
            "category": category,
            "base": base,
            "mean": effect.mean,
            "standard_error": effect.standard_error,
            "quartiles": effect.quartiles,
            "positive": effect.positive,
        })
    };
    let targets: Vec<Value> = found
        .targets
        .iter()
        .map(|target| {
            json!({
                "target": target.target,
                "of": target.of.name(),
                "class": target.class,
                "noise": target.noise,
                "effects": target.effects.iter().map(effect).collect::<Vec<Value>>(),
            })
        })
        .collect();
    json!({ "n": found.rows, "targets": targets, "without_errors": found.without_errors })
}
