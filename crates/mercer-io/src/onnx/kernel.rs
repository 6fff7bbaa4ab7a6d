//! Kernel values as operators: k(x, xⱼ), rows × points.

use mercer::kernel::{Decay, Formula, Points};

use super::graph::Graph;
use super::protobuf::Attribute;

/// New rows on one side, the model's points on the other.
pub(super) struct Sides<'a> {
    /// The value with the features of the new rows.
    features: &'a str,
    points: &'a Points,
    /// The features of the new rows one by one, and those of the points beside them, once they were asked for.
    columns: Vec<(String, String)>,
}

impl<'a> Sides<'a> {
    pub fn new(features: &'a str, points: &'a Points) -> Self {
        Sides { features, points, columns: Vec::new() }
    }

    /// The kernel values; `None` for a part that reads text.
    pub fn values(&mut self, graph: &mut Graph, formula: &Formula) -> Option<String> {
        Some(match formula {
            Formula::Radial { decay, lengthscales } => {
                let distances = self.distances(graph, lengthscales, decay.is_absolute());
                decayed(graph, *decay, &distances)
            }
            Formula::Linear => self.dots(graph),
            Formula::Polynomial { degree, constant } => {
                let [dots, constant] = [self.dots(graph), graph.scalar(*constant)];
                let sum = graph.apply("Add", &[&dots, &constant]);
                // By multiplication, as the kernel itself does it.
                (1..*degree).fold(sum.clone(), |power, _| graph.apply("Mul", &[&power, &sum]))
            }
            Formula::Equality { .. } => return None,
            Formula::Scaled(factor, inner) => {
                let values = self.values(graph, inner)?;
                let factor = graph.scalar(*factor);
                graph.apply("Mul", &[&values, &factor])
            }
            Formula::Sum(parts) => self.combined(graph, "Add", parts)?,
            Formula::Product(parts) => self.combined(graph, "Mul", parts)?,
        })
    }

    fn combined(&mut self, graph: &mut Graph, operator: &str, parts: &[Formula]) -> Option<String> {
        let mut all = parts.iter().map(|part| self.values(graph, part)).collect::<Option<Vec<String>>>()?.into_iter();
        let first = all.next()?;
        Some(all.fold(first, |sum, part| graph.apply(operator, &[&sum, &part])))
    }

    /// Scalar products xᵀxⱼ.
    fn dots(&self, graph: &mut Graph) -> String {
        let (rows, features) = (self.points.rows(), self.points.features());
        let transposed = (0..features).flat_map(|j| self.points.feature(j).iter().copied());
        let points = graph.doubles(&[features, rows], transposed);
        graph.apply("MatMul", &[self.features, &points])
    }

    /// r² (or r, the sum of absolute differences), feature by feature: ‖x‖² + ‖x′‖² − 2xᵀx′ would lose the digits of rows that
    /// are close together.
    fn distances(&mut self, graph: &mut Graph, lengthscales: &[f64], is_absolute: bool) -> String {
        let one = match lengthscales {
            [one] => Some(*one),
            _ => None,
        };
        let mut sum: Option<String> = None;
        for (j, (new, known)) in self.columns(graph).into_iter().enumerate() {
            let mut difference = graph.apply("Sub", &[&new, &known]);
            if one.is_none() {
                let inverse = graph.scalar(1.0 / lengthscales[j]);
                difference = graph.apply("Mul", &[&difference, &inverse]);
            }
            let term = match is_absolute {
                true => graph.apply("Abs", &[&difference]),
                false => graph.apply("Mul", &[&difference, &difference]),
            };
            sum = Some(match sum {
                Some(sum) => graph.apply("Add", &[&sum, &term]),
                None => term,
            });
        }
        let sum = sum.unwrap_or_default();
        let Some(one) = one else { return sum };
        let inverse = graph.scalar(if is_absolute { 1.0 / one } else { 1.0 / (one * one) });
        graph.apply("Mul", &[&sum, &inverse])
    }

    fn columns(&mut self, graph: &mut Graph) -> Vec<(String, String)> {
        let features = self.points.features();
        if self.columns.is_empty() {
            let ones = graph.integers(&vec![1; features]);
            let along = [Attribute { name: "axis", value: 1 }];
            let new = graph.apply_many("Split", &[self.features, &ones], features, &along);
            let known = (0..features).map(|j| graph.row(self.points.feature(j)));
            self.columns = new.into_iter().zip(known.collect::<Vec<String>>()).collect();
        }
        self.columns.clone()
    }
}

/// φ of r² (or of r, for a sum of absolute differences).
fn decayed(graph: &mut Graph, decay: Decay, distances: &str) -> String {
    match decay {
        Decay::Gaussian => {
            let half = graph.scalar(-0.5);
            let power = graph.apply("Mul", &[distances, &half]);
            graph.apply("Exp", &[&power])
        }
        Decay::Laplace => {
            let power = graph.apply("Neg", &[distances]);
            graph.apply("Exp", &[&power])
        }
        Decay::Matern12 => matern(graph, distances, 1.0).1,
        Decay::Matern32 => {
            let (u, decay) = matern(graph, distances, 3.0);
            let one = graph.scalar(1.0);
            let factor = graph.apply("Add", &[&u, &one]);
            graph.apply("Mul", &[&factor, &decay])
        }
        Decay::Matern52 => {
            let (u, decay) = matern(graph, distances, 5.0);
            let [one, third] = [graph.scalar(1.0), graph.scalar(1.0 / 3.0)];
            let square = graph.apply("Mul", &[&u, &u]);
            let square = graph.apply("Mul", &[&square, &third]);
            let factor = graph.apply("Add", &[&u, &one]);
            let factor = graph.apply("Add", &[&factor, &square]);
            graph.apply("Mul", &[&factor, &decay])
        }
        Decay::RationalQuadratic { shape } => {
            let [one, scale, power] = [1.0, 0.5 / shape, -shape].map(|x| graph.scalar(x));
            let base = graph.apply("Mul", &[distances, &scale]);
            let base = graph.apply("Add", &[&base, &one]);
            graph.apply("Pow", &[&base, &power])
        }
    }
}

/// u = √(factor · r²), and exp(−u).
fn matern(graph: &mut Graph, distances: &str, factor: f64) -> (String, String) {
    let factor = graph.scalar(factor);
    let square = graph.apply("Mul", &[distances, &factor]);
    let u = graph.apply("Sqrt", &[&square]);
    let power = graph.apply("Neg", &[&u]);
    let decay = graph.apply("Exp", &[&power]);
    (u, decay)
}
