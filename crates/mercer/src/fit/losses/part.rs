//! All rows but those held out, and the solutions on them.

use super::solve::{Penalty, Rows, Solved};
use super::targets::{Group, Kind, Output};
use crate::base::error::Result;
use crate::data::Points;
use crate::linalg::Matrix;
use crate::linalg::simd::{dot, vectorize};
use crate::solve::convex::RidgePoint;
use crate::solve::convex::exponent::PowerPoint;
use crate::solve::convex::linear::{linear_values, values};
use crate::term::loss::{Loss, Shape};

/// All rows but one fold, with the last solution on them.
pub(super) struct Part {
    kept: Vec<usize>,
    held: Vec<usize>,
    group: Group,
    weights: Option<Vec<f64>>,
    points: Points,
    /// K of the kept rows, where a solver needs it as a matrix of its own.
    gram: Option<Matrix>,
    factor: Option<Matrix>,
    last: Option<Solved>,
}

impl Part {
    pub fn new(rows: &Rows<'_>, group: &Group, held: &[usize]) -> Self {
        let n = rows.points.rows();
        let mut is_held = vec![false; n];
        held.iter().for_each(|row| is_held[*row] = true);
        Part::of(rows, group, held, (0..n).filter(|row| !is_held[*row]).collect())
    }

    /// The rows `kept`, which predict the rows `held`.
    pub fn of(rows: &Rows<'_>, group: &Group, held: &[usize], kept: Vec<usize>) -> Self {
        let needs_matrix = !matches!(group.outputs[0].losses[0].shape(), Shape::Tube(_));
        let gram = match rows.gram {
            Some(gram) if needs_matrix => {
                Some(Matrix::from_fn(kept.len(), kept.len(), |i, j| gram.get(kept[i], kept[j])))
            }
            _ => None,
        };
        let factor = rows.factor.map(|f| Matrix::from_fn(kept.len(), f.cols(), |i, j| f.get(kept[i], j)));
        Part {
            group: part_of(group, &kept),
            weights: rows.weights.map(|w| kept.iter().map(|row| w[*row]).collect()),
            points: rows.points.subset(&kept),
            gram,
            factor,
            last: None,
            held: held.to_vec(),
            kept,
        }
    }

    /// Solves at the next λ, from the last solution, and gives the values of the held-out rows.
    pub fn advance(&mut self, rows: &Rows<'_>, losses: &[&dyn Loss], penalty: Penalty) -> Result<Matrix> {
        if lacks_a_class(&self.group) {
            return Ok(constant_values(&self.group, self.held.len()));
        }
        let has_matrix = rows.gram.is_some() || rows.single.is_some();
        let inner = Rows {
            points: &self.points,
            gram: self.gram.as_ref().or(rows.gram),
            of_gram: (self.gram.is_none() && has_matrix).then_some(&self.kept[..]),
            factor: self.factor.as_ref(),
            weights: self.weights.as_deref(),
            ..*rows
        };
        let solved = inner.solve(&self.group, losses, penalty, self.last.as_ref())?;
        let values = values_at(rows, &self.kept, &self.held, &self.points, &solved);
        self.last = Some(solved);
        Ok(values)
    }

    /// The last solution.
    pub fn solution(&self) -> Option<&Solved> {
        self.last.as_ref()
    }

    /// Starts from a solution on the same rows.
    pub fn start_at(&mut self, solved: Solved) {
        self.last = Some(solved);
    }

    /// Starts from the solution of all rows, whose kernel matrix this is.
    pub fn start_without(&mut self, solved: &Solved, gram: &Matrix) {
        let models = solved.models.iter().map(|model| {
            let point = &model.point;
            let taken =
                |row: usize| self.held.iter().map(|held| point.alpha[*held] * gram.get(row, *held)).sum::<f64>();
            let alpha: Vec<f64> = self.kept.iter().map(|row| point.alpha[*row]).collect();
            let fitted: Vec<f64> = self.kept.iter().map(|row| point.fitted[*row] - taken(*row)).collect();
            let squared_norm = alpha.iter().zip(&fitted).map(|(a, f)| a * f).sum::<f64>().max(0.0);
            PowerPoint {
                point: RidgePoint {
                    alpha,
                    fitted,
                    elsewhere: Vec::new(),
                    coefficients: None,
                    squared_norm,
                    ..point.clone()
                },
                ..model.clone()
            }
        });
        self.last = Some(Solved::of_models(models.collect()));
    }

