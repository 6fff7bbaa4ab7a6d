//! Model files against damage, lies and age: every flipped bit and every cut is noticed (E2), no forged file
//! makes the reader panic or reserve what is not there (E2, E3), and what is saved comes back bit for bit.

// A global allocator that counts cannot be written without `unsafe`: `GlobalAlloc` is an unsafe trait. It only
// counts and passes every call on to the system's allocator.
#![allow(unsafe_code)]

mod allocation;
mod damage;
mod kept;
mod lies;
mod mutants;
mod mutator;
mod parts;
mod round_trip;
mod samples;
mod single;
