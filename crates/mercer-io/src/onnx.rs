//! Models for other programs: ONNX, in double precision, with everything between a table's numbers and its predictions.
//!
//! The input `x` has one row per example and one column per column of the training table that the model reads, in that order
//! (the file's metadata names them). Models of numbers have one output `prediction`, with a column per target or quantile;
//! models of classes `label`, `decision` and, where they are known, `probability`. A missing number is NaN: it is replaced by
//! the mean if the model was fitted so, and else makes the numbers of its row NaN.

mod graph;
mod kernel;
mod protobuf;

use mercer::data::monomials;
use mercer::data::{Classes, Encoder, Feature, Missing};
use mercer::{Meaning, Model, Probability};

use crate::error::{Error, Result};
use graph::Graph;
use kernel::Sides;
use protobuf::{Attribute, Element, Message};

/// The version of ONNX's operators, and of its file format.
const OPERATORS: i64 = 17;
const FORMAT: i64 = 8;
/// Protobuf counts bytes in 31 bits.
const LARGEST: usize = i32::MAX as usize;

/// The bytes of an ONNX file that predicts as the model does, up to rounding.
///
/// For the kernels `linear`, `polynomial`, `gaussian`, `laplace`, `matern12`, `matern32`, `matern52` and
/// `rational-quadratic`, their sums, products and multiples, with a learned metric or without, on columns of numbers.
pub fn bytes(model: &Model) -> Result<Vec<u8>> {
    let encoder = model.encoder();
    let columns = encoder.columns();
    let mut graph = Graph::default();
    graph.input("x", columns.len());
    let features = features(&mut graph, encoder, &columns)?;
    let values = function(&mut graph, model, &features)?;
    add_outputs(&mut graph, model, values);
    let facts = [
        ("columns", json(&columns)),
        ("targets", json(&model.summaries().iter().map(|summary| &summary.target).collect::<Vec<_>>())),
        ("kernel", model.kernel().spec()),
    ];
    let about = format!("x: the columns {}, one row per example", facts[0].1);
    let operators = Message::default().text(1, "").integer(2, OPERATORS);
    let mut file = Message::default()
        .integer(1, FORMAT)
        .text(2, "mercer")
        .text(3, env!("CARGO_PKG_VERSION"))
        .text(6, &about)
        .message(7, &graph.finish("mercer", &about))
        .message(8, &operators);
    for (key, value) in &facts {
        file = file.message(14, &Message::default().text(1, key).text(2, value));
    }
    if file.bytes.len() > LARGEST {
        return Err(refused(format!("would have {} bytes; ONNX files have at most 2 GiB", file.bytes.len())));
    }
    Ok(file.bytes)
}

fn refused(problem: impl std::fmt::Display) -> Error {
    mercer::Error::argument("a model to be exported to ONNX", "one that ONNX can express", problem).into()
}

fn json(names: &[impl AsRef<str>]) -> String {
    serde_json::Value::from_iter(names.iter().map(AsRef::as_ref)).to_string()
}

/// The names of the outputs that a model's file has.
pub fn outputs(model: &Model) -> &'static [&'static str] {
    match model.meaning() {
        Meaning::Classes { probability: Probability::Unknown, .. } => &["label", "decision"],
        Meaning::Classes { .. } => &["label", "decision", "probability"],
        Meaning::Numbers | Meaning::Quantiles { .. } => &["prediction"],
    }
}

/// What the kernel (or the linear function) sees of `x`.
fn features(graph: &mut Graph, encoder: &Encoder, columns: &[&str]) -> Result<String> {
    let mut places = Vec::new();
    let (mut shifts, mut scales, mut fills) = (Vec::new(), Vec::new(), Vec::new());
    let (mut is_log, mut origins, mut units) = (Vec::new(), Vec::new(), Vec::new());
    for feature in &encoder.features {
        match feature {
            Feature::Number { name, log, shift, scale, fill } => {
                places.push(columns.iter().position(|column| column == name).unwrap_or(0));
                shifts.push(*shift);
                scales.push(*scale);
                fills.push(*fill);
                is_log.push(log.is_some());
                origins.push(log.map_or(0.0, |log| log.origin));
                units.push(log.map_or(1.0, |log| log.unit));
            }
            Feature::Text { name, .. } => {
                return Err(refused(format!(
                    "one that reads text (column {name:?}); columns of numbers can be exported"
                )));
            }
        }
    }
    let mut x = "x".to_owned();
    if places.iter().enumerate().any(|(index, place)| index != *place) || places.len() != columns.len() {
        let places = graph.integers(&places);
        x = graph.apply_with("Gather", &[&x, &places], &[Attribute { name: "axis", value: 1 }]);
    }
    if encoder.missing == Missing::Mean {
        let [is_missing, fills] = [graph.apply("IsNaN", &[&x]), graph.row(&fills)];
        x = graph.apply("Where", &[&is_missing, &fills, &x]);
    }
    if is_log.contains(&true) {
        x = with_logarithms(graph, &x, &is_log, &origins, &units);
    }
    if shifts.iter().any(|shift| *shift != 0.0) {
        let shifts = graph.row(&shifts);
        x = graph.apply("Sub", &[&x, &shifts]);
    }
    if scales.iter().any(|scale| *scale != 1.0) {
        let scales = graph.row(&scales);
        x = graph.apply("Div", &[&x, &scales]);
    }
    if let Some(projection) = &encoder.projection {
        let by_rows = (0..projection.rows()).flat_map(|i| (0..projection.cols()).map(move |k| projection.get(i, k)));
        let projection = graph.doubles(&[projection.rows(), projection.cols()], by_rows);
        x = graph.apply("MatMul", &[&x, &projection]);
    }
    if encoder.degree > 1 {
        x = monomials(graph, &x, encoder)?;
    }
    Ok(x)
}