    /// Starts from solutions of other parts of the same rows, each with the rows that it does not know.
    pub fn start_from(&mut self, others: &[(&[usize], &Solved)]) {
        self.last = joined(&self.kept, others);
    }
}

/// A start for some rows from solutions of other parts of the table, each with the rows that it does not know: every coefficient
/// from the first that has it. A row that one fold holds out is a support vector of another's solution, or is not.
pub(super) fn joined(rows: &[usize], others: &[(&[usize], &Solved)]) -> Option<Solved> {
    let (held, first) = others.first()?;
    let all = held.len() + first.models.first()?.point.alpha.len();
    let mut is_open = vec![false; all];
    rows.iter().for_each(|row| is_open[*row] = true);
    let mut coefficients = vec![vec![0.0; all]; first.models.len()];
    for (held, solved) in others {
        let mut is_held = vec![false; all];
        held.iter().for_each(|row| is_held[*row] = true);
        for (place, row) in (0..all).filter(|row| !is_held[*row]).enumerate() {
            if !std::mem::take(&mut is_open[row]) {
                continue;
            }
            coefficients.iter_mut().zip(&solved.models).for_each(|(own, model)| own[row] = model.point.alpha[place]);
        }
    }
    let models = first.models.iter().zip(coefficients).map(|(model, own)| {
        let mut alpha: Vec<f64> = rows.iter().map(|row| own[*row]).collect();
        balance(&mut alpha);
        let (fitted, elsewhere) = (Vec::new(), Vec::new());
        let point = RidgePoint { alpha, fitted, elsewhere, coefficients: None, ..model.point.clone() };
        PowerPoint { point, ..model.clone() }
    });
    Some(Solved::of_models(models.collect()))
}

/// Makes the sum of the coefficients 0, as it must be with an offset, without waking those that are 0: the ones with the sign of
/// the sum shrink, those at their bound (the largest) only if the others are too few.
fn balance(alpha: &mut [f64]) {
    let sum: f64 = alpha.iter().sum();
    let largest = alpha.iter().fold(0.0, |max: f64, a| max.max(a.abs()));
    for most in [0.999 * largest, f64::INFINITY] {
        let is_one = |a: f64| a * sum > 0.0 && a.abs() < most;
        let room: f64 = alpha.iter().filter(|a| is_one(**a)).sum();
        if room.abs() > sum.abs() {
            alpha.iter_mut().filter(|a| is_one(**a)).for_each(|a| *a *= 1.0 - sum / room);
            return;
        }
    }
}

/// Values of the models at held-out rows.
fn values_at(rows: &Rows<'_>, kept: &[usize], held: &[usize], points: &Points, solved: &Solved) -> Matrix {
    let models = &solved.models;
    let are_known = models.iter().all(|model| model.point.elsewhere.len() == held.len());
    let mut values = match (rows.gram, rows.single) {
        _ if are_known => known(held, models),
        (Some(gram), _) => sums(kept, held, solved, |row| gram.col(row)),
        (None, Some(single)) => sums(kept, held, solved, |row| single.row(row)),
        (None, None) if models.iter().all(|model| model.point.coefficients.is_some()) => {
            let new = rows.points.subset(held);
            let columns = models.iter().filter_map(|model| model.point.coefficients.as_deref());
            let values = columns.flat_map(|w| linear_values(&new, w)).collect();
            Matrix::from_columns(held.len(), models.len(), values).unwrap_or_default()
        }
        (None, None) => {
            let alpha: Vec<f64> = models.iter().flat_map(|model| model.point.alpha.iter().copied()).collect();
            let alpha = Matrix::from_columns(kept.len(), models.len(), alpha).unwrap_or_default();
            values(rows.kernel, points, &alpha, &rows.points.subset(held))
        }
    };
    for (t, model) in models.iter().enumerate() {
        values.col_mut(t).iter_mut().for_each(|v| *v += model.point.offset);
    }
    values
}

