//! The program when everything is in order: reports, files, pipes, formats, threads, and the promises of its help.

mod automatic;
mod columns;
mod commands;
mod comparing;
mod formats;
mod journals;
mod lab;
mod many_rows;
mod paths;
mod reports;
mod select;
mod streams;
mod threads;
