//! From a table of named columns to numbers that kernels can read: roles, scaling, text, missing cells.

mod design;
mod encoder;
mod frame;
mod labels;
mod logarithm;

pub use design::{Design, Roles};
pub(crate) use design::{group_codes, plain_numbers, target_numbers};
pub(crate) use encoder::project;
pub use encoder::{Encoder, Encoding, Feature, Missing, Scale, TextAs};
pub use frame::{Column, Frame};
pub use labels::Classes;
pub use logarithm::Logarithm;
