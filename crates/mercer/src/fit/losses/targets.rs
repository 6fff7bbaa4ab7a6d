//! From the table's targets to the models that are fitted: one per number, quantile or class.

use super::{ClassWeights, LossFit, ManyClasses};
use crate::base::error::{Error, Result};
use crate::data::class_of;
use crate::data::{Classes, Column, Design, Frame, Roles};
use crate::term::loss::SharedLoss;

/// One model: targets, and a loss for every choice of losses.
pub(super) struct Output {
    pub name: String,
    pub y: Vec<f64>,
    pub losses: Vec<SharedLoss>,
}

/// Models that share λ, exponent and loss.
pub(super) struct Group {
    pub outputs: Vec<Output>,
    pub kind: Kind,
}

/// What the group predicts.
pub(super) enum Kind {
    Numbers,
    Classes { codes: Vec<usize>, is_multinomial: bool },
}

impl Group {
    /// The class that values of the models stand for.
    pub fn class_of(&self, values: &[f64]) -> usize {
        class_of(values)
    }

    /// Whether one problem gives all models.
    pub fn is_multinomial(&self) -> bool {
        matches!(self.kind, Kind::Classes { is_multinomial: true, .. })
    }
}

/// The table as a design, its models, and its classes if it has some.
pub(super) struct Targets {
    pub design: Design,
    pub groups: Vec<Group>,
    pub classes: Option<Classes>,
    /// Row weights times class weights.
    pub weights: Option<Vec<f64>>,
    /// The weights of the classes, unless all are equal.
    pub class_weights: Option<Vec<f64>>,
}

impl LossFit {
    pub(super) fn targets(&self, frame: &Frame, roles: &Roles) -> Result<Targets> {
        if !self.reads_classes() {
            let design = Design::new(frame, roles, self.encoding())?;
            let groups = self.number_groups(&design);
            let weights = design.weights.clone();
            return Ok(Targets { design, groups, classes: None, weights, class_weights: None });
        }
        let [target] = &roles.targets[..] else {
            return Err(Error::argument("the target of a classification", "a single column", roles.targets.len()));
        };
        let (all, codes) = Classes::read(frame, target)?;
        let coded = frame.with_column(target, Column::Number(codes.clone()))?;
        let design = Design::new(&coded, roles, self.encoding())?;
        let codes: Vec<usize> = design.y.col(0).iter().map(|code| *code as usize).collect();
        let (classes, codes) = if design.rows() == frame.rows() {
            (all, codes)
        } else {
            // Classes that only rows without weight or with missing cells have are no classes of this model.
            all.in_use(&codes, target)?
        };
        let class_weights = self.weights_of_classes(&design, &classes, &codes)?;
        let weights = match &class_weights {
            Some(of_class) => {
                let of_row = |i: usize| design.weights.as_ref().map_or(1.0, |w| w[i]);
                let weights: Vec<f64> = codes.iter().enumerate().map(|(i, code)| of_row(i) * of_class[*code]).collect();
                Some(weights).filter(|w| w.iter().any(|x| *x != w[0]))
            }
            None => design.weights.clone(),
        };
        let class_weights = class_weights.filter(|w| w.iter().any(|x| *x != w[0]));
        let group = self.class_group(target, &classes, codes);
        Ok(Targets { design, groups: vec![group], classes: Some(classes), weights, class_weights })
    }

    fn number_groups(&self, design: &Design) -> Vec<Group> {
        let models = self.losses[0].len();
        let group = |t: usize, q: usize| {
            let losses: Vec<SharedLoss> = self.losses.iter().map(|choice| choice[q].clone()).collect();
            let name = match models {
                1 => design.targets[t].clone(),
                _ => format!("{} {}", design.targets[t], losses[0].spec()),
            };
            Group { outputs: vec![Output { name, y: design.y.col(t).to_vec(), losses }], kind: Kind::Numbers }
        };
        (0..design.y.cols()).flat_map(|t| (0..models).map(move |q| (t, q))).map(|(t, q)| group(t, q)).collect()
    }

    fn class_group(&self, target: &str, classes: &Classes, codes: Vec<usize>) -> Group {
        let is_multinomial = classes.len() > 2 && self.many == ManyClasses::Multinomial;
        let losses: Vec<SharedLoss> = self.losses.iter().map(|choice| choice[0].clone()).collect();
        let against = |code: usize| codes.iter().map(|c| if *c == code { 1.0 } else { -1.0 }).collect::<Vec<f64>>();
        let outputs = if classes.len() == 2 {
            vec![Output { name: target.to_owned(), y: against(1), losses }]
        } else {
            let output = |code: usize| Output {
                name: format!("{target} {}", classes.names[code]),
                y: against(code),
                losses: losses.clone(),
            };
            (0..classes.len()).map(output).collect()
        };
        Group { outputs, kind: Kind::Classes { codes, is_multinomial } }
    }

    /// The weight of each class; `None` without class weights.
    fn weights_of_classes(&self, design: &Design, classes: &Classes, codes: &[usize]) -> Result<Option<Vec<f64>>> {
        let of_row = |i: usize| design.weights.as_ref().map_or(1.0, |w| w[i]);
        let of_class: Vec<f64> = match &self.class_weights {
            ClassWeights::Equal => return Ok(None),
            ClassWeights::Balanced => {
                let mut sums = vec![0.0; classes.len()];
                codes.iter().enumerate().for_each(|(i, code)| sums[*code] += of_row(i));
                let total: f64 = sums.iter().sum();
                sums.iter().map(|sum| total / (classes.len() as f64 * sum)).collect()
            }
            ClassWeights::Named(named) => {
                let mut of_class = vec![1.0; classes.len()];
                // The first of several weights of one class counts.
                for (name, weight) in named.iter().rev() {
                    let Some(place) = classes.place(name) else {
                        let must = format!("those of a class ({})", classes.names.join(", "));
                        return Err(Error::argument("class weights", must, format!("{name:?}")));
                    };
                    if !(*weight > 0.0 && *weight <= 1e30) {
                        return Err(Error::argument(format!("the weight of class {name:?}"), "above 0", weight));
                    }
                    of_class[place] = *weight;
                }
                of_class
            }
        };
        Ok(Some(of_class))
    }
}