/// What the solver has found of held-out rows by the way.
fn known(held: &[usize], models: &[PowerPoint]) -> Matrix {
    let mut in_order: Vec<usize> = (0..held.len()).collect();
    in_order.sort_unstable_by_key(|place| held[*place]);
    let mut values = Matrix::zeros(held.len(), models.len());
    for (t, model) in models.iter().enumerate() {
        let column = values.col_mut(t);
        in_order.iter().zip(&model.point.elsewhere).for_each(|(place, value)| column[*place] = *value);
    }
    values
}

/// Σ αⱼ k(row, j) for held-out rows, one column per model, from whole rows of K: to skip what has no coefficient takes longer than
/// to multiply it by 0.
fn sums<'a, T: Copy + Into<f64> + 'a>(
    kept: &[usize],
    held: &[usize],
    solved: &Solved,
    row: impl Fn(usize) -> &'a [T],
) -> Matrix {
    let mut values = Matrix::zeros(held.len(), solved.models.len());
    for (t, model) in solved.models.iter().enumerate() {
        let mut alpha = vec![0.0; held.first().map_or(0, |first| row(*first).len())];
        kept.iter().zip(&model.point.alpha).for_each(|(row, a)| alpha[*row] = *a);
        vectorize(
            #[inline(always)]
            || {
                for (value, held) in values.col_mut(t).iter_mut().zip(held) {
                    *value = dot(row(*held), &alpha);
                }
            },
        );
    }
    values
}

/// The group on some of its rows.
pub(super) fn part_of(group: &Group, kept: &[usize]) -> Group {
    let output = |output: &Output| Output {
        name: output.name.clone(),
        y: kept.iter().map(|row| output.y[*row]).collect(),
        losses: output.losses.clone(),
    };
    let kind = match &group.kind {
        Kind::Numbers => Kind::Numbers,
        Kind::Classes { codes, is_multinomial } => {
            Kind::Classes { codes: kept.iter().map(|row| codes[*row]).collect(), is_multinomial: *is_multinomial }
        }
    };
    Group { outputs: group.outputs.iter().map(output).collect(), kind }
}

/// Whether the rows of a fold lack one side of a two-class problem: no margin can be fitted then.
fn lacks_a_class(group: &Group) -> bool {
    let one_sided = |output: &Output| output.y.windows(2).all(|pair| pair[0] == pair[1]);
    matches!(group.kind, Kind::Classes { .. }) && group.outputs.iter().any(one_sided)
}

