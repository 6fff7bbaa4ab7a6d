//! Counting what is allocated.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

// Tests run side by side, so every thread has its own count. The cells have no destructor and need no
// allocation themselves.
thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(change: isize) {
    // A thread that is ending has no cells any more; nothing is measured there.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + change);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: every call is handed to `System` unchanged, so its guarantees are ours.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both blocks may exist for a moment.
        count(size as isize);
        // SAFETY: as above.
        let new = unsafe { System.realloc(at, layout, size) };
        count(-(layout.size() as isize));
        new
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The result of `body`, and the most bytes that this thread held at once on top of what it held before.
pub fn measured<R>(body: impl FnOnce() -> R) -> (R, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = body();
    (result, (PEAK.get() - before).max(0) as usize)
}

#[test]
fn the_allocator_counts() {
    let (kept, peak) = measured(|| {
        drop(vec![0_u8; 3_000_000]);
        vec![0_u8; 1_000_000]
    });
    assert!((3_000_000..3_100_000).contains(&peak), "{peak}");
    drop(kept);
}