/// Some columns as ±log(1 + t), t = (x − origin)/unit, and as ±t below 0.
fn with_logarithms(graph: &mut Graph, x: &str, is_log: &[bool], origins: &[f64], units: &[f64]) -> String {
    let starts: Vec<f64> = origins.iter().zip(units).map(|(origin, unit)| origin / unit).collect();
    let signs: Vec<f64> = units.iter().map(|unit| if *unit < 0.0 { -1.0 } else { 1.0 }).collect();
    let [units, starts, signs] = [units, &starts, &signs].map(|row| graph.row(row));
    let [zero, one] = [0.0, 1.0].map(|x| graph.scalar(x));
    let t = graph.apply("Div", &[x, &units]);
    let t = graph.apply("Sub", &[&t, &starts]);
    let is_below = graph.apply("Less", &[&t, &zero]);
    let above = graph.apply("Where", &[&is_below, &zero, &t]);
    let above = graph.apply("Add", &[&above, &one]);
    let logarithm = graph.apply("Log", &[&above]);
    let seen = graph.apply("Where", &[&is_below, &t, &logarithm]);
    let seen = graph.apply("Mul", &[&seen, &signs]);
    let is_log = graph.truths(is_log);
    graph.apply("Where", &[&is_log, &seen, x])
}

/// All products of up to `degree` features: each is a product of columns, filled up with ones.
fn monomials(graph: &mut Graph, x: &str, encoder: &Encoder) -> Result<String> {
    let width = encoder.width();
    let terms = monomials::monomials(width, encoder.degree, LARGEST)?;
    let factors = terms.iter().map(|term| {
        let mut places: Vec<usize> = term.iter().flat_map(|(column, power)| vec![*column; *power]).collect();
        places.resize(encoder.degree, width);
        places
    });
    let factors: Vec<Vec<usize>> = factors.collect();
    let along = [Attribute { name: "axis", value: 1 }];
    let zeros = graph.doubles(&[width, 1], vec![0.0; width]);
    let one = graph.scalar(1.0);
    let ones = graph.apply("MatMul", &[x, &zeros]);
    let ones = graph.apply("Add", &[&ones, &one]);
    let all = graph.apply_with("Concat", &[x, &ones], &along);
    let mut product: Option<String> = None;
    for position in 0..encoder.degree {
        let places = graph.integers(&factors.iter().map(|term| term[position]).collect::<Vec<usize>>());
        let factor = graph.apply_with("Gather", &[&all, &places], &along);
        product = Some(match product {
            Some(product) => graph.apply("Mul", &[&product, &factor]),
            None => factor,
        });
    }
    Ok(product.unwrap_or_default())
}

/// f(x) + b for every target: rows × targets.
fn function(graph: &mut Graph, model: &Model, features: &str) -> Result<String> {
    let targets = model.summaries().len();
    let basis = match model.centres() {
        None => features.to_owned(),
        Some(points) => {
            let can = "one with the kernel linear, polynomial, gaussian, laplace, matern12, matern32, matern52, \
                       rational-quadratic, or sums, products and multiples of those";
            let spec = model.kernel().spec();
            let unknown = || Error::from(mercer::Error::argument("a model to be exported to ONNX", can, &spec));
            if points.features() == 0 || points.rows() == 0 {
                return Err(if model.kernel().is_precomputed() { unknown() } else { refused("one without points") });
            }
            let formula = model.kernel().formula().ok_or_else(unknown)?;
            Sides::new(features, points).values(graph, &formula).ok_or_else(unknown)?
        }
    };
    let length = model.coefficients(0).len();
    let by_rows = (0..length).flat_map(|j| (0..targets).map(move |t| model.coefficients(t)[j]));
    let coefficients = graph.doubles(&[length, targets], by_rows);
    let offsets = graph.row(&model.summaries().iter().map(|summary| summary.intercept).collect::<Vec<f64>>());
    let values = graph.apply("MatMul", &[&basis, &coefficients]);
    let values = graph.apply("Add", &[&values, &offsets]);
    if model.summaries().iter().all(|summary| summary.clip.is_none()) {
        return Ok(values);
    }
    let ends = |end: usize, otherwise: f64| -> Vec<f64> {
        model.summaries().iter().map(|summary| summary.clip.map_or(otherwise, |range| range[end])).collect()
    };
    let (lowest, highest) = (graph.row(&ends(0, f64::NEG_INFINITY)), graph.row(&ends(1, f64::INFINITY)));
    let values = graph.apply("Max", &[&values, &lowest]);
    Ok(graph.apply("Min", &[&values, &highest]))
}