/// The label that all rows have.
fn constant_values(group: &Group, rows: usize) -> Matrix {
    Matrix::from_fn(rows, group.outputs.len(), |_, t| group.outputs[t].y.first().copied().unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::super::solve::{Penalty, Rows, Solved};
    use super::super::targets::{Group, Kind, Output};
    use super::{Part, balance, joined};
    use crate::data::Points;
    use crate::linalg::Matrix;
    use crate::solve::convex::RidgePoint;
    use crate::solve::convex::exponent::PowerPoint;
    use crate::solve::dual::SingleGram;
    use crate::term::kernel::radial::Gaussian;

    /// What the solver knows of held-out rows by the way is what the kernel says: along λ, from one start and another, whatever the order of
    /// the rows.
    #[test]
    fn held_out_values_are_those_of_the_kernel() {
        let n = 240;
        let x = Matrix::from_fn(n, 2, |i, j| ((i * 37 + j * 101) % 211) as f64 / 50.0);
        let y: Vec<f64> = (0..n).map(|i| (2.0 * x.get(i, 0)).sin() + 0.3 * x.get(i, 1)).collect();
        let points = Points::new(&x);
        let kernel = Gaussian::lengthscale(0.8);
        let (single, gram) = (SingleGram::new(&kernel, &points), crate::space::gram(&kernel, &points));
        let loss = crate::term::loss::parse("epsilon-insensitive(epsilon=0.05)").unwrap();
        let group =
            Group { outputs: vec![Output { name: "y".into(), y, losses: vec![loss[0].clone()] }], kind: Kind::Numbers };
        let go_on = || true;
        let rows = Rows {
            kernel: &kernel,
            points: &points,
            gram: None,
            single: Some(&single),
            of_gram: None,
            factor: None,
            weights: None,
            has_offset: true,
            is_measured_after: false,
            memory: 1 << 30,
            in_features: false,
            go_on: &go_on,
        };
        let mut before: Option<(Vec<usize>, Solved)> = None;
        for held in [vec![200, 3, 77, 11, 150], vec![5, 4, 239, 100, 0, 42]] {
            let mut part = Part::new(&rows, &group, &held);
            if let Some((other, solved)) = &before {
                part.start_from(&[(&other[..], solved)]);
            }
            let kept: Vec<usize> = (0..n).filter(|row| !held.contains(row)).collect();
            for lambda in [1e-2, 1e-3, 1e-4] {
                let penalty = Penalty { exponent: 2.0, lambda, tolerance: 1e-4 };
                let found = part.advance(&rows, &[&*group.outputs[0].losses[0]], penalty).unwrap();
                let point = &part.solution().unwrap().models[0].point;
                assert_eq!(point.elsewhere.len(), held.len());
                for (place, row) in held.iter().enumerate() {
                    let f: f64 = kept.iter().zip(&point.alpha).map(|(j, a)| a * gram.get(*row, *j)).sum();
                    let size: f64 = point.alpha.iter().map(|a| a.abs()).sum();
                    // Kernel values are in single precision.
                    let error = (found.get(place, 0) - f - point.offset).abs();
                    assert!(error < 1e-6 * size.max(1.0), "row {row} at {lambda}: {error}");
                }
            }
            before = Some((held, part.solution().unwrap().clone()));
        }
    }

    /// Rows that one part holds out come from the next; rows that nobody knows are 0.
    #[test]
    fn a_start_takes_every_row_from_the_first_that_knows_it() {
        let solved = |alpha: &[f64]| {
            let point = RidgePoint { alpha: alpha.to_vec(), ..RidgePoint::zero(alpha.len(), 1.0, 0.0) };
            Solved::of_models(vec![PowerPoint { point, root_residual: 0.0, is_zero: false, witness: None }])
        };
        // Six rows.
        let (first, second) = (solved(&[1.0, 2.0, -5.0, -6.0]), solved(&[3.0, 4.0, 5.0, -9.0]));
        let parts: [(&[usize], &Solved); 2] = [(&[2, 3], &first), (&[1, 3], &second)];
        let start = joined(&[0, 1, 2, 3, 4], &parts).unwrap();
        let balanced = joined(&[0, 1, 2, 3, 4, 5], &parts).unwrap();
        assert_eq!(&start.models[0].point.alpha[3..], [0.0, -5.0]);
        assert!(start.models[0].point.alpha.iter().sum::<f64>().abs() < 1e-15);
        assert_eq!(balanced.models[0].point.alpha.len(), 6);
        let only_first = joined(&[0, 1, 4, 5], &[(&[2, 3], &solved(&[1.0, 2.0, -2.0, -1.0]))]).unwrap();
        assert_eq!(only_first.models[0].point.alpha, [1.0, 2.0, -2.0, -1.0]);
        assert!(only_first.models[0].point.fitted.is_empty());
        assert!(joined(&[0, 1], &[]).is_none());
    }

    #[test]
    fn balance_spares_zeros_and_bounds_where_it_can() {
        let mut alpha = vec![1.0, 0.0, 0.5, -0.25, 0.25, -1.0];
        balance(&mut alpha);
        assert!(alpha.iter().sum::<f64>().abs() < 1e-15);
        assert_eq!([alpha[0], alpha[1], alpha[3], alpha[5]], [1.0, 0.0, -0.25, -1.0]);
        assert!((alpha[2] - 2.0 * alpha[4]).abs() < 1e-15);
        let mut bounded = vec![1.0, 1.0, 0.0, -1.0];
        balance(&mut bounded);
        assert_eq!(bounded, [0.5, 0.5, 0.0, -1.0]);
    }
}
