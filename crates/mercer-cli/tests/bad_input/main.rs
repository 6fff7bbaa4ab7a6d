//! Bad files and bad options (C1, through the program): each ends with the exit code that says what kind of
//! trouble it was and one sentence that says which; nothing is half-written, nothing that was there is touched.

mod cells;
mod columns;
mod files;
mod lab;
mod loss_options;
mod losses;
mod models;
mod options;
mod results;
mod tables;
