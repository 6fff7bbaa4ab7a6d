//! Fits a table through the library and prints the bits of its predictions on another one, for comparison with the program
//! and the Python package (TRUST A2; `crates/mercer-python/tests/test_same_bits.py`).
//!
//! usage: same_bits TABLE NEW DOOR KERNEL λ EXPONENT SPEC SCALE WEIGHT, where DOOR is power, loss or linear, SPEC the loss or
//! penalty, and `-` leaves λ to leave-one-out or out the weight.

use std::error::Error;

use mercer::data::{Frame, Roles, Scale};
use mercer::penalty::Penalty;
use mercer::{Fit, Model, kernel, loss};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [table, new, door, kernel, lambda, exponent, spec, scale, weight] = &arguments[..] else {
        return Err("usage: same_bits TABLE NEW DOOR KERNEL λ EXPONENT SPEC SCALE WEIGHT".into());
    };
    let read = |path: &str| mercer_io::read(path, &mercer_io::ReadOptions::default()).map(|table| table.frame);
    let lambda = if lambda == "-" { None } else { Some(lambda.parse::<f64>()?) };
    let scale = match scale.as_str() {
        "none" => Scale::None,
        "unit" => Scale::Unit,
        _ => Scale::Standard,
    };
    let weight = (weight != "-").then(|| weight.clone());
    let roles = Roles { targets: vec!["y".into()], weight, ..Roles::default() };
    let asked = Asked { kernel, lambda, exponent: exponent.parse()?, spec, scale };
    let model = asked.fit(door, &read(table)?, &roles)?;
    for column in model.predict_frame(&read(new)?)? {
        for value in column {
            println!("{:016x}", value.unwrap_or(f64::NAN).to_bits());
        }
    }
    Ok(())
}

struct Asked<'a> {
    kernel: &'a str,
    lambda: Option<f64>,
    exponent: f64,
    spec: &'a str,
    scale: Scale,
}

impl Asked<'_> {
    fn fit(&self, door: &str, frame: &Frame, roles: &Roles) -> mercer::Result<Model> {
        let kernel = kernel::parse(self.kernel)?;
        let lambda = self.lambda.as_slice();
        Ok(match door {
            "loss" => {
                let learn =
                    Fit::with_shared(kernel).loss(loss::parse(self.spec)?).scale(self.scale).exponent(self.exponent);
                learn.lambdas(lambda).fit_frame(frame, roles)?.model
            }
            "linear" => {
                let penalty = Penalty::parse(self.spec)?;
                let fit = if penalty == Penalty::KernelLasso { Fit::with_shared(kernel) } else { Fit::linear() };
                fit.penalty(penalty).scale(self.scale).lambdas(lambda).fit_frame(frame, roles)?.model
            }
            _ => {
                let fit = Fit::with_shared(kernel).scale(self.scale).exponent(self.exponent);
                let fit = if lambda.is_empty() { fit } else { fit.lambdas(lambda) };
                fit.fit_frame(frame, roles)?.model
            }
        })
    }
}