/// What the values stand for.
fn add_outputs(graph: &mut Graph, model: &Model, values: String) {
    let count = model.summaries().len();
    match model.meaning() {
        Meaning::Classes { classes, probability, .. } => {
            label(graph, classes, &values);
            graph.output("decision", &values, Element::Double, Some(count));
            if let Some(shares) = shares(graph, probability, &values, classes.len()) {
                graph.output("probability", &shares, Element::Double, Some(classes.len()));
            }
        }
        Meaning::Quantiles { per_target, sorted: true } => {
            let [groups, whole] = [Some(*per_target), Some(count)].map(|columns| graph.shape(columns));
            let most = graph.integers(&[*per_target]);
            let rows = graph.apply("Reshape", &[&values, &groups]);
            let rising = [Attribute { name: "axis", value: 1 }, Attribute { name: "largest", value: 0 }];
            let sorted = graph.apply_many("TopK", &[&rows, &most], 2, &rising);
            let values = graph.apply("Reshape", &[&sorted[0], &whole]);
            graph.output("prediction", &values, Element::Double, Some(count));
        }
        Meaning::Numbers | Meaning::Quantiles { .. } => {
            graph.output("prediction", &values, Element::Double, Some(count));
        }
    }
}

/// The class of every row, as the training table wrote it.
fn label(graph: &mut Graph, classes: &Classes, values: &str) {
    let code = if classes.len() == 2 {
        let zero = graph.scalar(0.0);
        let is_second = graph.apply("Greater", &[values, &zero]);
        let code = graph.apply_with("Cast", &[&is_second], &[Attribute { name: "to", value: Element::Integer as i64 }]);
        let flat = graph.shape(None);
        graph.apply("Reshape", &[&code, &flat])
    } else {
        let attributes = [Attribute { name: "axis", value: 1 }, Attribute { name: "keepdims", value: 0 }];
        graph.apply_with("ArgMax", &[values], &attributes)
    };
    let numbers: Option<Vec<f64>> = classes.names.iter().map(|name| name.parse().ok()).collect();
    let (names, of) = match numbers.filter(|_| classes.are_numbers) {
        Some(numbers) => (graph.doubles(&[numbers.len()], numbers), Element::Double),
        None => (graph.texts(&classes.names), Element::Text),
    };
    let label = graph.apply_with("Gather", &[&names, &code], &[Attribute { name: "axis", value: 0 }]);
    graph.output("label", &label, of, None);
}

/// The probabilities of all classes, if they are known.
fn shares(graph: &mut Graph, probability: &Probability, values: &str, classes: usize) -> Option<String> {
    let along = [Attribute { name: "axis", value: 1 }];
    let odds = match probability {
        Probability::Unknown => return None,
        Probability::Softmax => return Some(graph.apply_with("Softmax", &[values], &along)),
        Probability::Stated => values.to_owned(),
        Probability::Calibrated { sigmoids } => {
            let slopes = graph.row(&sigmoids.iter().map(|[slope, _]| *slope).collect::<Vec<f64>>());
            let shifts = graph.row(&sigmoids.iter().map(|[_, shift]| *shift).collect::<Vec<f64>>());
            let scaled = graph.apply("Mul", &[values, &slopes]);
            graph.apply("Add", &[&scaled, &shifts])
        }
    };
    // 1/(1 + exp(−v)).
    let one = graph.scalar(1.0);
    let negative = graph.apply("Neg", &[&odds]);
    let power = graph.apply("Exp", &[&negative]);
    let sum = graph.apply("Add", &[&power, &one]);
    let single = graph.apply("Div", &[&one, &sum]);
    if classes == 2 {
        let other = graph.apply("Sub", &[&one, &single]);
        return Some(graph.apply_with("Concat", &[&other, &single], &along));
    }
    let axes = graph.integers(&[1]);
    let total = graph.apply("ReduceSum", &[&single, &axes]);
    let [zero, equal] = [0.0, 1.0 / classes as f64].map(|x| graph.scalar(x));
    let has_some = graph.apply("Greater", &[&total, &zero]);
    let shares = graph.apply("Div", &[&single, &total]);
    Some(graph.apply("Where", &[&has_some, &shares, &equal]))
}

#[cfg(test)]
mod tests {
    use super::json;

    /// A space that does not break, quotes, a line's end and what is not of the Latin alphabet.
    #[test]
    fn names_of_columns_are_json() {
        let names = ["price\u{a0}€", "say \"x\"", "two\nlines", "λ‖f‖ᵐ", "\u{1}\u{7f}"];
        assert_eq!(serde_json::from_str::<Vec<String>>(&json(&names)).unwrap(), names);
    }
}
