//! The program when everything is in order: reports, files, pipes, formats, threads, and the promises of its help.

mod columns;
mod commands;
mod formats;
mod lab;
mod many_rows;
mod reports;
mod streams;
mod threads;
