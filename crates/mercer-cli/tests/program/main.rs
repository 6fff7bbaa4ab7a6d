//! The program when everything is in order: reports, files, pipes, formats, threads, and the promises of its help.

mod automatic;
mod certify;
mod classes;
mod columns;
mod commands;
mod comparing;
mod conversions;
mod formats;
mod journals;
mod lab;
mod linear;
mod losses;
mod many_rows;
mod paths;
mod reports;
mod select;
mod streams;
mod threads;
