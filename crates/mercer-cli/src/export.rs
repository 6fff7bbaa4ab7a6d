//! `mercer export`

use std::io::Write;

use mercer::base::bytes::bytes;
use mercer::certificate::Rounding;
use mercer::{Model, format};
use serde_json::{Value, json};

use crate::args::{Common, ExportOptions, PrecisionArgument};
use crate::files;
use crate::outcome::{Done, Usage};
use crate::predict::load;
use crate::report::{Page, rounding_line, short};

/// What was written.
struct Exported {
    model: Model,
    format: &'static str,
    bytes: Vec<u8>,
    /// Whether training targets were left out that the model had.
    leaves_out_targets: bool,
}

pub fn run(options: &ExportOptions, common: &Common) -> anyhow::Result<Done> {
    let is_onnx = options.output.to_ascii_lowercase().ends_with(".onnx");
    let is_single = options.precision == PrecisionArgument::F32;
    match (is_onnx, is_single) {
        (true, true) => {
            return Err(Usage("--precision f32 is for model files; ONNX is written in double precision".into()).into());
        }
        (false, false) => {
            let what = "name a file that ends in .onnx for --output, or ask for --precision f32";
            return Err(Usage(format!("a model file in double precision is what {} is; {what}", options.model)).into());
        }
        (true, false) => files::check_folder(&options.output)?,
        (false, true) => files::check_model_place(&options.output)?,
    }
    let model = load(&options.model)?;
    let exported = if is_onnx {
        Exported { bytes: mercer_io::onnx::bytes(&model)?, format: "onnx", model, leaves_out_targets: false }
    } else {
        let leaves_out_targets = model.holds_training();
        let model = model.to_single()?;
        Exported { bytes: format::to_bytes(&model)?, format: "mercer", model, leaves_out_targets }
    };
    files::save(&options.output, &exported.bytes)?;
    let before = std::fs::metadata(&options.model).map_or(0, |about| about.len());
    let text = if options.json {
        format!("{}\n", exported.to_json(options, before))
    } else {
        exported.page(options, before).to_string()
    };
    if !common.quiet || options.json {
        if options.output == "-" { say!("{}", text.trim_end()) } else { write!(std::io::stdout(), "{text}")? }
    }
    Ok(Done::Certified)
}

impl Exported {
    fn rounding(&self) -> impl Iterator<Item = (&str, [f64; 2], &Rounding)> {
        let of = |summary: &mercer::Summary| summary.target_range;
        self.model.summaries().iter().filter_map(move |summary| {
            Some((summary.target.as_str(), of(summary), summary.certificate.rounding.as_ref()?))
        })
    }

    fn page(&self, options: &ExportOptions, before: u64) -> Page {
        let mut page = Page::new();
        let (size, before) = (bytes(self.bytes.len() as u64), bytes(before));
        page.line("written", &format!("{} ({size}; {} has {before})", options.output, options.model));
        if self.format == "onnx" {
            let columns = self.model.encoder().columns().join(", ");
            page.line("input", &format!("x, double, rows × {}: {columns}", self.model.encoder().columns().len()));
            page.line("output", &mercer_io::onnx::outputs(&self.model).join(", "));
            return page;
        }
        for (target, [low, high], rounding) in self.rounding() {
            page.line("rounding", &format!("{target}: {}", rounding_line(rounding)));
            if let Some(difference) = rounding.largest_difference.filter(|_| high > low) {
                page.line("", &format!("the difference is {} of the target's range", short(difference / (high - low))));
            }
        }
        if self.leaves_out_targets {
            page.line(
                "left out",
                "the training targets, from which intervals are made; `predict --interval --data TABLE` reads them",
            );
        }
        page
    }

    fn to_json(&self, options: &ExportOptions, before: u64) -> Value {
        let targets: Vec<Value> = self
            .rounding()
            .map(|(target, _, rounding)| {
                json!({
                    "target": target,
                    "largest_difference": rounding.largest_difference,
                    "points": rounding.points,
                    "bound": rounding.bound,
                })
            })
            .collect();
        json!({
            "model": options.model,
            "output": options.output,
            "format": self.format,
            "precision": if self.format == "onnx" { "f64" } else { "f32" },
            "bytes": self.bytes.len(),
            "bytes_before": before,
            "columns": self.model.encoder().columns(),
            "rounding": targets,
        })
    }
}
