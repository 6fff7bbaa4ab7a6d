//! Φ to every algorithm: a table of conversions for this very table.

use mercer::Fitted;
use mercer::data::{Column, Frame};
use mercer_lab::equivalence::{Algorithm, Image, Place, Relation};
use serde_json::{Value, json};

use super::{named_value, show, training_set};
use crate::args::{Common, EquivalenceOptions, Style};
use crate::grid::{Cell, Grid};
use crate::outcome::Done;
use crate::report::{rows, short};

/// Exponents that are listed beside the ridge.
const EXPONENTS: [f64; 4] = [0.5, 1.0, 1.5, 3.0];

/// A parameter in the words of every algorithm.
pub struct Conversions {
    fitted: Fitted,
    from: Algorithm,
    parameter: f64,
    place: Place,
    images: Vec<(Algorithm, Image)>,
}

impl Conversions {
    pub fn new(fitted: Fitted, from: Algorithm, parameter: f64) -> mercer::Result<Self> {
        let kernel = fitted.model.kernel().clone();
        from.check_kernel(&*kernel)?;
        let powers = EXPONENTS.iter().map(|exponent| Algorithm::Power { exponent: *exponent });
        let named =
            mercer_lab::equivalence::all().into_iter().skip(1).filter_map(|entry| Algorithm::parse(entry.name).ok());
        let algorithms: Vec<Algorithm> =
            powers.chain(named).filter(|algorithm| algorithm.check_kernel(&*kernel).is_ok()).collect();
        let set = training_set(&fitted)?;
        let place = set.place(from, parameter)?;
        let images = algorithms.into_iter().map(|algorithm| (algorithm, set.image(algorithm, place))).collect();
        Ok(Conversions { fitted, from, parameter, place, images })
    }

    pub fn show(&self, options: &EquivalenceOptions, common: &Common) -> anyhow::Result<Done> {
        if let Some(path) = &options.shown.output {
            mercer_io::write_frame(path, &self.frame()?)?;
        }
        let text = match (options.shown.json, options.shown.style) {
            (true, _) => format!("{}\n", self.to_json()),
            (false, Style::Text) => self.page(),
            (false, style) => self.grid().render(style),
        };
        show(&text, options, common)?;
        Ok(Done::Certified)
    }

    fn page(&self) -> String {
        let ridge = match self.place {
            Place::Ridge(t) => format!("effective ridge {}", short(t.exp())),
            Place::Zero => "the zero function, which no finite ridge gives".into(),
            Place::Unbound => "the bound does not bind: least squares without any ridge".into(),
        };
        format!(
            "  {}, target {}, {}\n  {}: {ridge}\n\n{}\n  Each gives the same function on this table. Where Φ depends on \
             the rows or their number, it will be another on another table.\n",
            rows(self.fitted.design.rows()),
            self.fitted.summary().target,
            self.fitted.model.kernel().spec(),
            named_value(self.from, &short(self.parameter)),
            self.grid().render(Style::Text)
        )
    }

    fn grid(&self) -> Grid {
        let names = ["algorithm", "parameter", "value", "Φ", "problem"];
        let mut grid = Grid::new(names.iter().map(|name| (*name).to_owned()).collect());
        for (algorithm, image) in &self.images {
            let value = match image {
                Image::At(log) => Cell::Number(log.exp()),
                other => Cell::Text(other.reason().unwrap_or_default().split(':').next().unwrap_or_default().into()),
            };
            grid.row(vec![
                Cell::Text(algorithm.spec()),
                Cell::Text(algorithm.symbol().into()),
                value,
                Cell::Text(self.formula(*algorithm).unwrap_or_else(|| "depends on the rows".into())),
                Cell::Text(algorithm.problem().into()),
            ]);
        }
        grid
    }

    fn frame(&self) -> mercer::Result<Frame> {
        let text = |of: &dyn Fn(Algorithm) -> Option<String>| {
            Column::Text(self.images.iter().map(|(algorithm, _)| of(*algorithm)).collect())
        };
        let values = self.images.iter().map(|(_, image)| image.parameter().unwrap_or(f64::NAN));
        let mut frame = Frame::new(self.images.len());
        frame.push("algorithm", text(&|algorithm| Some(algorithm.spec())))?;
        frame.push("parameter", text(&|algorithm| Some(algorithm.symbol().to_owned())))?;
        frame.push("value", Column::Number(values.collect()))?;
        frame.push("formula", text(&|algorithm| self.formula(algorithm)))?;
        Ok(frame)
    }

    fn formula(&self, to: Algorithm) -> Option<String> {
        Relation::of(self.from, to).formula(self.from.symbol())
    }

    fn to_json(&self) -> Value {
        let all: Vec<Value> = self
            .images
            .iter()
            .map(|(algorithm, image)| {
                json!({
                    "algorithm": algorithm.spec(), "name": algorithm.symbol(), "value": image.parameter(),
                    "reason": image.reason(), "formula": self.formula(*algorithm), "problem": algorithm.problem(),
                })
            })
            .collect();
        let ridge = match self.place {
            Place::Ridge(t) => Some(t.exp()),
            _ => None,
        };
        json!({
            "n": self.fitted.design.rows(),
            "target": self.fitted.summary().target,
            "kernel": self.fitted.model.kernel().spec(),
            "from": {"algorithm": self.from.spec(), "name": self.from.symbol(), "value": self.parameter},
            "effective_ridge": ridge,
            "conversions": all,
        })
    }
}
