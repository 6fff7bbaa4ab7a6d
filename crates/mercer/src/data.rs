//! From a table of named columns to numbers that kernels can read: roles, scaling, text, missing cells.

mod design;
mod encoder;
mod facts;
mod frame;
mod labels;
mod logarithm;
pub mod monomials;
mod odd;
mod outside;
mod points;
mod reading;

pub use design::{Design, Roles, rows_in_use};
pub(crate) use design::{group_codes, plain_numbers, target_numbers};
pub(crate) use encoder::project;
pub use encoder::{Encoder, Encoding, Feature, Missing, Scale, TextAs};
pub(crate) use facts::Fact;
pub use facts::{ColumnRead, Facts, Kind, LeftOut};
pub use frame::{Column, Frame};
pub use labels::Classes;
pub(crate) use labels::class_of;
pub use logarithm::Logarithm;
pub(crate) use odd::OddCell;
pub use outside::{MARGIN, Outside, OutsideColumn};
pub(crate) use points::fill_blocks;
pub use points::{Point, Points};
pub use reading::{Marks, Reading, Thousands, says_number};
