//! Maps between algorithms, how they move with the rows, and the distance between training sets.

mod deletions;
mod distances;
mod lab;
mod maps;
mod studies;
