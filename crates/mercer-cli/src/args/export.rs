//! The options of `mercer export`.

use clap::{Args, ValueEnum};

/// Write a model for other programs (ONNX), or in half the space (single precision)
///
/// A name that ends in .onnx asks for ONNX: one file in double precision that reads the table's numbers as they are (scaling and a
/// learned metric are inside) and predicts what `mercer predict` does, up to rounding, wherever ONNX runs. It can be made for the
/// kernels linear, polynomial, gaussian, laplace, matern12, matern32, matern52 and rational-quadratic, sums, products and
/// multiples of them, for linear functions, quantiles and classes, on columns of numbers.
///
/// --precision f32 stores points and coefficients in single precision: a model file of half the size that every command
/// reads. What that costs is measured, and proved where the kernel allows it; both are printed and kept in the file.
///
/// Examples:
///
///   mercer export m.mercer --output m.onnx
///   mercer export m.mercer --precision f32 --output small.mercer
///   mercer export m.mercer --precision f32 --output small.mercer --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ExportOptions {
    /// The model file
    pub model: String,
    /// Where it goes: a name that ends in .onnx, or a model file
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub output: String,
    /// How a model file stores points and coefficients (ONNX: always f64)
    #[arg(long, value_name = "PRECISION", default_value = "f64")]
    pub precision: PrecisionArgument,
    /// Print one JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Bits of a stored number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PrecisionArgument {
    /// 8 bytes each: what was fitted
    F64,
    /// 4 bytes each
    F32,
}
