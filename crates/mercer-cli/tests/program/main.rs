//! The program when everything is in order: reports, files, pipes, formats, threads, and the promises of its help.

mod automatic;
mod certify;
mod classes;
mod columns;
mod commands;
mod comparing;
mod conversions;
mod effects;
mod equivalence;
mod experiments;
mod exporting;
mod formats;
mod intervals;
mod journals;
mod lab;
mod linear;
mod losses;
mod many_rows;
mod moments;
mod paths;
mod predicting;
mod reports;
mod select;
mod stream;
mod streams;
mod threads;
