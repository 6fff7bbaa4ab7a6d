//! From a table of named columns to numbers that kernels can read: roles, scaling, text, missing cells.

mod design;
mod encoder;
mod frame;

pub use design::{Design, Roles};
pub use encoder::{Encoder, Encoding, Feature, Missing, Scale, TextAs};
pub use frame::{Column, Frame};
